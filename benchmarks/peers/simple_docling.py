"""Docling with its simple backends, which need no models: each document becomes Markdown.

usage: python simple_docling.py FOLDER

PDFs are left to it nowhere: its PDF pipeline is a layout model, and the text of its pypdfium2 backend alone is no document.
"""

import logging
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from docling.backend.csv_backend import CsvDocumentBackend  # noqa: E402
from docling.backend.html_backend import HTMLDocumentBackend  # noqa: E402
from docling.backend.md_backend import MarkdownDocumentBackend  # noqa: E402
from docling.backend.msexcel_backend import MsExcelDocumentBackend  # noqa: E402
from docling.backend.mspowerpoint_backend import MsPowerpointDocumentBackend  # noqa: E402
from docling.backend.msword_backend import MsWordDocumentBackend  # noqa: E402
from docling.datamodel.base_models import InputFormat  # noqa: E402
from docling.datamodel.document import InputDocument  # noqa: E402

BACKENDS = {
    ".csv": (InputFormat.CSV, CsvDocumentBackend),
    ".docx": (InputFormat.DOCX, MsWordDocumentBackend),
    ".htm": (InputFormat.HTML, HTMLDocumentBackend),
    ".html": (InputFormat.HTML, HTMLDocumentBackend),
    ".md": (InputFormat.MD, MarkdownDocumentBackend),
    ".pptx": (InputFormat.PPTX, MsPowerpointDocumentBackend),
    ".xlsx": (InputFormat.XLSX, MsExcelDocumentBackend),
}


def markdown(file: Path) -> str:
    """As `SimplePipeline` has it. Not through `DocumentConverter`: its module imports speech recognition, and so torch (2.143.0)."""
    kind, backend = BACKENDS[file.suffix.lower()]
    document = InputDocument(path_or_stream=file, format=kind, backend=backend, filename=file.name)
    return str(document._backend.convert().export_to_markdown())


if __name__ == "__main__":
    files = sorted(path for path in Path(sys.argv[1]).iterdir() if path.suffix.lower() in BACKENDS)
    lost = 0
    for file in files:
        try:
            lost += not markdown(file).strip()
        except Exception:
            lost += 1
    print(len(files) - lost)
