import pytest

from pipeline import cli
from pipeline.options.load import parse_load

URL = ["--gateway", "http://localhost:8088"]


def test_a_load_is_named_by_a_run_and_a_gateway_and_the_rest_goes_to_beam(monkeypatch):
    monkeypatch.delenv("TRUSTGRAPH_WORKSPACE", raising=False)
    settings, beam = parse_load(["out", "--gateway", "http://localhost:8088/api/v1/", "--flink_master", "localhost:8081"])
    assert (settings.run, settings.gateway, settings.workspace, settings.flow) == ("out", "http://localhost:8088", "default", "default")
    assert (settings.collection, settings.start_processing, settings.sources, settings.again) == (None, None, True, False)
    assert (settings.connections, settings.rate, settings.max_message_size) == (4, 100.0, 10 << 20)
    assert beam == ["--runner=DirectRunner", "--flink_master", "localhost:8081"]


def test_the_workspace_is_that_of_the_environment_where_none_is_given(monkeypatch):
    monkeypatch.setenv("TRUSTGRAPH_WORKSPACE", "law")
    assert parse_load(["out", *URL])[0].workspace == "law"
    assert parse_load(["out", *URL, "--workspace", "art"])[0].workspace == "art"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["out"], "--gateway is missing: universal-decoder load --help shows how to give them."),
        (URL, "RUN is missing: universal-decoder load --help shows how to give them."),
        (["out", "--gateway", "localhost"], "--gateway localhost is no address of a gateway: it begins with http:// or https://."),
        (["out", "--gateway", "http://me:secret@host"], "--gateway with its URL holds a name or a password: only a token opens a gateway."),
        (["out", *URL, "--rate", "0"], "--rate '0' is not a rate: give a number of requests a second above 0, such as 50."),
        (["out", *URL, "--connections", "65"], "--connections '65' is not a number of connections: give a whole number from 1 to 64."),
        (["out", *URL, "--max-message-size", "256"], "--max-message-size '256' is not a number of MiB: give a whole number from 1 to 255."),
        (
            ["out", *URL, "--start-procesing", "f"],
            "--start-procesing is not an option of universal-decoder load: did you mean --start-processing?",
        ),
    ],
)
def test_a_mistake_is_a_sentence_and_shows_no_secret(arguments, sentence, capsys, monkeypatch):
    monkeypatch.setenv("TRUSTGRAPH_TOKEN", "tg_secret")
    assert cli.main(["load", *arguments]) == 2
    told = capsys.readouterr().err
    assert told == f"universal-decoder: {sentence}\n"
    assert "secret" not in told


def test_a_load_without_a_token_or_without_a_run_sends_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("TRUSTGRAPH_TOKEN", raising=False)
    assert cli.main(["load", str(tmp_path / "nowhere"), *URL]) == 2
    assert "There is no folder" in capsys.readouterr().err
