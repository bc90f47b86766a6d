"""A commit gives back what was written, is the same bytes for the same document, and never passes for whole when it is not."""

import io
import json
import zipfile
from dataclasses import replace

import pyarrow as pa
import pytest
from decoded_documents import FINGERPRINT, TWO_PAGES, Output, decode, fail

from transforms.model import Element, Status
from transforms.sinks import documents, images, provenance, text_documents
from transforms.storage.commit import CommitDamaged, Outcome, StagedDocument, read_commit, read_outcome, write_commit


def commit_of(tmp_path, *decoded):
    write_commit(tmp_path / "commit.zip", decoded, fingerprint=FINGERPRINT)
    return (tmp_path / "commit.zip").read_bytes()


def test_a_commit_gives_back_the_rows_of_each_dataset(tmp_path):
    mail = decode("mail", TWO_PAGES)
    attached = fail("mail#attachment=1", document_id="urn:attached", parent_document_id=mail.document_id)
    commit = read_commit(io.BytesIO(commit_of(tmp_path, mail, attached)))
    assert commit.texts == pa.Table.from_pylist(text_documents.rows(mail), schema=text_documents.SCHEMA)
    assert commit.images == pa.Table.from_pylist(images.rows(mail), schema=images.SCHEMA)
    assert commit.documents == documents.rows(mail) + documents.rows(attached)
    assert commit.quads == provenance.lines(mail, fingerprint=FINGERPRINT)
    assert [letter["source_uri"] for letter in commit.dead_letters] == ["file:///library/mail#attachment=1"]
    assert commit.blobs == [(mail.images[0].blob_path, 8)]


def test_the_outcome_is_that_of_the_main_document(tmp_path):
    mail = decode("mail", TWO_PAGES)
    data = commit_of(tmp_path, mail, fail("attached", document_id="urn:attached", parent_document_id=mail.document_id))
    outcome = read_outcome(io.BytesIO(data))
    assert outcome == Outcome(
        document_id="https://example.org/mail",
        source_uri="file:///library/mail",
        status="ok",
        mime_type="application/pdf",
        documents=2,
        texts=2,
        images=1,
        quads=provenance.lines(mail, fingerprint=FINGERPRINT).count(b"\n"),
        dead_letters=1,
        fingerprint=FINGERPRINT,
    )
    assert Outcome(**json.loads(json.dumps(outcome._asdict()))) == outcome
    assert read_commit(io.BytesIO(data)).outcome == outcome


def test_equal_documents_give_equal_bytes_wherever_they_are_written(tmp_path):
    (tmp_path / "other").mkdir()
    assert commit_of(tmp_path, decode("a", TWO_PAGES)) == commit_of(tmp_path / "other", decode("a", TWO_PAGES))
    assert commit_of(tmp_path, decode("a", TWO_PAGES)) != commit_of(tmp_path, decode("b", TWO_PAGES))


def test_members_without_rows_are_left_out_and_the_outcome_is_first(tmp_path):
    names = zipfile.ZipFile(io.BytesIO(commit_of(tmp_path, decode("a", TWO_PAGES)))).namelist()
    assert names == ["outcome.json", "text_documents.arrow", "images.arrow", "provenance.nq"]
    assert zipfile.ZipFile(io.BytesIO(commit_of(tmp_path, fail("a")))).namelist() == ["outcome.json"]


def test_lone_surrogates_cost_neither_the_document_nor_an_offset(tmp_path):
    document = decode("a", [Element("Title", "a\udcffb", page_number=1)], warnings=["name \udcff"])
    entity = replace(document.texts[0], text="a\udcffb")  # should the assembly let one pass
    commit = read_commit(io.BytesIO(commit_of(tmp_path, replace(document, texts=[entity]))))
    assert commit.texts.to_pylist()[0]["text"] == "a\ufffdb"
    assert commit.documents[0]["warnings"] == ["name \ufffd"]


def test_a_value_that_a_dataset_does_not_allow_fails_here_and_not_in_the_writer_of_all(tmp_path):
    document = decode("a", TWO_PAGES)
    with pytest.raises(ValueError, match="A row has no title"):
        commit_of(tmp_path, replace(document, texts=[replace(document.texts[0], title=None)]))


def test_every_truncation_is_found(tmp_path):
    data = commit_of(tmp_path, decode("a", TWO_PAGES))
    for length in range(len(data)):
        with pytest.raises(CommitDamaged):
            read_outcome(io.BytesIO(data[:length]))


def test_no_altered_byte_changes_what_is_read(tmp_path):
    data = commit_of(tmp_path, decode("a", TWO_PAGES))
    whole = read_commit(io.BytesIO(data))
    found = 0
    for position in range(len(data)):
        altered = bytearray(data)
        altered[position] ^= (0x01, 0x80, 0xFF)[position % 3]
        try:
            read = read_commit(io.BytesIO(bytes(altered)))
        except CommitDamaged:
            found += 1
        else:
            assert read == whole  # a time or a mode that nobody reads
    assert found > len(data) * 2 / 3


def test_a_power_cut_that_leaves_zeros_is_found(tmp_path):
    size = len(commit_of(tmp_path, decode("a", TWO_PAGES)))
    for data in (b"", bytes(size)):
        with pytest.raises(CommitDamaged, match="not a zip"):
            read_outcome(io.BytesIO(data))


def test_a_missing_member_is_found_though_the_archive_is_whole(tmp_path):
    source = zipfile.ZipFile(io.BytesIO(commit_of(tmp_path, decode("a", TWO_PAGES))))
    for missing in source.namelist():
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for name in source.namelist():
                if name != missing:
                    archive.writestr(name, source.read(name))
        with pytest.raises(CommitDamaged):
            read_commit(target)


def test_a_commit_of_another_format_is_to_be_decoded_again(tmp_path):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("outcome.json", json.dumps({"format": 2}))
    with pytest.raises(CommitDamaged, match="its format is 2, this decoder's is 1"):
        read_outcome(target)


def test_a_commit_whose_blob_is_gone_is_to_be_decoded_again(tmp_path):
    output = Output(tmp_path / "out")
    document = decode("a", TWO_PAGES)
    staged = output.stage(document)
    blob = output.path / document.images[0].blob_path

    def outcome():
        with (output.path / staged.path).open("rb") as stream:
            return read_outcome(stream, blobs_in=str(output.path), path=staged.path)

    assert outcome().status == "ok"
    blob.write_bytes(b"cut")
    with pytest.raises(CommitDamaged, match=f"The commit {staged.path} is damaged: its blob .* is not there, or not whole"):
        outcome()
    blob.unlink()
    with pytest.raises(CommitDamaged):
        outcome()


def test_an_error_of_the_disk_is_not_taken_for_damage():
    class Broken(io.BytesIO):
        def read(self, *_):
            raise PermissionError("no")

    with pytest.raises(PermissionError):
        read_commit(Broken(b"x" * 100))


@pytest.mark.parametrize("record", [StagedDocument("p", "k", "d", "u", "ok", 2, 10, False), Outcome("d", "u", Status.OK.value)])
def test_what_is_shuffled_survives_its_coder(record):
    from apache_beam import coders

    coder = coders.registry.get_coder(type(record))
    assert coder.decode(coder.encode(record)) == record
