"""TrustGraph's published decoder (trustgraph-unstructured 2.9.5), its message handler driven in memory.

usage: python trustgraph_decoder.py FOLDER

The handler gets one message a document, as it does from the queue, in one process (its concurrency is 1 by default). What it would fetch
from the librarian (kind and content) and what it sends (child documents, triples, text documents) stays in this process: there is no
broker, no librarian and no graph store, and transport costs nothing. `Processor.__init__` connects to a broker, so what it sets besides is
set here.
"""

import asyncio
import base64
import logging
import mimetypes
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from trustgraph.decoding.universal.processor import Processor  # noqa: E402
from trustgraph.decoding.universal.strategies import get_strategy  # noqa: E402
from trustgraph.schema import Document, Metadata  # noqa: E402

for extension, kind in {
    ".md": "text/markdown",
    ".rst": "text/x-rst",
    ".rtf": "application/rtf",
    ".tsv": "text/tab-separated-values",
}.items():
    mimetypes.add_type(kind, extension)


class Librarian:
    """Of one document."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.saved = 0

    async def fetch_document_metadata(self, **_: Any) -> Any:
        return SimpleNamespace(kind=mimetypes.guess_type(self._path.name)[0])

    async def fetch_document_content(self, **_: Any) -> bytes:
        return base64.b64encode(self._path.read_bytes())

    async def save_child_document(self, **_: Any) -> None:
        self.saved += 1


class Flow:
    """Of one document: its librarian, and producers that take everything."""

    def __init__(self, path: Path) -> None:
        self.librarian = Librarian(path)

    def __call__(self, _name: str) -> "Flow":
        return self

    async def send(self, _message: Any) -> None:
        pass


async def main() -> None:
    """Hands all documents to the handler, one after the other."""
    processor = Processor.__new__(Processor)
    processor.partition_strategy = "fast"
    processor.languages = ["eng"]
    processor.section_strategy_name = "whole-document"
    processor.section_element_count, processor.section_max_size, processor.section_within_pages = 20, 4000, False
    processor.section_strategy = get_strategy("whole-document")
    files = sorted(Path(sys.argv[1]).iterdir())
    lost = 0
    for number, path in enumerate(files):
        flow = Flow(path)
        document = Document(metadata=Metadata(id=f"urn:{number}", root=f"urn:{number}", collection="default"), document_id=f"urn:{number}")
        try:
            await processor.on_message(SimpleNamespace(value=lambda document=document: document), None, flow)
        except Exception:  # the broker would deliver it again, forever
            lost += 1
        else:
            lost += not flow.librarian.saved
    print(len(files) - lost)


asyncio.run(main())
