"""A child that a document has taken over harms nothing but that document: whatever it leaves, and whatever it answers."""

import os
from dataclasses import replace
from pathlib import Path

import traitors
from runs import ROOT, STARTED_AT, FinishedRun
from test_hostile_documents import Silent

from pipeline.options.backfill import parse_backfill
from pipeline.run import run

SECRET = "the launch code is 73194"
WAYS = sorted(name.removeprefix("do_") for name in vars(traitors) if name.startswith("do_"))

SENTENCES = {
    **dict.fromkeys(("commitfolder", "commitlink", "commitpipe", "nocommit"), "has left no file commit.zip."),
    **dict.fromkeys(("badcommit", "brokentexts", "outside"), "has left a commit that cannot be read."),
    **dict.fromkeys(
        ("attached", "letter", "norows", "otherid", "otherrow", "othersource", "othercollection"), "speaks of other documents."
    ),
    **dict.fromkeys(("othergraph", "quads"), "has left provenance that is none."),
    "bomb": "has left a commit that unpacks to more than it had memory.",
    "blobescape": "has named a picture that is none.",
    "blobfolderlink": "has left no file blobs/secret.",
    "bloblink": f"has left no file blobs/{'ab' * 32}.png.",
    "blobother": "has left a picture that is not the one that it names.",
}
"""What is said of those that leave something; the rest ends without an answer, or gives one that cannot be read."""


def test_whatever_a_child_leaves_or_answers_costs_its_document_only(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "hostile"))))
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    library = tmp_path / "library"
    library.mkdir()
    for way in WAYS:
        (library / f"{way}.txt").write_text(f"{way} {secret}\nis what this document does.")
    for number in range(5):
        (library / f"good{number}.txt").write_text(f"Document number {number} does no harm at all.")
    settings, beam_arguments = parse_backfill(
        [
            "--input",
            str(library),
            "--output",
            str(tmp_path / "out"),
            "--run-id",
            "traitors",
            "--started-at",
            STARTED_AT,
            "--document-memory",
            "256",
        ]
    )

    run(replace(settings, children=2), beam_arguments, Silent(), decoder="traitors:decode_file")

    finished = FinishedRun(tmp_path / "out", "traitors")
    assert finished.statuses() == {f"{way}.txt": "crashed" for way in WAYS} | {f"good{number}.txt": "ok" for number in range(5)}
    found = {letter["source_uri"].rpartition("/")[2].removesuffix(".txt"): letter["message"] for letter in finished.dead_letters()}
    assert {way: sentence for way, sentence in SENTENCES.items() if sentence not in found.pop(way)} == {}
    assert all("ended with exit code" in message or "cannot be read" in message for message in found.values()), found
    assert len(finished.rows("text_documents")) == 5
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != secret and path.parent != library]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert secret.read_text() == SECRET
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "out", "secret"]
    assert not (tmp_path / "out" / "blobs").exists()
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_symlink() or path.name.startswith(".")] == []
    assert Path(tmp_path / "out" / "latest").read_text().strip() == "traitors"
