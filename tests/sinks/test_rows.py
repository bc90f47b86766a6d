"""The columns are the contract's, and a row says of a document exactly what its decode gave."""

import json

import pyarrow as pa
import pytest
from decoded_documents import TWO_PAGES, decode, fail

from transforms.model import Element, Picture, Status
from transforms.sinks import dead_letters, documents, images, provenance, text_documents
from transforms.sinks.dataset import DATASETS
from transforms.sinks.values import encodable

TEXT_DOCUMENTS = """id string, document_id string, collection string, document_type string, parent_id string, number int32, title
string, heading string, level int16, heading_path list<item: string>, text large_string, char_offset int64,
char_length int64, page_number int32, element_types list<item: string>, table_count int32, image_count int32,
mime_type string, languages list<item: string>, elements list<item: struct<element_id: string, category:
string, char_offset: int64, char_length: int64, page_number: int32, category_depth: int16, parent_id: string,
coordinates: list<item: double>>>, page_width double, page_height double, source_uri string, source_sha256
string"""
IMAGES = """id string, document_id string, parent_id string, collection string, document_type string, title string, number
int32, page_number int32, element_id string, mime_type string, sha256 string, size_bytes int64, width int32,
height int32, coordinates list<item: double>, blob_uri string, source_uri string, source_sha256 string"""
DOCUMENTS = """document_id string, source_uri string, title string, collection string, mime_type string, page_based bool,
status string, reason string, source_sha256 string, size_bytes int64, page_count int32, section_count int32,
text_chars int64, element_count int32, table_count int32, image_count int32, warnings list<item: string>,
missing_pages list<item: int32>, parent_document_id string, duplicate_of string, seconds double,
peak_memory_mb double, started_at string, decoder_version string, unstructured_version string"""


@pytest.mark.parametrize(
    ("schema", "contract"), [(text_documents.SCHEMA, TEXT_DOCUMENTS), (images.SCHEMA, IMAGES), (documents.SCHEMA, DOCUMENTS)]
)
def test_the_columns_are_those_of_the_contract(schema, contract):
    assert ", ".join(f"{column.name} {column.type}" for column in schema) == contract.replace("\n", " ")


@pytest.mark.parametrize(
    ("module", "nullable"),
    [
        (text_documents, {"heading", "level", "page_number", "page_width", "page_height"}),
        (images, {"page_number", "element_id", "coordinates"}),
        (documents, set(documents.SCHEMA.names) - {"source_uri", "collection", "status", "warnings", "missing_pages"}),
    ],
)
def test_only_these_columns_may_be_null(module, nullable):
    assert {column.name for column in module.SCHEMA if column.nullable} == nullable


@pytest.mark.parametrize("module", [text_documents, images, documents])
def test_each_row_has_the_columns_in_order_and_repeating_columns_exist(module):
    rows = module.rows(decode("a", TWO_PAGES))
    assert all(list(row) == module.SCHEMA.names for row in rows)
    assert {name.split(".")[0] for name in module.DICTIONARY} <= set(module.SCHEMA.names)


def test_the_datasets_are_the_five_of_the_contract():
    assert [(dataset.name, dataset.part_path(2, 4)) for dataset in DATASETS] == [
        ("text_documents", "text_documents/part-00002-of-00004.parquet"),
        ("images", "images/part-00002-of-00004.parquet"),
        ("documents", "documents/part-00002-of-00004.parquet"),
        ("provenance", "provenance/part-00002-of-00004.nq.gz"),
        ("dead_letters", "dead_letters/part-00002-of-00004.jsonl"),
    ]


def test_a_page_is_a_row_with_exact_places_of_its_elements():
    first, second = pa.Table.from_pylist(text_documents.rows(decode("a", TWO_PAGES)), schema=text_documents.SCHEMA).to_pylist()
    assert first["text"] == "Überblick\n\nRevenue grew."
    assert first["elements"] == [
        {
            "element_id": "e1",
            "category": "Title",
            "char_offset": 0,
            "char_length": 9,
            "page_number": 1,
            "category_depth": 0,
            "parent_id": None,
            "coordinates": None,
        },
        {
            "element_id": "e2",
            "category": "NarrativeText",
            "char_offset": 11,
            "char_length": 13,
            "page_number": 1,
            "category_depth": None,
            "parent_id": "e1",
            "coordinates": [0.1, 0.2, 0.9, 0.3],
        },
    ]
    assert (first["char_offset"], first["char_length"], first["page_width"], first["heading"]) == (0, 24, 595.0, None)
    assert (second["char_offset"], second["char_length"], second["page_width"]) == (26, 44, None)
    assert second["text"][second["elements"][1]["char_offset"] :] == "𝔘nicode."
    assert (second["table_count"], second["image_count"], first["languages"]) == (1, 1, ["deu"])


def test_a_page_without_text_is_no_row_but_its_image_is():
    picture = Picture(b"GIF8", "image/gif", 3, 2)
    document = decode("a", [Element("Image", element_id="i", page_number=7, picture=picture)])
    assert text_documents.rows(document) == []
    (row,) = images.rows(document)
    assert (row["title"], row["parent_id"], row["page_number"]) == ("Image from page 7", document.texts[0].id, 7)
    assert (row["size_bytes"], row["width"], row["height"], row["coordinates"]) == (4, 3, 2, None)
    assert row["blob_uri"] == f"blobs/sha256/{row['sha256'][:2]}/{row['sha256']}.gif"
    assert documents.rows(document)[0]["text_chars"] == 0


def test_a_document_row_counts_what_the_run_holds_of_it():
    (row,) = documents.rows(decode("a", TWO_PAGES, warnings=["no OCR"], missing_pages=[3]))
    assert {name: row[name] for name in documents.COUNTS} == {
        "section_count": 0,
        "text_chars": 24 + 2 + 44,
        "element_count": 5,
        "table_count": 1,
        "image_count": 1,
    }
    assert (row["reason"], row["duplicate_of"], row["parent_document_id"]) == (None, None, None)
    assert (row["warnings"], row["missing_pages"]) == (["no OCR"], [3])


def test_sections_are_counted_and_an_empty_document_has_no_text():
    (row,) = documents.rows(decode("a", [Element("Title", "T")], page_based=False))
    assert (row["section_count"], row["text_chars"]) == (1, 1)
    (row,) = documents.rows(decode("b"))
    assert (row["status"], row["section_count"], row["text_chars"]) == ("empty", 0, 0)


def test_a_dead_letter_has_no_counts_and_tells_why():
    (row,) = documents.rows(fail("a", document_id="x"))
    assert {row[name] for name in documents.COUNTS} == {None}
    assert (row["status"], row["reason"], row["mime_type"]) == ("encrypted", "It needs a password.", None)


def test_a_dead_letter_is_one_json_line_with_the_whole_reference():
    document = fail("a", traceback="Traceback …\n")
    (row,) = dead_letters.rows(document)
    line = dead_letters.line(row).decode()
    assert line.endswith("}\n")
    assert "\n" not in line[:-1]
    letter = json.loads(line)
    assert (
        list(letter)
        == sorted(letter)
        == ["document_id", "error_class", "message", "reference", "source_uri", "stage", "status", "traceback"]
    )
    assert (letter["message"], letter["stage"], letter["error_class"], letter["traceback"]) == (
        "It needs a password.",
        "partition",
        "PdfError",
        "Traceback …\n",
    )
    assert letter["reference"] == {
        "uri": "file:///library/a",
        "document_id": "",
        "kind": "",
        "title": "",
        "collection": "",
        "metadata": [["", "<http://purl.org/dc/elements/1.1/subject>", '"law"']],
        "locator": "",
        "size": -1,
        "version": "",
        "copies": 1,
        "problem": "",
    }


@pytest.mark.parametrize("status", [Status.OK, Status.EMPTY, Status.DUPLICATE])
def test_what_is_not_lost_is_no_dead_letter(status):
    assert dead_letters.rows(decode("a", status=status)) == []


def test_metadata_that_is_no_json_is_kept_as_given():
    document = fail("a")
    document = fail("a", reference=document.reference._replace(metadata="[broken"))
    assert dead_letters.rows(document)[0]["reference"]["metadata"] == "[broken"


def test_a_name_that_is_not_utf8_is_still_valid_json():
    (row,) = dead_letters.rows(fail("a", reason='"\udcff\\" is broken'))
    line = dead_letters.line(row)
    assert json.loads(line.decode("utf-8"))["message"] == '"\udcff\\" is broken'


@pytest.mark.parametrize(("status", "lines"), [(Status.OK, True), (Status.EMPTY, True), (Status.DUPLICATE, False), (Status.TIMEOUT, False)])
def test_only_what_was_decoded_has_provenance(status, lines):
    quads = provenance.lines(decode("a", status=status), fingerprint="f")
    assert bool(quads) == lines
    assert all(line.endswith(b" <urn:graph:source> .") for line in quads.splitlines())


def test_lone_surrogates_are_replaced_one_for_one():
    assert encodable({"a": ["x\udcffy", "\ud800"], "b": (1, None, "𝔘é")}) == {"a": ["x\ufffdy", "\ufffd"], "b": [1, None, "𝔘é"]}
