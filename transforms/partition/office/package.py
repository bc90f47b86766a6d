"""Makes Office packages readable that python-docx, python-pptx and openpyxl refuse although their content is the usual one."""

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from transforms.partition import formats
from transforms.partition.containers import corrupt, open_zip
from transforms.partition.formats import Format

_STRICT = b"http://purl.oclc.org/ooxml/"

_MAIN_CONTENT_TYPES: Mapping[str, bytes] = {
    formats.DOCX.name: b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    formats.PPTX.name: b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    formats.XLSX.name: b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
}

_OTHER_MAIN_TYPES = re.compile(
    rb"application/vnd\.(?:openxmlformats-officedocument\.(?:wordprocessingml\.template|presentationml\.(?:slideshow|template)"
    rb"|spreadsheetml\.template)|ms-(?:word|powerpoint|excel)\.\w+\.macroEnabled(?:\w+)?)\.main\+xml"
)
"""Templates, shows and files with macros: the same parts under another content type."""


def readable_package(path: Path, known: Format, folder: Path) -> Path:
    """A package in the transitional dialect and with the plain content type: `path` itself, or a rewritten copy in `folder`.

    Strict packages (ISO/IEC 29500 strict, "Strict Open XML" in Office's save dialog) differ in their namespaces; python-docx 1.2,
    python-pptx 1.0 and openpyxl 3.1 know the transitional ones only.
    """
    with open_zip(path) as archive:
        content_types = archive.read("[Content_Types].xml")
        relations = archive.read("_rels/.rels") if "_rels/.rels" in archive.namelist() else b""
        if _STRICT not in relations and not _OTHER_MAIN_TYPES.search(content_types):
            return path
        copy = folder / "package"
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
            for info in archive.infolist():
                data = archive.read(info)
                if info.filename.endswith((".xml", ".rels")):
                    data = _transitional(data)
                if info.filename == "[Content_Types].xml":
                    data = _OTHER_MAIN_TYPES.sub(_MAIN_CONTENT_TYPES[known.name], data)
                target.writestr(info.filename, data)
    return copy


def _transitional(data: bytes) -> bytes:
    """Replaces the namespaces and relationship types of the strict dialect. Source: ISO/IEC 29500-4, annex A."""
    if _STRICT not in data:
        return data
    data = data.replace(b"officeDocument/relationships/extendedProperties", b"officeDocument/relationships/extended-properties")
    data = data.replace(b"officeDocument/relationships/customProperties", b"officeDocument/relationships/custom-properties")
    data = data.replace(b"ooxml/officeDocument/extendedProperties", b"ooxml/officeDocument/extended-properties")
    data = data.replace(b"ooxml/officeDocument/customProperties", b"ooxml/officeDocument/custom-properties")
    data = data.replace(_STRICT + b"officeDocument/", b"http://schemas.openxmlformats.org/officeDocument/2006/")
    return re.sub(
        re.escape(_STRICT) + rb"(wordprocessingml|presentationml|spreadsheetml|drawingml)/",
        rb"http://schemas.openxmlformats.org/\1/2006/",
        data,
    )


_PAGES: Mapping[str, tuple[str, str, str, bytes]] = {
    formats.PPTX.name: ("slides", r"ppt/slides/[^/]+\.xml", r"ppt/presentation\d*\.xml", rb"<(?:\w+:)?sldId\b"),
    formats.XLSX.name: ("sheets", r"xl/(?:work|chart|dialog)sheets/[^/]+\.xml", r"xl/workbook\d*\.xml", rb"<(?:\w+:)?sheet\b"),
}
"""What its pages are called, the names of their parts, that of the part that lists them, and how it lists one."""


def missing_pages(path: Path, known: Format, found: int) -> list[str]:
    """The warning for pages that a package lists and does not have: openpyxl 3.1 passes them over in silence.

    Args:
      found: pages that were found by the list.
    Raises:
      DecodeError: `corrupt`, when there are pages and the list is empty.
    """
    what, pages, lists, entry = _PAGES[known.name]
    with open_zip(path) as archive:
        names = archive.namelist()
        listed = sum(len(re.findall(entry, archive.read(name))) for name in names if re.fullmatch(lists, name))
    if not found and any(re.fullmatch(pages, name) for name in names):
        raise corrupt(f"The {known.name} file is damaged: it lists none of its {what}.")
    return [f"It lists {listed} {what}, and has {found} of them."] if listed > found else []


_LEFT_OUT: Mapping[str, Sequence[tuple[str, str]]] = {
    formats.DOCX.name: (
        (r"word/comments\.xml", "comments"),
        (r"word/charts/chart\d*\.xml", "charts"),
        (r"word/diagrams/data\d*\.xml", "SmartArt diagrams"),
        (r"word/embeddings/", "embedded objects"),
    ),
    formats.PPTX.name: (
        (r"ppt/comments/", "comments"),
        (r"ppt/charts/chart\w*\.xml", "charts"),
        (r"ppt/diagrams/data\d*\.xml", "SmartArt diagrams"),
        (r"ppt/embeddings/", "embedded objects"),
        (r"ppt/media/.*\.(?:mp4|m4v|mov|wmv|avi|mp3|m4a|wav|wma)", "videos and sounds"),
    ),
    formats.XLSX.name: (
        (r"xl/(?:threadedComments/|comments\d*\.xml|comments/)", "comments"),
        (r"xl/charts/chart\d*\.xml", "charts"),
        (r"xl/chartsheets/sheet\d+\.xml", "chart sheets"),
        (r"xl/embeddings/", "embedded objects"),
    ),
}


def left_out(path: Path, known: Format) -> list[str]:
    """One warning for each kind of content that the package has and no partitioner reads."""
    with open_zip(path) as archive:
        names = archive.namelist()
    warnings = []
    for pattern, what in _LEFT_OUT[known.name]:
        count = sum(1 for name in names if re.match(pattern, name, re.IGNORECASE))
        if count:
            warnings.append(f"Its {what} are not decoded.")
    return [*warnings, *_left_out_of_parts(path, known)]


_INSIDE: Mapping[str, Sequence[tuple[str, bytes, str]]] = {
    formats.DOCX.name: (
        (r"word/document\.xml", rb"<w:(?:ins|del|moveFrom)[ >]", "It has tracked changes: they are taken as accepted."),
        (r"word/document\.xml", rb"<w:altChunk[ >]", "Documents that are embedded as parts of its text (altChunk) are not decoded."),
    ),
    formats.XLSX.name: ((r"xl/drawings/drawing\d*\.xml", rb"<a:t>\s*[^<\s]", "Its text boxes are not decoded."),),
    formats.PPTX.name: (),
}
"""Member, what stands in it, and the warning."""


def _left_out_of_parts(path: Path, known: Format) -> list[str]:
    warnings = []
    with open_zip(path) as archive:
        for pattern, mark, warning in _INSIDE[known.name]:
            if any(re.search(mark, archive.read(name)) for name in archive.namelist() if re.fullmatch(pattern, name)):
                warnings.append(warning)
    return warnings
