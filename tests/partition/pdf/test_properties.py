"""Title, author and date of PDFs, from either of their two places."""

import pikepdf
import pytest

from transforms.partition.pdf.properties import pdf_date, pdf_properties
from transforms.partition.properties import Properties

XMP = b"""<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
<rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:CreateDate='2023-02-03T04:05:06Z'>
<dc:title><rdf:Alt><rdf:li xml:lang='x-default'>The Harvest</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ada</rdf:li><rdf:li>Grace</rdf:li></rdf:Seq></dc:creator></rdf:Description></rdf:RDF></x:xmpmeta>"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D:20240501120000+02'00'", "2024-05-01T10:00:00Z"),
        ("D:20240501120000-0230", "2024-05-01T14:30:00Z"),
        ("D:20240501120000Z00'00'", "2024-05-01T12:00:00Z"),
        ("D:20240501120000", "2024-05-01T12:00:00"),
        ("20240501", "2024-05-01"),
        ("D:202405", "2024-05"),
        ("D:2024", "2024"),
        ("D:20241399", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_a_date_is_as_exact_as_it_is_given(text, expected):
    assert pdf_date(text) == expected


def test_xmp_speaks_where_the_information_dictionary_is_silent():
    with pikepdf.new() as document:
        document.docinfo["/Title"] = "From the dictionary"
        document.Root.Metadata = document.make_stream(XMP)

        assert pdf_properties(document) == Properties("From the dictionary", "Ada, Grace", "2023-02-03T04:05:06Z")


def test_broken_metadata_are_no_metadata():
    with pikepdf.new() as document:
        document.docinfo["/Title"] = pikepdf.Array([1])
        document.Root.Metadata = document.make_stream(b"<broken")

        assert pdf_properties(document) == Properties()
