import json
import time
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from transforms.model import DecodedDocument, ImageEntity, Picture, Status, TextEntity
from transforms.provenance import vocabulary
from transforms.provenance.identifiers import activity_id
from transforms.provenance.nquads import serialise
from transforms.provenance.triples import describe, read_metadata

PROV, DC, TG = "http://www.w3.org/ns/prov#", "http://purl.org/dc/elements/1.1/", "https://trustgraph.ai/ns/"
TYPE, LABEL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.w3.org/2000/01/rdf-schema#label"
DOCUMENT = "https://example.org/report"
STARTED = "2026-01-01T00:00:00Z"
FINGERPRINT = "0123456789abcdef"
AGENT = NamedNode("https://trustgraph.ai/agent/universal-decoder")

anything = st.text(st.characters(exclude_categories=()), max_size=20)


def integer(number):
    return Literal(str(number), datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))


def iris(*values):
    return [NamedNode(value) for value in values]


def lines(document):
    return list(serialise(describe(document, started_at=STARTED, fingerprint=FINGERPRINT)))


def read(document):
    """Subject -> predicate -> objects, as a strict parser reads them; every quad is in the graph, and none comes twice."""
    written = lines(document)
    assert len(set(written)) == len(written)
    found = defaultdict(lambda: defaultdict(list))
    for quad in parse("".join(written).encode(), format=RdfFormat.N_QUADS):
        assert quad.graph_name == NamedNode("urn:graph:source")
        found[str(quad.subject).strip("<>")][quad.predicate.value].append(quad.object)
    return {subject: dict(predicates) for subject, predicates in found.items()}


def activity(parent):
    return activity_id(parent, FINGERPRINT, STARTED)


def text_entity(identifier, parent=DOCUMENT, **facts):
    kind = identifier.split(":")[1]
    defaults = {
        "number": 1, "title": f"{kind.capitalize()} 1", "text": "words", "spans": (), "char_offset": 0, "char_length": 5,
        "element_types": ("Title", "NarrativeText"), "table_count": 0, "image_count": 0,
    }  # fmt: skip
    return TextEntity(id=identifier, document_type=kind, parent_id=parent, **{**defaults, **facts})


def image_entity(identifier, parent, **facts):
    defaults = {
        "title": "Image from page 3", "number": 1, "page_number": 3, "element_id": "e1", "sha256": "0" * 64,
        "picture": Picture(b"", "image/jpeg", 640, 480), "coordinates": (0.1, 0.2, 1 / 3, 1.0),
    }  # fmt: skip
    return ImageEntity(id=identifier, parent_id=parent, **{**defaults, **facts})


def decoded(*texts, **facts):
    defaults = {
        "status": Status.OK,
        "source_uri": "file:///a.pdf",
        "mime_type": "application/pdf",
        "page_based": True,
        "decoder_version": "1.2.3",
    }
    return DecodedDocument(**{"document_id": DOCUMENT, "texts": texts, **defaults, **facts})


def test_a_document_says_all_that_is_known_of_it():
    graph = read(decoded(title="The Report", creator="Ada", date="2024-05-01", page_count=12))

    assert graph[DOCUMENT] == {
        TYPE: iris(PROV + "Entity", TG + "Document"),
        DC + "title": [Literal("The Report")],
        LABEL: [Literal("The Report")],
        DC + "source": iris("file:///a.pdf"),
        DC + "date": [Literal("2024-05-01")],
        DC + "creator": [Literal("Ada")],
        TG + "mimeType": [Literal("application/pdf")],
        TG + "pageCount": [integer(12)],
    }
    assert graph[AGENT.value] == {TYPE: iris(PROV + "Agent"), LABEL: [Literal("universal-decoder")]}


def test_what_is_not_known_is_not_said():
    graph = read(decoded(mime_type="", source_uri="a.pdf", status=Status.EMPTY))

    assert graph[DOCUMENT] == {TYPE: iris(PROV + "Entity", TG + "Document")}


def test_an_activity_is_complete_and_there_also_when_it_gave_nothing():
    graph = read(decoded(status=Status.EMPTY))

    assert graph[activity(DOCUMENT)] == {
        TYPE: iris(PROV + "Activity"),
        LABEL: [Literal("universal-decoder extraction")],
        PROV + "used": iris(DOCUMENT),
        PROV + "wasAssociatedWith": [AGENT],
        PROV + "startedAtTime": [Literal(STARTED, datatype=NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))],
        TG + "componentVersion": [Literal("1.2.3")],
    }


def test_a_page():
    page = text_entity(
        "urn:page:1", title="Page 3", page_number=3, char_offset=7, char_length=40, table_count=2, image_count=1,
        element_types=("Title", "NarrativeText", "Table"),
    )  # fmt: skip

    assert read(decoded(page))["urn:page:1"] == {
        TYPE: iris(PROV + "Entity", TG + "Page"),
        PROV + "wasDerivedFrom": iris(DOCUMENT),
        PROV + "wasGeneratedBy": iris(activity(DOCUMENT)),
        LABEL: [Literal("Page 3")],
        TG + "pageNumber": [integer(3)],
        TG + "charOffset": [integer(7)],
        TG + "charLength": [integer(40)],
        TG + "mimeType": [Literal("application/pdf")],
        TG + "elementTypes": [Literal("Title,NarrativeText,Table")],
        TG + "tableCount": [integer(2)],
        TG + "imageCount": [integer(1)],
    }


def test_nested_sections_come_from_their_parents_each_by_the_activity_of_its_parent():
    page = text_entity("urn:page:1", text="", page_number=1)
    outer = text_entity("urn:section:1", "urn:page:1", page_number=1)
    inner = text_entity("urn:section:2", "urn:section:1", page_number=1)

    graph = read(decoded(page, outer, inner))

    for made, parent in (("urn:page:1", DOCUMENT), ("urn:section:1", "urn:page:1"), ("urn:section:2", "urn:section:1")):
        assert graph[made][PROV + "wasDerivedFrom"] == iris(parent)
        assert graph[made][PROV + "wasGeneratedBy"] == iris(activity(parent))
        assert graph[activity(parent)][PROV + "used"] == iris(parent)
    assert graph["urn:section:1"][TYPE] == iris(PROV + "Entity", TG + "Section")
    assert graph["urn:section:1"][TG + "pageNumber"] == [integer(1)]
    assert sum(iris(PROV + "Activity") == about.get(TYPE) for about in graph.values()) == 3


def test_one_activity_makes_all_that_is_derived_from_one_parent():
    pages = [text_entity(f"urn:page:{number}", page_number=number) for number in (1, 2, 3)]
    images = [image_entity(f"urn:image:{number}", "urn:page:2") for number in (1, 2)]

    graph = read(decoded(*pages, images=images))

    assert {a: Counter(str(b) for b in about[PROV + "used"]) for a, about in graph.items() if PROV + "used" in about} == {
        activity(DOCUMENT): {f"<{DOCUMENT}>": 1},
        activity("urn:page:2"): {"<urn:page:2>": 1},
    }


def test_an_image():
    graph = read(decoded(text_entity("urn:page:1"), images=[image_entity("urn:image:1", "urn:page:1")]))

    assert graph["urn:image:1"] == {
        TYPE: iris(PROV + "Entity", TG + "Image"),
        PROV + "wasDerivedFrom": iris("urn:page:1"),
        PROV + "wasGeneratedBy": iris(activity("urn:page:1")),
        LABEL: [Literal("Image from page 3")],
        TG + "pageNumber": [integer(3)],
        TG + "mimeType": [Literal("image/jpeg")],
        TG + "imageWidth": [integer(640)],
        TG + "imageHeight": [integer(480)],
        TG + "elementId": [Literal("e1")],
        TG + "coordinates": [Literal("0.100000,0.200000,0.333333,1.000000")],
    }


def test_a_format_without_pages_has_no_page_numbers():
    image = image_entity("urn:image:1", "urn:section:1", coordinates=None, element_id="")
    graph = read(decoded(text_entity("urn:section:1", page_number=3), images=[image], page_based=False))

    assert TG + "pageNumber" not in graph["urn:section:1"]
    assert not {TG + "pageNumber", TG + "coordinates", TG + "elementId"} & set(graph["urn:image:1"])


def test_an_attachment_comes_from_its_mail_by_the_activity_that_made_the_mails_sections():
    mail = read(decoded(text_entity("urn:section:1", "urn:mail"), document_id="urn:mail"))
    attachment = read(decoded(parent_document_id="urn:mail"))

    assert attachment[DOCUMENT][PROV + "wasDerivedFrom"] == iris("urn:mail")
    assert attachment[DOCUMENT][PROV + "wasGeneratedBy"] == mail["urn:section:1"][PROV + "wasGeneratedBy"] == iris(activity("urn:mail"))
    # Described once, by the mail: a run's file then has each statement once.
    assert activity("urn:mail") in mail
    assert activity("urn:mail") not in attachment


@pytest.mark.parametrize("status", [status for status in Status if status not in (Status.OK, Status.EMPTY)])
def test_what_was_not_decoded_has_no_provenance(status):
    assert lines(decoded(text_entity("urn:page:1"), status=status)) == []


def test_the_order_is_that_of_the_document_and_always_the_same():
    document = decoded(text_entity("urn:page:1"), text_entity("urn:page:2"), images=[image_entity("urn:image:1", "urn:page:1")])

    subjects = list(dict.fromkeys(line.split(" ", 1)[0].strip("<>") for line in lines(document)))
    assert subjects == [DOCUMENT, AGENT.value, activity(DOCUMENT), "urn:page:1", activity("urn:page:1"), "urn:image:1", "urn:page:2"]
    assert lines(document) == lines(document)


def test_the_metadata_of_the_reference_is_merged():
    metadata = [
        ["", f"<{DC}title>", '"The Report"'],
        ["", f"<{DC}title>", '"Der Bericht"@de'],
        ["", f"<{DC}publisher>", "_:p"],
        ["_:p", f"<{LABEL}>", '"Press"'],
        ["_:p", f"<{LABEL}>", '"Press"'],
        [f"<{AGENT.value}>", f"<{TYPE}>", f"<{PROV}Agent>"],
    ]

    graph = read(decoded(title="The Report", metadata=json.dumps(metadata)))

    assert graph[DOCUMENT][DC + "title"] == [Literal("The Report"), Literal("Der Bericht", language="de")]
    (publisher,) = graph[DOCUMENT][DC + "publisher"]
    assert isinstance(publisher, BlankNode)
    assert graph[str(publisher)] == {LABEL: [Literal("Press")]}


def test_what_the_reference_says_takes_the_place_of_what_the_document_says_of_itself():
    metadata = [["", f"<{DC}{name}>", f'"{value}"'] for name, value in (("title", "A"), ("creator", "B"), ("date", "2024"))]

    graph = read(decoded(title="Untitled1", creator="Admin", date="1970-01-01", metadata=json.dumps(metadata)))

    assert {name: graph[DOCUMENT][name] for name in (DC + "title", LABEL, DC + "creator", DC + "date")} == {
        DC + "title": [Literal("A")],
        LABEL: [Literal("A")],
        DC + "creator": [Literal("B")],
        DC + "date": [Literal("2024")],
    }


def test_what_the_reference_says_of_something_else_takes_no_place():
    graph = read(decoded(creator="Ada", metadata=json.dumps([["<urn:other>", f"<{DC}creator>", '"Bob"']])))

    assert graph[DOCUMENT][DC + "creator"] == [Literal("Ada")]
    assert graph["urn:other"] == {DC + "creator": [Literal("Bob")]}


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("{", "The metadata is not JSON: "),
        ("[" * 100_000, "The metadata is not JSON: "),
        ("{}", "The metadata is not a JSON array of [subject, predicate, object]."),
        ('[["", "<urn:p>"]]', "Metadata triple 1 is left out: not an array of three strings."),
        ('[["", "<urn:p>", 3]]', "Metadata triple 1 is left out: not an array of three strings."),
        ('[["", "<urn:p>", "Ada"]]', "Metadata triple 1 is left out: not a term in N-Triples syntax (<iri>, \"text\", _:label): 'Ada'."),
        (
            '[["\\"a\\"", "<urn:p>", "<urn:o>"]]',
            "Metadata triple 1 is left out: a subject is an IRI or a blank node, and a predicate an IRI.",
        ),
        ('[["", "_:p", "<urn:o>"]]', "Metadata triple 1 is left out: a subject is an IRI or a blank node, and a predicate an IRI."),
    ],
)
def test_metadata_that_says_nothing_is_left_out_and_told(metadata, problem):
    quads, problems = read_metadata(metadata, DOCUMENT)

    assert quads == []
    assert [text[: len(problem)] for text in problems] == [problem]
    assert lines(decoded(metadata=metadata)) == lines(decoded())


def test_what_is_wrong_in_metadata_takes_nothing_else_with_it():
    quads, problems = read_metadata('[["", "<urn:p>", "wrong"], ["", "<urn:p>", "<urn:o>"], ["", "<urn:p>", "<urn:o>"]]', DOCUMENT)

    assert [tuple(quad) for quad in quads] == [(f"<{DOCUMENT}>", "<urn:p>", "<urn:o>", "<urn:graph:source>")]
    assert len(problems) == 1
    assert read_metadata("", DOCUMENT) == ([], [])


@given(st.lists(anything, min_size=8, max_size=8), st.lists(st.lists(anything, min_size=3, max_size=3), max_size=2))
def test_any_document_gives_valid_n_quads(strings, metadata):
    document_id, source_uri, title, creator, date, mime_type, label, parent = strings
    page = text_entity("urn:page:1", document_id, title=label, element_types=(label, title))
    image = image_entity("urn:image:1", "urn:page:1", title=label, element_id=creator, picture=Picture(b"", mime_type, 1, 1))
    document = decoded(
        page, images=[image], document_id=document_id, source_uri=source_uri, title=title, creator=creator, date=date,
        mime_type=mime_type, parent_document_id=parent, metadata=json.dumps(metadata), decoder_version=label,
    )  # fmt: skip

    graph = read(document)

    (subject,) = graph["urn:page:1"][PROV + "wasDerivedFrom"]
    assert NamedNode(TG + "Document") in graph[subject.value][TYPE]


def test_every_predicate_of_the_vocabulary_is_used():
    graph = read(
        decoded(
            text_entity("urn:page:1", page_number=1), images=[image_entity("urn:image:1", "urn:page:1")],
            title="a", creator="b", date="2024", page_count=1, parent_document_id="urn:mail",
        )
    )  # fmt: skip

    names = {name: value for name, value in vars(vocabulary).items() if name.startswith(("PROV_", "DC_", "TG_", "RDFS_"))}
    said = {predicate for about in graph.values() for predicate in about} | {
        o.value for about in graph.values() for o in about.get(TYPE, ())
    }
    assert {name for name, value in names.items() if value not in said} == {"TG_SECTION"}


def test_twenty_thousand_sections_take_well_under_a_second():
    sections = [text_entity(f"urn:section:{n}", DOCUMENT if n == 0 else f"urn:section:{n // 2}", char_offset=n) for n in range(20_000)]
    document = decoded(*sections, page_based=False)

    start = time.process_time()
    count = sum(1 for _ in describe(document, started_at=STARTED, fingerprint=FINGERPRINT))
    elapsed = time.process_time() - start

    assert count > 20_000 * 11
    # About 0.5 s here. What this is for is anything quadratic, which takes minutes.
    assert elapsed < 5
