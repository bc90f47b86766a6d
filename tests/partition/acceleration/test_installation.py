import subprocess
import sys
from pathlib import Path

import pytest
from unstructured.partition import docx, text, text_type
from unstructured.partition.common import lang
from unstructured.partition.html import parser

from transforms.partition import nlp
from transforms.partition.acceleration import installation, self_test
from transforms.partition.acceleration.classification import Classifier
from transforms.partition.acceleration.installation import PROVEN, SWITCH, accelerate, expected, restore, unproven

ROOT = Path(__file__).parents[3]


def patched():
    functions = (
        text_type.is_possible_narrative_text,
        text.is_possible_title,
        docx.is_possible_narrative_text,
        parser.is_possible_narrative_text,
        lang.detect_langs,
        docx._DocxPartitioner._parse_paragraph_text_for_element_type,
    )
    return {function.__module__.split(".")[0] for function in functions}


def test_what_is_installed_here_is_what_was_proven():
    """When this fails after an upgrade: run benchmarks/identical.py, read what changed, and add the version to PROVEN."""
    assert unproven() == ""


def test_functions_are_replaced_in_every_module_and_put_back(model):
    assert patched() <= {"unstructured", "langdetect"}
    assert accelerate(model).on
    assert patched() == {"transforms"}
    assert accelerate(model).on
    restore()
    assert patched() <= {"unstructured", "langdetect"}
    restore()


def test_another_version_stays_as_it_came(model, monkeypatch):
    monkeypatch.setattr(installation, "PROVEN", {**PROVEN, "unstructured": frozenset({"0.1", "0.2"})})
    found = accelerate(model)
    assert (found.on, found.is_wanted_off) == (False, False)
    assert found.reason == f"unstructured {installation.version('unstructured')} is installed, and they were proven with 0.1 and 0.2."
    assert expected(switched_off=False).reason == found.reason
    assert "transforms" not in patched()


def test_another_model_stays_as_it_came(model, monkeypatch):
    monkeypatch.setattr(installation, "MODEL_VERSIONS", frozenset({"4.0.0"}))
    assert accelerate(model).reason == "en_core_web_sm 3.8.0 is installed, and they were proven with 4.0.0."


def test_a_missing_distribution_is_named(monkeypatch):
    monkeypatch.setattr(installation, "PROVEN", {"no-such-distribution": frozenset({"1"})})
    assert unproven() == "no-such-distribution is not installed."


def test_a_difference_found_by_the_self_test_keeps_unstructured_as_it_came(model, monkeypatch):
    monkeypatch.setattr(Classifier, "contains_verb", lambda *_: True)
    found = accelerate(model)
    assert (found.on, found.reason) == (False, "contains_verb differs from unstructured's for ''.")
    assert "transforms" not in patched()


def test_the_self_test_sees_other_scores_and_other_batches(model, classifier, monkeypatch):
    assert self_test.find_difference(model, classifier) == ""
    monkeypatch.setattr(self_test, "FLOAT_NOISE", 0.0)
    assert self_test.find_difference(model, classifier) == "The tagger's scores differ from spaCy's for 'Risk Factors'."
    monkeypatch.setattr(self_test, "_is_batching_exact", lambda _: False)
    assert "reads together" in self_test.find_difference(model, classifier)


def test_an_error_halfway_leaves_nothing_behind(model, monkeypatch):
    from transforms.partition.acceleration import documents

    monkeypatch.setattr(documents, "batch_text", lambda *_: 1 / 0)
    assert accelerate(model).reason == "They could not be put in place: ZeroDivisionError: division by zero."
    assert patched() <= {"unstructured", "langdetect"}


def test_the_switch_is_no_warning(model, monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    found = accelerate(model)
    assert (found.on, found.is_wanted_off) == (False, True)
    assert expected(switched_off=False) == expected(switched_off=True) == found
    assert nlp.slow_because() == ""


def test_the_operator_is_told_why_it_is_slow(model, monkeypatch):
    monkeypatch.setattr(installation, "MODEL_VERSIONS", frozenset({"4.0.0"}))
    nlp.install_nlp.cache_clear()
    assert nlp.slow_because() == (
        "Decoding is slower than it could be, with the same results: unstructured is not accelerated. "
        "en_core_web_sm 3.8.0 is installed, and they were proven with 4.0.0."
    )
    monkeypatch.undo()
    nlp.install_nlp.cache_clear()
    assert nlp.slow_because() == ""


def test_the_versions_are_read_without_the_libraries():
    program = (
        "import sys\n"
        "from transforms.partition.acceleration.installation import expected\n"
        "print(expected(switched_off=False).on, sorted({'unstructured', 'spacy', 'langdetect', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True []\n"


@pytest.mark.parametrize(("switch", "answer"), [("1", "unstructured"), ("0", "transforms"), ("", "transforms")])
def test_a_process_decides_by_its_environment(switch, answer):
    program = (
        "from transforms.partition.nlp import install_nlp\n"
        "install_nlp()\n"
        "from unstructured.partition import text\n"
        "print(text.is_possible_narrative_text.__module__.split('.')[0])\n"
    )
    environment = {"PATH": "/usr/bin", "PYTHONPATH": str(ROOT), SWITCH: switch}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True, env=environment
    )
    assert done.stdout == f"{answer}\n"
