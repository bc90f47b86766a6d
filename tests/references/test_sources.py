import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from transforms.model import DocumentReference
from transforms.references.listing import MissingInput
from transforms.references.sources import absolute_pattern, check_sources, list_input, list_references


def sentence(*arguments: Any, **named: Any) -> str:
    with pytest.raises(MissingInput) as caught:
        check_sources(*arguments, **named)
    return caught.value.sentence


def test_sources_that_have_something_pass(tmp_path: Path, store: Any) -> None:
    (tmp_path / "a.pdf").write_bytes(b"1")
    (tmp_path / "broken.pdf").symlink_to("nowhere")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "bad.jsonl").write_bytes(b"{}\n")
    store.objects["shelf://b/d/a"] = b""
    check_sources([str(tmp_path), str(tmp_path / "*.pdf"), "shelf://b/d"], [str(tmp_path / "*.jsonl")])


def test_the_first_source_without_anything_is_told(tmp_path: Path, store: Any) -> None:
    (tmp_path / "a.pdf").write_bytes(b"1")
    (tmp_path / "broken").symlink_to("nowhere")
    good = str(tmp_path / "a.pdf")
    assert sentence([], []) == "There is nothing to decode: give --input, --references or --librarian."
    assert sentence([good, "/none"], []) == "There is no file or folder /none."
    assert sentence([good, str(tmp_path / "b*")], []) == (
        f"{(tmp_path / 'broken').as_uri()} is a link whose file cannot be read: no such file or directory."
    )
    assert sentence(["shelf://b/none"], []) == "shelf://b/none matches no file."
    assert sentence([good], ["/none.jsonl"]) == "There is no file or folder /none.jsonl."
    assert sentence([good], [good]) == (
        f"{(tmp_path / 'a.pdf').as_uri()} is no references file: its name ends in none of .jsonl, .ndjson, .json, .csv, .parquet."
    )
    assert sentence([str(tmp_path)], [], exclude=str(tmp_path)).startswith(f"{tmp_path} is the job's own output folder")


def test_a_source_that_vanishes_before_it_is_listed_is_a_problem_and_no_exception(tmp_path: Path) -> None:
    uri = tmp_path.as_uri()
    assert list(list_input(str(tmp_path / "none"), collection="c")) == [
        DocumentReference(uri=f"{uri}/none", collection="c", problem=f"There is no file or folder {tmp_path}/none.")
    ]
    assert list(list_references(str(tmp_path / "none.csv"))) == [
        DocumentReference(uri=f"{uri}/none.csv", problem=f"There is no file or folder {tmp_path}/none.csv.")
    ]


def test_the_collection_is_for_those_that_have_none(tmp_path: Path) -> None:
    path = tmp_path / "refs.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in ({"uri": "/a", "collection": "own"}, {"uri": "/b"}, {})))
    assert [reference.collection for reference in list_references(str(path), collection="c")] == ["own", "c", "c"]


def test_patterns_become_absolute_without_being_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_pattern("d/../*.pdf") == f"{tmp_path}/*.pdf"
    assert absolute_pattern("file:///a%20b/*") == "/a b/*"
    assert absolute_pattern("s3://b/*") == "s3://b/*"
    assert absolute_pattern("") == ""


def test_local_sources_need_no_beam(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"1")
    (tmp_path / "r.csv").write_text("uri\na.pdf\n")
    program = (
        "import sys; from transforms.references import check_sources; import transforms.references.fetch; "
        "check_sources([sys.argv[1]], [sys.argv[2]]); "
        "print([name for name in ('apache_beam', 'pyarrow', 'unstructured') if name in sys.modules])"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path), str(tmp_path / "r.csv")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(arguments, check=True, capture_output=True, text=True, env=environment).stdout == "[]\n"
