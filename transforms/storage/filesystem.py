"""Where files are read and published: local disks by the operating system, everything else through Beam's FileSystems.

It is apart from Beam because a decoding child must not import Beam (2.3 s and 110 MB), and because publishing must be atomic: a
reader sees the old object, the new one, or none, never half of one.

- Local: written under a temporary name in the same folder, then `os.replace`. Two processes that publish the same path at the same time
  are safe: each has a temporary name of its own and the last rename wins.
- Elsewhere: the finished file is sent through one `FileSystems.create`, whose `close` is the publication on an object store (S3, GCS,
  Azure show an object only when its upload is complete). No rename: object stores copy to rename, and Beam 2.77.0's
  `fileio.WriteToFiles` shows that a failed one can be reported as a success. On HDFS `create` is not atomic; a commit cut short there
  is found by its checksums.

What a power cut may lose: content that is not `durable` is renamed without an `fsync`, which is left to the kernel (about 30 s). The name
may then be there with a truncated or empty file behind it. Commits bear this (their checksums tell, they are decoded again), blobs too
(the commit that names them tells their size, and they are flushed by `settle` before a manifest is written). Parts, manifests and
`latest` are durable.
"""

import importlib.util
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import quote, unquote_to_bytes

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")  # as apache_beam.io.filesystems.FileSystems.get_scheme
TEMPORARY_SUFFIX = ".tmp"
_COPY_BYTES = 1 << 20
FILE_SYSTEMS: Mapping[str, tuple[str, str]] = {
    "gs": ("gcp", "google.cloud.storage"),
    "s3": ("aws", "boto3"),
    "azfs": ("azure", "azure.storage.blob"),
    "hdfs": ("hadoop", "hdfs"),
}
"""Scheme -> the extra of apache-beam that brings its file system, and the package by which it shows (Beam 2.77.0)."""


class ListedFile(NamedTuple):
    """A file of a folder."""

    name: str
    """Relative to the folder that was listed, with `/` between segments; percent-encoded only where the file system itself does."""
    size: int


def is_local(uri: str) -> bool:
    """Whether it is a plain path or a `file:` URI."""
    scheme = _SCHEME.match(uri)
    return scheme is None or scheme[1].lower() == "file"


def missing_file_system(uri: str) -> str:
    """Why nothing of a URI's scheme can be read or written here, and what to do; to end a sentence. Empty: it can.

    Beam itself tells in many ways (2.77.0): a ValueError for gs://, a BeamIOError for hdfs://, for s3:// and azfs:// a RuntimeError,
    AssertionError or AttributeError at the first use.
    """
    scheme = _SCHEME.match(uri)
    return "" if scheme is None or is_local(uri) else _missing_scheme(scheme[1].lower())


def configure(options: Any = None) -> None:
    """Gives Beam's file systems their options (a region, a host): S3 and Azure work with none but the defaults, and not without any.

    Args:
      options: Beam's `PipelineOptions`; default: its defaults. A pipeline does this by itself when it runs.
    """
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions

    FileSystems.set_options(PipelineOptions([]) if options is None else options)


@cache
def _missing_scheme(scheme: str) -> str:
    if scheme in FILE_SYSTEMS:
        extra, package = FILE_SYSTEMS[scheme]
        if _is_installed(package):
            return ""
        remedy = f"pip install 'apache-beam[{extra}]=={metadata.version('apache-beam')}'"
    else:
        from apache_beam.io.filesystem import FileSystem
        from apache_beam.io.filesystems import FileSystems  # noqa: F401 - registers those of Beam

        if any(known.scheme() == scheme for known in FileSystem.get_all_subclasses()):
            return ""
        *others, last = (f"{known}://" for known in FILE_SYSTEMS)
        remedy = f"use a local path, or one of {', '.join(others)} or {last}"
    return f"there is no file system for {scheme}:// here: {remedy}"


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def local_path(uri: str) -> str:
    """The path of a plain path or a `file:` URI, as the operating system takes it (names that are not UTF-8: surrogateescape).

    Raises:
      ValueError: neither, or a file of another host.
    """
    scheme = _SCHEME.match(uri)
    if scheme is None:
        return uri
    if not is_local(uri):
        raise ValueError(f"{uri} is not a local file.")
    host, slash, path = uri[scheme.end() :].partition("/")
    if host.lower() not in ("", "localhost") or not slash:  # RFC 8089, section 2
        raise ValueError(f"{uri} names the file of another host: use file:///, or a plain path.")
    return os.fsdecode(unquote_to_bytes(slash + path))


def quote_segment(name: str) -> str:
    """One segment of a `file:` URI, from the name as the operating system gives it."""
    return quote(os.fsencode(name), safe="")


def to_uri(path_or_uri: str) -> str:
    """The RFC 3986 URI of a path (absolute, percent-encoded bytes); a URI of another scheme stays as it is."""
    if not is_local(path_or_uri):
        return path_or_uri
    # abspath, as Path.absolute() keeps `..`, and a URI must not.
    return "file://" + quote(os.fsencode(os.path.abspath(local_path(path_or_uri))))  # noqa: PTH100


def join(base: str, *parts: str) -> str:
    """`base` and relative parts (`/` between segments); the parts are plain names and are encoded where `base` is a `file:` URI."""
    if _SCHEME.match(base) and is_local(base):
        parts = tuple(quote(os.fsencode(part)) for part in parts)
    return "/".join([base.rstrip("/"), *(part.strip("/") for part in parts)])


def open_read(uri: str) -> BinaryIO:
    """Opens for reading, seekable, never decompressed. The caller closes it.

    Raises:
      FileNotFoundError: local, and not there. OSError, BeamIOError: as the file system says.
    """
    if is_local(uri):
        path = Path(local_path(uri))
        return path.open("rb")
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    return cast(BinaryIO, FileSystems.open(uri, compression_type=CompressionTypes.UNCOMPRESSED))


def read_bytes(uri: str) -> bytes:
    """All of a file."""
    with open_read(uri) as stream:
        return stream.read()


def size_of(uri: str) -> int | None:
    """Bytes of the file; None where there is none."""
    if is_local(uri):
        path = Path(local_path(uri))
        try:
            return path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
    from apache_beam.io.filesystems import FileSystems

    if not FileSystems.exists(uri):
        return None
    return cast(int, FileSystems.get_filesystem(uri).size(uri))


def exists(uri: str) -> bool:
    """Whether a file (or, locally, a folder) has that name."""
    if is_local(uri):
        path = Path(local_path(uri))
        return path.exists()
    from apache_beam.io.filesystems import FileSystems

    return cast(bool, FileSystems.exists(uri))


def list_folder(uri: str, *, recursive: bool = False) -> list[ListedFile]:
    """The files of a folder, by name; none where the folder is not there. Temporary names are left out.

    Args:
      uri: the folder.
      recursive: also the files of its folders, at any depth.
    """
    found = _list_local(Path(local_path(uri)), "", recursive) if is_local(uri) else _list_elsewhere(uri, recursive)
    return sorted(file for file in found if not _is_temporary(file.name))


def write_atomically(uri: str, content: bytes | Path, *, durable: bool = False) -> int:
    """Publishes bytes, or the content of a local file, under a name; what was there is replaced.

    Args:
      uri: where to. Missing folders are made.
      content: a Path is copied and stays.
      durable: local only: an fsync of the file and of its folder (6 ms more on ext4), so that a power cut loses neither.
    Returns:
      The bytes written.
    """
    with publishing(uri, durable=durable) as target:
        if isinstance(content, Path):
            with content.open("rb") as source:
                shutil.copyfileobj(source, target, _COPY_BYTES)
        else:
            target.write(content)
        return target.tell()


@contextmanager
def publishing(uri: str, *, scratch: str = "", durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write, published under `uri` when the block ends; when it raises, nothing is published.

    Args:
      uri: where to. Missing folders are made.
      scratch: local only: the folder for the temporary name, on the same disk; default: the folder of `uri`. For a folder that others
        list while it is written.
      durable: as in `write_atomically`.
    """
    if not is_local(uri):
        with TemporaryFile() as spool:  # the upload starts when its content is whole: an upload that is cut short is never published
            yield cast(BinaryIO, spool)
            spool.seek(0)
            _send(uri, cast(BinaryIO, spool))
        return
    path = Path(local_path(uri))
    folder = Path(local_path(scratch)) if scratch else path.parent
    temporary = folder / f".{path.name[:100]}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
    try:
        with _create(temporary) as target:
            yield target
            if durable:
                target.flush()
                os.fsync(target.fileno())
        _replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    if durable:
        _sync_folder(path.parent)


def delete(uri: str) -> bool:
    """Deletes a file.

    Returns:
      Whether there was one.
    """
    if is_local(uri):
        path = Path(local_path(uri))
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        return True
    from apache_beam.io.filesystems import FileSystems

    if not FileSystems.exists(uri):
        return False
    FileSystems.delete([uri])
    return True


def delete_folder(uri: str) -> None:
    """Deletes a folder and all in it, where it is."""
    if is_local(uri):
        path = Path(local_path(uri))
        shutil.rmtree(path, ignore_errors=True)
        return
    from apache_beam.io.filesystems import FileSystems

    names = [join(uri, file.name) for file in _list_elsewhere(uri, recursive=True)]
    if names:
        FileSystems.delete(names)


def settle(uri: str) -> None:
    """Local only: waits until all that was written so far (by whatever process of this machine) is on the disk.

    One `sync` before a manifest costs less than an fsync for each of thousands of commits and blobs.
    """
    if is_local(uri):
        os.sync()


def _is_temporary(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(TEMPORARY_SUFFIX)


def _create(path: Path) -> BinaryIO:
    try:
        return path.open("xb")
    except FileNotFoundError:  # the rare case: asking for the folder before each write would cost more
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("xb")


def _replace(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.replace(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _send(uri: str, source: BinaryIO) -> None:
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    # Not a `with`: leaving it by an exception would close, and so publish, half an object.
    target = FileSystems.create(uri, mime_type="application/octet-stream", compression_type=CompressionTypes.UNCOMPRESSED)
    shutil.copyfileobj(source, target, _COPY_BYTES)
    target.close()


def _list_local(folder: Path, prefix: str, recursive: bool) -> Iterator[ListedFile]:
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            if entry.is_dir():
                if recursive:
                    yield from _list_local(Path(entry.path), f"{prefix}{entry.name}/", recursive)
                continue
            with suppress(FileNotFoundError):  # renamed or deleted since the listing
                yield ListedFile(prefix + entry.name, entry.stat().st_size)


def _list_elsewhere(uri: str, recursive: bool) -> Iterator[ListedFile]:
    from apache_beam.io.filesystems import FileSystems

    base = uri.rstrip("/") + "/"
    for result in FileSystems.match([base + ("**" if recursive else "*")]):
        for file in result.metadata_list:
            name = file.path.removeprefix(base)
            if recursive or "/" not in name:
                yield ListedFile(name, file.size_in_bytes)
