"""A document counts as decoded when its commit is whole and none of its failures may have passed."""

from dataclasses import replace

import pytest
from decoded_documents import FINGERPRINT, TWO_PAGES, decode, fail

from transforms.model import DecodedDocument, DocumentReference, Status
from transforms.storage.commit import StagedDocument, write_commit
from transforms.storage.staging import find_staged, forget_ranges, ranges_folder, staging_key, staging_path, sweep_ranges

TEXT = TWO_PAGES[:3]


def reference(name: str) -> DocumentReference:
    return DocumentReference(uri=f"file:///library/{name}", size=7, version="7-1")


def stage(tmp_path, name: str, *decoded: DecodedDocument):
    path = tmp_path / staging_path(FINGERPRINT, staging_key(reference(name)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_commit(path, decoded, fingerprint=FINGERPRINT)
    return path


def missing(tmp_path, *names: str, **options: bool) -> list[str]:
    found = list(find_staged(str(tmp_path), FINGERPRINT, map(reference, names), **options))
    assert len(found) == len(names)
    return [item.uri.rpartition("/")[2] for item in found if isinstance(item, DocumentReference)]


def attached(status: Status) -> DecodedDocument:
    return replace(fail("mail#attachment=1", document_id="urn:a", parent_document_id="https://example.org/mail"), status=status)


def test_a_staged_document_is_found_with_what_its_reference_says(tmp_path):
    stage(tmp_path, "a", decode("a", TEXT))
    (found,) = find_staged(str(tmp_path), FINGERPRINT, [reference("a"), reference("a")])
    key = staging_key(reference("a"))
    assert found == StagedDocument(
        path=staging_path(FINGERPRINT, key),
        key=key,
        document_id="https://example.org/a",
        source_uri="file:///library/a",
        status="ok",
        copies=2,
        size=7,
        fresh=False,
    )


def test_what_is_not_there_is_truncated_or_forced_is_decoded(tmp_path):
    stage(tmp_path, "whole", decode("whole"))
    cut = stage(tmp_path, "cut", decode("cut"))
    cut.write_bytes(cut.read_bytes()[:-1])
    assert missing(tmp_path, "whole", "cut", "new") == ["cut", "new"]
    assert missing(tmp_path, "whole", "cut", "new", force=True) == ["whole", "cut", "new"]


def test_the_commit_of_another_document_counts_for_nothing(tmp_path):
    first, second = (stage(tmp_path, name, decode(name)) for name in ("first", "second"))
    second.write_bytes(first.read_bytes())
    assert missing(tmp_path, "first", "second") == ["second"]


@pytest.mark.parametrize(
    ("status", "again", "retried"),
    [
        (Status.OK, False, False),
        (Status.EMPTY, False, False),
        (Status.ENCRYPTED, False, True),
        (Status.TIMEOUT, False, True),
        (Status.MISSING_TOOL, True, True),
        (Status.FETCH_FAILED, True, True),
    ],
)
def test_a_failure_that_may_pass_is_tried_again_also_that_of_an_attachment(tmp_path, status, again, retried):
    alone = replace(fail("alone"), status=status) if status.is_dead_letter else replace(decode("alone", TEXT), status=status)
    stage(tmp_path, "alone", alone)
    stage(tmp_path, "mail", decode("mail", TEXT), attached(status))
    assert missing(tmp_path, "alone", "mail") == (["alone", "mail"] if again else [])
    assert missing(tmp_path, "alone", "mail", retry_failed=True) == (["alone", "mail"] if retried else [])


def test_a_document_of_which_pages_are_missing_is_tried_again_with_the_failed(tmp_path):
    stage(tmp_path, "whole", decode("whole", TEXT))
    stage(tmp_path, "cut", replace(decode("cut", TEXT), missing_pages=(51, 52)))
    assert missing(tmp_path, "whole", "cut") == []
    assert missing(tmp_path, "whole", "cut", retry_failed=True) == ["cut"]


def stage_range(tmp_path, name: str):
    path = tmp_path / ranges_folder(FINGERPRINT, staging_key(reference(name))) / "000001-000050.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"read")
    return path


def test_ranges_are_swept_where_the_commit_is_there_and_kept_where_work_goes_on(tmp_path):
    stage(tmp_path, "done", decode("done"))
    done, begun = stage_range(tmp_path, "done"), stage_range(tmp_path, "begun")
    sweep_ranges(tmp_path.as_uri(), FINGERPRINT)
    assert (done.exists(), begun.exists()) == (False, True)
    assert missing(tmp_path, "done", "begun") == ["begun"]


def test_of_forgotten_ranges_no_folder_is_left(tmp_path):
    stage_range(tmp_path, "begun")
    forget_ranges(tmp_path.as_uri(), FINGERPRINT, staging_key(reference("begun")))
    assert [path.name for path in (tmp_path / "staging" / FINGERPRINT).iterdir()] == []
    forget_ranges(tmp_path.as_uri(), FINGERPRINT, staging_key(reference("begun")))
    sweep_ranges(tmp_path.as_uri(), FINGERPRINT)
