"""Where files are read and published: local disks by the operating system, S3 by `storage.s3`, all else through Beam's FileSystems.

It is apart from Beam because a decoding child must not import Beam (2.3 s and 110 MB), and because publishing must be atomic: a
reader sees the old object, the new one, or none, never half of one.

- Local: written under a temporary name, then renamed. Two processes that publish the same path at the same time are safe: each has a
  temporary name of its own and the last rename wins. All that goes into an OUTPUT has its temporary names in one folder there (`SCRATCH`),
  locked while they are written: what a killed process leaves is unlocked by the kernel, and `sweep` removes it.
- S3: one put. Elsewhere: the finished file is sent through one `FileSystems.create`, whose `close` is the publication on an object store
  (GCS and Azure show an object only when its upload is complete). No rename: object stores copy to rename, and Beam 2.77.0's
  `fileio.WriteToFiles` shows that a failed one can be reported as a success. On HDFS `create` is not atomic; a commit cut short there
  is found by its checksums.

What a power cut may lose: content that is not `durable` is renamed without an `fsync`, which is left to the kernel (about 30 s). The name
may then be there with a truncated or empty file behind it. Commits bear this (their checksums tell, they are decoded again), blobs too
(the commit that names them tells their size, and they are flushed by `settle` before a manifest is written). Parts, manifests and
`latest` are durable.
"""

import errno
import fcntl
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

from transforms.errors import JobFailed
from transforms.storage import s3

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")  # as apache_beam.io.filesystems.FileSystems.get_scheme
TEMPORARY_SUFFIX = ".tmp"
SCRATCH = ".writing"
"""Folder of OUTPUT for what is not whole yet: it must be on the disk of all the rest, as a file is published by renaming it."""
_COPY_BYTES = 1 << 20
_TRIES = 1000  # of 20 µs each: writers that sweep after every file take the folder from each other again and again
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


def name_of(uri: str) -> str:
    """The last segment of a URI as its file system has it: encoded in `file:` URIs, as it is elsewhere."""
    return os.path.basename(local_path(uri)) if is_local(uri) else uri.rpartition("/")[2]  # noqa: PTH119


def open_read(uri: str) -> BinaryIO:
    """Opens for reading, seekable, never decompressed. The caller closes it.

    Raises:
      FileNotFoundError: local, and not there. OSError, BeamIOError: as the file system says.
    """
    if is_local(uri):
        path = Path(local_path(uri))
        return path.open("rb")
    if s3.is_s3(uri):
        return s3.open_read(uri)
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
    if s3.is_s3(uri):
        found = s3.stat(uri)
        return found.size if found else None
    from apache_beam.io.filesystems import FileSystems

    if not FileSystems.exists(uri):
        return None
    return cast(int, FileSystems.get_filesystem(uri).size(uri))


def exists(uri: str) -> bool:
    """Whether a file (or, locally, a folder) has that name."""
    if is_local(uri):
        path = Path(local_path(uri))
        return path.exists()
    if s3.is_s3(uri):
        return s3.stat(uri) is not None
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


def write_atomically(uri: str, content: bytes | Path, *, scratch: str = "", durable: bool = False) -> int:
    """Publishes bytes, or the content of a local file, under a name; what was there is replaced.

    Args:
      uri: where to. Missing folders are made.
      content: a Path is copied and stays.
      scratch: as in `publishing`.
      durable: local only: an fsync of the file and of its folder (6 ms more on ext4), so that a power cut loses neither.
    Returns:
      The bytes written.
    """
    if s3.is_s3(uri):
        if isinstance(content, bytes):
            s3.put(uri, content)
            return len(content)
        with content.open("rb") as source:
            s3.put(uri, source)
            return source.tell()
    with publishing(uri, scratch=scratch, durable=durable) as target:
        if isinstance(content, Path):
            with content.open("rb") as source:
                shutil.copyfileobj(source, target, _COPY_BYTES)
        else:
            target.write(content)
        return target.tell()


@contextmanager
def publishing(uri: str, *, scratch: str = "", durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write (and to read again), published under `uri` when the block ends; when it raises, nothing is published.

    Args:
      uri: where to. Missing folders are made.
      scratch: local only: the folder for the temporary name, on the same disk; default: the folder of `uri`.
      durable: as in `write_atomically`.
    """
    if not is_local(uri):
        with TemporaryFile() as spool:  # the upload starts when its content is whole: an upload that is cut short is never published
            yield cast(BinaryIO, spool)
            spool.seek(0)
            _send(uri, cast(BinaryIO, spool))
        return
    path = Path(local_path(uri))
    with _create(Path(local_path(scratch)) if scratch else path.parent, path.name) as target:
        temporary = Path(target.name)
        try:
            yield target
            target.flush()
            if durable:
                os.fsync(target.fileno())
            os.close(os.dup(target.fileno()))  # a network disk tells of a full one when the file is closed, which is too late below
            _replace(temporary, path)  # before it is closed, and with that unlocked
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    if durable:
        _sync_folder(path.parent)


@contextmanager
def output_told(output: str) -> Iterator[None]:
    """Has an error of the output's file system end the job in a sentence: a full or read-only disk is no document's fault.

    Raises:
      JobFailed: instead of an OSError.
    """
    try:
        yield
    except OSError as error:
        place = local_path(output) if is_local(output) else output
        raise JobFailed(f"{place} cannot be read or written: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """Why a file cannot be read or written, in a form that ends a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    reason = " ".join(str(error).split()).removesuffix(" with exceptions None")  # BeamIOError says so when it has no more to say
    return reason.rstrip(".") or type(error).__name__


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
    if s3.is_s3(uri):
        if s3.stat(uri) is None:
            return False
        s3.delete([uri])
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
    if s3.is_s3(uri):
        s3.delete(found.uri for found in s3.list_objects(uri.rstrip("/") + "/"))
        return
    from apache_beam.io.filesystems import FileSystems

    names = [join(uri, file.name) for file in _list_elsewhere(uri, recursive=True)]
    if names:
        FileSystems.delete(names)


def sweep(uri: str) -> int:
    """Local only: removes the temporary files of a folder that no living process writes, and the folder if nothing is left.

    Returns:
      How many there were.
    """
    if not is_local(uri):
        return 0
    folder, count = Path(local_path(uri)), 0
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for temporary in folder.iterdir():
            with suppress(OSError), temporary.open("rb") as stream:  # OSError: it is locked, or published by now
                if _is_temporary(temporary.name):
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    temporary.unlink()
                    count += 1
        with suppress(OSError):  # not empty: others write
            folder.rmdir()
    return count


def settle(uri: str) -> None:
    """Local only: waits until all that was written so far (by whatever process of this machine) is on the disk.

    One `sync` before a manifest costs less than an fsync for each of thousands of commits and blobs.
    """
    if is_local(uri):
        os.sync()


def _is_temporary(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(TEMPORARY_SUFFIX)


def _create(folder: Path, name: str) -> BinaryIO:
    """A new file of a name of its own, locked for as long as it is open."""
    for _ in range(_TRIES):
        path = folder / f".{name[:100]}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
        try:
            stream = path.open("x+b")
        except FileNotFoundError:  # the rare case: asking for the folder before each write would cost more
            with suppress(FileExistsError):  # pathlib says so too where the folder was there, and gone when it looked whether it is one
                folder.mkdir(parents=True, exist_ok=True)
            continue
        if _is_locked(stream):
            return stream
        stream.close()
    raise FileNotFoundError(errno.ENOENT, f"{folder} vanishes as often as it is made")


def _is_locked(stream: BinaryIO) -> bool:
    """Locks a new file; False when `sweep` was faster."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: `sweep` gets none either, and leaves the file alone
        return True
    return os.fstat(stream.fileno()).st_nlink > 0


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
    if s3.is_s3(uri):
        s3.put(uri, source)
        return
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
    base = uri.rstrip("/") + "/"
    if s3.is_s3(uri):
        for found in s3.list_objects(base, within_folder=not recursive):
            yield ListedFile(found.uri.removeprefix(base), found.size)
        return
    from apache_beam.io.filesystems import FileSystems

    for result in FileSystems.match([base + ("**" if recursive else "*")]):
        for file in result.metadata_list:
            name = file.path.removeprefix(base)
            if recursive or "/" not in name:
                yield ListedFile(name, file.size_in_bytes)
