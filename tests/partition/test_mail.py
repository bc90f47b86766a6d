import io
from email.message import EmailMessage

import pytest
from PIL import Image

from transforms.model import DecodeError, Status
from transforms.partition.mail import unpack_rtf
from transforms.partition.partitioner import partition_document
from transforms.settings import DecodeSettings

SENTENCE = "The committee approved the annual budget after a long debate in the town hall."


@pytest.fixture
def partition(tmp_path):
    def run(data, name="mail.eml", declared="message/rfc822"):
        path = tmp_path / "spool"
        path.write_bytes(data if isinstance(data, bytes) else data.as_bytes())
        return partition_document(path, declared_mime_type=declared, name=name, settings=DecodeSettings())

    return run


def png():
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), "green").save(stream, "PNG")
    return stream.getvalue()


def mail(body=SENTENCE, subtype="plain"):
    message = EmailMessage()
    message["From"] = "Ada Lovelace <ada@example.org>"
    message["To"] = "bob@example.org"
    message["Subject"] = "Grüße aus London"
    message["Date"] = "Wed, 01 May 2024 10:00:00 +0200"
    message.set_content(body, subtype=subtype)
    return message


def test_the_body_is_the_text_and_the_headers_are_properties(partition):
    found = partition(mail())
    assert [(element.category, element.text) for element in found.elements] == [("NarrativeText", SENTENCE)]
    assert (found.title, found.creator, found.date) == ("Grüße aus London", "Ada Lovelace <ada@example.org>", "2024-05-01T08:00:00Z")
    assert (found.mime_type, found.page_based, list(found.attachments)) == ("message/rfc822", False, [])


def test_the_html_form_of_a_body_is_preferred_and_the_other_is_no_attachment(partition):
    message = mail("The plain form of the same.")
    message.add_alternative(f"<html><body><h1>Budget</h1><p>{SENTENCE}</p></body></html>", subtype="html")
    found = partition(message)
    assert [(element.category, element.category_depth, element.text) for element in found.elements] == [
        ("Title", 0, "Budget"),
        ("NarrativeText", None, SENTENCE),
    ]
    assert list(found.attachments) == []


def test_attachments_are_kept_with_their_bytes_and_names_without_a_path(partition):
    message = mail()
    message.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="../../etc/figures.csv")
    message.add_attachment(png(), maintype="image", subtype="png", filename="photo.png")
    inner = mail("The inner body of the attached mail is this.")
    inner.replace_header("Subject", "Inner")
    message.add_attachment(inner)
    attachments = partition(message).attachments
    assert [(attachment.name, attachment.mime_type) for attachment in attachments] == [
        ("figures.csv", "text/csv"),
        ("photo.png", "image/png"),
        ("Inner.eml", "message/rfc822"),
    ]
    assert attachments[0].data == b"a,b\n1,2\n"
    assert partition(attachments[2].data).elements[0].text == "The inner body of the attached mail is this."


def test_pictures_that_the_body_shows_stand_at_their_place(partition):
    message = mail(f'<html><body><p>Above the map.</p><img src="cid:map@x"><p>{SENTENCE}</p></body></html>', "html")
    message.add_related(png(), maintype="image", subtype="png", cid="<map@x>")
    found = partition(message)
    assert [element.category == "Image" for element in found.elements] == [False, True, False]
    assert found.elements[1].picture.data == png()
    assert list(found.attachments) == []


def test_a_mail_of_nothing_but_an_attachment_has_no_elements(partition):
    message = EmailMessage()
    message["From"] = "a@example.org"
    message.add_attachment(b"%PDF-1.4 ...", maintype="application", subtype="pdf", filename="a.pdf")
    found = partition(message)
    assert list(found.elements) == []
    assert [attachment.name for attachment in found.attachments] == ["a.pdf"]


@pytest.mark.parametrize(
    "header",
    [
        'multipart/encrypted; protocol="application/pgp-encrypted"; boundary="x"',
        'application/pkcs7-mime; smime-type="enveloped-data"; name="smime.p7m"',
        'application/x-pkcs7-mime; name="smime.p7m"',
    ],
)
def test_encrypted_mails_are_encrypted(partition, header):
    data = f"From: a@example.org\nSubject: secret\nMIME-Version: 1.0\nContent-Type: {header}\n\nAAAA\n".encode()
    with pytest.raises(DecodeError) as raised:
        partition(data)
    assert raised.value.status is Status.ENCRYPTED


def test_an_inline_pgp_message_is_encrypted_but_a_mail_that_speaks_of_one_is_not(partition):
    with pytest.raises(DecodeError) as raised:
        partition(mail("-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n"))
    assert raised.value.status is Status.ENCRYPTED
    assert partition(mail("He sent this: -----BEGIN PGP MESSAGE----- and no more.")).elements != []


def test_an_unknown_charset_and_a_utf_16_export_are_read(partition):
    data = "From: a@example.org\nContent-Type: text/plain; charset=unknown-8bit\n\nDie Größe der Stadt wächst jedes Jahr.\n"
    assert partition(data.encode()).elements[0].text == "Die Größe der Stadt wächst jedes Jahr."
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert partition(mail().as_string().encode(encoding)).elements[0].text == SENTENCE


def test_a_broken_header_does_not_lose_the_mail(partition):
    data = b'From: "=?utf-8?q?a"@@b <<>>, \nDate: not a date\nSubject: =?bogus?q?x?=\n\nThe body of the mail is still here.\n'
    found = partition(data)
    assert found.elements[0].text == "The body of the mail is still here."
    assert found.date == ""


def test_a_digest_gives_its_mails_as_attachments(partition):
    data = b"From: a@example.org\nSubject: digest\nMIME-Version: 1.0\nContent-Type: multipart/digest; boundary=x\n\n"
    for number in (1, 2):
        data += b"--x\n\nFrom: b@example.org\nSubject: number %d\n\nBody %d.\n\n" % (number, number)
    found = partition(data + b"--x--\n")
    assert [(attachment.name, attachment.mime_type) for attachment in found.attachments] == [
        ("number 1.eml", "message/rfc822"),
        ("number 2.eml", "message/rfc822"),
    ]


def test_compressed_rtf_is_unpacked():
    """The examples of [MS-OXRTFCP], 3.1.1 and 3.1.2."""
    simple = "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    assert unpack_rtf(bytes.fromhex(simple)) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    repeating = "1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0"
    assert unpack_rtf(bytes.fromhex(repeating)) == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"


def test_rtf_that_is_damaged_is_corrupt():
    with pytest.raises(DecodeError) as raised:
        unpack_rtf(bytes(40))
    assert raised.value.status is Status.CORRUPT
