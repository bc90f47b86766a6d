"""One document on its way through a partitioner: the bytes, what they were found to be, and what is wanted of them."""

import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from transforms.model import DecodeError, Element, PartitionedDocument
from transforms.partition import formats
from transforms.partition.containers import check_members, corrupt
from transforms.partition.formats import Format
from transforms.partition.properties import NOTHING_SAID, Properties
from transforms.settings import DecodeSettings, Limits

_ZIPPED = frozenset({formats.DOCX, formats.PPTX, formats.XLSX, formats.ODT, formats.ODS, formats.ODP, formats.EPUB})


@dataclass(frozen=True)
class Source:
    """What each partitioner of this package is given."""

    path: Path
    """Of the bytes; the name means nothing."""
    format: Format
    settings: DecodeSettings
    name: str = ""
    """The document's file name, for messages; may be empty."""
    declared: str = ""
    """The Content-Type as registered: its charset helps to read a text."""
    limits: Limits = field(default_factory=Limits)

    def read(self) -> bytes:
        """All the bytes."""
        return self.path.read_bytes()

    def partitioned(
        self, elements: Sequence[Element], properties: Properties = NOTHING_SAID, warnings: Sequence[str] = (), **facts: Any
    ) -> PartitionedDocument:
        """What came of it; `facts` are further fields of `PartitionedDocument`."""
        return PartitionedDocument(
            elements=elements,
            mime_type=self.format.mime_type,
            page_based=self.format.page_based,
            title=properties.title,
            creator=properties.creator,
            date=properties.date,
            warnings=warnings,
            **facts,
        )


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turns what the format's library raises over a damaged file into `corrupt`; anything else passes as it is.

    Raises:
      DecodeError: `corrupt`.
    """
    from lxml import etree
    from unstructured.errors import UnprocessableEntityError

    damage = (ParseError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, etree.XMLSyntaxError, UnprocessableEntityError)
    try:
        yield
    except DecodeError:
        raise
    except damage as error:
        raise corrupt(f"The {source.format.name} file is damaged: {_sentence(error)}.") from error
    except Exception as error:
        # python-docx raises KeyError for a missing part, openpyxl TypeError, oxmsg IndexError …: they say the same of a broken container.
        if source.format in _ZIPPED:
            check_members(source.path)
        if type(error).__module__.partition(".")[0] in _READERS or _from_a_reader(error):
            raise corrupt(f"The {source.format.name} file is damaged: {_sentence(error)}.") from error
        raise


_READERS = frozenset({"docx", "pptx", "openpyxl", "xlrd", "olefile", "oxmsg"})
"""Libraries that only read the format: when one of them gives up over a file, the file is not what it should be."""


def _from_a_reader(error: BaseException) -> bool:
    """Whether an error was raised inside of a reader's own code, or of the standard library that it called: a failed look-up, a number that
    is none, anything but a want of memory."""
    if isinstance(error, MemoryError | RecursionError | ImportError):
        return False
    trace = error.__traceback__
    last = ""
    while trace is not None:
        package = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "zipfile" or package not in sys.stdlib_module_names:
            last = package
        trace = trace.tb_next
    return last in _READERS or last == "zipfile"


def _sentence(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip().rstrip(".")
    return f"{text[:200]} ({type(error).__name__})" if text else type(error).__name__
