import pytest
from handmade_run import STARTED_AT_SECONDS, make_run

from transforms.provenance.identifiers import document_iri
from transforms.trustgraph.library_tree import NO_TEXT, Unavailable, library_documents, open_source
from transforms.trustgraph.run_documents import read_shard, shards_of
from transforms.trustgraph.wire import triple_from_line

DERIVED = "http://www.w3.org/ns/prov#wasDerivedFrom"


def documents(run):
    for parts in shards_of(run.manifest, str(run.folder)):
        yield from read_shard(parts)


def tree(run):
    """All documents of the library, by id; and of each document of the run what came first."""
    found = [(document.id, one) for document in documents(run) for one in library_documents(document)]
    assert len({one.id for _, one in found}) == len(found)
    return found


def test_every_quad_is_with_its_document(tmp_path):
    run = make_run(tmp_path, 12)
    lines = {}
    for document in documents(run):
        lines[document.id] = list(document.quads)
        assert document.quads.count == len(lines[document.id])
        assert lines[document.id][0].startswith(f"<{document_iri(document.id)}> ".encode())
    assert [line for part in lines.values() for line in part] == run.quads()
    assert len(lines) == 14  # two mails have an attachment each


def test_quads_can_be_left_half_way_and_read_again(tmp_path):
    run = make_run(tmp_path, 1)
    for document in documents(run):
        assert next(iter(document.quads)) == run.quads()[0]
        assert list(document.quads) == run.quads()


def test_documents_that_take_nothing_leave_nothing_for_the_next(tmp_path):
    run = make_run(tmp_path, 12)
    every_second = {}
    for number, document in enumerate(documents(run)):
        if number % 2:
            every_second[document.id] = list(library_documents(document))
    whole = {document.id: list(library_documents(document)) for document in documents(run)}
    assert every_second == {name: whole[name] for name in every_second}


def test_the_library_has_the_graphs_tree_parents_first(tmp_path):
    run = make_run(tmp_path, 12)
    parents_in_graph = {}
    for line in run.quads():
        triple = triple_from_line(line)
        if triple["p"]["i"] == DERIVED:
            parents_in_graph[triple["s"]["i"]] = triple["o"]["i"]
    seen = set()
    for document_id, one in tree(run):
        if one.parent_id:
            assert one.parent_id in seen
            assert parents_in_graph.pop(document_iri(one.id)) == document_iri(one.parent_id)
        else:
            assert one.id == document_id
        assert one.time == STARTED_AT_SECONDS
        seen.add(one.id)
    assert parents_in_graph == {}


def test_every_text_and_picture_is_there_with_its_own_bytes(tmp_path):
    run = make_run(tmp_path, 12)
    contents = {one.id: one.content(str(run.output)) for _, one in tree(run)}
    kinds = {one.id: (one.kind, one.document_type, one.chunkable) for _, one in tree(run)}
    for row in run.rows("text_documents"):
        assert contents.pop(row["id"]) == row["text"].encode()
        assert kinds[row["id"]] == ("text/plain", row["document_type"], True)
    for row in run.rows("images"):
        assert contents.pop(row["id"]) == (run.output / row["blob_uri"]).read_bytes()
        assert kinds[row["id"]] == ("image/png", "image", False)
    for row in run.rows("documents"):
        if row["parent_document_id"]:
            assert row["source_sha256"].encode() in contents.pop(row["document_id"])
            assert kinds[row["document_id"]] == ("text/plain", "extracted", False)
        else:
            assert contents.pop(row["document_id"]).startswith(b"the bytes of document ")
            assert kinds[row["document_id"]] == (row["mime_type"], "source", False)
    assert set(contents.values()) == {NO_TEXT.encode()}  # the second pages of the scans
    assert {kinds[name] for name in contents} == {("text/plain", "page", False)}
    assert len(contents) == 2


def test_bytes_that_changed_since_are_not_given(tmp_path):
    run = make_run(tmp_path, 4)
    file = tmp_path / "library" / "3-empty.txt"
    file.write_bytes(b"X" * file.stat().st_size)
    (tmp_path / "library" / "1-scan.pdf").unlink()
    sources = {one.title: one for _, one in tree(run) if one.source is not None}
    with pytest.raises(Unavailable, match=r"3-empty.txt holds other bytes than those that were decoded"):
        sources["3-empty"].content(str(run.output))
    with open_source(sources["3-empty"].source) as stream:
        assert len(stream.read(1 << 20)) == file.stat().st_size
        with pytest.raises(Unavailable, match=r"holds other bytes"):
            stream.read(1)
    with pytest.raises(Unavailable, match=r"1-scan.pdf: no such file or directory"):
        sources["1-scan"].content(str(run.output))
    with open_source(sources["2-optics.docx"].source) as stream:
        assert stream.read(1 << 20) + stream.read(1) == b"the bytes of document 2 of one"
