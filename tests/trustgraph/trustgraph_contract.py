"""Runs in a Python that has trustgraph-base: what its own translators and builders make of JSON lines, one answer a line.

Input: {"do": "triples" | "librarian" | "core" | "derived", …}; the answers are what each gives back, as JSON.
"""

import json
import sys


def same_triples(message):
    """The triples of an import message, through the gateway's translator and back; and through the schema of the broker."""
    from trustgraph.messaging.translators.primitives import SubgraphTranslator

    translator = SubgraphTranslator()
    return translator.encode(translator.decode(message["triples"]))


def same_request(request):
    """A request to the librarian, through its translator: metadata as they arrive, and the content in hex digits."""
    import base64

    from trustgraph.messaging.translators.library import LibraryRequestTranslator

    translator = LibraryRequestTranslator()
    found = translator.decode(request)
    content = base64.b64decode(found.content).hex() if found.content else None
    return {
        "request": translator.encode(found),
        "content": content,
        "document": vars(found.document_metadata) if found.document_metadata else None,
        "processing": vars(found.processing_metadata) if found.processing_metadata else None,
        "sizes": [found.total_size, found.chunk_size, found.upload_id, found.chunk_index],
    }


def read_core(path):
    """The records of a knowledge core, as tg-put-kg-core reads and the knowledge service takes them."""
    import msgpack
    from trustgraph.cli.put_kg_core import read_message
    from trustgraph.messaging.translators.knowledge import KnowledgeRequestTranslator

    translator = KnowledgeRequestTranslator()
    names = {"t": "triples", "lm": "library-metadata", "lb": "library-blob"}
    with open(path, "rb") as file:
        for record in msgpack.Unpacker(file, raw=False):
            kind, message = read_message(record, "the id given on the command line")
            request = {"operation": "put-kg-core", "id": "x", names[kind]: message}
            yield kind, translator.encode(translator.decode(request))[names[kind]]


def built(facts):
    """The triples that TrustGraph's own builders give for an entity or a document, in the gateway's form."""
    from trustgraph.messaging.translators.primitives import SubgraphTranslator
    from trustgraph.provenance.triples import derived_entity_triples, document_triples

    build = {"derived": derived_entity_triples, "document": document_triples}[facts.pop("builder")]
    return SubgraphTranslator().encode(build(**facts))


for line in sys.stdin:
    asked = json.loads(line)
    answer = {"triples": same_triples, "librarian": same_request, "core": lambda path: list(read_core(path)), "built": built}[asked["do"]]
    print(json.dumps(answer(asked["what"]), default=str))
