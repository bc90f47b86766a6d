"""The command itself with its library and its output on S3."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from runs import STARTED_AT, start
from seaweed import ACCESS, SECRET, Server


@pytest.fixture
def library(server: Server, bucket: str) -> str:
    """Six texts and an office document with a picture."""
    client = server.client()
    for number in range(6):
        client.put_object(Bucket=bucket, Key=f"in/text {number}.txt", Body=f"Document number {number} speaks of lenses.".encode())
    client.put_object(Bucket=bucket, Key="in/with#picture.docx", Body=document_with_picture())
    return f"s3://{bucket}/in"


def document_with_picture() -> bytes:
    import io

    from docx import Document
    from PIL import Image

    picture, office = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(picture, "PNG")
    document = Document()
    document.add_paragraph("A picture of something red follows.")
    picture.seek(0)
    document.add_picture(picture)
    document.save(office)
    return office.getvalue()


def run(server: Server, *arguments: str, expect: int = 0, **environment: str) -> str:
    process = command(server, *arguments, **environment)
    out, err = process.communicate()
    assert process.returncode == expect, out + err
    assert "Traceback" not in out + err
    return out + err


def command(server: Server, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    return start(*arguments, extra=server.environment(AWS_MAX_ATTEMPTS="2") | environment)


def backfill(library: str, output: str, *more: str, run_id: str = "first") -> list[str]:
    return ["backfill", "--input", library, "--output", output, "--run-id", run_id, "--started-at", STARTED_AT, "--children", "2", *more]


def objects(server: Server, bucket: str, prefix: str) -> dict[str, Any]:
    pages = server.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return {item["Key"]: (item["ETag"], item["LastModified"]) for page in pages for item in page.get("Contents", ())}


def test_a_library_on_s3_is_decoded_into_s3_and_a_second_run_decodes_only_what_is_new(
    server: Server, bucket: str, library: str, tmp_path: Path
) -> None:
    output = f"s3://{bucket}/out"
    said = run(server, *backfill(library, output))
    assert "7" in said
    first = objects(server, bucket, "out/")
    assert server.client().get_object(Bucket=bucket, Key="out/latest")["Body"].read() == b"first\n"
    assert len([key for key in first if key.startswith("out/staging/")]) == 7
    assert len([key for key in first if key.startswith("out/blobs/")]) == 1
    assert not [key for key in first if "tmp" in key or "writing" in key or "probe" in key]

    for number in range(4):
        part = tmp_path / f"{number}.parquet"
        server.client().download_file(bucket, f"out/runs/first/documents/part-{number:05d}-of-00004.parquet", str(part))
    rows = [row for part in tmp_path.glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    assert {row["source_uri"]: row["status"] for row in rows} == {
        f"{library}/{name}": "ok" for name in ("with#picture.docx", *(f"text {number}.txt" for number in range(6)))
    }

    server.client().put_object(Bucket=bucket, Key="in/text 0.txt", Body=b"Document number 0 speaks of mirrors by now.")
    run(server, *backfill(library, output, run_id="second"))
    second = objects(server, bucket, "out/")
    before = {key for key in first if key.startswith("out/staging/")}
    assert {key: second[key] for key in before} == {key: first[key] for key in before}
    assert len([key for key in second if key.startswith("out/staging/")]) == 8
    assert "first" in run(server, "report", output, "--run", "first")
    identity = next(row["document_id"] for row in rows if row["source_uri"].endswith("5.txt"))
    assert "text 5.txt" in run(server, "trace", identity, "--output", output)


def test_a_run_from_s3_gives_the_same_texts_as_one_from_a_disk(server: Server, bucket: str, library: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(server, *backfill(library, str(output)))
    texts = {
        row["text"] for part in (output / "runs" / "first" / "text_documents").glob("*.parquet") for row in pq.read_table(part).to_pylist()
    }
    assert texts == {"A picture of something red follows."} | {f"Document number {number} speaks of lenses." for number in range(6)}


def test_a_references_file_on_s3_and_the_endpoint_as_an_option_of_beam(server: Server, bucket: str, library: str, tmp_path: Path) -> None:
    lines = "".join(f'{{"uri": "{library}/text {number}.txt"}}\n' for number in range(3))
    server.client().put_object(Bucket=bucket, Key="lists/references.jsonl", Body=lines.encode())
    arguments = ["backfill", "--references", f"s3://{bucket}/lists/references.jsonl", "--output", str(tmp_path / "out"), "--run-id", "r"]
    options = ["--s3_endpoint_url", server.endpoint, "--s3_access_key_id", ACCESS, "--s3_secret_access_key", SECRET]
    nothing = dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")
    run(server, *arguments, *options, **nothing)
    manifest = (tmp_path / "out" / "runs" / "r" / "manifest.json").read_text()
    assert '"matched": 3' in manifest
    assert SECRET not in manifest


def test_a_missing_bucket_and_wrong_credentials_are_one_sentence_before_any_work(server: Server, bucket: str, library: str) -> None:
    for arguments, environment, sentence in (
        (backfill("s3://no-such-bucket/in", f"s3://{bucket}/out"), {}, "--input s3://no-such-bucket/in cannot be used: there is no bucket"),
        (backfill(library, "s3://no-such-bucket/out"), {}, "--output s3://no-such-bucket/out cannot be used: there is no bucket"),
        (backfill(library, f"s3://{bucket}/out"), {"AWS_SECRET_ACCESS_KEY": "wrong"}, "refuses these credentials"),
        (backfill(library, f"s3://{bucket}/out"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "cannot be reached"),
        (backfill(f"s3://{bucket}/nothing", f"s3://{bucket}/out"), {}, "matches no file"),
    ):
        said = run(server, *arguments, expect=2, **environment)
        assert sentence in said
        assert len(said.strip().splitlines()) == 1
    assert objects(server, bucket, "out/") == {}


def test_a_server_that_dies_in_the_middle_ends_the_run_in_one_sentence_and_a_rerun_completes_it(mortal_server: Server) -> None:
    client = mortal_server.client()
    client.create_bucket(Bucket="library")
    for number in range(60):
        client.put_object(Bucket="library", Key=f"in/{number:02d}.txt", Body=f"Document number {number} speaks of lenses.".encode())
    process = command(mortal_server, *backfill("s3://library/in", "s3://library/out"))
    while len(objects(mortal_server, "library", "out/staging/")) < 5 and process.poll() is None:
        time.sleep(0.02)
    mortal_server.kill()
    out, err = process.communicate()
    assert process.returncode == 1, out + err
    assert "The job failed: s3://library/out cannot be read or written: the store of s3://library/out/" in err
    assert "cannot be reached" in err
    assert "the same command goes on from there" in err
    assert "Traceback" not in out + err

    mortal_server.start()
    staged = objects(mortal_server, "library", "out/staging/")
    assert 5 <= len(staged) < 60
    assert not objects(mortal_server, "library", "out/runs/")
    run(mortal_server, *backfill("s3://library/in", "s3://library/out"))
    after = objects(mortal_server, "library", "out/staging/")
    assert len(after) == 60
    kept = [key for key in staged if after[key] == staged[key]]
    assert len(kept) >= len(staged) - 4  # what was fetched while the server died has a dead letter that is tried again
