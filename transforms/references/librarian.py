"""Lists a TrustGraph library through its gateway, and streams the bytes of its documents."""

import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any

from transforms.backoff import Backoff
from transforms.errors import JobFailed, UsageError
from transforms.model import DocumentReference
from transforms.references.librarian_metadata import document_iri, is_source, is_wanted, to_reference
from transforms.references.listing import MissingInput
from transforms.storage import filesystem
from transforms.trustgraph.gateway import (
    CHECK_ATTEMPTS,
    LISTED_AT_MOST,
    DocumentUnknownError,
    Gateway,
    GatewayError,
    Part,
    TokenRefusedError,
    UnreachableError,
    WorkspaceUnknownError,
    read_token,
)
from transforms.trustgraph.library import GatewayAccess, Library, Place, document_uri

LOOK_UPS = 4
"""Requests for single documents at a time."""


# --- listing -----------------------------------------------------------------------------------------------------------------------------


def list_library(library: Library, *, collection: str = "") -> Iterator[DocumentReference]:
    """All documents of a library that are meant, each as a reference, sorted by nothing.

    Raises:
      MissingInput: the library cannot be listed, or not to its end, or holds nothing that is meant. Each with its sentence.
    """
    yield from _not_empty(_list(library, collection, None), library)


def list_library_in_job(library: Library, *, collection: str = "") -> Iterator[DocumentReference]:
    """The same in a job that runs: what stops it there ends the job, as a run without its library must not become the newest.

    Raises:
      JobFailed: with the sentence.
    """
    try:
        yield from list_library(library, collection=collection)
    except UsageError as error:
        raise JobFailed(error.sentence) from error


def check_library(library: Library) -> None:
    """Whether a library can be listed and holds a document that is meant: as `list_library`, but soon.

    Raises:
      UsageError: with the sentence.
    """
    with closing(_not_empty(_list(library, "", Backoff(attempts=CHECK_ATTEMPTS)), library)) as references:
        next(references)


def _list(library: Library, collection: str, backoff: Backoff | None) -> Iterator[DocumentReference]:
    if library.gateway is None:
        from transforms.references.librarian_store import list_store

        return list_store(library, collection)
    return _list_gateway(library, library.gateway, collection, backoff)


def _not_empty(references: Iterator[DocumentReference], library: Library) -> Generator[DocumentReference, None, None]:
    first = next(references, None)
    if first is None:
        conditions = [f"of the kind {kind}" for kind in library.kinds] + [f"with the tag {tag}" for tag in library.tags]
        wanted = f" {' or '.join(conditions)}" if conditions else ""
        raise MissingInput(f"The library of workspace {library.workspace} at {library.place} holds no document{wanted}.")
    yield first
    yield from references


def _list_gateway(library: Library, access: GatewayAccess, collection: str, backoff: Backoff | None) -> Iterator[DocumentReference]:
    gateway = Gateway(access.url, read_token(access.token_file), library.workspace, backoff=backoff)
    try:
        if library.document_ids:
            yield from _look_up(gateway, library, collection)
            return
        rows = gateway.list_documents()
        if len(rows) >= LISTED_AT_MOST:
            raise MissingInput(truncated(library))
        for row in rows:
            if is_source(row) and is_wanted(row, library):
                yield to_reference(row, _uri(gateway, str(row["id"])), collection)
    except GatewayError as error:
        raise MissingInput(explain(error, access.url, library.workspace)) from error
    finally:
        gateway.close()


def truncated(library: Library) -> str:
    """The sentence about a listing that has come to the librarian's limit."""
    return (
        f"The library of workspace {library.workspace} at {library.place} cannot be listed to its end: its librarian tells of the first "
        f"{LISTED_AT_MOST:,} rows only, pages and chunks among them, and there are as many. Read its tables and its bucket with "
        "--librarian-store, or name the documents with --document-ids."
    )


def explain(error: GatewayError, url: str, workspace: str) -> str:
    """The sentence for what a gateway has refused: what is wrong, and what to do."""
    match error:
        case TokenRefusedError():
            return f"The gateway {url} refuses the token ({error}): give one that may read the documents of workspace {workspace}."
        case WorkspaceUnknownError():
            return f"The gateway {url} knows no workspace {workspace}: give the right one with --workspace."
        case UnreachableError():
            return f"{_sentence(str(error))}: is it running, and is the address right?"
        case _:
            return f"{_sentence(str(error))}."


def _sentence(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _uri(gateway: Gateway, document_id: str) -> str:
    return document_uri(Place(gateway.url, gateway.workspace, document_id))


def _look_up(gateway: Gateway, library: Library, collection: str) -> Iterator[DocumentReference]:
    """The documents of a list of ids, in its order; one that is not there, or is no source, is a reference with a problem."""

    def find(document_id: str) -> DocumentReference | None:
        try:
            row: Mapping[str, Any] | None = gateway.document_metadata(document_id)
        except DocumentUnknownError:
            row = None
        return named_reference(row, document_id, _uri(gateway, document_id), library, collection)

    with ThreadPoolExecutor(LOOK_UPS) as threads:
        ids = read_document_ids(library.document_ids)
        while batch := list(islice(ids, 100)):
            yield from (reference for reference in threads.map(find, batch) if reference is not None)


def named_reference(
    row: Mapping[str, Any] | None, document_id: str, uri: str, library: Library, collection: str
) -> DocumentReference | None:
    """The reference of a document that was asked for by its id.

    Args:
      row: what the librarian tells of it; None: it has none.
    Returns:
      One with a `problem` where there is no such document, or it was made of another one; None where it is not of the kinds and tags.
    """
    if row is None:
        problem = f"There is no document {document_id} in workspace {library.workspace}."
    elif not is_source(row):
        parent = f" of {row['parent-id']}" if row.get("parent-id") else ""
        problem = f"{document_id} is {row.get('document-type') or 'a part'}{parent}, not a document that was put into the library."
    else:
        return to_reference(row, uri, collection) if is_wanted(row, library) else None
    return DocumentReference(uri=uri, document_id=document_iri(document_id), collection=collection, problem=problem)


def read_document_ids(file: str) -> Iterator[str]:
    """The ids of a file, one a line, each once; empty lines are passed over.

    Raises:
      MissingInput: it cannot be read, or holds none.
    """
    seen: set[str] = set()
    try:
        with filesystem.open_read(filesystem.to_uri(file)) as lines:
            for line in lines:
                document_id = line.decode("utf-8-sig" if not seen else "utf-8").strip()
                if document_id and document_id not in seen:
                    seen.add(document_id)
                    yield document_id
    except UnicodeDecodeError:
        raise MissingInput(f"The list of ids {file} is not UTF-8.") from None
    except (OSError, ValueError) as error:
        raise MissingInput(f"The list of ids {file} cannot be read: {filesystem.reason_of(error)}.") from error
    if not seen:
        raise MissingInput(f"The list of ids {file} holds none.")


# --- bytes -------------------------------------------------------------------------------------------------------------------------------

_gateways: dict[tuple[str, str, str], Gateway] = {}
_gateways_lock = threading.Lock()


def shared_gateway(access: GatewayAccess, workspace: str) -> Gateway:
    """The one client of this worker process for a workspace: its connections are opened once, and its streams are counted.

    Raises:
      JobFailed: this machine has no token.
    """
    name = (access.url, access.token_file, workspace)
    with _gateways_lock:
        if name not in _gateways:
            try:
                token = read_token(access.token_file)
            except UsageError as error:
                raise JobFailed(error.sentence) from error
            _gateways[name] = Gateway(access.url, token, workspace, streams=access.streams)
        return _gateways[name]


class StreamedDocument:
    """The bytes of a document as they come, read like a file; its first part is there when it is made."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = iter(parts)
        self._next = next(self._parts, None)
        self.size = self._next.total if self._next else 0
        """Bytes, as announced."""

    def __enter__(self) -> "StreamedDocument":
        return self

    def __exit__(self, *exception: object) -> None:
        close = getattr(self._parts, "close", None)
        if close:
            close()  # the stream gives its connection back

    def read(self, _size: int = -1, /) -> bytes:
        """The next part, however long; nothing at the end.

        Raises:
          GatewayError: it does not come, or is not what was announced.
        """
        part, self._next = self._next, None
        part = part or next(self._parts, None)
        return part.content if part else b""
