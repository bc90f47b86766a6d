"""Brings the bytes of one document from wherever they are into a file of the decoding child.

It holds no document in memory (inline ones excepted, which came from one line), stops at the size limit, and tries again what fails for a
moment only. What it cannot do becomes a `DecodeError` with one sentence, so that one document is lost and not the bundle.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from transforms.backoff import Backoff
from transforms.isolation.handover import create
from transforms.model import DecodeError, DocumentReference, Stage, Status
from transforms.references.librarian import StreamedDocument, shared_gateway
from transforms.references.listing import MissingInput, kind_of, local_version, path_of
from transforms.references.manifest_files import read_inline
from transforms.storage import s3
from transforms.storage.filesystem import missing_file_system, open_read, reason_of
from transforms.trustgraph.gateway import ATTEMPTS, DocumentUnknownError, GatewayError, UnreachableError, attempts_at
from transforms.trustgraph.library import GatewayAccess, Place, parse_document_uri

CHUNK_BYTES = 1 << 20

# Of a local disk: network file systems and a moment without file handles. All else there is as it is.
_PASSING = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTUNREACH,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENETUNREACH,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.EPIPE,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)


class _IncompleteError(OSError):
    """A store ended a download early: worth another try."""


def fetch(
    reference: DocumentReference,
    destination: Path,
    *,
    limit_bytes: int,
    backoff: Backoff | None = None,
    access: GatewayAccess | None = None,
) -> int:
    """Streams the bytes of a document into a file.

    Args:
      reference: where they are. Its size and version are what was listed: other bytes by now are an error, not a surprise.
      destination: written anew; removed again when the fetch fails.
      limit_bytes: largest document taken.
      backoff: how failures that may pass are tried again.
      access: the gateway that a document of a TrustGraph library may be asked for.
    Returns:
      The number of bytes.
    Raises:
      DecodeError: FETCH_FAILED or TOO_LARGE, with the sentence.
      JobFailed: this machine has no token for the gateway.
    """
    try:
        if place := parse_document_uri(reference.uri):
            return _fetch_streamed(reference, place, destination, limit_bytes, backoff, access)
        return _fetch(reference, destination, limit_bytes, backoff or Backoff())
    except BaseException:
        destination.unlink(missing_ok=True)
        raise


def _fetch(reference: DocumentReference, destination: Path, limit_bytes: int, backoff: Backoff) -> int:
    if reference.problem:
        raise DecodeError(Status.FETCH_FAILED, reference.problem, Stage.REFERENCE)
    _check_size(reference, reference.size, limit_bytes)
    attempt = 1
    while True:
        try:
            return _fetch_once(reference, destination, limit_bytes)
        except (OSError, ValueError) as error:
            if attempt >= backoff.attempts or not _may_pass(reference, error):
                tried = f" (tried {attempt} times)" if attempt > 1 else ""
                raise _failed(_sentence(reference, error) + tried + ".") from error
        except MissingInput as error:  # no path, such as in a dead letter that was edited
            raise _failed(error.sentence) from error
        backoff.wait(attempt)
        attempt += 1


def _fetch_streamed(
    reference: DocumentReference,
    place: Place,
    destination: Path,
    limit_bytes: int,
    backoff: Backoff | None,
    access: GatewayAccess | None,
) -> int:
    """Fetches a document of a TrustGraph library.

    A gateway that was gone for all attempts at one document is tried once for each further one, until it answers: a job that has thousands
    of documents left must not wait half a minute for each.
    """
    if reference.problem:
        raise DecodeError(Status.FETCH_FAILED, reference.problem, Stage.REFERENCE)
    if access is None or access.url != place.gateway:
        raise _failed(
            f"{place.document_id} is in the library of {place.gateway}, and the token is for {access.url if access else 'no gateway'}: "
            "name the right one with --librarian, or in the environment as TRUSTGRAPH_URL."
        )
    gateway = shared_gateway(access, place.workspace)
    backoff = backoff or Backoff(attempts=ATTEMPTS, longest=8.0)
    attempt = 1
    while True:
        try:
            with StreamedDocument(gateway.stream_document(place.document_id)) as source:
                _check_size(reference, source.size, limit_bytes)
                count = _write(reference, source, destination, limit_bytes)
        except DocumentUnknownError as error:
            raise _failed(f"{place.document_id} is gone from workspace {place.workspace} since it was listed.") from error
        except GatewayError as error:
            lost = isinstance(error, UnreachableError)
            if not error.may_pass or attempt >= attempts_at(error, backoff) or (lost and gateway.is_lost):
                gateway.is_lost = lost
                tried = f" (tried {attempt} times)" if attempt > 1 else ""
                raise _failed(f"{place.document_id} cannot be read: {error}{tried}.") from error
        else:
            gateway.is_lost = False
            return count
        backoff.wait(attempt)
        attempt += 1


def _fetch_once(reference: DocumentReference, destination: Path, limit_bytes: int) -> int:
    if reference.locator:
        data = read_inline(reference)
        _check_size(reference, len(data), limit_bytes)
        with _writing(destination), create(destination) as target:
            return target.write(data)
    path = path_of(reference.uri)
    if path is None:
        if missing := missing_file_system(reference.uri):
            raise _failed(f"{reference.uri} cannot be read: {missing}.")
        return _copy(reference, destination, limit_bytes)
    _check_file(reference, path, limit_bytes)
    count = _copy(reference, destination, limit_bytes)
    _check_file(reference, path, limit_bytes)  # written to while it was read
    return count


def _copy(reference: DocumentReference, destination: Path, limit_bytes: int) -> int:
    with _open(reference) as source:
        count = _write(reference, source, destination, limit_bytes)
    if 0 <= count < reference.size:
        raise _IncompleteError(f"it ended after {count:,} of {reference.size:,} bytes")
    if 0 <= reference.size < count:
        raise _failed(f"{reference.uri} has changed since it was listed: it has {count:,} bytes, not {reference.size:,}.")
    return count


def _write(reference: DocumentReference, source: BinaryIO | StreamedDocument, destination: Path, limit_bytes: int) -> int:
    count = 0
    with _writing(destination):
        target = create(destination)
    try:
        while chunk := source.read(CHUNK_BYTES):
            count += len(chunk)
            _check_size(reference, count, limit_bytes, at_least=True)
            with _writing(destination):
                target.write(chunk)
    finally:
        with _writing(destination):  # what is still to be written may find the disk full
            target.close()
    return count


def _open(reference: DocumentReference) -> BinaryIO:
    # A version that a references file gives is the user's own; a listing's begins with the size.
    if s3.is_s3(reference.uri) and reference.version.startswith(f"{reference.size}-"):
        return s3.open_read(reference.uri, etag=reference.version.partition("-")[2])
    return open_read(reference.uri)


def _check_file(reference: DocumentReference, path: str, limit_bytes: int) -> None:
    """Whether a local file is (still) the one that was listed. Before it is opened: to open a pipe waits for a writer for ever."""
    status = os.stat(path)  # noqa: PTH116
    if not stat.S_ISREG(status.st_mode):
        raise _failed(f"{reference.uri} is {kind_of(status.st_mode)}, not a file.")
    if reference.size >= 0 and status.st_size != reference.size:
        raise _failed(f"{reference.uri} has changed since it was listed: it has {status.st_size:,} bytes, not {reference.size:,}.")
    # A version that a references file gives is the user's own and says nothing of this file.
    if reference.version.startswith(f"{reference.size}-") and reference.version != local_version(status):
        raise _failed(f"{reference.uri} has changed since it was listed: it was written to again.")
    _check_size(reference, status.st_size, limit_bytes)


def _check_size(reference: DocumentReference, size: int, limit_bytes: int, *, at_least: bool = False) -> None:
    if size > limit_bytes:
        how = "more than " if at_least else f"{size:,} bytes, over "
        sentence = f"{reference.uri} has {how}the limit of {limit_bytes:,} bytes; --max-document-size sets it (in MiB)."
        raise DecodeError(Status.TOO_LARGE, sentence, Stage.FETCH)


@contextmanager
def _writing(destination: Path) -> Iterator[None]:
    """Keeps an error of the work folder apart from one of the document."""
    try:
        yield
    except OSError as error:
        raise _failed(f"The work folder {destination.parent} cannot take the document: {reason_of(error)}.") from error


def _failed(sentence: str) -> DecodeError:
    return DecodeError(Status.FETCH_FAILED, sentence, Stage.FETCH)


def _may_pass(reference: DocumentReference, error: Exception) -> bool:
    if isinstance(error, s3.StoreError):  # that has been tried for half a minute
        return False
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError | ValueError):
        return False
    if isinstance(error, _IncompleteError | ConnectionError | TimeoutError):
        return True
    # Beam's file systems wrap all that goes wrong in a BeamIOError, whose cause only its text tells.
    return path_of(reference.uri) is None or (isinstance(error, OSError) and error.errno in _PASSING)


def _sentence(reference: DocumentReference, error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return f"{reference.uri} is gone since it was listed" if reference.version else f"There is no file {reference.uri}"
        case s3.ChangedError():
            return f"{reference.uri} has changed since it was listed: it was written to again"
        case PermissionError() if s3.is_s3(reference.uri):
            return f"{reference.uri} may not be read: {reason_of(error)}"
        case PermissionError():
            return f"{reference.uri} may not be read: permission denied"
        case _:
            return f"{reference.uri} cannot be read: {reason_of(error)}"
