"""Small PDFs, made in memory, over which the kernel and the original must agree before the kernel is used.

Each of them takes ways of its own through the kernel: operators, fonts, objects, layout, and all kinds of what is handed back. Their texts
are mostly digits, which unstructured classifies without its language model: all of it takes some hundredths of a second.
"""

import io
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
TRUETYPE = (
    b"<</Type/Font/Subtype/TrueType/BaseFont/AAAAAA+Any/FirstChar 48/LastChar 57/Widths[500 510 520 530 540 550 560 570 580 590]"
    b"/FontDescriptor<</Type/FontDescriptor/FontName/AAAAAA+Any/Flags 4/Ascent 900/Descent 210/MissingWidth 333/FontBBox[0 -210 1000 900]>>"
    b"/Encoding<</Differences[48/one/two/three 52/seven]>>>>"
)
TYPE3 = (
    b"<</Type/Font/Subtype/Type3/FontBBox[0 -10 60 90]/FontMatrix[0.01 0 0 0.01 0 0]/CharProcs<<>>/FirstChar 48/LastChar 51"
    b"/Widths[60 50.5 40 30]/Encoding<</Differences[48/zero/one/two/three]>>>>"
)
TO_UNICODE = (
    b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <0000> <ffff> endcodespacerange\n"
    b"2 beginbfrange <0001> <0004> <0031> <0005> <0006> [<00350036> <0037>] endbfrange 1 beginbfchar <0020> <00A0> endbfchar endcmap end"
)


def composite_font(encoding: bytes, to_unicode: int | None) -> bytes:
    """A Type 0 font.

    Args:
      encoding: name of its character map: `Identity-H`, or `Identity-V` for a vertical font.
      to_unicode: number of the object with its ToUnicode map; None: it has none.
    """
    return (
        b"<</Type/Font/Subtype/Type0/BaseFont/Any/Encoding/" + encoding + b"/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/Any"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 700/W[1[600 610] 3 5 620]"
        b"/FontDescriptor<</Type/FontDescriptor/FontName/Any/Flags 4/Ascent 800/Descent -200/FontBBox[0 -200 1000 800]>>>>]"
        + (b"" if to_unicode is None else b"/ToUnicode %d 0 R" % to_unicode)
        + b">>"
    )


def stream(data: bytes, entries: bytes = b"", *, compressed: bool = False) -> bytes:
    """A stream object."""
    if compressed:
        data, entries = zlib.compress(data), entries + b"/Filter/FlateDecode"
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data)


def write_pdf(objects: Sequence[bytes], *, compressed: bool = False) -> bytes:
    """A PDF file.

    Args:
      objects: the first is number 1, and the catalog.
      compressed: puts those that are no streams into an object stream, and the table of objects into a stream as well (PDF 1.5).
    """
    data = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    packed = [number for number, item in enumerate(objects, start=1) if compressed and not item.endswith(b"endstream")]
    holder = len(objects) + 1
    entries: dict[int, tuple[int, int, int]] = {0: (0, 0, 255)}
    for number, item in enumerate(objects, start=1):
        if number in packed:
            entries[number] = (2, holder, packed.index(number))
        else:
            entries[number] = (1, len(data), 0)
            data += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    if not compressed:
        table = b"".join(b"%010d 00000 n \n" % entries[number][1] for number in range(1, holder))
        start = len(data)
        data += b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\n" % (holder, table, holder)
        return bytes(data + b"startxref\n%d\n%%%%EOF\n" % start)
    offsets, bodies = [], b""
    for number in packed:
        offsets.append(b"%d %d" % (number, len(bodies)))
        bodies += objects[number - 1] + b" "
    head = b" ".join(offsets) + b" "
    entries[holder] = (1, len(data), 0)
    data += b"%d 0 obj\n%s\nendobj\n" % (
        holder,
        stream(head + bodies, b"/Type/ObjStm/N %d/First %d" % (len(packed), len(head)), compressed=True),
    )
    start = len(data)
    entries[holder + 1] = (1, start, 0)
    rows = b"".join(bytes((kind,)) + place.to_bytes(4, "big") + bytes((index,)) for _, (kind, place, index) in sorted(entries.items()))
    table = stream(rows, b"/Type/XRef/Size %d/Root 1 0 R/W[1 4 1]" % (holder + 2), compressed=True)
    return bytes(data + b"%d 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (holder + 1, table, start))


def page_pdf(
    contents: Sequence[bytes],
    *,
    fonts: Mapping[bytes, bytes] | None = None,
    forms: Mapping[bytes, bytes] | None = None,
    page: bytes = b"",
    box: bytes = b"0 0 612 792",
    compressed: bool = False,
) -> bytes:
    """A PDF of one page.

    Args:
      contents: its content streams.
      fonts: font objects by name; ToUnicode is object 4, `TO_UNICODE`. None: `F1` is Helvetica.
      forms: form XObjects, which may use the same fonts, by name.
      page: further entries of the page.
      box: its media box.
    """
    fonts = {b"F1": HELVETICA} if fonts is None else fonts
    forms = forms or {}
    first = 5
    numbers = {name: first + place for place, name in enumerate([*fonts, *forms])}
    resources = b"/Font<<%s>>/XObject<<%s>>" % (
        b"".join(b"/%s %d 0 R" % (name, numbers[name]) for name in fonts),
        b"".join(b"/%s %d 0 R" % (name, numbers[name]) for name in forms),
    )
    after = first + len(numbers)
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 300 300]/Matrix[1 0 0 1 20 30]/Resources<<%s>>" % resources
    streams = b" ".join(b"%d 0 R" % (after + place) for place in range(len(contents)))
    return write_pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Resources<<%s>>/Contents[%s]%s>>" % (box, resources, streams, page),
            stream(TO_UNICODE, compressed=True),
            *fonts.values(),
            *(stream(content, form) for content in forms.values()),
            *(stream(content, compressed=True) for content in contents),
        ],
        compressed=compressed,
    )


_OPERATORS = rb"""
q 1 0 0 1 10 20 cm BT /F1 12 Tf 1 0 0 1 50 700 Tm [(12\(3\)4) -250 (5) 33.5 (6,7\0618)] TJ 0 -14.4 Td (2.50 \
%) Tj T* 14 TL <3132 3> ' 1 2 (33 44) " 120 Tz .5 Tc 3 Tw 4 Ts (1-1 22) Tj 0 Tc 0 Tw 0 Ts 100 Tz ET Q
BT /F1 10 Tf 0 1 -1 0 300 300 Tm (90 909) Tj ET BT /F1 10 Tf 3 Tr -1 0 0 1 500 500 Tm (007) Tj 0 Tr ET
0 0 m 10 10 l S 5 5 20 20 re f* 1 1 1 rg 0 0 0 RG /GS gs [3 1] 0 d 99 w
BT /F1 12 Tf 1 0 0 1 60 640 Tm (4711) Tj 1 0 0 1 60.3 640 Tm (4711) Tj ET
BT /F1 9 Tf 60 600 Td (11 11 11) Tj 0 -10 Td (22 22 22) Tj 0 -10 Td (33 33 33) Tj 200 20 Td (44 44 44) Tj 0 -10 Td (55 55 55) Tj ET
BI /W 2 /H 1 /BPC 8 /CS /G ID ab EI BT /F1 8 Tf 70 500 Td (88-8) Tj ET 1 2 Tm /None Tf (x) unknown ]] >> (1) (2) Td /F1 0 Tf
"""
_FONTS = rb"""
BT /F2 12 Tf 60 700 Td (0123 9) Tj /F3 20 Tf 0 -40 Td (0123) Tj /F4 12 Tf 0 -40 Td <000100020003 0005 0006 0020 0041> Tj
/F5 12 Tf 0 -30 Td [<00010002> 100 <0003>] TJ ET /X1 Do q .5 0 0 .5 100 100 cm /X1 Do Q
"""
_FORM = rb"BT /F2 12 Tf 0 100 Td (321) Tj 0 -20 Td (210) Tj ET 0 0 m 1 1 l 2 2 m 3 3 l h S 5 5 5 5 re f"
_VERTICAL = rb"BT /F6 12 Tf 300 700 Td <000100020003> Tj ET BT /F2 12 Tf 60 700 Td (321) Tj 0 -12 Td (123) Tj ET"
_SPLIT = (b"BT /F1 12 Tf 60 700 Td (12", b"34) Tj 0 -30 Td (56", b"-78) Tj ET % the end")
_LINKED = b"""/Annots[<</Type/Annot/Subtype/Link/Rect[60 590 100 612]/A<</S/URI/URI(https://example.org/)>>>>
<</Type/Annot/Subtype/Widget/FT/Tx/V(0815)/Rect[200 100 260 120]>>]"""


@lru_cache(maxsize=1)
def samples() -> Mapping[str, bytes]:
    """The PDFs by what they show."""
    fonts = {
        b"F1": HELVETICA,
        b"F2": TRUETYPE,
        b"F3": TYPE3,
        b"F4": composite_font(b"Identity-H", to_unicode=4),
        b"F5": composite_font(b"Identity-H", to_unicode=None),
        b"F6": composite_font(b"Identity-V", to_unicode=4),
    }
    return {
        "operators": page_pdf([_OPERATORS], page=_LINKED),
        "fonts": page_pdf([_FONTS], fonts=fonts, forms={b"X1": _FORM}, page=b"/Rotate 90", compressed=True),
        "vertical": page_pdf([_VERTICAL], fonts=fonts, box=b"-10 -20 600.5 800"),
        "split": page_pdf(_SPLIT, compressed=True),
        "nothing": page_pdf([]),
    }


def read_samples() -> dict[str, str]:
    """What this process makes of each of them: all that its elements say, but for their random ids."""
    from unstructured.partition import pdf
    from unstructured.partition.pdf_image.pdfminer_utils import PDFMinerConfig

    config = PDFMinerConfig(word_margin=0.185)  # as `partition_pdf` sets it
    return {
        name: repr([described(page) for page in pdf._process_pdfminer_pages(io.BytesIO(data), "", None, pdfminer_config=config)])
        for name, data in samples().items()
    }


def described(elements: Sequence[Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """All that elements say, but for their random ids."""
    return [(type(element).__name__, element.text, element.metadata.to_dict()) for element in elements]
