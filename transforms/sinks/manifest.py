"""The manifest: what a run is, in one file that is written last. Without it there is no run; with it every part is there."""

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from transforms.errors import JobFailed, UsageError
from transforms.model import Status
from transforms.partition.acceleration.installation import expected
from transforms.settings import DECODER, unstructured_version
from transforms.sinks.dataset import DATASETS
from transforms.sinks.write import ShardResult, Tally, run_folder
from transforms.storage.filesystem import SCRATCH, delete, join, list_folder, read_bytes, settle, sweep, write_atomically
from transforms.version import VERSION

MANIFEST = "manifest.json"
LATEST = "latest"
UNKNOWN_FORMAT = "unknown"
"""Name in `by_format` for documents whose format was not found out."""


class RunIncomplete(JobFailed):
    """The parts do not account for every reference: the job has lost something, and the run must not look finished."""


def build_manifest(
    *,
    run_id: str,
    started_at: str,
    finished_at: str,
    matched: int,
    shards: int,
    results: Sequence[ShardResult],
    fingerprint: str,
    settings: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Adds up what the shards published, and makes sure that it is everything.

    Args:
      run_id: of the run.
      started_at: xsd:dateTime, UTC.
      finished_at: xsd:dateTime, UTC.
      matched: references found, each copy counted; counted apart from the shards, as it is what they are compared with.
      shards: of the run.
      results: of each shard one; of a shard that was written twice (a retried bundle) both are the same.
      fingerprint: of the settings.
      settings: those that change the result, as JSON.
      options: all other options of the run (limits, inputs, runner), as JSON.
    Returns:
      The manifest, as JSON.
    Raises:
      RunIncomplete: a shard is missing, or `matched = ok + empty + duplicate + dead letters` does not hold.
    """
    by_shard = {result.shard: result for result in results}
    missing = sorted(set(range(shards)) - set(by_shard))
    if missing or len(by_shard) > shards:
        raise RunIncomplete(
            f"Run {run_id}: {shards} shards were to be written, and shards {sorted(by_shard)} were. Run it again with the same --run-id."
        )
    tallies = [tally for result in by_shard.values() for tally in result.tallies]
    references = [tally for tally in tallies if not tally.attachment]
    attachments = [tally for tally in tallies if tally.attachment]
    by_status = _by_status(references)
    invariant = {
        "matched": matched,
        "ok": by_status.get(Status.OK.value, 0),
        "empty": by_status.get(Status.EMPTY.value, 0),
        "duplicate": by_status.get(Status.DUPLICATE.value, 0),
        "dead_letters": sum(count for status, count in by_status.items() if Status(status).is_dead_letter),
    }
    accounted = sum(count for name, count in invariant.items() if name != "matched")
    if accounted != matched:
        raise RunIncomplete(
            f"Run {run_id}: {matched} references were found, and the datasets account for {accounted}. Run it again with the same --run-id."
        )
    return {
        "run_id": run_id,
        "started_at": started_at,
        "finished_at": finished_at,
        "fingerprint": fingerprint,
        "settings": dict(settings),
        "options": dict(options or {}),
        "versions": versions(),
        "acceleration": _acceleration(options or {}),
        "invariant": invariant,
        "counts": {
            "matched": matched,
            "decoded": sum(tally.fresh for tally in references),
            "staged_before": matched - sum(tally.fresh for tally in references),
            "size_bytes": sum(tally.size_bytes for tally in references),
            "text_chars": sum(tally.text_chars for tally in tallies),
            "decode_seconds": round(sum(tally.seconds for tally in tallies), 3),
            "by_status": by_status,
            "by_format": _by_format(references),
            "attachments": {
                "total": sum(tally.documents for tally in attachments),
                "by_status": _by_status(attachments),
                "by_format": _by_format(attachments),
            },
        },
        "pdf_kernel": _pdf_kernel(by_shard.values()),
        "datasets": _datasets([by_shard[shard] for shard in range(shards)]),
    }


def versions() -> dict[str, str]:
    """Of the decoder and of what its results depend on."""
    return {
        DECODER: VERSION,
        "unstructured": unstructured_version(),
        "apache-beam": metadata.version("apache-beam"),
        "pyarrow": metadata.version("pyarrow"),
        "python": platform.python_version(),
    }


def _acceleration(options: Mapping[str, Any]) -> dict[str, Any]:
    """Whether unstructured was accelerated, and if not, why: it explains the times, and no difference of results."""
    found = expected(switched_off=not options.get("accelerated", True))
    return {"on": found.on, "reason": found.reason}


def discard_manifest(output: str, run_id: str) -> None:
    """Makes a run unfinished again, before its parts are overwritten by a run of the same id."""
    delete(join(run_folder(output, run_id), MANIFEST))


def write_manifest(output: str, manifest: Mapping[str, Any]) -> None:
    """Finishes a run: removes what is no part of it, then publishes its manifest, then makes it the latest.

    What is no part of it: parts of an earlier try with another number of shards, and what killed writers left (of other runs too; what a
    living one writes stays).

    Args:
      output: path or URI of OUTPUT.
      manifest: of `build_manifest`.
    """
    folder = run_folder(output, manifest["run_id"])
    wanted = {part["path"] for dataset in manifest["datasets"].values() for part in dataset["parts"]}
    for dataset in DATASETS:
        for file in list_folder(join(folder, dataset.name)):
            if file.name.startswith("part-") and f"{dataset.name}/{file.name}" not in wanted:
                delete(join(folder, dataset.name, file.name))
    settle(output)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    scratch = join(output, SCRATCH)
    write_atomically(join(folder, MANIFEST), text.encode("utf-8", "backslashreplace"), scratch=scratch, durable=True)
    write_atomically(join(output, LATEST), (manifest["run_id"] + "\n").encode(), scratch=scratch, durable=True)
    sweep(scratch)


def read_manifest(output: str, run_id: str | None = None) -> dict[str, Any]:
    """Reads the manifest of a run; None: of the latest.

    Raises:
      UsageError: there is no such run, or it is not finished.
    """
    if run_id is None:
        try:
            run_id = read_bytes(join(output, LATEST)).decode().strip()
        except OSError as error:
            raise UsageError(f"There is no finished run in {output}.") from error
    try:
        manifest: dict[str, Any] = json.loads(read_bytes(join(run_folder(output, run_id), MANIFEST)))
    except OSError as error:
        raise UsageError(f"There is no finished run {run_id} in {output}.") from error
    return manifest


def _pdf_kernel(results: Iterable[ShardResult]) -> dict[str, Any]:
    """How many of the PDFs that this run decoded were read with the kernel, and the reasons of the others."""
    counts: Counter[str] = Counter()
    for result in results:
        counts.update({count.state: count.pdfs for count in result.pdf_kernel})
    off = {state.partition(": ")[2]: count for state, count in sorted(counts.items()) if state.startswith("off")}
    return {"on": sum(counts.values()) - sum(off.values()), "off": sum(off.values()), "why": off}


def _by_status(tallies: Iterable[Tally]) -> dict[str, int]:
    """In the order of the statuses, those that occur."""
    counts: Counter[str] = Counter()
    for tally in tallies:
        counts[tally.status] += tally.documents
    return {status.value: counts[status.value] for status in Status if counts[status.value]}


def _by_format(tallies: Iterable[Tally]) -> dict[str, dict[str, Any]]:
    formats: dict[str, list[Tally]] = {}
    for tally in tallies:
        formats.setdefault(tally.mime_type or UNKNOWN_FORMAT, []).append(tally)
    return {
        name: {
            "documents": sum(tally.documents for tally in own),
            "size_bytes": sum(tally.size_bytes for tally in own),
            "text_chars": sum(tally.text_chars for tally in own),
            "decode_seconds": round(sum(tally.seconds for tally in own), 3),
            "by_status": _by_status(own),
        }
        for name, own in sorted(formats.items())
    }


def _datasets(results: Sequence[ShardResult]) -> dict[str, Any]:
    datasets: dict[str, Any] = {}
    for dataset in DATASETS:
        parts = [part for result in results for part in result.parts if part.dataset == dataset.name]
        datasets[dataset.name] = {
            "rows": sum(part.rows for part in parts),
            "bytes": sum(part.bytes for part in parts),
            "parts": [{"path": part.path, "rows": part.rows, "bytes": part.bytes, "sha256": part.sha256} for part in parts],
        }
    return datasets
