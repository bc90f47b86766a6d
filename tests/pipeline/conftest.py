"""A finished run made by hand, with ids that can be written out in a test."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.graph import facts
from pipeline.options.backfill import parse_backfill
from transforms.model import DecodedDocument, DocumentReference, Element, ImageEntity, Picture, Span, Stage, Status, TextEntity
from transforms.sinks.manifest import build_manifest, write_manifest
from transforms.sinks.write import shard_of, write_shard
from transforms.storage.commit import StagedDocument, write_commit

FINGERPRINT = "0123456789abcdef"
RUN = "first"
DIGEST = "a" * 64
PAGE_1 = "urn:page:00000000-0000-5000-8000-000000000001"
PAGE_2 = "urn:page:00000000-0000-5000-8000-000000000002"
SECTION_1 = "urn:section:00000000-0000-5000-8000-000000000003"
SECTION_2 = "urn:section:00000000-0000-5000-8000-000000000004"
IMAGE = "urn:image:00000000-0000-5000-8000-000000000005"
PDF = "https://example.org/report"
DOCX = "https://example.org/letter"
MAIL = "https://example.org/mail"
ATTACHMENT = "https://example.org/mail/attachment"
HOSTILE_TITLE = "Title \x1b]0;owned\x07 \u202eend"


class Output(NamedTuple):
    path: Path
    manifest: dict


def text_entity(identifier, document_type, parent, number, title, text, offset, **facts):
    span = Span(Element("NarrativeText", text, element_id=f"e{number}"), 0, len(text))
    defaults = {"element_types": ("NarrativeText",), "table_count": 0, "image_count": 0}
    return TextEntity(
        identifier, document_type, parent, number, title, text, (span,) if text else (), offset, len(text), **{**defaults, **facts}
    )


def document(identifier, name, mime_type, **facts):
    uri = f"file:///library/{name}"
    known = {"collection": "default", "source_sha256": DIGEST, "size_bytes": 1500, "seconds": 0.5, "started_at": "2026-01-31T10:00:00Z"}
    versions = {"decoder_version": "0.1.0", "unstructured_version": "0.27.35"}
    facts = {"status": Status.OK, "reference": DocumentReference(uri), **known, **versions, **facts}
    return DecodedDocument(identifier, uri, mime_type=mime_type, **facts)


def dead(name, status, reason):
    return document("", name, "", status=status, reason=reason, stage=Stage.PARTITION, source_sha256="", seconds=None, size_bytes=20)


def commits():
    """Of each document with its attachments."""
    picture = Picture(b"\x89PNG\r\n\x1a\n", "image/png", 640, 480)
    image = ImageEntity(IMAGE, PAGE_2, "Image from page 2", 1, 2, "e9", picture, "b" * 64, (0.1, 0.2, 0.5, 0.75))
    yield [
        document(
            PDF,
            "report.pdf",
            "application/pdf",
            page_based=True,
            page_count=2,
            title=HOSTILE_TITLE,
            element_count=2,
            seconds=12.5,
            warnings=("Page 2 has a picture that could not be read.",),
            images=(image,),
            texts=(
                text_entity(PAGE_1, "page", PDF, 1, "Page 1", "Revenue grew. \x1b[2J" + "x" * 1000, 0, page_number=1),
                text_entity(PAGE_2, "page", PDF, 2, "Page 2", "", 0, page_number=2, element_types=("Image",), image_count=1),
            ),
        )
    ]
    yield [
        document(
            DOCX,
            "letter.docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            page_based=False,
            element_count=2,
            texts=(
                text_entity(
                    SECTION_1,
                    "section",
                    DOCX,
                    1,
                    "Section 1",
                    "Introduction",
                    0,
                    heading="Introduction",
                    level=1,
                    heading_path=("Introduction",),
                ),
                text_entity(
                    SECTION_2,
                    "section",
                    SECTION_1,
                    2,
                    "Section 2",
                    "Scope",
                    14,
                    heading="Scope",
                    level=2,
                    heading_path=("Introduction", "Scope"),
                ),
            ),
        )
    ]
    yield [
        document(MAIL, "mail.eml", "message/rfc822", status=Status.EMPTY, reason="There is nothing in it."),
        document(ATTACHMENT, "mail.eml#1", "text/plain", status=Status.EMPTY, reason="There is nothing in it.", parent_document_id=MAIL),
    ]
    yield [dead("broken\x1b[31m.pdf", Status.CORRUPT, "The file ends\nin the middle \x1b[31mof an object.")]
    for number in range(7):
        yield [dead(f"away{number}.pdf", Status.FETCH_FAILED, "The server is away.")]


@pytest.fixture
def output(tmp_path):
    """An OUTPUT with one finished run of 11 documents, 8 of them dead letters, in 2 shards."""
    path = tmp_path / "decoded"
    staged = []
    for index, group in enumerate(commits()):
        place = f"staging/{FINGERPRINT}/00/{index}.zip"
        (path / place).parent.mkdir(parents=True, exist_ok=True)
        outcome = write_commit(path / place, group, fingerprint=FINGERPRINT)
        staged.append(StagedDocument(place, str(index), outcome.document_id, group[0].source_uri, outcome.status, size=group[0].size_bytes))
    asked = facts(str(path), parse_backfill(["--input", "/library", "--output", str(path)])[0])
    about = json.loads(json.dumps({"settings": asked.settings, "options": asked.options}))
    results = [write_shard(str(path), RUN, shard, 2, [one for one in staged if shard_of(one, 2) == shard]) for shard in range(2)]
    manifest = build_manifest(
        run_id=RUN,
        started_at="2026-01-31T10:00:00Z",
        finished_at="2026-01-31T10:00:09Z",
        matched=11,
        shards=2,
        results=results,
        fingerprint=FINGERPRINT,
        settings=about["settings"],
        options=about["options"],
    )
    write_manifest(str(path), manifest)
    return Output(path, manifest)


@pytest.fixture
def library(tmp_path):
    """A folder of three small documents."""
    folder = tmp_path / "library"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("Some text.")
    (folder / "b.csv").write_text("a,b\n1,2\n")
    (folder / "more" / "c").write_text("No extension.")
    return folder


@pytest.fixture
def command(tmp_path):
    """Runs the program in a process of its own, with nothing of a terminal."""

    def run(*arguments, environment=None):
        import os

        variables = {**os.environ, "COLUMNS": "110", "TMPDIR": str(tmp_path), **(environment or {})}
        return subprocess.run(
            [sys.executable, "-m", "pipeline", *map(str, arguments)], capture_output=True, text=True, timeout=120, env=variables
        )

    return run
