"""`load` and the exports against a real TrustGraph: what is in its library and in its graph afterwards, read back by its own answers."""

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from handmade_run import TEXT, HandmadeRun, decode, make_run, paragraphs, publish
from library_contents import chain_of, found_graph, found_library, parents, tree, until, wanted_graph, wanted_library
from library_of_test import LibraryOfTest
from runs import start
from stack import TOKEN

from transforms.model import Element
from transforms.provenance import vocabulary as v
from transforms.trustgraph.library_tree import NO_TEXT
from transforms.trustgraph.sending import processing_id

pytestmark = pytest.mark.trustgraph


@pytest.fixture
def library(library: LibraryOfTest) -> LibraryOfTest:
    """With a graph beside it, and a chunker."""
    library.stack.add_workspace(library.workspace).close()
    return library


def target(library: LibraryOfTest) -> list[str]:
    return ["--gateway", library.stack.url, "--workspace", library.workspace]


def load(library: LibraryOfTest, run: HandmadeRun, *arguments: str, expect: int = 0, **environment: str) -> str:
    return library.run("load", run.output, *target(library), *arguments, expect=expect, **environment)


def letters(run: HandmadeRun) -> list[dict]:
    return [json.loads(line) for file in run.folder.glob("loads/*/dead_letters/*") for line in file.read_text().splitlines()]


def test_each_page_section_and_image_is_under_its_parent_and_every_quad_in_the_graph(library, tmp_path):
    run = make_run(tmp_path, 60)
    told = load(library, run, "--every-quad")
    assert found_library(library) == wanted_library(run)
    assert found_graph(library, run) == wanted_graph(run)
    assert f"70 documents of the run: {len(tree(run))} documents added to the library, 0 there already" in told
    assert f"{len(run.quads()):,} quads in urn:graph:source and found there" in told
    assert letters(run) == []
    # The whole way of a picture: up to its document, by queries alone.
    image = run.rows("images")[0]
    chain = [image["id"]]
    while up := library.gateway.query_triples(
        s={"t": "i", "i": chain[-1]}, p={"t": "i", "i": v.PROV_WAS_DERIVED_FROM}, graph=v.SOURCE_GRAPH
    ):
        chain.append(up[0]["o"]["i"])
    assert chain == [image["id"], image["parent_id"], image["document_id"]]


def test_a_second_load_sends_nothing_and_one_that_looks_again_finds_all_there(library, tmp_path):
    run = make_run(tmp_path, 12)
    load(library, run)
    before = found_library(library), found_graph(library, run)
    assert before == (wanted_library(run), wanted_graph(run))
    told = load(library, run)
    assert "14 documents of the run (14 documents brought before): 0 documents added to the library, 0 there already" in told
    told = load(library, run, "--again")
    assert f"0 documents added to the library, {len(tree(run))} there already and equal, {len(run.quads())} quads" in told
    assert (found_library(library), found_graph(library, run)) == before


def test_a_load_that_is_killed_half_way_and_repeated_ends_as_one_that_was_not(library, tmp_path):
    run = make_run(tmp_path, 30, shards=6)
    wanted = wanted_library(run)
    process = start("load", run.output, *target(library), extra=library.stack.environment())
    until(lambda: len(library.gateway.list_documents()) > len(wanted) // 2 or process.poll() is not None, "half of it is never sent")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    stopped = {row["id"]: row for row in library.gateway.list_documents()}
    assert len(wanted) // 2 < len(stopped) < len(wanted)
    assert all(row.get("parent-id", "") in ("", *stopped) for row in stopped.values())  # never a child without its parent
    told = load(library, run)
    assert found_library(library) == wanted
    assert found_graph(library, run) == wanted_graph(run)
    assert "brought before" in told  # units that were ended are not looked at again
    assert letters(run) == []


def test_texts_are_handed_to_the_chunker_once_and_from_a_chunk_the_chain_leads_to_the_document(library, tmp_path):
    run = make_run(tmp_path, 6)
    load(library, run)
    told = load(library, run, "--start-processing", "default")  # what is there already is not sent again for that
    texts = {row["id"]: row for row in run.rows("text_documents")}
    assert "0 documents added to the library, 0 there already and equal, 0 quads in urn:graph:source and found there" in told
    assert f"{len(texts)} texts handed to flow default." in told
    processings = library.gateway.call("librarian", {"operation": "list-processing"}, reads=True)["processing-metadatas"]
    assert {one["id"]: one["document-id"] for one in processings} == {processing_id(name, "default", "default"): name for name in texts}

    def chunks():
        found: dict[str, list] = {}
        for row in library.gateway.list_documents():
            if row["document-type"] == "chunk":
                found.setdefault(row["parent-id"], []).append(row)
        return found

    long = next(row for row in texts.values() if len(row["text"]) > 10_000)
    until(lambda: set(chunks()) == set(texts) and len(chunks()[long["id"]]) > 5, "not every text is chunked")
    assert found_library(library, without=("chunk",)) == wanted_library(run)

    for row in texts.values():
        chunk = chunks()[row["id"]][-1]
        content = b"".join(part.content for part in library.gateway.stream_document(chunk["id"])).decode()
        assert content in row["text"]
        until(lambda name=chunk["id"]: parents(library, name), "a chunk has no parent in the graph")
        chain = chain_of(library, chunk["id"])
        assert chain[1:] == chain_of(library, row["id"])
        about = library.gateway.query_triples(s={"t": "i", "i": chain[-1]}, graph=v.SOURCE_GRAPH)
        assert {"t": "i", "i": v.TG_DOCUMENT} in [triple["o"] for triple in about]
        assert chain[-1].endswith(row["document_id"]) or chain[-2] == row["document_id"]  # an attachment leads to its mail
    told = load(library, run, "--start-processing", "default", "--again")
    assert "0 texts handed to flow default." in told


def test_what_was_removed_there_is_brought_again(library, tmp_path):
    run = make_run(tmp_path, 6, shards=1)
    load(library, run)
    first = tree(run)[0]
    library.gateway.remove_document(first.id)
    told = load(library, run)
    assert found_library(library) == wanted_library(run)
    assert "brought before" not in told


def test_another_document_under_one_of_our_ids_is_a_dead_letter_and_stays_as_it_is(library, tmp_path):
    run = make_run(tmp_path, 6)
    page, other = (one for one in tree(run) if one.document_type == "page" and one.title == "Page 1")
    page_metadata = {**page.metadata(), "title": "Mine"}
    library.gateway.add_document(page_metadata, page.content(""))
    library.gateway.add_document(other.metadata(), b"other bytes")
    told = load(library, run)
    wanted = wanted_library(run)
    wanted[page.id] = (*wanted[page.id][:3], "Mine", wanted[page.id][4])
    wanted[other.id] = (*wanted[other.id][:4], hashlib.sha256(b"other bytes").hexdigest())
    assert found_library(library) == wanted
    assert {letter["id"]: letter["message"] for letter in letters(run)} == {
        page.id: f"{page.id} is in the library already, and is another document: its title is 'Mine', not 'Page 1'.",
        other.id: f"{other.id} is in the library already, and holds other bytes.",
    }
    assert "2 dead letters in " in told
    assert found_graph(library, run) == wanted_graph(run)
    assert load(library, run, "--max-failures", "0.01", expect=3)
    load(library, run, "--max-failures", "0.5")


def test_a_document_over_the_brokers_limit_goes_in_parts_and_a_page_of_it_is_a_dead_letter(library, tmp_path):
    folder = tmp_path / "library"
    big = bytes(range(256)) * (24 << 10) + b"the end"  # 6 MiB, two parts
    long = Element("NarrativeText", "0123456789abcdef" * (6 << 16), element_id="long")
    groups = [[decode(folder / "big.txt", big, (long,), TEXT)], [decode(folder / "small.txt", b"small", paragraphs(1), TEXT)]]
    run = publish(tmp_path / "decoded", groups)
    load(library, run, "--max-message-size", "7")
    wanted = wanted_library(run)
    page = groups[0][0].texts[0].id
    del wanted[page]
    assert found_library(library) == wanted
    [letter] = letters(run)
    assert (letter["id"], letter["stage"]) == (page, "library")
    assert letter["message"].startswith(f"{page} has 6291456 bytes, 8388608 as base64, over the 7 MiB that one message may have")
    load(library, run, "--max-message-size", "16")
    assert found_library(library) == wanted_library(run)
    assert letters(run) == []


def test_a_document_that_is_gone_is_a_dead_letter_with_all_below_it_and_without_sources_only_that_is_left_out(library, tmp_path):
    run = make_run(tmp_path, 3, shards=1)
    wanted, graph = wanted_library(run), wanted_graph(run)
    source = next(one for one in tree(run) if one.title == "1-scan")
    below = [one.id for one in tree(run) if one.parent_id == source.id]
    (tmp_path / "library" / "1-scan.pdf").unlink()
    load(library, run)
    assert {(letter["id"], letter["stage"]) for letter in letters(run)} >= {
        (source.id, "source"),
        (source.id, "triples"),
        (below[0], "library"),
    }
    found = found_library(library)
    assert source.id not in found
    assert not {row[0] for row in found.values()} & {source.id, *below}
    assert not any(source.id in stored for stored in found_graph(library, run))
    load(library, run, "--no-sources")
    del wanted[source.id]
    assert found_library(library) == wanted
    assert found_graph(library, run) == graph


def test_a_gateway_that_is_killed_ends_the_load_in_a_sentence_and_the_next_one_goes_on(library, tmp_path):
    run = make_run(tmp_path, 30, shards=6)
    process = start("load", run.output, *target(library), extra=library.stack.environment())
    until(lambda: len(library.gateway.list_documents()) > 20 or process.poll() is not None, "nothing is sent")
    library.stack.kill("gateway")
    try:
        _, err = process.communicate(timeout=300)
    finally:
        library.stack.start_gateway()
    assert process.returncode == 1, err
    assert f"The load failed: The gateway {library.stack.url} " in err
    assert "What was brought until then is there: the same command goes on" in err
    assert "Traceback" not in err
    load(library, run)
    assert found_library(library) == wanted_library(run)
    assert found_graph(library, run) == wanted_graph(run)


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        ([], {"TRUSTGRAPH_TOKEN": "tg_wrong"}, "Nothing was sent: auth failure"),
        ([], {"TRUSTGRAPH_TOKEN": ""}, "The gateway wants a token"),
        (["--workspace", "nowhere"], {}, "Nothing was sent: there is no such workspace (workspace nowhere)."),
        (["--flow", "nothing"], {}, "has no flow nothing: it has default."),
        (["--start-processing", "nothing"], {}, "has no flow nothing: it has default."),
        (["--gateway", "http://127.0.0.1:1"], {}, "Nothing was sent: the gateway http://127.0.0.1:1 cannot be reached: connection refused"),
        (["--colection", "x"], {}, "--colection"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_sent(library, tmp_path, arguments, environment, sentence):
    run = make_run(tmp_path, 1)
    told = load(library, run, *arguments, expect=2, **environment)
    assert sentence in told
    assert library.gateway.list_documents() == []


def test_the_token_is_in_nothing_that_is_written_or_said(library, tmp_path):
    run = make_run(tmp_path, 3)
    told = load(library, run)
    secret = tmp_path / "secret"
    secret.write_text(TOKEN + "\n")
    told += load(library, run, "--token-file", str(secret), "--again", TRUSTGRAPH_TOKEN="")
    assert TOKEN not in told
    written = [file for file in run.output.rglob("*") if file.is_file()]
    assert any(file.name == "target.json" for file in written)
    assert not [file for file in written if TOKEN.encode() in file.read_bytes()]


def test_what_was_decoded_from_the_library_goes_back_under_its_documents(library, tmp_path):
    text = "Lenses bend light.\n\nMirrors do not.\n"
    library.add("https://example.org/lenses", text, title="Lenses")
    library.add("3f2b8c1e-0000-4000-8000-000000000001", text + "Water does.\n", title="Bare")
    decoded = library.backfill(tmp_path / "decoded")
    run = HandmadeRun(decoded.output, decoded.manifest)
    library.run("load", run.folder, *target(library))
    rows = {row["id"]: row for row in library.gateway.list_documents()}
    sections = [row for row in rows.values() if row["document-type"] == "section"]
    assert sorted(rows[row["parent-id"]]["title"] for row in sections) == ["Bare", "Lenses"]
    assert len(rows) == 4
    assert letters(run) == []
    by_id = {row["id"]: row["text"] for row in decoded.rows("text_documents")}
    for row in sections:
        assert b"".join(part.content for part in library.gateway.stream_document(row["id"])).decode() == by_id[row["id"]]


def environment_of_commands(library: LibraryOfTest) -> dict[str, str]:
    """For TrustGraph's own commands."""
    path = f"{library.stack.python().parent}:{os.environ['PATH']}"
    return {"PATH": path, "TRUSTGRAPH_URL": library.stack.url + "/", "TRUSTGRAPH_TOKEN": TOKEN, "TRUSTGRAPH_WORKSPACE": library.workspace}


def export(library: LibraryOfTest, run: HandmadeRun, form: str, to: Path) -> None:
    library.run("export", run.output, "--format", form, "--to", to)


def run_script(library: LibraryOfTest, to: Path) -> None:
    done = subprocess.run(["sh", str(to / "load.sh")], env=environment_of_commands(library), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr


def test_trig_loads_with_trustgraphs_own_command(library, tmp_path):
    if library.stack.version == "2.9.12":
        pytest.skip("tg-load-knowledge of 2.9.12 has no -F trig: it came with 2.10.18")
    run = make_run(tmp_path, 6)
    export(library, run, "trig", tmp_path / "to")
    run_script(library, tmp_path / "to")

    def comparable(quads):
        """Without blank nodes, which the command renames, and with one form of a time: rdflib writes +00:00 for Z."""
        named = [quad for quad in quads if not any(part.startswith(("b", "n")) and ":" not in part for part in (quad[0], quad[3]))]
        return {(*quad[:3], quad[3].replace("+00:00", "Z"), *quad[4:]) if quad[4] == v.XSD_DATE_TIME else quad for quad in named}

    wanted = comparable(wanted_graph(run))
    assert len(wanted) > 200
    until(lambda: comparable(found_graph(library, run)) >= wanted, "the quads of the TriG are not in the graph")


def test_knowledge_cores_load_with_trustgraphs_own_commands(library, tmp_path):
    if library.stack.version == "2.11.1":
        pytest.skip("knowledge cores with triples are broken in TrustGraph 2.10.0 to 2.11.1: tg-put-kg-core loses them")
    run = make_run(tmp_path, 6)
    export(library, run, "kg-core", tmp_path / "to")
    run_script(library, tmp_path / "to")

    def without_types(quads):
        """Its tables of knowledge cores keep neither datatypes nor languages."""
        return {(*quad[:4], quad[6]) if len(quad) == 7 else quad for quad in quads}

    until(
        lambda: without_types(found_graph(library, run)) >= without_types(wanted_graph(run)), "the quads of the cores are not in the graph"
    )
    wanted = wanted_library(run)
    until(
        lambda: {row["id"] for row in library.gateway.list_documents()} == set(wanted), "the documents of the cores are not in the library"
    )
    assert found_library(library) == wanted


def test_the_lines_of_the_export_are_messages_of_the_socket(library, tmp_path):
    run = make_run(tmp_path, 6)
    export(library, run, "jsonl", tmp_path / "to")
    with library.gateway.import_triples() as socket:
        for file in sorted((tmp_path / "to").iterdir()):
            for line in file.read_text().splitlines():
                message = json.loads(line)
                socket.send(message["metadata"], message["triples"])
    until(lambda: found_graph(library, run) == wanted_graph(run), "the messages are not in the graph")


def test_a_page_without_text_can_be_read_by_trustgraph(library, tmp_path):
    run = make_run(tmp_path, 2)
    load(library, run)
    page = next(one for one in tree(run) if one.text == NO_TEXT)
    answer = library.gateway.call("librarian", {"operation": "get-document-content", "document-id": page.id}, reads=True)
    assert answer["content"] == "Cg=="
