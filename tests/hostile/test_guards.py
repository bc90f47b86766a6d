"""What is too large is found out before any work, by figures, and told with the option that sets the limit."""

import io
import struct
import zipfile
import zlib
from dataclasses import replace

import pikepdf
import pytest
from PIL import Image

from transforms.decode import Decoding, decode_document
from transforms.model import DecodeError, DocumentReference, Status
from transforms.partition.partitioner import partition_document
from transforms.settings import DecodeSettings, Limits

SMALL = Limits(unpacked_size=1, archive_ratio=20, archive_members=20, pages=3, pixels=1)


@pytest.fixture
def refusal(tmp_path):
    def run(data, limits=SMALL, name=""):
        path = tmp_path / "spool"
        path.write_bytes(data)
        with pytest.raises(DecodeError) as raised:
            partition_document(path, declared_mime_type="", name=name, settings=DecodeSettings(), limits=limits)
        assert raised.value.status is Status.TOO_LARGE
        return raised.value.message

    return run


def package(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def test_an_archive_that_unpacks_to_too_much(refusal):
    message = refusal(package(document=bytes(2 << 20)))
    assert message.startswith("The archive unpacks to 2,097,372 bytes")
    assert message.endswith(", over the limit of 1,048,576. --max-unpacked-size sets it (in MiB).")


def test_an_archive_with_an_absurd_ratio(refusal):
    data = package(document=bytes(65 << 20))
    message = refusal(data, replace(SMALL, unpacked_size=100))
    assert "times its size, over the limit of 20 times. --max-archive-ratio sets it." in message


def test_a_small_archive_may_have_any_ratio(tmp_path):
    import docx

    document = docx.Document()
    document.add_paragraph("The same words, over and over. " * 500)
    document.save(tmp_path / "a.docx")
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        assert sum(member.file_size for member in archive.infolist()) > 2 * (tmp_path / "a.docx").stat().st_size
    limits = replace(Limits(), archive_ratio=2)
    found = partition_document(tmp_path / "a.docx", declared_mime_type="", name="a.docx", settings=DecodeSettings(), limits=limits)
    assert len(found.elements) == 1


def test_an_archive_of_many_members(refusal):
    assert refusal(package(**{f"m{number}": b"" for number in range(20)})) == (
        "The archive has 21 members, over the limit of 20. --max-archive-members sets the limit."
    )


def test_a_directory_of_many_members_is_not_even_read(refusal, monkeypatch):
    data = package(**{f"m{number}{'n' * 500}": b"" for number in range(30)})
    monkeypatch.setattr(zipfile, "ZipFile", None)
    assert refusal(data).startswith("The directory of the archive has 16,")


def test_members_that_overlap_count_each(refusal):
    """The densest kind of zip bomb: its members share their bytes."""
    data = package(word=bytes(400 << 10))
    end = data.rindex(b"PK\x05\x06")
    count, _, size, offset = struct.unpack("<HHII", data[end + 8 : end + 20])
    entries = data[offset:end]
    last = entries[entries.rindex(b"PK\x01\x02") :]
    more = 4
    tail = struct.pack("<HHII", count + more, count + more, size + more * len(last), offset)
    bomb = data[:end] + last * more + data[end : end + 8] + tail + data[end + 20 :]
    assert refusal(bomb).startswith("The archive unpacks to 2,048,")


def test_a_pdf_of_many_pages(refusal):
    with pikepdf.new() as pdf:
        for _ in range(4):
            pdf.add_blank_page()
        stream = io.BytesIO()
        pdf.save(stream)
    assert refusal(stream.getvalue()) == "The PDF has 4 pages, over the limit of 3. --max-pages sets it."


def test_a_picture_of_many_pixels_is_known_by_its_header(refusal):
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    data = b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\x0aIDAT" + b"\0" * 14
    assert refusal(data, Limits()) == "The image has 100,000 × 100,000 pixels, over the limit of 500 million. --max-pixels sets it."


def test_a_tiff_of_many_or_of_large_pages(refusal):
    def tiff(*sizes):
        stream = io.BytesIO()
        first, *rest = (Image.new("1", size, 1) for size in sizes)
        first.save(stream, "TIFF", save_all=True, append_images=rest, compression="group4")
        return stream.getvalue()

    assert refusal(tiff(*[(10, 10)] * 4)) == "The image has 4 pages, over the limit of 3. --max-pages sets it."
    assert refusal(tiff((10, 10), (1001, 1000))) == (
        "Page 2 of the image has 1,001 × 1,000 pixels, over the limit of 1 million. --max-pixels sets it."
    )


def test_mails_in_mails_in_mails(tmp_path):
    mail = b"From: a@example.org\nSubject: innermost\nMIME-Version: 1.0\n\nThe innermost text of all.\n"
    for number in range(3):
        mail = (
            (
                f"From: a@example.org\nSubject: {number}\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b{number}\n\n"
                f"--b{number}\nContent-Type: text/plain\n\nThe text of mail number {number} is here.\n"
                f"--b{number}\nContent-Type: message/rfc822\n\n"
            ).encode()
            + mail
            + f"\n--b{number}--\n".encode()
        )
    path = tmp_path / "spool"
    path.write_bytes(mail)

    def statuses(nesting):
        decoding = Decoding(DecodeSettings(), "2026-01-31T10:00:00Z", Limits(nesting=nesting))
        return [(document.status, document.reason) for document in decode_document(path, DocumentReference("file:///a.eml"), decoding)]

    assert [status for status, _ in statuses(3)] == [Status.OK] * 4
    assert statuses(2)[3] == (Status.TOO_LARGE, "The attachment is nested 3 deep, over the limit of 2. --max-nesting sets it.")


def test_time_grows_with_the_size_of_a_document():
    limits = Limits(timeout=600)
    assert [limits.timeout_for(size << 20) for size in (0, 1, 4, 20, 60, 1024)] == [600, 750, 1200, 3600, 9600, 9600]
