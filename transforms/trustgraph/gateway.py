"""A client of TrustGraph's gateway: its librarian, its triples, and the token that opens them.

REST for what is one request and one answer, a websocket for the bytes of a document: the gateway's `document-stream` over HTTP answers
every failure with an empty 200, while the websocket tells the size first and names what went wrong (read and run with 2.9.12 and 2.11.1).
`trustgraph-base` brings a client as well, which is not used: its `stream_document_to_file` keeps the last chunk of a document only, and it
tries nothing again.

The token is a `Token`: it prints as stars and refuses to be pickled, so that no log, manifest or serialized step can hold it.
"""

import base64
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast
from urllib.parse import quote, urlencode, urlsplit

from transforms.backoff import Backoff
from transforms.errors import UsageError

TOKEN_VARIABLE = "TRUSTGRAPH_TOKEN"  # noqa: S105 - its name
URL_VARIABLE = "TRUSTGRAPH_URL"
WORKSPACE_VARIABLE = "TRUSTGRAPH_WORKSPACE"
"""As TrustGraph's own commands read them."""
DEFAULT_WORKSPACE = "default"
DEFAULT_FLOW = "default"
API = "/api/v1"

ATTEMPTS = 8
"""Of a request that only reads: about half a minute, which the restart of a gateway passes within."""
CHECK_ATTEMPTS = 2
"""Of the preflight's requests: who has mistyped an address must not wait for the answer."""
CONNECT_TIMEOUT = 10.0
TIMEOUT = 120.0
"""Seconds for one answer, and between two parts of a document. The librarian itself tries a blob that is missing for 32 s."""
QUIET = 1.0
"""Seconds without the first part of a document after which it may be an empty one (see `stream_document`)."""
STREAMS = 4
"""Of one process at a time. A librarian takes the requests of a workspace one after the other: more streams wait in line (2.11.1)."""
MAX_FRAME = 64 << 20
"""Bytes of one frame that is taken: a part has 1 MiB, 1.4 MiB as base64; the gateway itself takes frames of up to 50 MiB."""
PART_BYTES = 5 << 20
"""Of an upload: the least that S3 takes of a part which is not the last."""
LISTED_AT_MOST = 5000
"""Rows, children included, after which `list-documents` ends without a word (2.8 to 2.11.1: the first page of the Cassandra driver)."""

FAILED_ATTEMPTS = 2
"""Of a request that TrustGraph itself says has failed: it has tried its bucket for 32 s by then, and kept all others waiting."""

_PASSING_STATUS = frozenset({408, 429, 500, 502, 503, 504})
_PASSING_ERRORS = frozenset({"unexpected-error", "gateway-error", "error"})

# A library's debug log would hold the token: the import socket takes it in its URL only.
_SILENT = logging.getLogger("universal-decoder.websocket")
_SILENT.setLevel(logging.CRITICAL)


# --- what can go wrong -----------------------------------------------------------------------------------------------------------------


class GatewayError(Exception):
    """A request that failed. The message is a clause to end a sentence, without a full stop: "the gateway … refuses the token"."""

    may_pass = False
    """Whether the same request may succeed later."""


class UnreachableError(GatewayError):
    """No answer, or none in time; tried again as often as is of use."""

    may_pass = True


class TokenRefusedError(GatewayError):
    """The token is wrong, has ended, or gives no right to this."""


class WorkspaceUnknownError(GatewayError):
    """There is no such workspace, or this token must not see it."""


class NotAGatewayError(GatewayError):
    """Something answers at the address that is no gateway of TrustGraph."""


class OperationFailedError(GatewayError):
    """TrustGraph took the request and says that it failed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"TrustGraph says: {message or kind}")
        self.kind = kind
        """`request-error`, `unexpected-error` or `gateway-error`."""
        self.answer = message
        self.may_pass = kind in _PASSING_ERRORS and "NoSuchKey" not in message  # a document whose blob is missing stays so


class DocumentUnknownError(OperationFailedError):
    """There is no such document in the workspace."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.may_pass = False


class DocumentExistsError(OperationFailedError):
    """There is a document with this id already: nothing was changed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.may_pass = False


class IncompleteError(GatewayError):
    """A stream of a document that ended early, or gave more than it had announced."""

    may_pass = True


def _not_a_gateway(url: str, status: int) -> NotAGatewayError:
    return NotAGatewayError(f"what answers at {url} is not TrustGraph's gateway (status {status})")


def attempts_at(error: GatewayError, backoff: Backoff) -> int:
    """How often a request that failed so is tried in all, where it may pass."""
    return min(FAILED_ATTEMPTS, backoff.attempts) if isinstance(error, OperationFailedError) else backoff.attempts


def _raise_failure(error: Any) -> NoReturn:
    """Raises what an `error` of an answer stands for: {"type", "message"}, or a text."""
    kind, message = (error.get("type", ""), error.get("message", "")) if isinstance(error, Mapping) else ("", str(error))
    if kind == "workspace-not-found" or message == "workspace not found":
        raise WorkspaceUnknownError("there is no such workspace")
    if kind in ("auth-required", "access-denied") or message in ("auth failure", "access denied"):
        raise TokenRefusedError(message or kind)
    if "already exists" in message:
        raise DocumentExistsError(kind, message)
    if "No such document" in message or "Document not found" in message:  # of the table (2.8 to 2.11.1), of a content request
        raise DocumentUnknownError(kind, message)
    raise OperationFailedError(kind, message)


# --- the token, and addresses ------------------------------------------------------------------------------------------------------------


class Token:
    """A secret that shows itself to the gateway only."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text, for the wire."""
        return self._text

    def __repr__(self) -> str:
        return "Token(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A token is not pickled: each process reads it from its own environment or file.")


def read_token(file: str = "", option: str = "--librarian-token-file") -> Token:
    """The token, from a file if one is named, else from the environment.

    Args:
      option: that names the file, for the sentence.
    Raises:
      UsageError: there is none, or it cannot be one.
    """
    if file:
        try:
            text = Path(file).read_text(encoding="ascii").strip()
        except UnicodeDecodeError:
            raise UsageError(f"The token file {file} holds no token: it is not ASCII.") from None
        except OSError as error:
            raise UsageError(f"The token file {file} cannot be read: {(error.strerror or str(error)).lower()}.") from None
        place = f"The token file {file}"
    else:
        text = os.environ.get(TOKEN_VARIABLE, "").strip()
        place = f"The environment variable {TOKEN_VARIABLE}"
        if not text:
            raise UsageError(
                f"The gateway wants a token: put it into the environment as {TOKEN_VARIABLE}, or into a file that {option} names."
            )
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise UsageError(f"{place} holds no token: it must be one word.")
    return Token(text)


def gateway_url(text: str) -> str:
    """The address of a gateway in its one form: scheme, host, port and a path before `/api/v1` if there is one.

    Raises:
      ValueError: with a clause that says what is wrong with it.
    """
    parts = urlsplit(text.strip())
    if parts.scheme not in ("http", "https"):
        raise ValueError("is no address of a gateway: it begins with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("holds a name or a password: only a token opens a gateway")
    if not parts.hostname or parts.query or parts.fragment:
        raise ValueError("is no address of a gateway: give one such as http://localhost:8088")
    try:
        parts.port  # noqa: B018 - parses it
    except ValueError:
        raise ValueError("has a port that is no number up to 65535") from None
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(API)}"


# --- the client --------------------------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """A piece of a document."""

    content: bytes
    total: int
    """Bytes of the whole document, as announced."""


class Gateway:
    """One gateway and one workspace, for all threads of a process.

    Requests that only read are tried again (`backoff`). Those that write are not: what they did before they failed is for the caller to
    find out.
    """

    def __init__(
        self,
        url: str,
        token: Token,
        workspace: str = DEFAULT_WORKSPACE,
        *,
        streams: int = STREAMS,
        backoff: Backoff | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """
        Args:
          url: as `gateway_url` gives it.
          streams: documents that are streamed at a time; further ones wait.
          backoff: of requests that only read.
          timeout: seconds for one answer, and between two parts of a stream.
        """
        self.url = url
        self.workspace = workspace
        self.is_lost = False
        """Whether it was gone for as long as is waited: for whoever asks for many documents to keep."""
        self._token = token
        self._backoff = backoff or Backoff(attempts=ATTEMPTS, longest=8.0)
        self._timeout = timeout
        self._local = threading.local()
        self._permits = threading.BoundedSemaphore(streams)
        self._idle: queue.LifoQueue[Socket] = queue.LifoQueue()

    def __repr__(self) -> str:
        return f"Gateway({self.url!r}, workspace={self.workspace!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A gateway is not pickled: it holds a token and connections.")

    # --- one request, one answer

    def call(self, service: str, body: Mapping[str, Any], *, reads: bool = False) -> dict[str, Any]:
        """One request over REST.

        Args:
          service: below `/api/v1/`: `librarian`, `flow/default/service/triples`, …
          body: without the workspace, which is added.
          reads: the request changes nothing, and so is tried again.
        Raises:
          GatewayError: also where TrustGraph answers with an error of its own (a 200 with `error`).
        """
        attempt = 1
        while True:
            try:
                return self._call_once(service, body)
            except GatewayError as error:
                if not reads or not error.may_pass or attempt >= attempts_at(error, self._backoff):
                    raise
            self._backoff.wait(attempt)
            attempt += 1

    def _call_once(self, service: str, body: Mapping[str, Any]) -> dict[str, Any]:
        import requests

        try:
            answer = self._session().post(
                f"{self.url}{API}/{service}",
                json={**body, "workspace": self.workspace},
                timeout=(CONNECT_TIMEOUT, self._timeout),
                allow_redirects=False,  # the token is for this address
            )
        except requests.Timeout:
            raise UnreachableError(f"the gateway {self.url} does not answer in time") from None
        except requests.RequestException as error:
            raise UnreachableError(f"the gateway {self.url} cannot be reached: {_cause(error)}") from None
        return self._content(answer.status_code, answer)

    def _content(self, status: int, answer: Any) -> dict[str, Any]:
        if status in _PASSING_STATUS:
            raise UnreachableError(f"the gateway {self.url} answers {status}")
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise _not_a_gateway(self.url, status)
        if content.get("error"):
            if status == 404 and content["error"] == "unknown kind":
                raise NotAGatewayError(f"the gateway {self.url} does not know this request")
            _raise_failure(content["error"])
        if status != 200:
            raise _not_a_gateway(self.url, status)
        return content

    def _session(self) -> Any:
        """The connection of this thread: a `requests.Session` is not meant for several."""
        import requests

        if not hasattr(self._local, "session"):
            session = requests.Session()
            session.trust_env = True  # proxies and certificates, as for all else
            session.auth = _Bearer(self._token)  # given explicitly, or a ~/.netrc would take the header's place
            self._local.session = session
        return self._local.session

    # --- the librarian

    def list_documents(self) -> list[dict[str, Any]]:
        """The metadata of all documents and their children, in no promised order, as far as the librarian tells: LISTED_AT_MOST rows."""
        answer = self.call("librarian", {"operation": "list-documents", "include-children": True}, reads=True)
        return list(answer.get("document-metadatas") or ())

    def document_metadata(self, document_id: str) -> dict[str, Any]:
        """What is known of a document: `id`, `time` (seconds), `kind`, `title`, `comments`, `metadata`, `tags`, `parent-id`, …

        Raises:
          DocumentUnknownError: there is none.
        """
        answer = self.call("librarian", {"operation": "get-document-metadata", "document-id": document_id}, reads=True)
        found = answer.get("document-metadata")
        if not isinstance(found, dict):
            raise DocumentUnknownError("request-error", "Document not found")
        return found

    def add_document(self, metadata: Mapping[str, Any], content: bytes) -> None:
        """Adds a document, in one message of the broker: see `upload` for what is too large for one.

        Args:
          metadata: `id`, `kind` and `time` at least; `parent-id` and `document-type` of a child.
        Raises:
          DocumentExistsError: its id is taken; nothing was changed.
        """
        body = {"operation": "add-document", "document-metadata": dict(metadata), "content": base64.b64encode(content).decode("ascii")}
        self.call("librarian", body)

    def remove_document(self, document_id: str) -> None:
        """Removes a document and its children (not theirs, 2.11.1)."""
        self.call("librarian", {"operation": "remove-document", "document-id": document_id})

    def begin_upload(self, metadata: Mapping[str, Any], size: int, part_bytes: int = PART_BYTES) -> str:
        """Begins an upload in parts. What comes of it has no RDF metadata, parent or type: the librarian drops them (2.8 to 2.11.1).

        Returns:
          Its id, for `upload_part` and `complete_upload`. The librarian forgets it after a day.
        """
        body = {"operation": "begin-upload", "document-metadata": dict(metadata), "total-size": size, "chunk-size": part_bytes}
        return str(self.call("librarian", body)["upload-id"])

    def upload_part(self, upload_id: str, index: int, content: bytes) -> None:
        """Sends a part, from 0; the same one twice is the same as once."""
        body = {
            "operation": "upload-chunk",
            "upload-id": upload_id,
            "chunk-index": index,
            "content": base64.b64encode(content).decode("ascii"),
        }
        self.call("librarian", body, reads=True)

    def complete_upload(self, upload_id: str) -> None:
        """Makes a document of the parts."""
        self.call("librarian", {"operation": "complete-upload", "upload-id": upload_id})

    def abort_upload(self, upload_id: str) -> None:
        """Throws the parts away."""
        self.call("librarian", {"operation": "abort-upload", "upload-id": upload_id})

    def upload(self, metadata: Mapping[str, Any], content: BinaryIO, size: int, part_bytes: int = PART_BYTES) -> None:
        """Adds a document of any size, with one part in memory. See `begin_upload` for what is lost on the way."""
        upload_id = self.begin_upload(metadata, size, part_bytes)
        try:
            for index, part in enumerate(iter(lambda: content.read(part_bytes), b"")):
                self.upload_part(upload_id, index, part)
            self.complete_upload(upload_id)
        except BaseException:
            with suppress(GatewayError):  # it ends by itself in a day; what went wrong before is what is told
                self.abort_upload(upload_id)
            raise

    def add_processing(
        self,
        processing_id: str,
        document_id: str,
        *,
        flow: str = DEFAULT_FLOW,
        collection: str,
        tags: Sequence[str] = (),
        at: int | None = None,
    ) -> None:
        """Hands a document of the library to a flow.

        Args:
          at: seconds; default: now.
        Raises:
          DocumentExistsError: there is a processing with this id already.
        """
        processing = {
            "id": processing_id,
            "document-id": document_id,
            "time": int(time.time()) if at is None else at,
            "flow": flow,
            "collection": collection,
            "tags": list(tags),
        }
        self.call("librarian", {"operation": "add-processing", "processing-metadata": processing})

    # --- triples

    def query_triples(
        self,
        *,
        s: Mapping[str, Any] | None = None,
        p: Mapping[str, Any] | None = None,
        o: Mapping[str, Any] | None = None,
        graph: str | None = None,
        collection: str | None = None,
        limit: int = 10_000,
        flow: str = DEFAULT_FLOW,
    ) -> list[dict[str, Any]]:
        """The triples that match, in the gateway's form: {"s", "p", "o", "g"}, terms {"t": "i", "i"} and {"t": "l", "v", "dt", "ln"}.

        Args:
          graph: its name; "": the default graph; None: all.
        """
        pattern: dict[str, Any] = {name: dict(term) for name, term in (("s", s), ("p", p), ("o", o)) if term is not None}
        if graph is not None:
            pattern["g"] = graph
        if collection is not None:
            pattern["collection"] = collection
        answer = self.call(f"flow/{quote(flow, safe='')}/service/triples", {**pattern, "limit": limit}, reads=True)
        return list(answer.get("response") or ())

    @contextmanager
    def import_triples(self, flow: str = DEFAULT_FLOW) -> Iterator["TriplesImport"]:
        """Opens the import socket of a flow. It acknowledges nothing: count back with `query_triples`.

        Raises:
          GatewayError: it cannot be opened.
        """
        query = urlencode({"token": self._token.reveal(), "workspace": self.workspace})
        with ExitStack() as stack:
            yield TriplesImport(_open(stack, self.url, f"/flow/{quote(flow, safe='')}/import/triples?{query}"))

    # --- bytes

    def stream_document(self, document_id: str) -> Iterator[Part]:
        """Streams the bytes of a document over a websocket, checked against the announced size; not tried again.

        Of a document without bytes the librarian sends nothing at all, for ever. It answers the requests of a workspace in their order:
        so, when nothing has come for QUIET seconds, the document's metadata is asked for, and when that is there and still no bytes, its
        whole content, which an empty document has none of (2.9.12, 2.11.1). Where librarians share the work that content may be the
        document: then it is taken.

        Yields:
          Its parts in order; none for an empty document.
        Raises:
          DocumentUnknownError: it is not there (any more).
          GatewayError: as ever.
        """
        with self._permits, self._socket() as socket:
            yield from socket.stream(document_id)

    @contextmanager
    def _socket(self) -> Iterator["Socket"]:
        """A connection to stream on: an idle one that still lives, or a new one. It is kept for the next unless something failed on it."""
        while True:
            try:
                socket = self._idle.get_nowait()
            except queue.Empty:
                socket = Socket(self.url, self._token, self.workspace, self._timeout)
                break
            if socket.is_open:
                break
            socket.close()
        try:
            yield socket
        finally:
            if socket.is_spent:
                socket.close()
            else:
                self._idle.put(socket)

    def close(self) -> None:
        """Ends the connections that are idle."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return


class _Bearer:
    """The header that opens the gateway, as an authentication of `requests`."""

    def __init__(self, token: Token) -> None:
        self._token = token

    def __call__(self, request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"
        return request


class Socket:
    """One authenticated websocket, for one request at a time."""

    def __init__(self, url: str, token: Token, workspace: str, timeout: float) -> None:
        self._url, self._workspace, self._timeout = url, workspace, timeout
        self._stack = ExitStack()
        self._last_id = 0
        self.is_spent = True
        """Not to be used for another request: one is under way, or was left unanswered."""
        self._connection = _open(self._stack, url, "/socket")
        try:
            self._authenticate(token)
        except BaseException:
            self.close()
            raise
        self.is_spent = False

    def _authenticate(self, token: Token) -> None:
        self._send({"type": "auth", "token": token.reveal()})
        answer = self._receive(self._timeout)
        if answer.get("type") != "auth-ok":
            raise TokenRefusedError(str(answer.get("error") or "auth failure"))

    @property
    def is_open(self) -> bool:
        return bool(self._connection.protocol.state.name == "OPEN")

    def close(self) -> None:
        """Ends the connection."""
        self._stack.close()

    def stream(self, document_id: str) -> Iterator[Part]:
        """See `Gateway.stream_document`."""
        self.is_spent = True
        stream = self._ask("stream-document", document_id)
        received = total = 0
        try:
            answer = self._answer(stream, timeout=QUIET, quiet=True)
        except TimeoutError:
            late = yield from self._stream_whole(stream, document_id)
            if late is None:
                return
            answer = late
        while True:
            response = answer["response"]
            content = base64.b64decode(response.get("content") or "")
            total = int(response.get("total-bytes") or 0)
            received += len(content)
            if received > total:
                raise IncompleteError(f"{received:,} bytes came of {total:,} that were announced")
            yield Part(content, total)
            if answer.get("complete"):
                break
            answer = self._answer(stream)
        if received != total:
            raise IncompleteError(f"it ended after {received:,} of {total:,} bytes")
        self.is_spent = False

    def _stream_whole(self, stream: str, document_id: str) -> Generator[Part, None, dict[str, Any] | None]:
        """Streams a document that seems to be empty; gives the first answer of the stream, should it come after all."""
        for operation in ("get-document-metadata", "get-document-content"):
            answer = self._answer(stream, self._ask(operation, document_id))
            if answer["id"] == stream:
                return answer
        if content := base64.b64decode(answer["response"].get("content") or ""):
            yield Part(content, len(content))
        return None

    def _ask(self, operation: str, document_id: str) -> str:
        self._last_id += 1
        name = str(self._last_id)
        # No chunk-size: a librarian may have a minimum (--min-chunk-size), and its default is never below.
        request = {"operation": operation, "document-id": document_id}
        self._send({"id": name, "workspace": self._workspace, "service": "librarian", "request": request})
        return name

    def _answer(self, *names: str, timeout: float | None = None, quiet: bool = False) -> dict[str, Any]:
        """The next answer to one of the requests; what else comes is passed over.

        Args:
          timeout: seconds; None: those of the socket.
          quiet: raises a TimeoutError when none has come in time, not an UnreachableError.
        """
        end = time.monotonic() + (self._timeout if timeout is None else timeout)
        while True:
            answer = self._receive(max(end - time.monotonic(), 0), quiet)
            error = answer.get("error") or (answer.get("response") or {}).get("error")
            if error and answer.get("id") in (*names, None):
                _raise_failure(error)
            if answer.get("id") in names:
                return answer

    def _send(self, message: Mapping[str, Any]) -> None:
        with _told(self._url):
            self._connection.send(json.dumps(message))

    def _receive(self, timeout: float, quiet: bool = False) -> dict[str, Any]:
        try:
            with _told(self._url, passing=(TimeoutError,)):
                message = self._connection.recv(timeout)
        except TimeoutError:
            if quiet:
                raise
            raise UnreachableError(f"the gateway {self._url} has sent nothing for {self._timeout:g} seconds") from None
        try:
            return cast(dict[str, Any], json.loads(message))
        except ValueError:
            raise NotAGatewayError(f"what answers at {self._url} is not TrustGraph's gateway") from None


class TriplesImport:
    """An open import socket."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def send(self, metadata: Mapping[str, Any], triples: Sequence[Mapping[str, Any]]) -> None:
        """Sends one message: `{"id", "root", "collection"}` and triples in the gateway's form, hundreds at most."""
        with _told("of the import"):
            self._connection.send(json.dumps({"metadata": dict(metadata), "triples": list(triples)}))


def _open(stack: ExitStack, url: str, path: str) -> Any:
    """Opens a websocket below `/api/v1` of a gateway, that the stack closes. Follows no redirect: the token is for this address."""
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import ClientConnection, connect

    class Unredirected(ClientConnection):  # type: ignore[misc]
        """`connect` follows a redirect that it knows by this exception (websockets 17.4), and has no option not to."""

        def handshake(self, *arguments: Any, **options: Any) -> None:
            try:
                super().handshake(*arguments, **options)
            except InvalidStatus as error:
                if 300 <= error.response.status_code < 400:
                    raise _not_a_gateway(url, error.response.status_code) from None
                raise

    with _told(url):
        return stack.enter_context(
            connect(
                "ws" + url.removeprefix("http") + API + path,
                open_timeout=CONNECT_TIMEOUT,
                close_timeout=2,
                compression=None,  # base64 of what is compressed already
                max_size=MAX_FRAME,
                max_queue=4,  # frames of 1.4 MiB
                logger=_SILENT,
                user_agent_header=None,
                create_connection=Unredirected,
            )
        )


@contextmanager
def _told(url: str, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turns what a websocket raises into a GatewayError."""
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

    try:
        yield
    except passing:
        raise
    except InvalidStatus as error:
        status = error.response.status_code
        if status in (401, 403):
            raise TokenRefusedError("auth failure") from None
        if status in _PASSING_STATUS:
            raise UnreachableError(f"the gateway {url} answers {status}") from None
        raise _not_a_gateway(url, status) from None
    except ConnectionClosed as error:
        raise UnreachableError(
            f"the gateway {url} has closed the connection ({error.rcvd.code if error.rcvd else 'without a word'})"
        ) from None
    except (WebSocketException, EOFError) as error:
        raise UnreachableError(f"the gateway {url} broke off: {type(error).__name__}") from None
    except OSError as error:  # TimeoutError of the opening among them
        raise UnreachableError(f"the gateway {url} cannot be reached: {_cause(error)}") from None


def _cause(error: BaseException) -> str:
    """The operating system's word for what `requests` and urllib3 have wrapped several times."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror.lower()
        reason = getattr(seen, "reason", None) or next((each for each in seen.args if isinstance(each, BaseException)), None)
        seen = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
    return "timed out" if isinstance(error, TimeoutError) else type(error).__name__
