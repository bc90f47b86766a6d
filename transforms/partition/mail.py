"""Mails: EML and MSG. The body is the document; attachments become documents of their own, pictures shown in the body stay with it."""

import email
import email.policy
import re
import struct
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

from transforms.model import Attachment, Element, PartitionedDocument, Picture
from transforms.partition.containers import corrupt, encrypted
from transforms.partition.elements import clean_text, from_unstructured
from transforms.partition.markup import html_elements
from transforms.partition.office import conversion
from transforms.partition.pictures.picture import image_element, picture_from_bytes
from transforms.partition.properties import Properties, iso_date
from transforms.partition.source import Source, reading
from transforms.partition.text_encoding import decode_text
from transforms.settings import DecodeSettings

_PGP_MESSAGE = re.compile(r"\s*-----BEGIN PGP MESSAGE-----")
_CONTENT_ID = re.compile(r"cid:([^\"'\s>)]+)", re.IGNORECASE)


def partition_eml(source: Source) -> PartitionedDocument:
    """A mail in the Internet format.

    Its HTML body is preferred to its plain one, as unstructured does; the headers are the document's title, author and date.
    """
    data = source.read()
    if data[:4] in (b"\xff\xfe", b"\xfe\xff") or data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in data[:64]:
        data = decode_text(data).text.encode("utf-8")  # UTF-16: no mail is, but exports are
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    message = email.message_from_bytes(data, policy=email.policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        if data:
            raise corrupt("It has no header of a mail.")
        return source.partitioned(())
    if _is_encrypted(message.get_content_type(), str(message.get_param("smime-type", ""))):
        raise encrypted("The mail is encrypted.")
    body = _body(message)
    text = _text_of(body) if body is not None else ""
    is_html = body is not None and body.get_content_type() == "text/html"
    if _PGP_MESSAGE.match(text):
        raise encrypted("The mail's body is encrypted with PGP.")
    pictures, attachments = _parts(message, body, text if is_html else "")
    with reading(source):
        elements = _body_elements(text, is_html, pictures, source.settings)
    properties = Properties(_header(message, "Subject"), _header(message, "From"), iso_date(_header(message, "Date")))
    return source.partitioned(elements, properties, attachments=attachments)


def _is_encrypted(content_type: str, smime_type: str) -> bool:
    """RFC 3156 and RFC 8551. `signed-data` is readable by anyone, but only with its own parser: it is left to the attachments."""
    if content_type == "multipart/encrypted":
        return True
    return content_type in ("application/pkcs7-mime", "application/x-pkcs7-mime") and smime_type in (
        "",
        "enveloped-data",
        "authenveloped-data",
    )


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except (ValueError, TypeError, IndexError, AttributeError, LookupError):
        # The parser of structured headers (Python 3.11) fails on some broken ones; their raw form is as good for a person.
        value = next((str(raw) for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    return clean_text(" ".join(value.split()))


def _body(message: EmailMessage) -> EmailMessage | None:
    try:
        found = message.get_body(preferencelist=("html", "plain"))
    except (KeyError, AttributeError, ValueError):  # a multipart type whose parts are no list
        found = None
    if isinstance(found, EmailMessage):
        return found
    for part in message.walk():
        if (
            part.get_content_maintype() == "text"
            and not part.get_filename()
            and isinstance(part, EmailMessage)
            and not _inside_mail(message, part)
        ):
            return part
    return None


def _inside_mail(message: EmailMessage, part: Any) -> bool:
    """Whether a part belongs to a mail that is attached to this one."""
    return any(
        part is nested
        for outer in message.walk()
        if outer.get_content_type() == "message/rfc822" and outer is not message
        for nested in outer.walk()
    )


def _text_of(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = part.get_content_charset("")
    if charset and not charset.startswith("unknown"):
        try:
            return data.decode(charset)
        except (LookupError, UnicodeDecodeError):
            pass
    if not data.strip():
        return ""
    return decode_text(data, str(part.get("Content-Type", ""))).text


def _parts(message: EmailMessage, body: EmailMessage | None, html: str) -> tuple[dict[str, Picture], list[Attachment]]:
    """What a mail has besides its body: pictures, by the id that the body shows them by or by their place, and attachments."""
    shown = {content_id.lower() for content_id in _CONTENT_ID.findall(html)}
    pictures: dict[str, Picture] = {}
    attachments: list[Attachment] = []
    for part, alternative in _leaves(message):
        if part is body or (alternative and part.get_content_maintype() == "text" and not part.get_filename()):
            continue  # the other form of the same body
        data = _bytes_of(part)
        content_id = str(part.get("Content-ID", "")).strip(" <>").lower()
        inline = content_id in shown or (part.get_content_disposition() != "attachment" and not part.get_filename())
        picture = picture_from_bytes(data) if inline and part.get_content_maintype() == "image" else None
        if picture is not None:
            pictures[content_id or f"part-{len(pictures) + 1}"] = picture
        elif data.strip() and part.get_content_type() not in ("application/pgp-signature", "application/pkcs7-signature"):
            attachments.append(Attachment(_name_of(part, len(attachments) + 1), _type_of(part), data))
    return pictures, attachments


def _leaves(part: EmailMessage, *, alternative: bool = False) -> Iterator[tuple[EmailMessage, bool]]:
    """The parts of a mail that hold something, an attached mail being one; with whether a part is one of several forms of the same."""
    payload = part.get_payload()
    if part.get_content_maintype() == "multipart" and isinstance(payload, list):
        for child in payload:
            if isinstance(child, EmailMessage):
                yield from _leaves(child, alternative=alternative or part.get_content_type() == "multipart/alternative")
    elif part.get_content_maintype() != "multipart":
        yield part, alternative


def _bytes_of(part: EmailMessage) -> bytes:
    if part.get_content_type() == "message/rfc822":
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        try:
            return inner.as_bytes() if isinstance(inner, EmailMessage) else b""
        except (UnicodeError, LookupError, ValueError, TypeError):
            return str(inner).encode("utf-8", "replace")
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _name_of(part: EmailMessage, number: int) -> str:
    try:
        name = part.get_filename() or ""
    except (TypeError, ValueError, LookupError):
        name = ""
    if not name and part.get_content_type() == "message/rfc822":
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        subject = _header(inner, "Subject") if isinstance(inner, EmailMessage) else ""
        name = f"{subject}.eml" if subject else ""
    # A path in a name is not followed: only its last segment counts, whichever system wrote it.
    name = re.split(r"[\\/]", clean_text(" ".join(name.split())))[-1]
    return name or f"attachment-{number}"


def _type_of(part: EmailMessage) -> str:
    """The type with its charset, which helps to read a text."""
    charset = part.get_content_charset("")
    content_type = part.get_content_type()
    return f"{content_type}; charset={charset}" if charset and part.get_content_maintype() == "text" else content_type


def _body_elements(text: str, is_html: bool, pictures: dict[str, Picture], settings: DecodeSettings) -> list[Element]:
    """The elements of a body, and the pictures of the mail where it shows them, or else at its end."""
    used: set[str] = set()

    def resolve(address: str) -> Picture | None:
        scheme, _, content_id = address.partition(":")
        key = content_id.lower()
        if scheme.lower() != "cid" or key not in pictures:
            return None
        used.add(key)
        return pictures[key]

    if not text.strip():
        elements: list[Element] = []
    elif is_html:
        elements = html_elements(text, settings, resolve=resolve)
    else:
        from unstructured.partition.text import partition_text as partition

        elements = from_unstructured(partition(text=text))
    if settings.images:
        rest = [picture for key, picture in pictures.items() if key not in used]
        elements += [image_element(picture, place=f"mail, {index}") for index, picture in enumerate(rest, start=1)]
    return elements


def partition_msg(source: Source) -> PartitionedDocument:
    """A mail as Outlook stores it."""
    from oxmsg import Message

    with reading(source):
        message = Message.load(str(source.path))
        headers = {key.lower(): str(value) for key, value in message.message_headers.items()}
        kind = _message_class(message)
        content_type, _, parameters = headers.get("content-type", "").partition(";")
        smime = re.search(r"smime-type=\"?([\w-]+)", parameters)
        if "multipart/encrypted" in content_type.lower() or (kind.startswith("ipm.note.smime") and "multipartsigned" not in kind):
            raise encrypted("The mail is encrypted.")
        if _is_encrypted(content_type.strip().lower(), smime.group(1) if smime else ""):
            raise encrypted("The mail is encrypted.")
        html, plain = message.html_body or "", message.body or ""
        if not html.strip() and not plain.strip():
            html = _rtf_body(message)
        if not html and _PGP_MESSAGE.match(plain):
            raise encrypted("The mail's body is encrypted with PGP.")
        pictures, attachments = _msg_parts(message, html)
        unread = sum(1 for attachment in message.attachments if not attachment.file_bytes)
        elements = _body_elements(html or plain, bool(html), pictures, source.settings)
        properties = Properties(
            clean_text(message.subject or ""),
            clean_text(message.sender or ""),
            iso_date(message.sent_date) if message.sent_date else "",
        )
        warnings = [f"{unread} attachments hold no file (attached messages, links) and are not decoded."] if unread else []
        return source.partitioned(elements, properties, warnings, attachments=attachments)


def _message_class(message: Any) -> str:
    try:
        return str(message.message_class or "").lower()
    except (AttributeError, KeyError):
        return ""


def _msg_parts(message: Any, html: str) -> tuple[dict[str, Picture], list[Attachment]]:
    shown = {content_id.lower() for content_id in _CONTENT_ID.findall(html)}
    pictures: dict[str, Picture] = {}
    attachments: list[Attachment] = []
    for number, attachment in enumerate(message.attachments, start=1):
        data = attachment.file_bytes or b""
        name = re.split(r"[\\/]", clean_text(attachment.file_name or ""))[-1] or f"attachment-{number}"
        content_id = _content_id(attachment).strip(" <>").lower()
        picture = picture_from_bytes(data) if data and content_id in shown else None
        if picture is not None:
            pictures[content_id] = picture
        elif data:
            attachments.append(Attachment(name, attachment.mime_type or "", data))
    return pictures, attachments


def _content_id(attachment: Any) -> str:
    """PidTagAttachContentId, which python-oxmsg 0.0.2 has no property for."""
    try:
        return str(attachment.properties.str_prop_value(0x3712) or "")
    except (AttributeError, KeyError, IndexError, UnicodeError):
        return ""


def _rtf_body(message: Any) -> str:
    """The body of a mail that has it only as compressed RTF, as HTML; empty where there is none."""
    packed = _property(message, 0x1009)
    if not packed:
        return ""
    with conversion.work_folder() as folder:
        source, page = folder / "body.rtf", folder / "body.html"
        source.write_bytes(unpack_rtf(packed))
        conversion.pandoc(source, "rtf", "html", page)
        return page.read_text(encoding="utf-8")


def _property(message: Any, number: int) -> bytes:
    try:
        value = message.properties.binary_prop_value(number)
    except (AttributeError, KeyError, IndexError):
        return b""
    return value if isinstance(value, bytes) else b""


_RTF_DICTIONARY = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}"
    rb"{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier"
    rb"{\colortbl\red0\green0\blue0" + b"\r\n" + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


def unpack_rtf(packed: bytes) -> bytes:
    """Unpacks the compressed RTF of a message. Source: [MS-OXRTFCP], 2.1 and 3.1.

    Raises:
      DecodeError: `corrupt` when it is neither compressed nor stored RTF.
    """
    _, raw_size, kind, _ = struct.unpack_from("<IIII", packed)
    body = packed[16:]
    if kind == 0x414C454D:  # "MELA": stored
        return body[:raw_size]
    if kind != 0x75465A4C:  # "LZFu"
        raise corrupt("The mail's RTF body is damaged.")
    window = bytearray(4096)
    window[: len(_RTF_DICTIONARY)] = _RTF_DICTIONARY
    write, read = len(_RTF_DICTIONARY), 0
    unpacked = bytearray()
    while read < len(body) and len(unpacked) < raw_size:
        control = body[read]
        read += 1
        for bit in range(8):
            if read >= len(body):
                break
            if control >> bit & 1:
                reference = int.from_bytes(body[read : read + 2], "big")
                read += 2
                start, length = reference >> 4, (reference & 15) + 2
                if start == write:
                    return bytes(unpacked)
                run = [0] * length
                for index in range(length):
                    run[index] = window[(start + index) % 4096]
                    window[write] = run[index]
                    write = (write + 1) % 4096
                unpacked += bytes(run)
            else:
                unpacked.append(body[read])
                window[write] = body[read]
                write = (write + 1) % 4096
                read += 1
    return bytes(unpacked[:raw_size])
