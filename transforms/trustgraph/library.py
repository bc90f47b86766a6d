"""Which library of TrustGraph is meant, and where a document of one is."""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from transforms.trustgraph.gateway import API, DEFAULT_WORKSPACE, STREAMS, gateway_url

_STREAM = f"{API}/document-stream"


@dataclass(frozen=True)
class GatewayAccess:
    """The gateway that a process may show its token to, and where it finds that. It holds no secret: it is pickled with the job."""

    url: str
    """As `gateway_url` gives it."""
    token_file: str = ""
    """Where the token is, if not in the environment: a path on each machine."""
    streams: int = STREAMS
    """Documents that one worker process streams at a time."""


@dataclass(frozen=True)
class Library:
    """Which library, and which of its documents."""

    gateway: GatewayAccess | None = None
    """None: `store` is read."""
    store: str = ""
    """`cassandra://HOST,…[:PORT][/KEYSPACE][?bucket=NAME]`."""
    workspace: str = DEFAULT_WORKSPACE
    kinds: tuple[str, ...] = ()
    """MIME types, or globs of them; none: all."""
    tags: tuple[str, ...] = ()
    """A document has one of them at least; none: any."""
    document_ids: str = ""
    """URI or path of a file with one id a line: only these."""

    @property
    def place(self) -> str:
        """Where it is, for sentences."""
        return self.gateway.url if self.gateway else self.store


class Place(NamedTuple):
    """Where a document of a library is."""

    gateway: str
    workspace: str
    document_id: str
    """As the librarian has it."""


def document_uri(place: Place) -> str:
    """The URI of a document's bytes: what the gateway gives them at, to whoever has a token."""
    return f"{place.gateway}{_STREAM}?workspace={quote(place.workspace, safe='')}&document-id={quote(place.document_id, safe='')}"


def parse_document_uri(uri: str) -> Place | None:
    """The document that such a URI names; None where it is another URI."""
    if _STREAM not in uri or not uri.startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(uri)
        query = parse_qs(parts.query, strict_parsing=True, max_num_fields=8)
        if not parts.path.endswith(_STREAM) or set(query) != {"workspace", "document-id"}:
            return None
        return Place(gateway_url(uri.partition(_STREAM)[0]), query["workspace"][0], query["document-id"][0])
    except ValueError:
        return None


class StoreAddress(NamedTuple):
    """Where a librarian keeps what it knows."""

    hosts: tuple[str, ...]
    port: int
    keyspace: str
    bucket: str


def store_address(text: str) -> StoreAddress:
    """The parts of `cassandra://HOST,…[:PORT][/KEYSPACE][?bucket=NAME]`; TrustGraph's own names where they are left out.

    Raises:
      ValueError: with a clause that says what is wrong with it.
    """
    scheme, _, rest = text.strip().partition("://")
    place, _, query = rest.partition("?")
    if scheme != "cassandra" or not place:
        raise ValueError("is no address of Cassandra: give one such as cassandra://localhost, and its bucket's store as for all of S3")
    if "@" in place:
        raise ValueError("holds a name or a password: put them into CASSANDRA_USERNAME and CASSANDRA_PASSWORD")
    authority, _, keyspace = place.partition("/")
    *hosts, last = authority.split(",")
    last, _, port = last.partition(":")
    options = parse_qs(query, keep_blank_values=True)
    if not all((*hosts, last)) or set(options) - {"bucket"} or (port and not port.isdecimal()) or int(port or 1) > 65535:
        raise ValueError("is no address of Cassandra: give cassandra://HOST[,HOST...][:PORT][/KEYSPACE][?bucket=NAME]")
    if keyspace and not (keyspace.isidentifier() and keyspace.isascii()):
        raise ValueError(f"names a keyspace {keyspace} that cannot be one")
    return StoreAddress((*hosts, last), int(port or 9042), keyspace or "librarian", options.get("bucket", ["library"])[0] or "library")
