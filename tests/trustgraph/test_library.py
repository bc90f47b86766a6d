"""Documents from a real TrustGraph: what a library gives, and each way in which it can fail to."""

import json
import pickle
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from library_of_test import LibraryOfTest, rows_by_id
from runs import SAMPLES, STARTED_AT, FinishedRun, backfill, start
from stack import HERE, TOKEN, Stack

from transforms.decode_documents import DecodeTask
from transforms.errors import UsageError
from transforms.model import DecodeError, Status
from transforms.partition.formats import by_extension
from transforms.references.librarian import check_library
from transforms.references.listing import MissingInput
from transforms.settings import DecodeSettings, Limits
from transforms.storage import s3
from transforms.trustgraph.gateway import (
    DocumentExistsError,
    DocumentUnknownError,
    Gateway,
    OperationFailedError,
    Token,
    TokenRefusedError,
    UnreachableError,
)
from transforms.trustgraph.library import GatewayAccess, Library, Place, document_uri

pytestmark = [pytest.mark.trustgraph, pytest.mark.timeout(1800)]  # a test is up to three runs, and machines are shared
TEXTS = 120
BARE = "0b0f0c1e-aaaa-bbbb-cccc-000000000001"


def blobs(output: Path) -> set[str]:
    return {str(path.relative_to(output)) for path in (output / "blobs").rglob("*") if path.is_file()}


def statuses(run: FinishedRun) -> dict[str, str]:
    return {row["document_id"]: row["status"] for row in run.rows("documents")}


def reasons(run: FinishedRun) -> dict[str, tuple[str, str]]:
    return {letter["document_id"]: (letter["status"], letter["message"]) for letter in run.dead_letters()}


def committed(output: Path) -> int:
    return len(list((output / "staging").rglob("*.zip")))


def newest(output: Path) -> FinishedRun:
    return FinishedRun(output, (output / "latest").read_text().strip())


# --- what a library gives ----------------------------------------------------------------------------------------------------------------


def test_a_library_gives_the_texts_offsets_and_images_that_its_files_give_by_gateway_and_by_store(
    library: LibraryOfTest, tmp_path: Path
) -> None:
    """The sample library, put in by TrustGraph's own client."""
    files = sorted(SAMPLES.iterdir())
    documents = [{"path": str(file), "kind": by_extension(file.name).mime_type, "title": file.stem} for file in files]
    ids = library.upload(*documents)
    assert len(set(ids)) == len(files)

    by_path = backfill(SAMPLES, tmp_path / "path", "--children", "2")
    by_gateway = library.backfill(tmp_path / "gateway")
    by_store = library.backfill(tmp_path / "store", *library.store)
    for dataset in ("text_documents", "images", "documents"):
        expected = rows_by_id(by_path, dataset)
        assert expected
        assert rows_by_id(by_gateway, dataset) == expected
        assert rows_by_id(by_store, dataset) == expected
    assert blobs(by_gateway.output) == blobs(by_store.output) == blobs(by_path.output) != set()
    assert {row["title"] for row in by_gateway.rows("documents") if not row["parent_document_id"]} == {file.stem for file in files}
    assert all(row["source_uri"].startswith("s3://library/doc/") for row in by_store.rows("documents"))


def test_what_the_librarian_knows_of_a_document_becomes_its_triples(library: LibraryOfTest, tmp_path: Path) -> None:
    file = tmp_path / "lens.txt"
    file.write_text("A lens bends light.")
    metadata = [["http://purl.org/dc/elements/1.1/creator", "A. Grinder"], ["https://schema.org/license", "see the last page"]]
    (document,) = library.upload(
        {
            "path": str(file),
            "id": "https://example.org/lens",
            "kind": "text/plain",
            "title": "On lenses",
            "comments": "found in an attic",
            "tags": ["optics", "urn:looks:like-an-iri"],
            "metadata": metadata,
        }
    )
    about_bare = {"s": {"t": "i", "i": BARE}, "p": {"t": "i", "i": "urn:p"}, "o": {"t": "l", "v": "o"}}
    library.add(BARE, "A text under a bare hash, as TrustGraph's Python client gives it.", metadata=[about_bare])
    added = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(library.gateway.document_metadata(document)["time"]))

    run = library.backfill(tmp_path / "out")
    iri = f"https://trustgraph.ai/doc/{BARE}"
    assert statuses(run) == {document: "ok", iri: "ok"}
    quads = run.quads()
    for subject, statement in (
        (document, '<http://purl.org/dc/elements/1.1/title> "On lenses"'),
        (document, '<http://purl.org/dc/elements/1.1/creator> "A. Grinder"'),
        (document, '<https://schema.org/license> "see the last page"'),
        (document, '<https://schema.org/keywords> "optics"'),
        (document, '<https://schema.org/keywords> "urn:looks:like-an-iri"'),
        (document, '<http://www.w3.org/2000/01/rdf-schema#comment> "found in an attic"'),
        (document, '<https://trustgraph.ai/ns/mimeType> "text/plain"'),
        (document, f'<http://purl.org/dc/terms/dateSubmitted> "{added}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'),
        (iri, f'<http://purl.org/dc/terms/identifier> "{BARE}"'),
        (iri, '<urn:p> "o"'),
    ):
        assert f"<{subject}> {statement} <urn:graph:source> ." in quads
    by_gateway, by_store = ({each.document_id: each for each in library.references(store=store)} for store in (False, True))
    assert by_gateway.keys() == by_store.keys() == {document, iri}
    for name, reference in by_gateway.items():
        assert reference == by_store[name]._replace(uri=reference.uri)


def test_only_documents_that_were_put_in_are_listed_and_only_those_that_are_meant(library: LibraryOfTest, tmp_path: Path) -> None:
    library.add("urn:doc:a", "The first text.", tags=["red"])
    library.add("urn:doc:b", "# The second text", kind="text/markdown", tags=["red", "blue"])
    library.add("urn:doc:c", "<p>The third text.</p>", kind="text/html")
    library.add("urn:page:a1", "Made of the first.", **{"parent-id": "urn:doc:a", "document-type": "page"})
    library.add("urn:answer:1", "An answer.", **{"document-type": "answer"})
    ids = tmp_path / "ids"
    ids.write_text("urn:doc:c\n\nurn:page:a1\nurn:doc:none\nurn:doc:c\n")

    for store in (False, True):

        def listed(store: bool = store, **wanted: Any) -> dict[str, str]:
            return {each.document_id: each.problem for each in library.references(store=store, **wanted)}

        a, b, c = ({f"urn:doc:{letter}": ""} for letter in "abc")
        assert listed() == a | b | c
        assert listed(kinds=("text/plain", "TEXT/html")) == a | c
        assert listed(kinds=("text/*",), tags=("blue",)) == b
        assert listed(tags=("red", "blue")) == a | b
        assert listed(document_ids=str(ids)) == c | {
            "urn:page:a1": "urn:page:a1 is page of urn:doc:a, not a document that was put into the library.",
            "urn:doc:none": f"There is no document urn:doc:none in workspace {library.workspace}.",
        }
        with pytest.raises(MissingInput) as nothing:
            listed(kinds=("image/png",))
        place = library.stack.store if store else library.stack.url
        assert nothing.value.sentence == (
            f"The library of workspace {library.workspace} at {place} holds no document of the kind image/png."
        )


def test_a_second_run_decodes_what_is_new_or_changed_only(library: LibraryOfTest, tmp_path: Path) -> None:
    for name in ("kept", "renamed", "replaced"):
        library.add(f"urn:doc:{name}", f"This text is {name}.")

    def decoded_now(run_id: str) -> tuple[int, int, set[str]]:
        run = library.backfill(tmp_path / "out", run_id=run_id)
        counts = run.manifest["counts"]
        return counts["decoded"], counts["staged_before"], {row["text"] for row in run.rows("text_documents")}

    first = {"This text is kept.", "This text is renamed.", "This text is replaced."}
    assert decoded_now("first") == (3, 0, first)
    assert decoded_now("second") == (0, 3, first)
    library.gateway.remove_document("urn:doc:replaced")
    library.add("urn:doc:replaced", "Another text.", time=1_700_000_001)
    update = {
        "id": "urn:doc:renamed",
        "kind": "text/plain",
        "time": 1_700_000_000,
        "title": "A title",
        "comments": "",
        "metadata": [],
        "tags": [],
    }
    library.gateway.call("librarian", {"operation": "update-document", "document-metadata": update})
    assert decoded_now("third") == (2, 1, {"This text is kept.", "This text is renamed.", "Another text."})


def test_a_document_without_bytes_is_empty_and_holds_up_nobody(library: LibraryOfTest, tmp_path: Path) -> None:
    """Of such a one the librarian's stream sends nothing, for ever."""
    for number in range(4):
        library.add(f"urn:doc:empty:{number}", b"")
    library.add("urn:doc:full", "A text.")
    began = time.monotonic()
    run = library.backfill(tmp_path / "out")
    assert time.monotonic() - began < 120  # that is how long an answer is waited for
    assert statuses(run) == {f"urn:doc:empty:{number}": "empty" for number in range(4)} | {"urn:doc:full": "ok"}
    assert run.dead_letters() == []


# --- what is too much ---------------------------------------------------------------------------------------------------------------------


def test_a_library_that_the_gateway_cannot_list_to_its_end_is_refused_and_the_store_lists_all_of_it(
    library: LibraryOfTest, tmp_path: Path
) -> None:
    """6,000 rows of children before and after three documents, of which the gateway's listing would show but one."""
    documents = ["urn:doc:first", "urn:zdoc:last", "urn:zdoc:more"]
    for document in documents:
        library.add(document, f"The text of {document}.")
    fill = [str(library.stack.python()), str(HERE / "fill_table.py"), library.stack.settings["cassandra"], library.workspace, documents[0]]
    subprocess.run([*fill, "5996"], check=True, env={})
    assert len(library.gateway.list_documents()) == 5000

    said = library.run("backfill", *library.source, "--output", tmp_path / "gateway", expect=2)
    assert said == (
        f"universal-decoder: The library of workspace {library.workspace} at {library.stack.url} cannot be listed to its end: its "
        "librarian tells of the first 5,000 rows only, pages and chunks among them, and there are as many. Read its tables and its "
        "bucket with --librarian-store, or name the documents with --document-ids.\n"
    )
    assert not (tmp_path / "gateway" / "runs").exists()
    said = library.run("backfill", *library.store, "--output", tmp_path / "store", "--dry-run")
    assert "3 documents would be decoded" in said
    assert [each.document_id for each in library.references(store=True)] == documents
    ids = tmp_path / "ids"
    ids.write_text("\n".join(documents))
    assert [each.document_id for each in library.references(document_ids=str(ids))] == documents


def test_a_store_of_6000_documents_is_listed_to_its_end(library: LibraryOfTest) -> None:
    library.add("urn:doc:1", "A text.")
    fill = [str(library.stack.python()), str(HERE / "fill_table.py"), library.stack.settings["cassandra"], library.workspace, ""]
    subprocess.run([*fill, "5999"], check=True, env={})
    assert {each.document_id for each in library.references(store=True)} == {
        "urn:doc:1",
        *(f"urn:page:{number:06d}" for number in range(5999)),
    }
    with pytest.raises(MissingInput, match="cannot be listed to its end"):
        library.references()


def test_a_document_over_the_limit_is_not_read(library: LibraryOfTest, tmp_path: Path) -> None:
    library.add("urn:doc:large", b"x" * 3000)
    assert library.fetch("urn:doc:large", tmp_path / "copy", limit_bytes=3000) == 3000
    with pytest.raises(DecodeError) as refused:
        library.fetch("urn:doc:large", tmp_path / "copy", limit_bytes=2999)
    assert refused.value.status is Status.TOO_LARGE
    assert "has 3,000 bytes, over the limit of 2,999 bytes" in refused.value.message
    assert not (tmp_path / "copy").exists()


def test_no_more_documents_are_streamed_at_a_time_than_are_allowed(library: LibraryOfTest) -> None:
    for number in range(8):
        library.add(f"urn:doc:{number}", bytes([number]) * (3 << 20))
    port = library.stack.settings["gateway_port"]
    gateway = Gateway(library.stack.url, Token(TOKEN), library.workspace, streams=2)
    received: dict[int, bytes] = {}

    def receive(number: int) -> None:
        received[number] = b"".join(part.content for part in gateway.stream_document(f"urn:doc:{number}"))

    def connections() -> set[int]:
        found = psutil.Process().net_connections("tcp")
        return {each.laddr.port for each in found if each.raddr and each.raddr.port == port and each.status == "ESTABLISHED"}

    before = connections()  # of the fixture's client
    threads = [threading.Thread(target=receive, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in threads):
        most = max(most, len(connections() - before))
        time.sleep(0.01)
    gateway.close()
    assert received == {number: bytes([number]) * (3 << 20) for number in range(8)}
    assert most == 2


# --- what fails ---------------------------------------------------------------------------------------------------------------------------


def start_on_texts(library: LibraryOfTest, output: Path, run_id: str) -> subprocess.Popen[str]:
    """A backfill of a library of texts, as soon as it has committed some of them."""
    for number in range(TEXTS):
        library.add(f"urn:doc:{number}", f"The text of number {number}.")
    arguments = ["backfill", *library.source, "--output", output, "--started-at", STARTED_AT, "--children", "2", "--run-id", run_id]
    process = start(*arguments, extra=library.stack.environment())
    until = time.monotonic() + 120
    while committed(output) < 5:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    return process


def test_a_gateway_that_is_killed_costs_what_was_not_read_and_the_next_run_reads_that(library: LibraryOfTest, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = start_on_texts(library, output, "broken")
    library.stack.kill("gateway")
    try:
        out, err = process.communicate(timeout=300)
    finally:
        library.stack.start_gateway()
    assert process.returncode == 0, err
    assert "Traceback" not in out + err

    broken = FinishedRun(output, "broken")
    found = statuses(broken)
    lost = {document for document, status in found.items() if status == "fetch_failed"}
    assert set(found) == {f"urn:doc:{number}" for number in range(TEXTS)}
    assert 5 <= TEXTS - len(lost) < TEXTS
    assert all(found[document] == "ok" for document in found.keys() - lost)
    assert {status for status, _ in reasons(broken).values()} == {"fetch_failed"}
    assert all("cannot be read: the gateway" in message for _, message in reasons(broken).values())

    library.gateway.list_documents()  # waits until it answers
    whole = library.backfill(output, run_id="whole")
    assert statuses(whole) == {f"urn:doc:{number}": "ok" for number in range(TEXTS)}
    assert whole.manifest["counts"]["decoded"] == len(lost)
    undisturbed = library.backfill(tmp_path / "undisturbed", run_id="whole")
    assert whole.digests("text_documents", "images", "provenance") == undisturbed.digests("text_documents", "images", "provenance")


def test_a_gateway_that_is_started_again_soon_costs_nothing(library: LibraryOfTest, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = start_on_texts(library, output, "first")
    library.stack.kill("gateway")
    library.stack.start_gateway()
    _out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert statuses(FinishedRun(output, "first")) == {f"urn:doc:{number}": "ok" for number in range(TEXTS)}


def test_a_document_that_is_deleted_after_it_was_listed_is_a_dead_letter_until_it_is_there_again(
    library: LibraryOfTest, tmp_path: Path
) -> None:
    """As a references file names it: so it is listed for sure, and gone for sure."""
    library.add("urn:doc:kept", "A text that stays.")
    uris = {name: document_uri(Place(library.stack.url, library.workspace, name)) for name in ("urn:doc:kept", "urn:doc:gone")}
    references = tmp_path / "library.jsonl"
    references.write_text("".join(json.dumps({"uri": uri, "document_id": name}) + "\n" for name, uri in uris.items()))

    def run(run_id: str, **environment: str) -> FinishedRun:
        arguments = ["--references", references, "--output", tmp_path / "out", "--run-id", run_id, "--children", "2"]
        library.run("backfill", *arguments, **({"TRUSTGRAPH_URL": library.stack.url} | environment))
        return FinishedRun(tmp_path / "out", run_id)

    first = run("first")
    assert statuses(first) == {"urn:doc:kept": "ok", "urn:doc:gone": "fetch_failed"}
    assert reasons(first) == {
        "urn:doc:gone": ("fetch_failed", f"urn:doc:gone is gone from workspace {library.workspace} since it was listed.")
    }
    library.add("urn:doc:gone", "A text that came back.")
    assert statuses(run("second")) == {"urn:doc:kept": "ok", "urn:doc:gone": "ok"}
    elsewhere = library.backfill(tmp_path / "other", "--references", references)  # without TRUSTGRAPH_URL: to no one a token is shown
    assert set(statuses(elsewhere).values()) == {"fetch_failed"}
    assert "and the token is for no gateway: name the right one with --librarian" in reasons(elsewhere)["urn:doc:kept"][1]


def test_a_document_whose_bytes_are_lost_is_asked_for_once(library: LibraryOfTest, tmp_path: Path) -> None:
    """The librarian tries its bucket for 32 s, and keeps all others waiting."""
    library.add("urn:doc:lost", "A text that the bucket loses.")
    (lost,) = library.references(store=True)
    s3.delete([lost.uri])
    for uri, sentence in (
        ("", "urn:doc:lost cannot be read: TrustGraph says: "),
        (lost.uri, f"{lost.uri} is gone since it was listed."),
    ):
        began = time.monotonic()
        with pytest.raises(DecodeError) as refused:
            library.fetch("urn:doc:lost", tmp_path / "copy", uri=uri, version=lost.version)
        assert refused.value.status is Status.FETCH_FAILED
        assert refused.value.message.startswith(sentence)
        assert "tried" not in refused.value.message
        assert time.monotonic() - began < 100


def test_what_cannot_be_asked_for_a_library_is_said_in_a_sentence_before_any_work(
    library: LibraryOfTest, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add("urn:doc:a", "A text.")
    refused = (
        f"The gateway {stack.url} refuses the token (auth failure): give one that may read the documents of workspace {library.workspace}."
    )
    told = library.run("backfill", *library.source, "--output", tmp_path / "out", expect=2, TRUSTGRAPH_TOKEN="tg_wrong")
    assert told == f"universal-decoder: {refused}\n"
    assert not (tmp_path / "out").exists()

    def said(url: str = stack.url, workspace: str = library.workspace, token: str = TOKEN, store: str = "") -> str:
        monkeypatch.setenv("TRUSTGRAPH_TOKEN", token)
        with pytest.raises(UsageError) as error:
            check_library(Library(gateway=None if store else GatewayAccess(url), store=store, workspace=workspace))
        return error.value.sentence

    assert said(token="tg_wrong") == refused
    assert said(workspace="nosuch") == f"The gateway {stack.url} knows no workspace nosuch: give the right one with --workspace."
    assert said(url="http://127.0.0.1:9") == (
        "The gateway http://127.0.0.1:9 cannot be reached: connection refused: is it running, and is the address right?"
    )
    s3_endpoint = stack.settings["s3_endpoint"]
    assert said(url=s3_endpoint) == f"What answers at {s3_endpoint} is not TrustGraph's gateway (status 405)."
    cassandra = stack.settings["cassandra"]
    assert said(store=f"{stack.store}/nosuch") == f"{stack.store}/nosuch cannot be read: Keyspace 'nosuch' does not exist."
    assert said(store="cassandra://no.such.invalid") == (
        "cassandra://no.such.invalid cannot be read: no address is known of no.such.invalid."
    )
    assert said(store=f"cassandra://{cassandra}:9").startswith(f"cassandra://{cassandra}:9 cannot be read: ")
    assert said(store=f"{stack.store}?bucket=nosuch").startswith("The bucket nosuch of the library cannot be read: ")


def test_the_token_is_in_nothing_that_is_written_or_said(library: LibraryOfTest, tmp_path: Path) -> None:
    library.add("urn:doc:a", "A text.")
    library.add("urn:doc:broken", b"%PDF-1.4 and no more", kind="application/pdf")
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    process = start(
        *["backfill", *library.source, "--output", tmp_path / "out", "--librarian-token-file", file, "--children", "2"],
        extra=library.stack.environment(TRUSTGRAPH_TOKEN=""),
    )
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert TOKEN not in out + err
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert written
    for path in written:
        content = path.read_bytes()
        if path.suffix == ".zip":
            import zipfile

            with zipfile.ZipFile(path) as members:
                content += b"".join(members.read(name) for name in members.namelist())
        elif path.suffix == ".gz":
            import gzip

            content = gzip.decompress(content)
        assert TOKEN.encode() not in content, path
    assert newest(tmp_path / "out").manifest["options"]["library"]["gateway"]["token_file"] == str(file)

    access = GatewayAccess(library.stack.url, str(file))
    task = DecodeTask("file:///out", DecodeSettings(), Limits(), STARTED_AT, 2, access=access)
    assert TOKEN.encode() not in pickle.dumps(task)
    for secret in (Token(TOKEN), library.gateway):
        assert TOKEN not in repr(secret)
        with pytest.raises(TypeError):
            pickle.dumps(secret)


# --- the client ---------------------------------------------------------------------------------------------------------------------------


def test_the_client_names_what_trustgraph_refuses(library: LibraryOfTest, stack: Stack) -> None:
    library.add("urn:doc:a", "A text.")
    with pytest.raises(DocumentExistsError):
        library.add("urn:doc:a", "A text.")
    with pytest.raises(DocumentUnknownError):
        library.gateway.document_metadata("urn:doc:none")
    with pytest.raises(DocumentUnknownError):
        list(library.gateway.stream_document("urn:doc:none"))
    with pytest.raises(OperationFailedError):
        library.gateway.call("librarian", {"operation": "add-child-document"})  # which a gateway does not let through
    with pytest.raises(TokenRefusedError):
        list(Gateway(stack.url, Token("tg_wrong"), library.workspace).stream_document("urn:doc:a"))
    with pytest.raises(UnreachableError):
        list(Gateway("http://127.0.0.1:9", Token(TOKEN)).stream_document("urn:doc:a"))


def test_an_upload_in_parts_is_the_document(library: LibraryOfTest, tmp_path: Path) -> None:
    content = bytes(range(256)) * ((11 << 20) // 256) + b"end"
    file = tmp_path / "large"
    file.write_bytes(content)
    with file.open("rb") as stream:
        library.gateway.upload({"id": "urn:doc:large", "kind": "application/pdf", "time": 1, "title": "large"}, stream, len(content))
    parts = list(library.gateway.stream_document("urn:doc:large"))
    assert b"".join(part.content for part in parts) == content
    assert {part.total for part in parts} == {len(content)}
    assert len(parts) == 12
