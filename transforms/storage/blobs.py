"""Image bytes in OUTPUT, named by their content: equal pictures of any documents are one file, and writing one again changes nothing."""

import hashlib
import os
import re
import shutil
from io import BufferedReader
from typing import BinaryIO, cast

from transforms.isolation.handover import LeftBehindError
from transforms.storage.filesystem import SCRATCH, join, publishing, size_of

_PATH = re.compile(r"blobs/sha256/([0-9a-f]{2})/(\1[0-9a-f]{62})\.[a-z0-9]{1,8}")


def put_blob(output: str, relative_path: str, source: BinaryIO) -> bool:
    """Publishes a file that is named by its content, unless one of that name and size is there.

    The size is compared because a power cut may leave a published blob truncated (see `storage.filesystem`): the next run mends it.

    Args:
      output: path or URI of OUTPUT.
      relative_path: as `ImageEntity.blob_path`.
      source: the open local file, from its start.
    Returns:
      Whether it was written.
    Raises:
      LeftBehindError: the path is none of a blob, or of a blob of another content. Both come from a process that a document may have taken
        over: it shall neither write elsewhere, nor put another picture in the place of one that other documents have.
    """
    named = _PATH.fullmatch(relative_path)
    if named is None:
        raise LeftBehindError("The decoding process has named a picture that is none.")
    uri = join(output, relative_path)
    if size_of(uri) == os.fstat(source.fileno()).st_size:
        return False
    with publishing(uri, scratch=join(output, SCRATCH)) as target:
        shutil.copyfileobj(source, target, 1 << 20)
        target.seek(0)
        # Of the copy: whoever left the source may still write to it.
        if hashlib.file_digest(cast(BufferedReader, target), "sha256").hexdigest() != named[2]:
            raise LeftBehindError("The decoding process has left a picture that is not the one that it names.")
    return True
