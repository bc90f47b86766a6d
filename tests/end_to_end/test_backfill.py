"""One command over the sample library: every outcome, every dataset, and the same bytes again whatever the circumstances."""

import os
import re
import signal
import time
from pathlib import Path

import pyoxigraph
import pytest
from runs import SAMPLES, STARTED_AT, FinishedRun, backfill, start, universal_decoder

from transforms.partition import pdf_kernel

DATASETS = ("text_documents", "images", "provenance")


def test_every_document_of_the_library_has_one_explained_outcome(sample_run: FinishedRun) -> None:
    files = {path.name for path in SAMPLES.rglob("*") if path.is_file()}
    documents = [row for row in sample_run.rows("documents") if not row["parent_document_id"]]

    assert sorted(row["source_uri"].rsplit("/", 1)[-1] for row in documents) == sorted(files)
    assert [row for row in documents if row["status"] != "ok" and not row["reason"]] == []
    counts = sample_run.manifest["counts"]
    assert counts["matched"] == len(files)
    assert sum(counts["by_status"].values()) == len(files)
    assert counts["attachments"]["total"] == len(sample_run.rows("documents")) - len(files)


def test_the_manifest_tells_how_pdfs_were_read(sample_run: FinishedRun) -> None:
    pdfs = sample_run.manifest["counts"]["by_format"]["application/pdf"]["documents"]
    available = pdf_kernel.availability()

    expected = {"on": pdfs, "off": 0, "why": {}} if available.on else {"on": 0, "off": pdfs, "why": {available.why: pdfs}}
    assert sample_run.manifest["pdf_kernel"] == expected


def test_dead_letters_are_the_documents_that_gave_nothing_and_hold_their_reference(sample_run: FinishedRun) -> None:
    dead = {row["source_uri"]: row["status"] for row in sample_run.rows("documents") if row["status"] not in ("ok", "empty", "duplicate")}

    assert {letter["source_uri"]: letter["status"] for letter in sample_run.dead_letters()} == dead
    assert {"encrypted", "corrupt"} <= set(dead.values())
    assert all(letter["message"] and letter["reference"]["uri"] == letter["source_uri"] for letter in sample_run.dead_letters())


def test_the_format_of_a_dead_letter_is_told_as_far_as_it_was_found_out(sample_run: FinishedRun) -> None:
    formats = {row["status"]: row["mime_type"] for row in sample_run.rows("documents")}

    assert formats["encrypted"] == "application/pdf"


def test_the_slices_of_a_text_give_its_elements_and_the_texts_give_the_document(sample_run: FinishedRun) -> None:
    by_document: dict[str, list[dict]] = {}
    for row in sample_run.rows("text_documents"):
        by_document.setdefault(row["document_id"], []).append(row)
        pieces = [row["text"][e["char_offset"] : e["char_offset"] + e["char_length"]] for e in row["elements"]]
        assert "\n\n".join(pieces) == row["text"]
        assert len(row["text"]) == row["char_length"]
    characters = {row["document_id"]: row["text_chars"] for row in sample_run.rows("documents")}
    for document_id, rows in by_document.items():
        whole = "\n\n".join(row["text"] for row in sorted(rows, key=lambda row: row["char_offset"]))
        assert len(whole) == characters[document_id]
        assert all(whole[row["char_offset"] : row["char_offset"] + row["char_length"]] == row["text"] for row in rows)


def test_every_page_section_and_image_leads_back_to_its_document(sample_run: FinishedRun) -> None:
    store = pyoxigraph.Store()
    store.bulk_load(input="\n".join(sample_run.quads()).encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    assert [str(graph) for graph in store.named_graphs()] == ["<urn:graph:source>"]
    chains = store.query(
        "PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX tg: <https://trustgraph.ai/ns/> "
        "SELECT ?entity ?document WHERE { GRAPH <urn:graph:source> { ?entity prov:wasDerivedFrom+ ?document . ?document a tg:Document } }"
    )
    reached = {(solution["entity"].value, solution["document"].value) for solution in chains}

    rows = sample_run.rows("text_documents") + sample_run.rows("images")
    assert len(sample_run.rows("images")) >= 5
    assert {(row["id"], row["document_id"]) for row in rows} <= reached


def test_image_blobs_are_what_the_index_says(sample_run: FinishedRun) -> None:
    import hashlib

    for row in sample_run.rows("images"):
        blob = (sample_run.output / row["blob_uri"]).read_bytes()
        assert (hashlib.sha256(blob).hexdigest(), len(blob)) == (row["sha256"], row["size_bytes"])


def test_the_same_command_again_decodes_nothing_and_gives_the_same_bytes(sample_run: FinishedRun) -> None:
    before = staged_times(sample_run.output)
    again = backfill(SAMPLES, sample_run.output, "--children", "2", run_id="again")

    assert staged_times(sample_run.output) == before
    assert again.digests(*DATASETS) == sample_run.digests(*DATASETS)
    assert (sample_run.output / "latest").read_text().strip() == "again"


@pytest.mark.parametrize(
    "arguments",
    [["--children", "1"], ["--children", "3", "--direct_runner_bundle_repeat=1"]],
    ids=["one child", "every bundle twice"],
)
def test_circumstances_change_no_byte(sample_run: FinishedRun, tmp_path: Path, arguments: list[str]) -> None:
    other = backfill(SAMPLES, tmp_path / "out", *arguments)

    assert other.digests(*DATASETS) == sample_run.digests(*DATASETS)


def test_force_decodes_everything_anew_to_the_same_bytes(sample_run: FinishedRun) -> None:
    before = staged_times(sample_run.output)
    forced = backfill(SAMPLES, sample_run.output, "--force", run_id="forced")

    after = staged_times(sample_run.output)
    assert after.keys() == before.keys()
    assert all(after[name] > before[name] for name in before)
    assert forced.digests(*DATASETS) == sample_run.digests(*DATASETS)


def test_a_killed_run_goes_on_where_it_was_and_ends_with_the_same_bytes(sample_run: FinishedRun, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = start("backfill", "--input", SAMPLES, "--output", output, "--started-at", STARTED_AT, "--children", "1", "--run-id", "killed")
    deadline = time.monotonic() + 120
    while len(staged_times(output)) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = staged_times(output)
    assert 5 <= len(kept) < len(staged_times(sample_run.output))
    assert not (output / "runs" / "killed" / "manifest.json").exists()

    finished = backfill(SAMPLES, output, "--children", "2")

    after = staged_times(output)
    assert {name: after[name] for name in kept} == kept
    assert finished.digests(*DATASETS) == sample_run.digests(*DATASETS)


def test_a_new_document_is_the_only_one_that_is_decoded(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "one.txt").write_text("The first document speaks of lenses.")
    backfill(library, tmp_path / "out")
    before = staged_times(tmp_path / "out")
    (library / "two.txt").write_text("The second document speaks of mirrors.")

    second = backfill(library, tmp_path / "out", run_id="second")

    after = staged_times(tmp_path / "out")
    assert {name: after[name] for name in before} == before
    assert len(after) == 2
    assert [row["text"] for row in sorted(second.rows("text_documents"), key=lambda row: row["source_uri"])] == [
        "The first document speaks of lenses.",
        "The second document speaks of mirrors.",
    ]


def test_equal_bytes_are_one_document_and_its_duplicates(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    for name in ("b.txt", "a.txt", "c.txt"):
        (library / name).write_text("Three files hold this one text.")

    run = backfill(library, tmp_path / "out")

    assert run.statuses() == {"a.txt": "ok", "b.txt": "duplicate", "c.txt": "duplicate"}
    assert len(run.rows("text_documents")) == 1
    counts = run.manifest["counts"]
    assert counts["matched"] == 3
    assert counts["by_status"] == {"ok": 1, "duplicate": 2}


def test_trace_leads_from_any_id_to_the_text_and_its_source(sample_run: FinishedRun) -> None:
    texts, images = sample_run.rows("text_documents"), sample_run.rows("images")
    page = next(row for row in texts if row["document_type"] == "page")
    section = next(row for row in texts if row["document_type"] == "section")
    for row in (page, section, images[0]):
        out = re.sub(r"\s+", " ", universal_decoder("trace", row["id"], "--output", sample_run.output, "--run", sample_run.run_id))
        assert row["id"] in out
        assert row["document_id"] in out
        assert row["source_uri"] in out
        assert row.get("text", "").split("\n")[0][:40] in out


def staged_times(output: Path) -> dict[str, int]:
    """Commit -> when it was written, in ns."""
    return {path.name: path.stat().st_mtime_ns for path in (output / "staging").rglob("*.zip")}
