"""Lists a TrustGraph library from the librarian's own tables, page by page: for libraries that its gateway cannot list to their end.

The bytes of its documents are objects in its bucket, `doc/{object_id}`, written once under a name that is never used again: references
name them as such, and they are read as any object on S3. Tables and bucket as TrustGraph 2.4 to 2.11.1 has them.
"""

import calendar
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

from transforms.errors import UsageError
from transforms.model import DocumentReference
from transforms.references.librarian import named_reference, read_document_ids
from transforms.references.librarian_metadata import is_source, is_wanted, to_reference
from transforms.references.listing import MissingInput
from transforms.storage import s3
from transforms.trustgraph.library import Library, store_address

PAGE_ROWS = 1000
"""In memory at a time; a row has some hundred bytes, with RDF metadata some thousand."""
CONNECT_TIMEOUT = 10.0
REQUEST_TIMEOUT = 60.0
COLUMNS = "id, time, kind, title, comments, metadata, tags, object_id, parent_id, document_type"


def list_store(library: Library, collection: str) -> Iterator[DocumentReference]:
    """All documents of a library that are meant, in the order of their ids, or of the list of ids that is given.

    Raises:
      UsageError: the driver is not installed, or the tables or the bucket cannot be read.
    """
    address = store_address(library.store)
    _check_bucket(address.bucket)
    with _session(library) as session:
        if library.document_ids:
            yield from _look_up(session, library, collection, address.bucket)
            return
        for row in _rows(session, library.workspace):
            if is_source(row) and is_wanted(row, library):
                yield to_reference(row, _uri(address.bucket, row), collection)


def _check_bucket(bucket: str) -> None:
    try:
        s3.check(f"{s3.PREFIX}{bucket}")
    except ImportError:
        raise UsageError(
            "--librarian-store reads S3, which this installation cannot: pip install 'universal-decoder[trustgraph]'."
        ) from None
    except OSError as error:
        raise MissingInput(f"The bucket {bucket} of the library cannot be read: {str(error).rstrip('.')}.") from error


@contextmanager
def _session(library: Library) -> Iterator[Any]:
    """A session in the librarian's keyspace; with a name and a password it is encrypted, as TrustGraph's own is."""
    try:
        from cassandra import DriverException, UnresolvableContactPoints
        from cassandra.auth import PlainTextAuthProvider
        from cassandra.cluster import Cluster, NoHostAvailable
    except ImportError:
        raise UsageError(
            "--librarian-store reads Cassandra, and there is no driver for it here: pip install 'universal-decoder[trustgraph]'."
        ) from None
    import ssl

    logging.getLogger("cassandra").setLevel(logging.CRITICAL)  # it logs the stack of each attempt, of which the last is raised
    address = store_address(library.store)
    user, password = os.environ.get("CASSANDRA_USERNAME", ""), os.environ.get("CASSANDRA_PASSWORD", "")
    secured: dict[str, Any] = (
        {"auth_provider": PlainTextAuthProvider(user, password), "ssl_context": ssl.create_default_context()} if user and password else {}
    )
    with ExitStack() as stack:
        try:
            cluster = Cluster(list(address.hosts), port=address.port, connect_timeout=CONNECT_TIMEOUT, **secured)
            stack.callback(cluster.shutdown)
            session = cluster.connect()
            session.default_timeout = REQUEST_TIMEOUT
            session.set_keyspace(address.keyspace)
            yield session
        except UnresolvableContactPoints as error:
            raise MissingInput(f"{library.store} cannot be read: no address is known of {' or '.join(address.hosts)}.") from error
        except (NoHostAvailable, DriverException) as error:
            raise MissingInput(f"{library.store} cannot be read: {_cause(error)}.") from error


def _cause(error: Any) -> str:
    """The server's own words, or what kept the first host from having any."""
    reasons = list(error.errors.values()) if isinstance(getattr(error, "errors", None), Mapping) else []
    reason = reasons[0] if reasons else error
    if isinstance(reason, OSError) and reason.strerror:
        return str(reason.strerror).lower()
    text = " ".join(str(reason).split())
    said = re.search(r'message="(.*?)"', text)
    return (said[1] if said else text)[:200].rstrip(".") or type(error).__name__


def _rows(session: Any, workspace: str) -> Iterator[dict[str, Any]]:
    statement = session.prepare(f"SELECT {COLUMNS} FROM document WHERE workspace = ?")  # noqa: S608 - our own columns
    statement.fetch_size = PAGE_ROWS
    yield from map(_row, session.execute(statement, (workspace,)))  # the driver asks for the next page where one ends


def _look_up(session: Any, library: Library, collection: str, bucket: str) -> Iterator[DocumentReference]:
    from cassandra.concurrent import execute_concurrent_with_args

    statement = session.prepare(f"SELECT {COLUMNS} FROM document WHERE workspace = ? AND id = ?")  # noqa: S608 - our own columns
    ids = read_document_ids(library.document_ids)
    while batch := list(islice(ids, 100)):
        results = execute_concurrent_with_args(session, statement, [(library.workspace, each) for each in batch])
        for document_id, (_success, found) in zip(batch, results, strict=True):
            row = next(map(_row, found), None)
            uri = _uri(bucket, row) if row else f"{s3.PREFIX}{bucket}/{document_id}"
            reference = named_reference(row, document_id, uri, library, collection)
            if reference is not None:
                yield reference


def _uri(bucket: str, row: Mapping[str, Any]) -> str:
    return f"{s3.PREFIX}{bucket}/doc/{row['object-id']}"


def _row(row: Any) -> dict[str, Any]:
    """A row of the table in the gateway's words."""
    return {
        "id": row.id,
        "time": calendar.timegm(row.time.timetuple()) if row.time else 0,
        "kind": row.kind,
        "title": row.title,
        "comments": row.comments,
        "metadata": [_triple(*triple) for triple in row.metadata or ()],
        "tags": list(row.tags or ()),
        "parent-id": row.parent_id,
        "document-type": row.document_type,
        "object-id": str(row.object_id),
    }


def _triple(*parts: Any) -> dict[str, Any]:
    """From value and whether it is an IRI, three times."""
    terms: Iterable[Any] = zip(parts[::2], parts[1::2], strict=True)
    return dict(zip("spo", ({"t": "i", "i": value} if is_iri else {"t": "l", "v": value} for value, is_iri in terms), strict=True))
