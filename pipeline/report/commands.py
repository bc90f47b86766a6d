"""The commands that a person is told to type next: pasted as they are, they work where they were read."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.machine import available_cpus
from pipeline.options.backfill import DEFAULT_COLLECTION, DEFAULT_SHARDS
from pipeline.options.limits import GUARDS
from pipeline.options.runners import DEFAULT_RUNNER
from pipeline.report.words import printable
from transforms.settings import DECODER, RANGE_PAGES, DecodeSettings, Limits
from transforms.trustgraph.gateway import DEFAULT_WORKSPACE, STREAMS

LIMIT_FLAGS: Mapping[str, str] = {
    **{"timeout": "document-timeout", "memory": "document-memory", "document_size": "max-document-size"},
    **{name.removeprefix("max_"): name.replace("_", "-") for name, *_ in GUARDS},
}
"""Field of `Limits` -> its flag. A field of `DecodeSettings` is named as its flag is."""
USUAL: Mapping[str, Any] = {
    "collection": DEFAULT_COLLECTION,
    "limit": None,
    "max_failures": None,
    "shards": DEFAULT_SHARDS,
    "runner": DEFAULT_RUNNER,
    "range_pages": RANGE_PAGES,
    "accelerated": True,
}
"""Options of a run besides, with their defaults. All but `OTHERWISE` are named as their flags are."""
OTHERWISE: Mapping[str, str] = {"range_pages": "pdf-range-pages", "accelerated": "acceleration"}
"""Option of a run -> its flag."""


def program() -> str:
    """How to start this program again: by its name where the shell finds it, else as it was started (`make` has it in .venv/bin)."""
    started = Path(sys.argv[0])
    found = shutil.which(DECODER)
    if started.name == "__main__.py":  # python -m pipeline
        return DECODER if found else f"{shlex.quote(sys.executable)} -m {started.parent.name}"
    if started.name != DECODER or not started.exists() or (found and os.path.samefile(found, started)):  # noqa: PTH121
        return DECODER
    return shlex.quote(sys.argv[0])


def command(*words: str) -> str:
    """A command of this program, quoted for the shell, with nothing in it that acts on the terminal."""
    return " ".join([program(), *(shlex.quote(printable(word)) for word in words)])


def backfill_again(manifest: Mapping[str, Any], output: str, *more: str) -> str:
    """The command of a run, from its manifest: sources, output, and every option that is not as it is by default.

    Options of Beam and of its runner are not told by a manifest, only the runner's name.

    Args:
      output: as it is written from here.
      more: flags to add.
    """
    return command("backfill", *_flags(manifest["settings"], manifest["options"], output), *more)


def _flags(settings: Mapping[str, Any], options: Mapping[str, Any], output: str) -> Iterator[str]:
    for flag, places in (("--input", options["inputs"]), ("--references", options["references"])):
        if places:
            yield from (flag, *places)
    yield from _library_flags(options.get("library") or {})
    yield from ("--output", output)
    for name, default in DecodeSettings().to_json().items():
        yield from _flag(name.replace("_", "-"), settings.get(name, default), default)
    limits = Limits()
    for name, flag in LIMIT_FLAGS.items():
        yield from _flag(flag, options["limits"].get(name, getattr(limits, name)), getattr(limits, name))
    for name, usual in USUAL.items():
        yield from _flag(OTHERWISE.get(name, name.replace("_", "-")), options.get(name, usual), usual)
    yield from _flag("children", options["children"], available_cpus())


def _library_flags(library: Mapping[str, Any]) -> Iterator[str]:
    """Of a TrustGraph library; a manifest of an earlier version has none."""
    if not library:
        return
    gateway = library["gateway"] or {}
    yield from ("--librarian", gateway["url"]) if gateway else ("--librarian-store", library["store"])
    yield from _flag("workspace", library["workspace"], DEFAULT_WORKSPACE)
    for flag, values in (("--kind", library["kinds"]), ("--tag", library["tags"])):
        if values:
            yield from (flag, *values)
    yield from _flag("document-ids", library["document_ids"], "")
    yield from _flag("librarian-token-file", gateway.get("token_file", ""), "")
    yield from _flag("librarian-streams", gateway.get("streams", STREAMS), STREAMS)


def _flag(name: str, value: Any, default: Any) -> Sequence[str]:
    if isinstance(default, tuple):
        value = tuple(value)  # JSON has lists
    if value == default:
        return ()
    if isinstance(value, bool):
        return (f"--{name}" if value else f"--no-{name}",)
    text = ",".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)
    return (f"--{name}", text)
