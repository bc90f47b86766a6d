import base64
import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

from transforms.model import DocumentReference
from transforms.references.listing import list_files
from transforms.references.manifest_files import read_references
from transforms.references.read import ReadReferences


def run(expected: list[DocumentReference], *arguments: Any, **named: Any) -> None:
    # The Reshuffle is the graph's; here it has the rows coded and decoded.
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        read = pipeline | ReadReferences(*arguments, **named) | beam.Reshuffle()
        assert_that(read, equal_to(expected))
        named_fields = read | "NameFields" >> beam.Map(lambda reference: (reference.uri, reference.problem))
        assert_that(named_fields, equal_to([(reference.uri, reference.problem) for reference in expected]), label="by name")


def test_files_and_reference_files_are_read_in_the_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in/out").mkdir(parents=True)
    (tmp_path / "in/out/part").write_bytes(b"")
    for name in ("a b.pdf", "b.pdf", "c.txt"):
        (tmp_path / "in" / name).write_bytes(name.encode())
    (tmp_path / "in/broken").symlink_to("nowhere")
    refs = tmp_path / "refs.jsonl"
    refs.write_text(
        json.dumps({"uri": "in/b.pdf", "document_id": "urn:b"}) + "\n" + json.dumps({"data": base64.b64encode(b"x").decode()}) + "\n{\n"
    )
    monkeypatch.chdir(tmp_path)
    files = [reference._replace(collection="c") for reference in list_files("in", exclude="in/out")]
    listed = [reference._replace(collection="c") for reference in read_references(str(refs))]
    assert [len(files), len(listed)] == [4, 3]

    run([*files, *listed], ["in", "in/*.pdf", str(tmp_path / "in/b*")], ["refs.jsonl"], "c", exclude="in/out")
    run(sorted([*files, *listed])[:3], ["in"], ["refs.jsonl"], "c", 3, exclude="in/out")


def test_one_kind_of_source_is_enough_and_a_limit_may_be_over_all(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "r.csv").write_text("uri\n/b\n")
    run(list(list_files(str(tmp_path / "a"))), [str(tmp_path / "a")], limit=7)
    run([DocumentReference(uri="file:///b")], reference_files=[str(tmp_path / "r.csv")])
