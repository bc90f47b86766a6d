import io
import shutil
import unicodedata

import pytest
from rich.console import Console

from pipeline.options.trace import TraceSettings
from pipeline.report.finished_run import open_run
from pipeline.trace import main, read_statements, show, trace, trace_in
from transforms.errors import UsageError
from transforms.sinks.manifest import write_manifest

PDF = "https://example.org/report"
PAGE_1 = "urn:page:00000000-0000-5000-8000-000000000001"
PAGE_2 = "urn:page:00000000-0000-5000-8000-000000000002"
SECTION_1 = "urn:section:00000000-0000-5000-8000-000000000003"
SECTION_2 = "urn:section:00000000-0000-5000-8000-000000000004"
IMAGE = "urn:image:00000000-0000-5000-8000-000000000005"


@pytest.fixture
def run(output):
    return open_run(str(output.path))


def shown(chain, full=False):
    stream = io.StringIO()
    show(chain, Console(file=stream, width=300, highlight=False, markup=False), full)
    return stream.getvalue()


def test_a_nested_section_leads_over_its_parent_to_the_document(run):
    chain = trace(run, SECTION_2)
    assert [(link.kind, link.id, link.title, link.parent_id) for link in chain] == [
        ("section", SECTION_2, "Section 2", SECTION_1),
        ("section", SECTION_1, "Section 1", "https://example.org/letter"),
        ("document", "https://example.org/letter", "", ""),
    ]
    assert chain[0].text == "Scope"
    assert chain[0].facts == [
        ("number", "2"),
        ("heading", "Scope"),
        ("below", "Introduction"),
        ("level", "2"),
        ("place", "characters 14 to 19 (offset 14, length 5) of the document's text"),
        ("elements", "1 element: NarrativeText"),
    ]


def test_an_image_on_a_page_without_text_leads_over_the_triples(run, output):
    chain = trace(run, IMAGE)
    assert [link.kind for link in chain] == ["image", "page", "document"]
    assert dict(chain[0].facts)["place"] == "x 0.100 to 0.500, y 0.200 to 0.750 of the page, from its top left"
    assert dict(chain[0].facts)["blob"] == f"{output.path}/blobs/sha256/bb/{'b' * 64}.png"
    assert chain[1].id == PAGE_2
    assert chain[1].title == "Page 2"
    assert chain[1].parent_id == PDF
    assert dict(chain[1].facts)["text"] == "none of its own: it is in its sections, or it holds pictures only"


def test_the_document_tells_its_source_and_digest(run):
    facts = dict(trace(run, PAGE_1)[-1].facts)
    assert facts["source"] == "file:///library/report.pdf"
    assert facts["sha256"] == "a" * 64
    assert facts["warning"] == "Page 2 has a picture that could not be read."


def test_an_attachment_leads_to_its_mail(run):
    assert [link.id for link in trace(run, "https://example.org/mail/attachment")] == [
        "https://example.org/mail/attachment",
        "https://example.org/mail",
    ]


def test_a_dead_letter_is_found_by_its_uri_and_says_why(run):
    assert dict(trace(run, "file:///library/away3.pdf")[0].facts)["status"] == "fetch_failed: The server is away."


def test_an_activity_leads_to_what_it_used(run):
    statements = read_statements(run.quads_about(SECTION_2))
    activity = statements["http://www.w3.org/ns/prov#wasGeneratedBy"][0]
    chain = trace(run, activity)
    assert [link.kind for link in chain][:2] == ["activity", "section"]
    assert chain[1].id == SECTION_1


@pytest.mark.parametrize(
    ("identifier", "sentence"),
    [
        (
            "urn:chunk:1",
            "urn:chunk:1 is a chunk, which a later stage makes: a backfill knows pages, sections, images and documents, so trace the page "
            "or section that it was derived from (prov:wasDerivedFrom).",
        ),
        (
            "page 3",
            "Run first does not know 'page 3': give urn:page:..., urn:section:..., urn:image:..., or the id, the URI or the path of a "
            "document.",
        ),
        (
            "urn:page:0",
            "Run first does not know urn:page:0: ids change with the settings, the bytes and the decoder's version.",
        ),
    ],
)
def test_an_unknown_id_gives_a_sentence(run, identifier, sentence):
    with pytest.raises(UsageError) as caught:
        trace_in([run], identifier)
    assert caught.value.sentence == sentence


@pytest.mark.parametrize("place", ["/library/report.pdf", "file:///library/report%2Epdf", "../library/report.pdf"])
def test_a_document_is_found_by_its_path(run, place, monkeypatch):
    monkeypatch.chdir("/usr")
    assert [link.id for link in trace(run, place)] == [PDF]


@pytest.fixture
def newer_run(output):
    """A newer run, in name before the other, without the last's PDF and its pages."""
    manifest = {**output.manifest, "run_id": "another", "finished_at": "2026-02-01T00:00:00Z"}
    shutil.copytree(output.path / "runs/first", output.path / "runs/another")
    manifest["datasets"] = {name: {**facts, "parts": []} for name, facts in manifest["datasets"].items()}
    write_manifest(str(output.path), manifest)


def test_what_the_newest_run_does_not_know_is_looked_up_in_the_others(output, newer_run):
    stream = io.StringIO()
    main(TraceSettings(SECTION_2, str(output.path), None, False), Console(file=stream, width=300, highlight=False, markup=False))
    assert stream.getvalue().splitlines()[-1] == f"Run first in {output.path} (the newest, another, does not know it)"


def test_a_run_that_is_named_is_the_only_one_searched(output, newer_run):
    for settings, sentence in (
        (TraceSettings(SECTION_2, str(output.path), "another", False), f"Run another does not know {SECTION_2}: "),
        (TraceSettings("urn:page:0", str(output.path), None, False), "The runs another and first do not know urn:page:0: "),
    ):
        with pytest.raises(UsageError) as caught:
            main(settings, Console(file=io.StringIO()))
        assert caught.value.sentence.startswith(sentence)


def test_the_text_is_bounded_unless_full_is_asked_for(run):
    chain = trace(run, PAGE_1)
    assert "1,018 characters; --full shows them all" in shown(chain)
    assert "x" * 1000 not in shown(chain)
    assert "x" * 1000 in shown(chain, full=True)


def test_nothing_from_a_document_can_control_the_terminal(run):
    text = shown(trace(run, PAGE_1), full=True)
    assert "Revenue grew. \\x1b[2Jxxx" in text
    assert "Title \\x1b]0;owned\\x07 \\u202eend" in text
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} == {"\n"}


def test_statements_are_read_with_their_escapes():
    line = (
        b'<urn:a> <urn:p> "tab\\there \\u00e9 \\U0001F600 \\"q\\" \\\\n"^^<http://www.w3.org/2001/XMLSchema#string> <urn:graph:source> .\n'
    )
    assert read_statements([line, b"<urn:a> <urn:q> <urn:b> <urn:graph:source> .\n"]) == {
        "urn:p": ['tab\there é 😀 "q" \\n'],
        "urn:q": ["urn:b"],
    }
