"""Rewrites what python-docx cannot see in a DOCX into what it can: content controls, inserted and recognised text, and equations.

python-docx 1.2 passes over `w:sdt` (cover pages, form fields, whole tables of templates), over text that was inserted while changes were
tracked (`w:ins`), over smart tags and simple fields, and over `m:oMath`, and so does unstructured.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from transforms.partition.containers import open_zip

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


_READ_PARTS = re.compile(r"word/(?:document|footnotes|endnotes|header\d*|footer\d*)\.xml")
_HIDING = re.compile(rb"sdtContent|oMath|<w:(?:ins|moveTo|smartTag|customXml|fldSimple|dir|bdo)[ >]")


def visible_package(path: Path, folder: Path) -> Path:
    """A package whose text is all where python-docx looks for it: `path` itself, or a rewritten copy in `folder`."""
    with open_zip(path) as archive:
        hiding = {name: data for name in archive.namelist() if _READ_PARTS.fullmatch(name) and _is_hiding(data := archive.read(name))}
        if not hiding:
            return path
        copy = folder / "visible"
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
            for info in archive.infolist():
                target.writestr(info.filename, _visible(hiding[info.filename]) if info.filename in hiding else archive.read(info))
    return copy


def _is_hiding(part: bytes) -> bool:
    return bool(_HIDING.search(part)) or (b"<w:titlePg" in part and part.count(b"<w:sectPr") > 1)


def _visible(part: bytes) -> bytes:
    root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    _unwrap_controls(root)
    _unwrap_runs(root)
    _write_equations(root)
    _show_first_pages(root)
    return bytes(etree.tostring(root))


_WRAPPERS = tuple(f"{_W}{name}" for name in ("ins", "moveTo", "smartTag", "customXml", "fldSimple", "dir", "bdo"))
"""What may stand between a paragraph and its runs, or a body and its paragraphs: text that was inserted or moved here while changes were
tracked, names that Word has recognised, fields, marks of direction."""


def _unwrap_runs(root: Any) -> None:
    """Puts the content of each wrapper in its place: as a reader sees it who accepts all changes, which is how Word prints it."""
    for wrapper in list(root.iter(*_WRAPPERS)):
        parent = wrapper.getparent()
        if parent is None or parent.tag.endswith("Pr"):  # in properties it only says that a mark was inserted
            continue
        place = parent.index(wrapper)
        parent[place : place + 1] = [child for child in wrapper if not str(child.tag).endswith("Pr")]


def _unwrap_controls(root: Any) -> None:
    """Puts the content of each control in its place, except tables of contents, which only repeat the headings."""
    for control in list(root.iter(f"{_W}sdt")):
        content = control.find(f"{_W}sdtContent")
        parent = control.getparent()
        galleries = {node.get(f"{_W}val") for node in control.iterfind(f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery")}
        if parent is None or "Table of Contents" in galleries:
            continue
        place = parent.index(control)
        parent[place : place + 1] = list(content) if content is not None else []


def _write_equations(root: Any) -> None:
    for equation in list(root.iter(f"{_M}oMathPara", f"{_M}oMath")):
        parent = equation.getparent()
        if parent is None or next(equation.iterancestors(f"{_M}oMathPara", f"{_M}oMath"), None) is not None:
            continue
        parts = equation.iter(f"{_M}oMath") if equation.tag == f"{_M}oMathPara" else [equation]
        run = etree.Element(f"{_W}r")
        text = etree.SubElement(run, f"{_W}t")
        text.text = "\n".join(linear_equation(part) for part in parts)
        text.set(_XML_SPACE, "preserve")
        if _is_equation(equation.getprevious()):
            text.text = f" {text.text}"
        run.set(_MARK, "")
        if parent.tag != f"{_W}p":  # an equation of its own, between paragraphs
            paragraph = etree.Element(f"{_W}p")
            paragraph.append(run)
            run = paragraph
        parent.replace(equation, run)

    for run in root.iter(f"{_W}r"):
        run.attrib.pop(_MARK, None)


def _show_first_pages(root: Any) -> None:
    """Has each section show the header and footer of first pages that it defines, if not itself then a later one that inherits them shows.

    unstructured (0.27.35) reads them in the section that defines them, where that has a first page of its own, and nowhere else.
    """
    defined: dict[str, Any] = {}
    for section in root.iter(f"{_W}sectPr"):
        references = section.iterfind(f"{_W}headerReference"), section.iterfind(f"{_W}footerReference")
        own = {str(node.tag): section for nodes in references for node in nodes if node.get(f"{_W}type") == "first"}
        defined |= own
        if _has_first_page(section):
            for definer in defined.values():
                if not _has_first_page(definer):
                    etree.SubElement(definer, f"{_W}titlePg")


def _has_first_page(section: Any) -> bool:
    mark = section.find(f"{_W}titlePg")
    return mark is not None and mark.get(f"{_W}val", "true") not in ("0", "false", "off")


def _is_equation(node: Any) -> bool:
    return node is not None and _MARK in node.attrib


_MARK = "was-equation"

_NARY: Mapping[str, str] = {"": "∫"}
"""An n-ary operator without a character of its own is an integral. Source: ISO/IEC 29500-1, 22.1.2.20."""


def linear_equation(node: Any) -> str:
    """An Office equation in one line, in the notation that people type: `(a+b)/c`, `x^2`, `x_1`, `√(x)`, `∑_(i=1)^n`."""
    return "".join(_linear_parts(node)).strip()


def _linear_parts(node: Any) -> Iterator[str]:
    for child in node:
        tag = child.tag.removeprefix(_M) if isinstance(child.tag, str) else ""
        if tag == "t":
            yield child.text or ""
        elif tag in _WRITERS:
            yield _WRITERS[tag](child)
        elif tag and not tag.endswith("Pr"):
            yield from _linear_parts(child)


def _part(node: Any, name: str) -> str:
    child = node.find(f"{_M}{name}")
    return linear_equation(child) if child is not None else ""


def _group(text: str) -> str:
    """In brackets, unless it is a single name or number, or stands in brackets already."""
    return text if text.isalnum() or len(text) <= 1 or _is_bracketed(text) else f"({text})"


def _is_bracketed(text: str) -> bool:
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return index == len(text) - 1 and index > 0
    return False


def _property(node: Any, name: str) -> str | None:
    found = node.find(f"./{_M}{node.tag.removeprefix(_M)}Pr/{_M}{name}")
    return found.get(f"{_M}val", "") if found is not None else None


def _scripted(base: str, below: str, above: str) -> str:
    base = _group(base) if any(sign in base for sign in "+-−/=·×") else base
    return base + (f"_{_group(below)}" if below else "") + (f"^{_group(above)}" if above else "")


def _delimited(node: Any) -> str:
    start, end, between = _property(node, "begChr"), _property(node, "endChr"), _property(node, "sepChr")
    inner = ("|" if between is None else between).join(linear_equation(part) for part in node.iterfind(f"{_M}e"))
    return f"{'(' if start is None else start}{inner}{')' if end is None else end}"


def _matrix(node: Any) -> str:
    rows = (", ".join(linear_equation(cell) for cell in row.iterfind(f"{_M}e")) for row in node.iterfind(f"{_M}mr"))
    return f"[{'; '.join(rows)}]"


def _nary(node: Any) -> str:
    operator = _property(node, "chr") or _NARY[""]
    return f"{_scripted(operator, _part(node, 'sub'), _part(node, 'sup'))} {_part(node, 'e')}"


def _radical(node: Any) -> str:
    degree = _part(node, "deg")
    return f"{f'{degree}' if degree else ''}√{_group(_part(node, 'e'))}"


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "f": lambda node: f"{_group(_part(node, 'num'))}/{_group(_part(node, 'den'))}",
    "sSup": lambda node: _scripted(_part(node, "e"), "", _part(node, "sup")),
    "sSub": lambda node: _scripted(_part(node, "e"), _part(node, "sub"), ""),
    "sSubSup": lambda node: _scripted(_part(node, "e"), _part(node, "sub"), _part(node, "sup")),
    "rad": _radical,
    "nary": _nary,
    "d": _delimited,
    "m": _matrix,
    "func": lambda node: f"{_part(node, 'fName')} {_part(node, 'e')}",
    "limLow": lambda node: _scripted(_part(node, "e"), _part(node, "lim"), ""),
    "limUpp": lambda node: _scripted(_part(node, "e"), "", _part(node, "lim")),
    "eqArr": lambda node: "; ".join(linear_equation(part) for part in node.iterfind(f"{_M}e")),
}
