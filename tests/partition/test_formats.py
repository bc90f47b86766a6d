import shutil
from pathlib import Path

import pytest

from transforms.partition import formats
from transforms.partition.formats import FORMATS, by_extension, by_mime_type

SEED = {
    "PDF": ("application/pdf", True, "page"),
    "PPTX": ("application/vnd.openxmlformats-officedocument.presentationml.presentation", True, "slide"),
    "XLSX": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", True, "sheet"),
    "XLS": ("application/vnd.ms-excel", True, "sheet"),
    "DOCX": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", False, "section strategy"),
    "HTML": ("text/html", False, "section strategy"),
    "Markdown": ("text/markdown", False, "section strategy"),
    "Plain text": ("text/plain", False, "section strategy"),
    "CSV": ("text/csv", False, "section strategy"),
    "TSV": ("text/tab-separated-values", False, "section strategy"),
    "RST": ("text/x-rst", False, "section strategy"),
    "RTF": ("application/rtf", False, "section strategy"),
    "ODT": ("application/vnd.oasis.opendocument.text", False, "section strategy"),
}


def test_the_table_has_the_formats_of_the_contract_with_their_types_and_grouping():
    table = {known.name: (known.mime_type, known.page_based, known.grouped_by) for known in FORMATS}
    assert {name: table[name] for name in SEED} == SEED
    assert {"EPUB", "EML", "MSG", "ORG", "DOC", "PPT", "XML", "JSON", "NDJSON", "PNG", "JPEG", "TIFF"} <= set(table)


def test_no_name_type_or_extension_means_two_formats():
    names = [known.name for known in FORMATS]
    types = [mime_type for known in FORMATS for mime_type in (known.mime_type, *known.aliases)]
    extensions = [extension for known in FORMATS for extension in known.extensions]
    for values in (names, types, extensions):
        assert len(values) == len(set(values))
    assert all(value == value.lower() for value in (*types, *extensions))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Text/HTML; Charset=UTF-8", "HTML"),
        (" application/PDF ", "PDF"),
        ("text/rtf", "RTF"),
        ("application/vnd.ms-excel.sheet.macroEnabled.12", "XLSX"),
        ("text/x-python", "Plain text"),
        ("image/svg+xml", "XML"),
        ("application/xhtml+xml", "HTML"),
    ],
)
def test_a_mime_type_is_found_whatever_its_parameters_and_case(given, name):
    assert by_mime_type(given).name == name


def test_a_type_or_name_of_no_format_gives_none():
    assert by_mime_type("video/mp4") is None
    assert by_mime_type("") is None
    assert by_extension("README") is None
    assert by_extension("a.exe") is None


def test_an_extension_is_found_in_any_case():
    assert by_extension("Report.Final.DOCX") is formats.DOCX


def test_soffice_is_missing_where_path_does_not_lead_to_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert formats.DOC.missing_tools == (formats.SOFFICE,)
    (tmp_path / "soffice").write_text("#!/bin/sh\n")
    (tmp_path / "soffice").chmod(0o755)
    assert formats.DOC.missing_tools == ()


def test_pandoc_is_the_one_that_the_package_brings():
    path = formats.pandoc_path()
    assert path is not None
    assert Path(path).name == "pandoc"
    assert shutil.which(path) == path
