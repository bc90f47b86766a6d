"""Image bytes in OUTPUT, named by their content: equal pictures of any documents are one file, and writing one again changes nothing."""

from pathlib import Path

from transforms.storage.filesystem import SCRATCH, join, size_of, write_atomically


def put_blob(output: str, relative_path: str, file: Path) -> bool:
    """Publishes a file that is named by its content, unless one of that name and size is there.

    The size is compared because a power cut may leave a published blob truncated (see `storage.filesystem`): the next run mends it.

    Args:
      output: path or URI of OUTPUT.
      relative_path: as `ImageEntity.blob_path`.
      file: the local file; it stays.
    Returns:
      Whether it was written.
    """
    uri = join(output, relative_path)
    if size_of(uri) == file.stat().st_size:
        return False
    write_atomically(uri, file, scratch=join(output, SCRATCH))
    return True
