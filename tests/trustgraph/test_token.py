"""The token without a TrustGraph: where it comes from, and that it goes nowhere else."""

import pickle
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from transforms.errors import UsageError
from transforms.trustgraph.gateway import Gateway, NotAGatewayError, Token, read_token


def test_the_token_comes_from_the_file_that_is_named_else_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTGRAPH_TOKEN", " tg_environment ")
    assert read_token().reveal() == "tg_environment"
    file = tmp_path / "token"
    file.write_text("tg_file\n")
    assert read_token(str(file)).reveal() == "tg_file"


def test_what_is_no_token_is_refused_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRUSTGRAPH_TOKEN", raising=False)
    file = tmp_path / "token"

    def refusal(content: bytes | None) -> str:
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(UsageError) as refused:
            read_token(str(file) if content is not None else "")
        return refused.value.sentence

    assert refusal(None) == (
        "The gateway wants a token: put it into the environment as TRUSTGRAPH_TOKEN, or into a file that --librarian-token-file names."
    )
    assert (
        refusal(b"")
        == refusal(b"tg_secret more")
        == refusal(b"tg_secret\ntg_other")
        == f"The token file {file} holds no token: it must be one word."
    )
    assert refusal("tg_sécret".encode()) == f"The token file {file} holds no token: it is not ASCII."
    file.unlink()
    with pytest.raises(UsageError) as missing:
        read_token(str(file))
    assert missing.value.sentence == f"The token file {file} cannot be read: no such file or directory."


def test_a_token_shows_itself_in_no_text_and_no_pickle() -> None:
    token = Token("tg_secret")
    assert "tg_secret" not in f"{token} {token!r} {[token]}"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(token)


class Redirecting(BaseHTTPRequestHandler):
    """Sends all elsewhere, as a proxy before a gateway may."""

    elsewhere = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(307)
        self.send_header("Location", f"{self.elsewhere}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.mark.parametrize(
    "ask",
    [
        lambda gateway: gateway.list_documents(),
        lambda gateway: list(gateway.stream_document("urn:doc:1")),
        lambda gateway: gateway.import_triples().__enter__(),
    ],
)
def test_the_token_follows_no_redirect(ask: Callable[[Gateway], object]) -> None:
    asked: list[str] = []

    class Elsewhere(Redirecting):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_POST = do_GET  # noqa: N815

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as other, ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        for each in (other, server):
            threading.Thread(target=each.serve_forever, daemon=True).start()
        Redirecting.elsewhere = f"http://127.0.0.1:{other.server_port}"
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(NotAGatewayError) as refused:
                ask(Gateway(url, Token("tg_secret")))
        finally:
            other.shutdown()
            server.shutdown()
    assert str(refused.value) == f"what answers at {url} is not TrustGraph's gateway (status 307)"
    assert asked == []
