"""Puts documents into a library with TrustGraph's own client, run by the Python that has it: what a user's own program would do.

    python upload_documents.py URL TOKEN WORKSPACE < LINES

Each line is a JSON object with `path`, `kind`, and as wanted `id`, `title`, `comments`, `tags` and `metadata` ([[predicate, text], …]).
"""

import json
import sys
from pathlib import Path

from trustgraph.api import Api, Triple
from trustgraph.api.types import Uri as IriOfApi  # which the client sends as a literal
from trustgraph.knowledge import PREF_DOC, Literal, Uri, to_uri
from trustgraph.knowledge import hash as hash_of


def main(url: str, token: str, workspace: str) -> None:
    library = Api(url, token=token, workspace=workspace).library()
    for line in sys.stdin:
        wanted = json.loads(line)
        content = Path(wanted["path"]).read_bytes()
        document_id = wanted.get("id") or to_uri(PREF_DOC, hash_of(content))
        library.add_document(
            document=content,
            id=document_id,
            metadata=[Triple(term(document_id), term(p), Literal(o)) for p, o in wanted.get("metadata", ()) for term in (Uri, IriOfApi)],
            title=wanted.get("title", ""),
            comments=wanted.get("comments", ""),
            kind=wanted["kind"],
            tags=wanted.get("tags", []),
        )
        print(document_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
