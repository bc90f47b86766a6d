"""Looks into ZIP and OLE files: which format they hold, whether they are whole, and whether they are locked."""

import errno
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from transforms.model import DecodeError, Stage, Status
from transforms.partition import formats
from transforms.partition.formats import Format
from transforms.settings import RATIO_COUNTS_FROM, Limits

ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

DIRECTORY_ENTRY = 512
"""Bytes of a ZIP's directory for one member, at most: the least is 46 and the name."""

_MAIN_PARTS = (
    # The content type of the main part, as it stands in [Content_Types].xml, macros and templates included.
    (re.compile(rb"wordprocessingml\.(document|template)\.main|ms-word\.(document|template)\.macroEnabled\S*?main"), formats.DOCX),
    (re.compile(rb"presentationml\.(presentation|slideshow|template)\.main|ms-powerpoint\.\w+\.macroEnabled\S*?main"), formats.PPTX),
    (re.compile(rb"spreadsheetml\.(sheet|template)\.main|ms-excel\.(sheet|template)\.macroEnabled\S*?main"), formats.XLSX),
)

_FONT_OBFUSCATION = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
"""The two algorithms of an EPUB's encryption.xml that hide fonts only."""


def corrupt(message: str, stage: Stage = Stage.PARTITION) -> DecodeError:
    """A `corrupt` outcome with its sentence."""
    return DecodeError(Status.CORRUPT, message, stage)


def encrypted(message: str, stage: Stage = Stage.DETECT) -> DecodeError:
    """An `encrypted` outcome with its sentence."""
    return DecodeError(Status.ENCRYPTED, message, stage)


def unsupported(message: str, stage: Stage = Stage.DETECT) -> DecodeError:
    """An `unsupported` outcome with its sentence."""
    return DecodeError(Status.UNSUPPORTED, message, stage)


def missing_tool(known: Format) -> DecodeError | None:
    """A `missing_tool` outcome when a tool that every file of the format needs is not installed."""
    lacking = known.missing_tools
    if not lacking:
        return None
    sentences = " ".join(tool.sentence for tool in lacking)
    return DecodeError(Status.MISSING_TOOL, f"{known.name} needs {', '.join(tool.name for tool in lacking)}: {sentences}")


def detect_zip(path: Path, limits: Limits) -> Format:
    """The format inside a ZIP that is within the limits.

    Raises:
      DecodeError: `encrypted`, `corrupt`, `too_large` or `unsupported` (stage detect).
    """
    _check_directory(path, limits)
    with open_zip(path) as archive:
        _check_archive(archive.infolist(), path.stat().st_size, limits)
        members = {info.filename: info for info in archive.infolist()}
        if any(info.flag_bits & 1 for info in members.values()):
            raise encrypted("Members of the ZIP are encrypted with a password.")
        found = _format_of(archive, members)
        if found in (formats.ODT, formats.ODS, formats.ODP) and b"encryption-data" in _member(archive, "META-INF/manifest.xml"):
            raise encrypted(f"The {found.name} file is encrypted with a password.")
        if found is formats.EPUB:
            _reject_locked_epub(archive)
        return found


def too_large(message: str, stage: Stage = Stage.DETECT) -> DecodeError:
    """A `too_large` outcome with its sentence."""
    return DecodeError(Status.TOO_LARGE, message, stage)


def _check_directory(path: Path, limits: Limits) -> None:
    """Looks at the size of a ZIP's directory before all of it is read: it takes ten times as much in memory."""
    with path.open("rb") as stream:
        try:
            end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
        except (OSError, zipfile.BadZipFile, struct.error):
            return  # `open_zip` finds the same
    size = end[zipfile._ECD_SIZE] if end else 0  # type: ignore[attr-defined]
    if size > limits.archive_members * DIRECTORY_ENTRY:
        raise too_large(f"The directory of the archive has {size:,} bytes, too many for {limits.archive_members:,} members. {_ASK_MEMBERS}")


_ASK_MEMBERS = "--max-archive-members sets the limit."


def _check_archive(members: Sequence[zipfile.ZipInfo], size: int, limits: Limits) -> None:
    """Looks at what an archive says of its members. It can be trusted: zipfile reads no more of a member than the directory says.

    A "zip bomb" of 42 KB holds 4.5 PB, in members that overlap: their sum tells.
    """
    if len(members) > limits.archive_members:
        raise too_large(f"The archive has {len(members):,} members, over the limit of {limits.archive_members:,}. {_ASK_MEMBERS}")
    unpacked = sum(info.file_size for info in members)
    if unpacked > limits.unpacked_size << 20:
        raise too_large(
            f"The archive unpacks to {unpacked:,} bytes, over the limit of {limits.unpacked_size << 20:,}. "
            "--max-unpacked-size sets it (in MiB)."
        )
    if unpacked > max(RATIO_COUNTS_FROM, limits.archive_ratio * size):
        raise too_large(
            f"The archive unpacks to {unpacked:,} bytes, {unpacked // max(1, size):,} times its size, over the limit of "
            f"{limits.archive_ratio:,} times. --max-archive-ratio sets it."
        )


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Opens a ZIP; whatever shows on the way that it is damaged becomes `corrupt`."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, OverflowError) as error:
        # ValueError: of an offset before the file's start (zipfile, Python 3.11.7), or a name that is no text.
        raise corrupt(f"The ZIP container is broken: {error}.", Stage.DETECT) from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise corrupt("The ZIP container is broken: it names a place before its start.", Stage.DETECT) from error
    except NotImplementedError as error:  # a compression method or version that zipfile lacks
        raise unsupported(f"The ZIP container cannot be read: {error}.") from error


def check_members(path: Path) -> None:
    """Reads all members of a ZIP, so that a damaged one is found for what it is and not as some parser's error.

    Raises:
      DecodeError: `corrupt`, naming the first damaged member.
    """
    with open_zip(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise corrupt(f"The member {damaged} of the ZIP container is damaged.")


def _format_of(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> Format:
    mime_type = _member(archive, "mimetype").decode("ascii", "replace").strip()
    known = formats.by_mime_type(mime_type) if mime_type else None
    if known is not None:
        return known
    if mime_type:
        raise unsupported(f"The format {mime_type} is not supported.")
    if "META-INF/container.xml" in members:
        return formats.EPUB
    if "content.xml" in members and "META-INF/manifest.xml" in members:
        manifest = _member(archive, "META-INF/manifest.xml")[:65_536]
        declared = re.search(rb'full-path="/"[^>]*media-type="([^"]*)"|media-type="([^"]*)"[^>]*full-path="/"', manifest)
        found = formats.by_mime_type((declared.group(1) or declared.group(2)).decode("ascii", "replace")) if declared else None
        return found or formats.ODT
    if "[Content_Types].xml" in members:
        return _ooxml(_member(archive, "[Content_Types].xml"), members)
    if any(name.startswith("Index/") and name.endswith(".iwa") for name in members) or "Index.zip" in members:
        raise unsupported("It is an Apple iWork document: export it as PDF or as an Office format.")
    raise unsupported("It is a ZIP archive of other files: unpack it and give the files." if members else "It is an empty ZIP archive.")


def _ooxml(content_types: bytes, members: Mapping[str, zipfile.ZipInfo]) -> Format:
    if b"ms-excel.sheet.binary" in content_types:
        raise unsupported("It is a binary workbook (XLSB): save it as XLSX.")
    for pattern, known in _MAIN_PARTS:
        if pattern.search(content_types):
            return known
    # Some writers leave the override of the main part out; its name is as good as fixed.
    for name, known in (("word/document.xml", formats.DOCX), ("ppt/presentation.xml", formats.PPTX), ("xl/workbook.xml", formats.XLSX)):
        if name in members:
            return known
    raise unsupported("It is an Office package without a document, workbook or presentation in it (a drawing, a theme or an add-in).")


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member's bytes; none where it is not there."""
    try:
        return archive.read(name)
    except KeyError:
        return b""


def _reject_locked_epub(archive: zipfile.ZipFile) -> None:
    algorithms = re.findall(rb'EncryptionMethod[^<>]{0,500}?Algorithm="([^"]*)"', _member(archive, "META-INF/encryption.xml"))
    if any(algorithm not in _FONT_OBFUSCATION for algorithm in algorithms):
        raise encrypted("The EPUB is protected by digital rights management.")


@dataclass(frozen=True)
class _OleKind:
    stream: str
    format: Format


_OLE_KINDS = (
    _OleKind("WordDocument", formats.DOC),
    _OleKind("Workbook", formats.XLS),
    _OleKind("Book", formats.XLS),
    _OleKind("PowerPoint Document", formats.PPT),
    _OleKind("__properties_version1.0", formats.MSG),
)

_OLE_UNSUPPORTED = {
    "FileHeader": "a Hangul word processor document (HWP)",
    "VisioDocument": "a Visio drawing",
    "Quill": "a Publisher document",
    "PP40": "a PowerPoint 4 presentation",
    "PP97_DUALSTORAGE": "a PowerPoint 95 presentation",
    "Props": "a Project plan",
}


def detect_ole(path: Path) -> Format:
    """The format inside an OLE compound file: legacy Office, MSG, or the wrapping of an encrypted OOXML package.

    Raises:
      DecodeError: `encrypted`, `corrupt` or `unsupported` (stage detect).
    """
    import olefile

    try:
        with olefile.OleFileIO(path) as ole:
            streams = {entry[0] for entry in ole.listdir(streams=True, storages=False)}
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise corrupt(f"The OLE container is broken: {error}.", Stage.DETECT) from error
    if "EncryptedPackage" in streams or "EncryptionInfo" in streams:
        raise encrypted("The Office file is encrypted with a password.")
    if "\tDRMContent" in streams:
        raise encrypted("The Office file is protected by rights management.")
    for kind in _OLE_KINDS:
        if kind.stream in streams:
            if kind.format is not formats.MSG and _is_encrypted_office(path):
                raise encrypted(f"The {kind.format.name} file is encrypted with a password.")
            return kind.format
    for stream, what in _OLE_UNSUPPORTED.items():
        if stream in streams:
            raise unsupported(f"It is {what}, which is not supported.")
    raise unsupported("It is an OLE compound file of an unknown application.")


def _is_encrypted_office(path: Path) -> bool:
    import msoffcrypto

    with path.open("rb") as stream:
        try:
            return bool(msoffcrypto.OfficeFile(stream).is_encrypted())
        except Exception:
            # msoffcrypto-tool 6.1.0 raises over files of xlwt (its issue 83), over Excel 5 `Book` streams, and nearly anything over damaged
            # ones; a locked workbook says so in its second record, before any of this. What else is wrong shows when it is partitioned.
            return False
