"""What one document may take of time, memory and size."""

import argparse

from pipeline.options.values import fraction, number_above_zero, whole_number
from transforms.settings import Limits

MAX_MIB = 1 << 30  # the kernel's limits are numbers of 63 bits, of bytes
GUARDS = (
    ("max_unpacked_size", "MIB", "MiB", "what an archive (Office formats, EPUB) may unpack to"),
    ("max_archive_ratio", "N", "times", "how many times its size an archive may unpack to"),
    ("max_archive_members", "N", "files", "files that an archive may hold"),
    ("max_nesting", "N", "levels", "how deep mails may lie in mails"),
    ("max_pages", "N", "pages", "pages that a PDF may have"),
    ("max_pixels", "MILLIONS", "millions of pixels", "millions of pixels that an image may have"),
)
"""Flag of each limit that is looked at before a document is decoded, and after `max_` the field of `Limits`; metavar, unit, help."""


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Adds the group, with `--max-failures`, which is of the run and in no `Limits`."""
    limits = Limits()
    group = parser.add_argument_group("limits", "a document over one of them becomes a dead letter; the job goes on")
    group.add_argument(
        "--document-timeout",
        metavar="SECONDS",
        type=number_above_zero("--document-timeout", "a time", "seconds", 600),
        default=limits.timeout,
        help=f"time that one document may take (default: {limits.timeout:g}), and as much again for each 4 MiB that it has, up to 16 times",
    )
    group.add_argument(
        "--document-memory",
        metavar="MIB",
        type=whole_number("--document-memory", "MiB", MAX_MIB),
        default=limits.memory,
        help="memory that the decoding of one document may take (default: %(default)s)",
    )
    group.add_argument(
        "--max-document-size",
        metavar="MIB",
        type=whole_number("--max-document-size", "MiB", MAX_MIB),
        default=limits.document_size,
        help="bytes that one document may have (default: %(default)s)",
    )
    for name, metavar, unit, text in GUARDS:
        flag = f"--{name.replace('_', '-')}"
        default = getattr(limits, name.removeprefix("max_"))
        number = whole_number(flag, unit, MAX_MIB if unit == "MiB" else None)
        group.add_argument(flag, metavar=metavar, type=number, default=default, help=f"{text} (default: %(default)s)")
    group.add_argument(
        "--max-failures",
        metavar="FRACTION",
        type=fraction("--max-failures"),
        default=None,
        help="exit with 3 when more than this part of all documents failed, such as 0.05 (default: never)",
    )


def read_limits(found: argparse.Namespace) -> Limits:
    """What is given, and the defaults for the rest."""
    return Limits(
        timeout=found.document_timeout,
        memory=found.document_memory,
        document_size=found.max_document_size,
        **{name.removeprefix("max_"): getattr(found, name) for name, *_ in GUARDS},
    )
