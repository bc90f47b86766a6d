import pytest

from pipeline.options.backfill import parse_backfill
from transforms.trustgraph.library import GatewayAccess, Library


def library_of(*arguments: str):
    settings, _ = parse_backfill([*arguments, "--output", "o"])
    return settings.library, settings.access


def test_a_library_is_named_by_its_gateway_or_by_its_store(monkeypatch):
    monkeypatch.delenv("TRUSTGRAPH_WORKSPACE", raising=False)
    access = GatewayAccess("http://gw:8088", "", 4)
    assert library_of("--librarian", "http://gw:8088/") == (Library(gateway=access), access)
    assert library_of("--librarian-store", "cassandra://a") == (Library(store="cassandra://a"), None)
    library, access = library_of(
        *["--librarian", "https://gw", "--workspace", "w", "--kind", "text/plain", "text/html", "--kind", "text/plain"],
        *["--tag", "a", "--document-ids", "ids", "--librarian-token-file", "/run/token", "--librarian-streams", "2"],
    )
    assert access == GatewayAccess("https://gw", "/run/token", 2)
    assert library == Library(access, "", "w", ("text/plain", "text/html"), ("a",), "ids")
    monkeypatch.setenv("TRUSTGRAPH_WORKSPACE", "from-environment")
    assert library_of("--librarian", "http://gw")[0].workspace == "from-environment"


def test_documents_that_references_name_are_asked_of_the_gateway_in_the_environment(monkeypatch):
    monkeypatch.setenv("TRUSTGRAPH_URL", "http://gw:8088/")
    assert library_of("--references", "r.jsonl") == (None, GatewayAccess("http://gw:8088"))
    assert library_of("--input", "i") == (None, None)
    monkeypatch.setenv("TRUSTGRAPH_URL", "no address")
    assert library_of("--references", "r.jsonl") == (None, None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--librarian", "gw:8088"], "--librarian gw:8088 is no address of a gateway: it begins with http:// or https://."),
        (
            ["--librarian", "http://me:secret@gw"],
            "--librarian with its URL holds a name or a password: only a token opens a gateway.",
        ),
        (
            ["--librarian-store", "cassandra://me:secret@host"],
            "--librarian-store with its URL holds a name or a password: put them into CASSANDRA_USERNAME and CASSANDRA_PASSWORD.",
        ),
        (
            ["--librarian", "http://gw", "--librarian-store", "cassandra://a"],
            "--librarian and --librarian-store name the same library twice: give one of them.",
        ),
        (["--input", "i", "--tag", "t"], "--tag is about a TrustGraph library: give --librarian URL or --librarian-store URI with it."),
        (
            ["--input", "i", "--document-ids", "f"],
            "--document-ids is about a TrustGraph library: give --librarian URL or --librarian-store URI with it.",
        ),
        (
            ["--librarian", "http://gw", "--librarian-streams", "0"],
            "--librarian-streams '0' is not a number of streams: give a whole number from 1 to 64.",
        ),
    ],
)
def test_a_library_that_is_named_wrongly_is_refused_and_secrets_are_not_repeated(arguments, sentence, sentence_of):
    assert sentence_of(parse_backfill, *arguments, "--output", "o") == sentence


def test_a_token_cannot_be_given_as_an_option(command):
    said = command("backfill", "--librarian", "http://127.0.0.1:9", "--librarian-token", "tg_secret", "--output", "o")
    assert said.returncode == 2
    assert "--librarian-token is not an option of universal-decoder backfill" in said.stderr
    assert "tg_secret" not in said.stdout + said.stderr
