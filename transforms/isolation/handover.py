"""Takes over what a child has left in its folder, without trusting it: a parser that a document has taken over writes there what it likes.

A link would have the owner publish a file of the host, a pipe would have it wait for ever.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO


class LeftBehindError(Exception):
    """What a child has left is not what it should be; one sentence."""


def open_left(folder: Path, *names: str) -> BinaryIO:
    """Opens a regular file that a child has left.

    Args:
      folder: the lease's work folder, which no child can replace.
      names: of folders in it, and of the file; no link is followed on the way.
    Raises:
      LeftBehindError: it is not there, or is something else than a file.
    """
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW if hasattr(os, "O_PATH") else os.O_RDONLY)
    for index, name in enumerate(names):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_DIRECTORY if index + 1 < len(names) else 0)
        try:
            inner = os.open(name, flags, dir_fd=place)
        except OSError as error:
            raise LeftBehindError(f"The decoding process has left no file {'/'.join(names)}.") from error
        finally:
            os.close(place)
        place = inner
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise LeftBehindError(f"The decoding process has left no file {'/'.join(names)}.")
    return os.fdopen(place, "rb")


def create(path: Path) -> BinaryIO:
    """A new, empty file to write; what is there of that name goes, and is not followed if it is a link."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
