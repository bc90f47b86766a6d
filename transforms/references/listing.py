"""Finds the documents of a folder, a file or a glob, wherever it lies, and never stops at what a grown library holds.

A library on a disk has names that are not UTF-8, links that lead nowhere or in circles, folders that nobody may read, sockets and pipes.
What cannot be read there is a reference with a `problem`, so that the run reports it; none of it ends the listing.

Patterns, on a local disk:

- a path that exists is that file or folder, even if its name looks like a glob;
- a folder stands for all the files in it, at any depth, hidden ones too;
- `*`, `?`, `[…]` match files within one folder, `**` any number of folders. Unlike in a shell they match hidden names.

A folder that is reached by links as well is listed once, under its own name if that is a part of the listing: so a circle of links ends by
itself, and a link to a neighbour (`latest -> 2024-05`) does not make a duplicate of each document.
"""

import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from transforms.errors import UsageError
from transforms.model import DocumentReference
from transforms.storage import s3
from transforms.storage.filesystem import is_local, local_path, missing_file_system, quote_segment, reason_of, to_uri

ANY_DEPTH = "**"
_GLOB = re.compile(r"[*?\[]")


class MissingInput(UsageError):  # noqa: N818 - what it means to the operator
    """A pattern or a references file that names nothing that can be read. The preflight finds it, before any work."""


def list_files(pattern: str, *, exclude: str = "") -> Iterator[DocumentReference]:
    """Lists the documents that a pattern names, in the order of their URIs (on S3 in that of the store).

    Args:
      pattern: a path or URI of a file or folder, or a glob (see the module).
      exclude: a folder (path or URI) whose content is not input: the job's own output; none if empty.
    Yields:
      One reference a file, with its size and a version token; one with a `problem` for what cannot be a document. A local listing holds the
      names of one folder, and of those above it, in memory; one on S3 a page of names; elsewhere all that match (Beam lists so).
    Raises:
      MissingInput: at the first step, or when nothing at all was found.
    """
    path = path_of(pattern)
    found = False
    for reference in _list_remote(pattern, exclude) if path is None else _list_local(pattern, path, exclude):
        found = True
        yield reference
    if not found:
        raise MissingInput(_nothing_found(pattern, path))


def path_of(pattern: str) -> str | None:
    """The absolute local path of a path or URI, with bytes that are not UTF-8 as surrogates; None on another file system.

    Raises:
      MissingInput: the text is no path.
    """
    if not pattern.strip():
        raise MissingInput("An empty path names no documents.")
    if not is_local(pattern):
        return None
    try:
        path = local_path(pattern)
    except ValueError as error:  # file://other-host/…
        raise MissingInput(str(error)) from error
    if "\0" in path:
        raise MissingInput(f"{pattern!r} is no path: it holds a NUL character.")
    return os.path.abspath(path)  # noqa: PTH100 - Path cannot hold `..` apart; paths stay plain strings in this module


def _nothing_found(pattern: str, path: str | None) -> str:
    if path is None:
        return f"{pattern} matches no file."
    if os.path.isdir(path):  # noqa: PTH112
        return f"The folder {path} holds no file to decode."
    if _GLOB.search(path):
        hint = "" if ANY_DEPTH in path else "; * stays within one folder, ** goes into all folders below"
        return f"{pattern} matches no file{hint}."
    return f"There is no file or folder {path}."


# --- versions ----------------------------------------------------------------------------------------


def local_version(status: os.stat_result) -> str:
    """The version token of a local file: it changes when the file is written."""
    return f"{status.st_size}-{status.st_mtime_ns}"


class RemoteFile(NamedTuple):
    """A file that is not on a local disk, as its store lists it."""

    uri: str
    size: int
    version: str


def _s3_file(found: s3.StoredObject) -> RemoteFile:
    return RemoteFile(found.uri, found.size, f"{found.size}-{found.etag}")


def _beam_file(file: Any) -> RemoteFile:
    """From the `FileMetadata` of a Beam file system; its version is size and time of writing, as Beam's listing has no etag."""
    version = f"{file.size_in_bytes}-{file.last_updated_in_seconds or 0:.3f}"
    return RemoteFile(file.path, file.size_in_bytes, version)


def find_version(reference: DocumentReference) -> DocumentReference:
    """Fills in the size and version of a reference that has none, as far as they can be had.

    What is wrong with the file is for the fetch to say. On an object store this is a request a document: a library of millions should give
    versions in its references file.
    """
    if reference.version or reference.problem or reference.locator:
        return reference
    try:
        path = path_of(reference.uri)
        if path is not None:
            status = os.stat(path)  # noqa: PTH116
            if not stat.S_ISREG(status.st_mode):
                return reference
            return reference._replace(size=status.st_size, version=local_version(status))
        if missing_file_system(reference.uri):
            return reference
        file = _stat_remote(reference.uri)
        return reference._replace(size=file.size, version=file.version) if file else reference
    except (OSError, ValueError, MissingInput):
        return reference


# --- local disk --------------------------------------------------------------------------------------


def _list_local(pattern: str, path: str, exclude: str) -> Iterator[DocumentReference]:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        if not _GLOB.search(path):
            raise MissingInput(_nothing_found(pattern, path)) from None
        base, segments = _split_glob(path)
    except OSError as error:
        raise MissingInput(f"{path} cannot be read: {reason_of(error)}.") from error
    else:
        if not os.path.isdir(path):  # noqa: PTH112
            yield _file_reference(path, to_uri(path))
            return
        base, segments = path, (ANY_DEPTH,)
    excluded = path_of(exclude) if exclude else None
    yield from _Walk(base, segments, os.path.realpath(excluded) if excluded else "").references()


def _split_glob(path: str) -> tuple[str, tuple[str, ...]]:
    """The folder above the first segment with a glob character, and the segments from there on."""
    parts = [part for part in path.split("/") if part]
    first = next(index for index, part in enumerate(parts) if _GLOB.search(part))
    return "/" + "/".join(parts[:first]), tuple(parts[first:])


def _file_reference(path: str, uri: str) -> DocumentReference:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114
            return DocumentReference(uri=uri, problem=f"{uri} is a link whose file cannot be read: {reason_of(error)}.")
        return DocumentReference(uri=uri, problem=f"{uri} cannot be read: {reason_of(error)}.")
    if not stat.S_ISREG(status.st_mode):
        return DocumentReference(uri=uri, problem=f"{uri} is {kind_of(status.st_mode)}, not a file.")
    return DocumentReference(uri=uri, size=status.st_size, version=local_version(status))


def kind_of(mode: int) -> str:
    """What a name stands for that is no file."""
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "a special file")


class _Entry(NamedTuple):
    """A name in a folder."""

    key: str
    """Its segment of the URI; a folder's with the slash that all URIs below it have, so that sorting by it sorts by URI."""
    name: str
    folder: bool
    link: bool


class _Folder(NamedTuple):
    """A folder to go into."""

    path: str
    uri: str
    """Ends in a slash."""
    states: frozenset[int]


@dataclass
class _Walk:
    """One walk below `base` that finds what matches `segments`; each file once, whatever the number of ways to match it.

    A *state* is an index into `segments`: the segment that the names in the current folder have to match. `**` keeps its state in the
    folders below.
    """

    base: str
    segments: tuple[str, ...]
    excluded: str
    """Real path of a folder that is left out, or empty."""
    visited: set[tuple[int, int, int]] = field(default_factory=set)
    """Device, inode and state of each folder that a `**` has gone into."""
    real_base: str = ""

    def references(self) -> Iterator[DocumentReference]:
        self.real_base = os.path.realpath(self.base)
        if self.real_base == self.excluded and ANY_DEPTH in self.segments:
            raise MissingInput(f"{self.base} is the job's own output folder: give the documents, or the output, a folder of their own.")
        if self.excluded and _is_within(self.real_base, self.excluded):
            self.excluded = ""  # documents in a folder inside of the output folder are meant
        # A stack of our own: a path of 4096 bytes may be 2048 folders deep, over the recursion limit.
        stack = [self._read(_Folder(self.base, to_uri(self.base).rstrip("/") + "/", frozenset({0})))]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, _Folder):
                stack.append(self._read(item))
            else:
                yield item

    def _read(self, folder: _Folder) -> "Iterator[DocumentReference | _Folder]":
        """The files of one folder, and the folders in it to go into, by URI."""
        try:
            states = self._first_visit(folder)
            entries = _read_folder(folder.path) if states else []
        except OSError as error:
            if folder.path == self.base:
                raise MissingInput(f"The folder {self.base} cannot be listed: {reason_of(error)}.") from error
            problem = f"The folder {folder.uri} cannot be listed, so its files are missing: {reason_of(error)}."
            yield DocumentReference(uri=folder.uri, problem=problem)
            return
        states = self._with_empty_any_depth(states)
        for entry in entries:
            path, uri = os.path.join(folder.path, entry.name), folder.uri + entry.key  # noqa: PTH118
            if not entry.folder:
                if any(self._is_match(state, entry.name) for state in states):
                    yield _file_reference(path, uri)
            elif (inside := self._states_inside(path, entry, states)) and not self._is_excluded(path, entry):
                yield _Folder(path, uri, inside)

    def _first_visit(self, folder: _Folder) -> frozenset[int]:
        """The states without each `**` that was in this very folder before, under another name."""
        status = os.stat(folder.path)  # noqa: PTH116
        marks = {state: (status.st_dev, status.st_ino, state) for state in folder.states if self.segments[state] == ANY_DEPTH}
        fresh = frozenset(state for state in folder.states if state not in marks or marks[state] not in self.visited)
        self.visited.update(marks.values())
        return fresh

    def _with_empty_any_depth(self, states: frozenset[int]) -> frozenset[int]:
        """`**` may stand for no folder at all: the segment after it may match here."""
        result = set(states)
        for state in states:
            following = state
            while self.segments[following] == ANY_DEPTH and following + 1 < len(self.segments):
                following += 1
                result.add(following)
        return frozenset(result)

    def _is_match(self, state: int, name: str) -> bool:
        segment = self.segments[state]
        return state == len(self.segments) - 1 and (segment == ANY_DEPTH or fnmatch.fnmatchcase(name, segment))

    def _states_inside(self, path: str, entry: _Entry, states: frozenset[int]) -> frozenset[int]:
        inside = set()
        for state in states:
            segment = self.segments[state]
            if segment == ANY_DEPTH:
                # What a leading `**` finds behind a link into its own tree it finds there without the link as well.
                if not (entry.link and state == 0 and _is_within(os.path.realpath(path), self.real_base)):
                    inside.add(state)
            elif state + 1 < len(self.segments) and fnmatch.fnmatchcase(entry.name, segment):
                inside.add(state + 1)
        return frozenset(inside)

    def _is_excluded(self, path: str, entry: _Entry) -> bool:
        # The real path costs a system call for each folder above it: only where the name or a link makes it possible.
        if not self.excluded or not (entry.link or entry.name == os.path.basename(self.excluded)):  # noqa: PTH119
            return False
        return _is_within(os.path.realpath(path), self.excluded)


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _read_folder(path: str) -> list[_Entry]:
    with os.scandir(path) as entries:
        return sorted(map(_entry, entries))


def _entry(entry: "os.DirEntry[str]") -> _Entry:
    try:
        folder = entry.is_dir()
    except OSError:  # such as a link to itself: `_file_reference` says what is wrong with it
        folder = False
    return _Entry(quote_segment(entry.name) + ("/" if folder else ""), entry.name, folder, entry.is_symlink())


# --- object stores and other Beam file systems -------------------------------------------------------


def _list_remote(pattern: str, exclude: str) -> Iterator[DocumentReference]:
    excluded = exclude.rstrip("/") + "/"
    for uri, size, version in match_remote(pattern):
        if exclude and uri.startswith(excluded) and not pattern.startswith(excluded):
            continue
        if uri.endswith("/"):  # an object of 0 bytes, which is how consoles of object stores show a folder
            continue
        yield DocumentReference(uri=uri, size=size, version=version)


def match_remote(pattern: str, limit: int | None = None) -> Iterator[RemoteFile]:
    """The files that a pattern matches, each once; a name that is no file is taken as the folder of that name.

    Args:
      pattern: on S3, or on a file system that Beam knows.
      limit: how many are enough.
    Yields:
      On S3 in the store's order, with one page of names in memory; elsewhere by URI, all in memory (Beam lists so).
    Raises:
      MissingInput: the scheme has no file system here, or the store cannot be reached or read.
    """
    if missing := missing_file_system(pattern):
        raise MissingInput(f"{pattern}: {missing}.")
    try:
        if not pattern.endswith("/") and (file := _stat_remote(pattern)):
            yield file
        elif s3.is_s3(pattern):
            yield from islice(map(_s3_file, _match_s3(pattern)), limit)
        else:
            yield from _match_elsewhere(pattern, limit)
    except (ValueError, OSError, ImportError) as error:  # BeamIOError is an OSError
        raise MissingInput(f"{pattern} cannot be listed: {reason_of(error)}.") from error


def _stat_remote(uri: str) -> RemoteFile | None:
    if s3.is_s3(uri):
        found = s3.stat(uri)
        return _s3_file(found) if found else None
    from apache_beam.io.filesystems import FileSystems

    return _beam_file(FileSystems.get_filesystem(uri).metadata(uri)) if FileSystems.exists(uri) else None


def _remote_patterns(pattern: str) -> list[str]:
    if not _GLOB.search(pattern):
        return [pattern.rstrip("/") + "/**"]
    # Beam's `**` is `.*`: between two slashes it asks for at least one folder (2.77.0).
    return [pattern, pattern.replace("/**/", "/")] if "/**/" in pattern else [pattern]


def _match_s3(pattern: str) -> Iterator[s3.StoredObject]:
    """One listing of all that begins as the pattern does; the globs mean what they do on Beam's other file systems."""
    from apache_beam.io.filesystem import FileSystem

    patterns = _remote_patterns(pattern)
    matches = [re.compile(FileSystem.translate_pattern(each), re.DOTALL).fullmatch for each in patterns]  # names may hold line feeds
    # Of two patterns the second is the shorter one, and begins as the first does up to its first glob.
    begin = min((each[: match.start()] for each in patterns if (match := _GLOB.search(each))), key=len)
    for found in s3.list_objects(begin):
        if any(match(found.uri) for match in matches):
            yield found


def _match_elsewhere(pattern: str, limit: int | None) -> Iterator[RemoteFile]:
    from apache_beam.io.filesystems import FileSystems

    patterns = _remote_patterns(pattern)
    results = FileSystems.match(patterns, [limit] * len(patterns))
    files = {file.path: file for result in results for file in result.metadata_list}
    for uri in sorted(files):
        yield _beam_file(files[uri])
