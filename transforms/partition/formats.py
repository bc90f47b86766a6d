"""The one table of formats: it drives detection, the partitioner, `doctor`, `--dry-run` and the README's table."""

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Tool:
    """Something outside of this package that a format needs."""

    name: str
    sentence: str
    """What brings it, as an instruction."""
    package: str
    """The Debian package, or the one of the package index."""
    find: Callable[[], bool]

    def is_available(self) -> bool:
        """Whether it is installed here."""
        return self.find()


def pandoc_path() -> str | None:
    """The pandoc to run: the one that pypandoc_binary carries, else the one on PATH; None: there is none."""
    return _bundled_pandoc() or shutil.which("pandoc")


@lru_cache(maxsize=1)
def _bundled_pandoc() -> str | None:
    spec = importlib.util.find_spec("pypandoc")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        found = shutil.which("pandoc", path=f"{folder}/files")
        if found:
            return found
    return None


def soffice_path() -> str | None:
    """LibreOffice's command; None: it is not on PATH."""
    return shutil.which("soffice") or shutil.which("libreoffice")


@lru_cache(maxsize=1)
def _has_libmagic() -> bool:
    try:
        import magic
    except ImportError:  # raised by python-magic when the shared library is not found
        return False
    return hasattr(magic, "from_buffer")


SOFFICE = Tool(
    name="soffice",
    sentence="LibreOffice converts legacy Office files: apt-get install libreoffice-writer-nogui libreoffice-impress-nogui.",
    package="libreoffice-writer-nogui libreoffice-impress-nogui",
    find=lambda: soffice_path() is not None,
)
PANDOC = Tool(
    name="pandoc",
    sentence="pandoc converts it: pip install pypandoc_binary, or apt-get install pandoc.",
    package="pandoc",
    find=lambda: pandoc_path() is not None,
)
TESSERACT = Tool(
    name="tesseract",
    sentence="tesseract reads the text in pictures: apt-get install tesseract-ocr.",
    package="tesseract-ocr",
    find=lambda: shutil.which("tesseract") is not None,
)
POPPLER = Tool(
    name="poppler",
    sentence="poppler draws the pages of a PDF for OCR: apt-get install poppler-utils.",
    package="poppler-utils",
    find=lambda: shutil.which("pdftoppm") is not None,
)
LIBMAGIC = Tool(
    name="libmagic",
    sentence="libmagic tells the kind of a file from its bytes: apt-get install libmagic1.",
    package="libmagic1",
    find=_has_libmagic,
)
TOOLS = (LIBMAGIC, PANDOC, SOFFICE, TESSERACT, POPPLER)
"""All of them, for `doctor`."""


@dataclass(frozen=True)
class Format:
    """A kind of document that this job can decode."""

    name: str
    mime_type: str
    """The canonical one: what is written to the outputs and given to unstructured."""
    extensions: tuple[str, ...]
    """Lower case, with the dot; the first is the usual one."""
    aliases: tuple[str, ...] = ()
    """Other MIME types that mean the same."""
    page_based: bool = False
    """Whether its pages (slides, sheets) are the documents' parts. A property of the format, whatever a single file says."""
    grouped_by: str = "section strategy"
    """`page`, `slide`, `sheet` or `section strategy`."""
    tools: tuple[Tool, ...] = ()
    """Needed for any file of the format."""
    ocr_tools: tuple[Tool, ...] = ()
    """Needed only where text stands in pictures."""
    pictures: bool = False
    """Whether embedded pictures are extracted."""
    is_image: bool = False
    """The file itself is a picture."""
    is_text: bool = False
    """The bytes are characters in some encoding: content alone seldom tells these formats apart, so the label counts."""

    @property
    def missing_tools(self) -> tuple[Tool, ...]:
        """Those of `tools` that are not installed here."""
        return tuple(tool for tool in self.tools if not tool.is_available())


_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."
_MACRO_12 = ".macroenabled.12"

PDF = Format(
    "PDF",
    "application/pdf",
    (".pdf",),
    aliases=("application/x-pdf", "application/acrobat", "text/pdf"),
    page_based=True,
    grouped_by="page",
    ocr_tools=(TESSERACT, POPPLER),
    pictures=True,
)
PPTX = Format(
    "PPTX",
    f"{_OOXML}presentationml.presentation",
    (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    aliases=(
        f"{_OOXML}presentationml.slideshow",
        f"{_OOXML}presentationml.template",
        f"application/vnd.ms-powerpoint.presentation{_MACRO_12}",
        f"application/vnd.ms-powerpoint.slideshow{_MACRO_12}",
        f"application/vnd.ms-powerpoint.template{_MACRO_12}",
    ),
    page_based=True,
    grouped_by="slide",
    pictures=True,
)
XLSX = Format(
    "XLSX",
    f"{_OOXML}spreadsheetml.sheet",
    (".xlsx", ".xlsm", ".xltx", ".xltm"),
    aliases=(
        f"{_OOXML}spreadsheetml.template",
        f"application/vnd.ms-excel.sheet{_MACRO_12}",
        f"application/vnd.ms-excel.template{_MACRO_12}",
    ),
    page_based=True,
    grouped_by="sheet",
    pictures=True,
)
XLS = Format(
    "XLS",
    "application/vnd.ms-excel",
    (".xls", ".xlt"),
    aliases=("application/msexcel", "application/x-msexcel", "application/x-ms-excel", "application/xls", "application/x-xls"),
    page_based=True,
    grouped_by="sheet",
)
DOCX = Format(
    "DOCX",
    f"{_OOXML}wordprocessingml.document",
    (".docx", ".docm", ".dotx", ".dotm"),
    aliases=(
        f"{_OOXML}wordprocessingml.template",
        f"application/vnd.ms-word.document{_MACRO_12}",
        f"application/vnd.ms-word.template{_MACRO_12}",
    ),
    pictures=True,
)
HTML = Format(
    "HTML", "text/html", (".html", ".htm", ".xhtml"), aliases=("application/xhtml+xml", "application/xhtml"), pictures=True, is_text=True
)
MARKDOWN = Format(
    "Markdown", "text/markdown", (".md", ".markdown"), aliases=("text/x-markdown", "text/x-web-markdown"), pictures=True, is_text=True
)
TEXT = Format(
    "Plain text",
    "text/plain",
    (
        *(".txt", ".text", ".log", ".yaml", ".yml"),
        *(".c", ".cc", ".cpp", ".cs", ".cxx", ".go", ".h", ".java", ".js", ".php", ".py", ".rb", ".rs", ".sh", ".swift", ".ts"),
    ),
    aliases=("text/yaml", "text/x-yaml", "application/yaml", "application/x-yaml", "text/x-log"),
    is_text=True,
)
CSV = Format(
    "CSV",
    "text/csv",
    (".csv",),
    aliases=("application/csv", "application/x-csv", "text/x-csv", "text/comma-separated-values", "text/x-comma-separated-values"),
    is_text=True,
)
TSV = Format("TSV", "text/tab-separated-values", (".tsv", ".tab"), aliases=("text/tsv", "text/x-tsv"), is_text=True)
RST = Format("RST", "text/x-rst", (".rst",), aliases=("text/rst", "text/prs.fallenstein.rst"), tools=(PANDOC,), is_text=True)
RTF = Format(
    "RTF", "application/rtf", (".rtf",), aliases=("text/rtf", "application/x-rtf", "text/richtext"), tools=(PANDOC,), pictures=True
)
ODT = Format(
    "ODT", f"{_ODF}text", (".odt", ".ott"), aliases=(f"{_ODF}text-template", "application/x-vnd.oasis.opendocument.text"),
    tools=(PANDOC,), pictures=True,
)  # fmt: skip
EPUB = Format(
    "EPUB", "application/epub+zip", (".epub",), aliases=("application/epub", "application/x-epub+zip"), tools=(PANDOC,), pictures=True
)
EML = Format("EML", "message/rfc822", (".eml",), aliases=("message/global", "application/eml"), pictures=True, is_text=True)
MSG = Format("MSG", "application/vnd.ms-outlook", (".msg",), aliases=("application/msg", "application/x-msg"), pictures=True)
ORG = Format("ORG", "text/org", (".org",), aliases=("text/x-org",), tools=(PANDOC,), is_text=True)
DOC = Format(
    "DOC",
    "application/msword",
    (".doc", ".dot"),
    aliases=("application/vnd.ms-word", "application/x-msword"),
    tools=(SOFFICE,),
    pictures=True,
)
PPT = Format(
    "PPT",
    "application/vnd.ms-powerpoint",
    (".ppt", ".pps", ".pot"),
    aliases=("application/mspowerpoint", "application/powerpoint", "application/x-mspowerpoint"),
    page_based=True,
    grouped_by="slide",
    tools=(SOFFICE,),
    pictures=True,
)
ODS = Format("ODS", f"{_ODF}spreadsheet", (".ods", ".ots"), aliases=(f"{_ODF}spreadsheet-template",), page_based=True, grouped_by="sheet")
ODP = Format("ODP", f"{_ODF}presentation", (".odp", ".otp"), aliases=(f"{_ODF}presentation-template",), page_based=True, grouped_by="slide")
PNG = Format("PNG", "image/png", (".png",), aliases=("image/x-png",), ocr_tools=(TESSERACT,), is_image=True, pictures=True)
JPEG = Format(
    "JPEG",
    "image/jpeg",
    (".jpg", ".jpeg", ".jpe"),
    aliases=("image/jpg", "image/pjpeg"),
    ocr_tools=(TESSERACT,),
    is_image=True,
    pictures=True,
)
TIFF = Format(
    "TIFF", "image/tiff", (".tif", ".tiff"), aliases=("image/tif", "image/x-tiff"), ocr_tools=(TESSERACT,), is_image=True, pictures=True
)
BMP = Format("BMP", "image/bmp", (".bmp",), aliases=("image/x-bmp", "image/x-ms-bmp"), ocr_tools=(TESSERACT,), is_image=True, pictures=True)
HEIC = Format(
    "HEIC", "image/heic", (".heic", ".heif"), aliases=("image/heif", "image/x-heic"), ocr_tools=(TESSERACT,), is_image=True, pictures=True
)
WEBP = Format("WEBP", "image/webp", (".webp",), ocr_tools=(TESSERACT,), is_image=True, pictures=True)
GIF = Format("GIF", "image/gif", (".gif",), ocr_tools=(TESSERACT,), is_image=True, pictures=True)
XML = Format("XML", "application/xml", (".xml", ".svg", ".rss", ".atom"), aliases=("text/xml",), is_text=True)
JSON = Format("JSON", "application/json", (".json",), aliases=("text/json", "application/x-json"), is_text=True)
NDJSON = Format(
    "NDJSON", "application/x-ndjson", (".ndjson", ".jsonl"), aliases=("application/ndjson", "application/jsonl", "application/x-jsonlines"),
    is_text=True,
)  # fmt: skip

FORMATS: tuple[Format, ...] = (
    *(PDF, PPTX, XLSX, XLS, DOCX, HTML, MARKDOWN, TEXT, CSV, TSV, RST, RTF, ODT),  # the seed specification's
    *(EPUB, EML, MSG, ORG, DOC, PPT, ODS, ODP, XML, JSON, NDJSON),
    *(PNG, JPEG, TIFF, BMP, HEIC, WEBP, GIF),
)

_BY_MIME_TYPE = {mime_type: known for known in FORMATS for mime_type in (known.mime_type, *known.aliases)}
_BY_EXTENSION = {extension: known for known in FORMATS for extension in known.extensions}


def normalise_mime_type(text: str) -> str:
    """The bare type of a Content-Type: `Text/HTML; charset=utf-8` gives `text/html`."""
    return text.partition(";")[0].strip().lower()


def by_mime_type(text: str) -> Format | None:
    """The format that a MIME type means, parameters, case and aliases aside; None: none of ours.

    Source code in any language (`text/x-python`) counts as plain text, and every dialect of XML as XML.
    """
    mime_type = normalise_mime_type(text)
    known = _BY_MIME_TYPE.get(mime_type)
    if known is None and mime_type.startswith("text/x-"):
        return TEXT
    if known is None and mime_type.endswith("+xml"):
        return XML
    return known


def by_extension(name: str) -> Format | None:
    """The format that a file name's extension means; None: none of ours."""
    _, dot, extension = name.rpartition(".")
    return _BY_EXTENSION.get(f".{extension.lower()}") if dot else None
