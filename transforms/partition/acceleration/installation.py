"""Puts the accelerations in place: all of them or none, and only where they were proven.

They replace functions inside of other packages, so each of these has to be the very version whose functions were read. And because a
version does not say how it was built (BLAS libraries differ), a self-test compares answers with the original functions' before anything
is replaced. Where either fails the library works as it came, which costs time and nothing else.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

from transforms.partition.acceleration.patches import Patches
from transforms.partition.environment import ACCELERATION, is_accelerated

SWITCH = "UNIVERSAL_DECODER_EXACT_NLP"
"""Environment variable: "1" leaves unstructured as it is. A variable and no setting of a decode, because the zygote decides before it has
seen any request, and because it changes no result (so it must not change the fingerprint either)."""

PROVEN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "unstructured": frozenset({"0.27.35"}),
        "spacy": frozenset({"3.8.18"}),
        "thinc": frozenset({"8.3.14"}),
        "langdetect": frozenset({"1.0.9"}),
        "python-docx": frozenset({"1.2.0"}),
        "python-pptx": frozenset({"1.0.2"}),
    }
)
"""Versions whose functions the modules of this package equal. A new one is added when `benchmarks/identical.py` has found no difference."""

MODEL_VERSIONS = frozenset({"3.8.0"})
"""Of en_core_web_sm."""


@dataclass(frozen=True)
class Acceleration:
    """Whether the accelerations are in place."""

    on: bool
    reason: str = ""
    """Why not: a sentence."""
    is_wanted_off: bool = False
    """Whether that is what the operator asked for."""


_SWITCHED_OFF = Acceleration(
    on=False, reason=f"It was switched off (--no-acceleration, {ACCELERATION}=off or {SWITCH}=1).", is_wanted_off=True
)

_patches: Patches | None = None
_expect: Callable[[Iterable[str]], None] | None = None


def is_switched_off() -> bool:
    """Whether the environment says so, of this acceleration or of all."""
    return os.environ.get(SWITCH) == "1" or not is_accelerated()


def unproven() -> str:
    """What stands against accelerations by the versions of the installed distributions: a sentence, or nothing. Imports none of them."""
    for name, versions in PROVEN.items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            return f"{name} is not installed."
        if installed not in versions:
            return f"{name} {installed} is installed, and they were proven with {' and '.join(sorted(versions))}."
    return ""


def expected(*, switched_off: bool) -> Acceleration:
    """What a run's manifest says of it, by the switch and the installed versions. (A self-test that failed is a warning of the run.)"""
    if switched_off or is_switched_off():
        return _SWITCHED_OFF
    reason = unproven()
    return Acceleration(on=not reason, reason=reason)


def accelerate(nlp: Any) -> Acceleration:
    """Replaces what can be faster in unstructured; does nothing the second time.

    Args:
      nlp: the spaCy pipeline that unstructured uses.
    Returns:
      Whether that was done, or why not.
    """
    global _patches, _expect
    if _patches is not None:
        return Acceleration(on=True)
    if is_switched_off():
        return _SWITCHED_OFF
    reason = unproven()
    if not reason and nlp.meta["version"] not in MODEL_VERSIONS:
        reason = f"en_core_web_sm {nlp.meta['version']} is installed, and they were proven with {' and '.join(sorted(MODEL_VERSIONS))}."
    if reason:
        return Acceleration(on=False, reason=reason)
    from transforms.partition.acceleration import self_test
    from transforms.partition.acceleration.classification import Classifier
    from transforms.partition.acceleration.verbs import UnknownModelError

    try:
        classifier = Classifier.of(nlp)
    except (UnknownModelError, AttributeError, IndexError, KeyError, ValueError) as error:
        return Acceleration(on=False, reason=f"The language model is built in another way: {error}.")
    difference = self_test.find_difference(nlp, classifier)
    if difference:
        return Acceleration(on=False, reason=difference)
    patches = Patches("unstructured")
    try:
        _install(patches, classifier)
    except Exception as error:  # whatever it is, the library must be left as it came
        patches.undo()
        return Acceleration(on=False, reason=f"They could not be put in place: {type(error).__name__}: {error}.")
    _patches, _expect = patches, classifier.expect
    return Acceleration(on=True)


def expect_texts(texts: Iterable[str]) -> None:
    """Has texts classified together that unstructured will be asked for one by one; nothing happens where it is not accelerated."""
    if _expect is not None:
        _expect(texts)


def restore() -> None:
    """Puts unstructured back as it came."""
    global _patches, _expect
    _expect = None
    if _patches is not None:
        _patches.undo()
        _patches = None


def _install(patches: Patches, classifier: Any) -> None:
    from unstructured.partition import text_type
    from unstructured.partition.common import lang

    from transforms.partition.acceleration import documents, languages, metadata, reading_order, words, xml_paths

    for name in ("is_possible_narrative_text", "is_possible_title", "exceeds_cap_ratio", "contains_verb"):
        patches.function(text_type, name, getattr(classifier, name))
    patches.function(text_type, "under_non_alpha_ratio", words.under_non_alpha_ratio)
    patches.function(lang, "detect_langs", languages.detect_langs)
    metadata.speed_up_metadata(patches)
    classes = documents.LateClasses(classifier)
    documents.batch_html(patches, classes)
    documents.batch_text(patches, classifier)
    with contextlib.suppress(ImportError):
        reading_order.cut_by_ends(patches)
    with contextlib.suppress(ImportError):
        from docx.oxml import ns, xmlchemy

        documents.batch_docx(patches, classes)
        xml_paths.compile_xpaths(patches, xmlchemy, ns.nsmap)
    with contextlib.suppress(ImportError):
        from pptx.oxml import ns, xmlchemy

        xml_paths.compile_xpaths(patches, xmlchemy, ns._nsmap)
