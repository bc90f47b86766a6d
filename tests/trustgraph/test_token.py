"""The token without a TrustGraph: where it comes from, and that it goes nowhere else."""

import pickle
from pathlib import Path

import pytest

from transforms.errors import UsageError
from transforms.trustgraph.gateway import Token, read_token


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
