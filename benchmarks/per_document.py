"""CPU time and memory of each document, in a warm child: plain `partition()` on one side, the job's whole decode on the other.

Both sides read the same bytes in turn, in children of `transforms.isolation` that live as long as the job's do; they differ in one
variable, whether anything is accelerated. The plain side gives elements and no more; ours writes the commit: sections, offsets, pictures,
provenance. Tools that a decode starts (pandoc) count.
"""

import cProfile
import os
import pstats
import resource
import shutil
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from transforms.decode import digest_file  # noqa: E402 - a script finds the package beside it
from transforms.isolation.pool import ChildFailure, ChildPool  # noqa: E402
from transforms.model import DocumentReference  # noqa: E402
from transforms.partition.environment import ACCELERATION, DECODE_ENVIRONMENT  # noqa: E402
from transforms.settings import DecodeSettings, Limits, Strategy  # noqa: E402

LARGE_CHILD = 1 << 14
"""MiB that a child may keep, and so none is replaced between two documents: a new one has cold caches."""


@dataclass(frozen=True)
class Reading:
    """One document, read once by one side."""

    name: str
    group: str
    size: int
    """Bytes."""
    pages: int
    """Of a PDF; else 0."""
    side: str
    """`plain` or `decoder`."""
    cpu_seconds: float
    memory_mb: float
    """The most that the decode added to its child, MB, the tools that it started not counted."""


# --- in the children ---------------------------------------------------------------------------------------------------------------------


def plain(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """unstructured's own elements of the file in the folder."""
    from unstructured.partition.auto import partition

    before = _cpu()
    try:
        partition(filename=str(folder / request["name"]), strategy="fast")
    except Exception as error:
        return {"seconds": _cpu() - before, "error": type(error).__name__}
    return {"seconds": _cpu() - before}


def preload_plain() -> None:
    """Imports in the zygote what `partition()` needs, as the job's own preload does."""
    from transforms.partition.nlp import install_nlp, warm_up

    install_nlp()
    warm_up()


def decoder(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a child of the job does; with `profile`, the seconds that each part of it took as well."""
    from transforms.decode import decode_file
    from transforms.isolation.processes import high_water_bytes, resident_bytes

    (folder / request["name"]).rename(folder / "document")
    resident = resident_bytes(os.getpid())
    profile = cProfile.Profile(time.process_time) if request["profile"] else None
    before = _cpu()
    if profile is None:
        decode_file(request["decode"], folder)
    else:
        profile.runcall(decode_file, request["decode"], folder)
    seconds, added = _cpu() - before, max(high_water_bytes() - resident, 0)  # `decode_file` starts the high water anew
    return {"seconds": seconds, "added": added / 1e6, "profile": shares(profile) if profile else {}}


def _cpu() -> float:
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in found)


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Seconds by part: a package, or a folder of `transforms`. What has no file of its own (built-in and compiled functions) counts for
    what has called it."""
    found: Counter[str] = Counter()
    for (file, _, name), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if not file.startswith("~"):
            found[part_of(file)] += own
            continue
        for (caller, _, _), (_, _, share, _) in callers.items():
            found["PDF kernel" if "pdf_kernel" in name else part_of(caller)] += share
    return dict(found)


def part_of(file: str) -> str:
    """`spacy`, `transforms/sections`, …"""
    packages = sysconfig.get_paths()["purelib"]
    if file.startswith(packages):
        return Path(file).relative_to(packages).parts[0].removesuffix(".py")
    if file.startswith(str(ROOT)):
        parts = Path(file).relative_to(ROOT).parts
        return "/".join(parts[: 3 if parts[1:2] == ("partition",) and len(parts) > 3 else 2]).removesuffix(".py")
    return "Python" if file.startswith("/") else "compiled"


# --- on this side ------------------------------------------------------------------------------------------------------------------------


def pool(side: str) -> ChildPool:
    """A child of one side."""
    here = Path(__file__)
    preload = f"{here.stem}:preload_plain" if side == "plain" else "transforms.decode:preload"
    switch = {ACCELERATION: "off"} if side == "plain" else {}
    return ChildPool(
        1,
        Limits(timeout=900),
        f"{here.stem}:{side}",
        preload,
        python_path=[str(here.parent)],
        environment={**DECODE_ENVIRONMENT, **switch},
        max_documents=10_000,
        retained_memory=LARGE_CHILD,
    )


def call(side: ChildPool, path: Path, *, profile: bool = False) -> Mapping[str, Any]:
    """What came of a file.

    Raises:
      ChildFailure: its child ended.
    """
    digest, size = digest_file(path)
    request = {
        "name": path.name,
        "profile": profile,
        "decode": {
            "reference": DocumentReference(uri=path.as_uri())._asdict(),
            "digest": digest,
            "size": size,
            "settings": DecodeSettings(strategy=Strategy.FAST).to_json(),
            "limits": asdict(Limits()),
            "started_at": "2026-01-01T00:00:00Z",
            "failures": {},
        },
    }
    with side.lease() as child:
        shutil.copyfile(path, child.folder / path.name)
        return child.call(request)


def read(files: Sequence[tuple[str, Path]], rounds: int) -> Iterator[Reading]:
    """Reads all files on both sides, once a round.

    Args:
      files: with the group of each.
    """
    with pool("plain") as plain_side, pool("decoder") as decoder_side:
        for turn in range(rounds):
            for number, (group, path) in enumerate(files):
                for side in ("plain", "decoder") if (number + turn) % 2 else ("decoder", "plain"):
                    try:
                        answer = call(plain_side if side == "plain" else decoder_side, path)
                    except ChildFailure as failure:
                        print(f"{path.name}, {side}: {failure.status}: {failure.message}", file=sys.stderr)
                        continue
                    yield Reading(
                        path.name,
                        group,
                        path.stat().st_size,
                        _pages(path),
                        side,
                        round(answer["seconds"], 5),
                        round(answer.get("added", 0.0), 1),
                    )


def profiles(files: Sequence[Path]) -> dict[str, dict[str, float]]:
    """Seconds by format and part, under Python's profiler, which makes many small functions look dearer than they are."""
    found: dict[str, Counter[str]] = {}
    with pool("decoder") as side:
        for path in files:
            try:
                answer = call(side, path, profile=True)
            except ChildFailure:
                continue
            found.setdefault(path.suffix.lower(), Counter()).update(answer["profile"])
    return {suffix: dict(parts) for suffix, parts in found.items()}


def _pages(path: Path) -> int:
    if path.suffix.lower() != ".pdf":
        return 0
    import pypdfium2

    try:
        return len(pypdfium2.PdfDocument(path))
    except pypdfium2.PdfiumError:
        return 0
