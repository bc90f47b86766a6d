"""The settings of a decode: those that change its result, and the limits that it runs under.

The option defaults of the contract stand here and nowhere else.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib import metadata
from typing import Any

from transforms.version import VERSION

DECODER = "universal-decoder"


RANGE_PAGES = 50
"""Pages of text in a range of a large PDF."""
OCR_PAGE = 25
"""Pages of text that count as much as a page that needs OCR. It takes 100 times as long (2 s, a page of text 0.02); a range of it is longer
(4 s), as opening a document costs 0.1 s a range."""
DIVIDED_FROM = 4
"""Ranges that a PDF must have enough for: below that (3 s of text) its decode is over before division pays."""


class Strategy(StrEnum):
    """How unstructured reads pages. Source: spec, sections 2 and 8."""

    AUTO = "auto"
    FAST = "fast"
    HI_RES = "hi_res"
    OCR_ONLY = "ocr_only"


class SectionStrategy(StrEnum):
    """How formats without pages are divided. Source: spec, section 3."""

    WHOLE_DOCUMENT = "whole-document"
    HEADING = "heading"
    ELEMENT_TYPE = "element-type"
    COUNT = "count"
    SIZE = "size"


@dataclass(frozen=True)
class DecodeSettings:
    """All options that change what a document decodes to."""

    strategy: Strategy = Strategy.AUTO
    languages: tuple[str, ...] = ("eng",)
    """OCR languages, as tesseract codes."""
    section_strategy: SectionStrategy = SectionStrategy.WHOLE_DOCUMENT
    section_element_count: int = 20
    section_max_size: int = 4000
    """Code points of emitted text."""
    section_within_pages: bool = False
    images: bool = True

    @property
    def fingerprint(self) -> str:
        """16 hex digits over these settings and the versions of the decoder and of unstructured: two decodes with the same fingerprint
        and the same bytes give the same result."""
        facts = {"settings": self._effective().to_json(), "decoder": VERSION, "unstructured": unstructured_version()}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def _effective(self) -> "DecodeSettings":
        """With the default for what the section strategy does not look at."""
        default = DecodeSettings()
        counts, sizes = self.section_strategy is SectionStrategy.COUNT, self.section_strategy is SectionStrategy.SIZE
        return replace(
            self,
            section_element_count=self.section_element_count if counts else default.section_element_count,
            section_max_size=self.section_max_size if sizes else default.section_max_size,
        )

    def to_json(self) -> dict[str, Any]:
        """For a child process and for the manifest; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> "DecodeSettings":
        return cls(
            **{
                **facts,
                "strategy": Strategy(facts["strategy"]),
                "section_strategy": SectionStrategy(facts["section_strategy"]),
                "languages": tuple(facts["languages"]),
            }
        )


@dataclass(frozen=True)
class Limits:
    """What one document may cost. None of it changes the result of a document that stays inside.

    The defaults are far above what real documents need: of 380 sample documents of unstructured and docling the most that one has are
    6.4 MB unpacked, a ratio of 23, 318 members, 619 pages and 3 megapixels.
    """

    timeout: float = 600.0
    """Seconds of wall clock, for the whole process group of the child; see `timeout_for`."""
    memory: int = 4096
    """MiB of resident memory, summed over the child's process group. One number: it is what the machine has, whatever the document."""
    document_size: int = 1024
    """MiB of the document's bytes."""
    unpacked_size: int = 2048
    """MiB that the members of an archive (all Office formats, EPUB) may have together. Their XML takes ten times that when it is parsed."""
    archive_ratio: int = 300
    """How many times its own size an archive may unpack to, from `RATIO_COUNTS_FROM` on. Sheets of equal rows reach 100; deflate 1,032."""
    archive_members: int = 50_000
    """Files in an archive."""
    nesting: int = 3
    """Mails in mails in mails."""
    pages: int = 50_000
    """Of a PDF, or of a TIFF."""
    pixels: int = 500
    """Millions of pixels of an image document. An A0 sheet scanned at 300 dpi has 140."""

    def timeout_for(self, size: int) -> float:
        """Seconds for a document of `size` bytes: `timeout`, and as much again for each 4 MiB, up to 16 times as much.

        A page that is a picture takes 2 s of OCR and 60 to 100 kB, so a scanned book of 1,000 pages (80 MB) needs over half an hour, and
        gets 2.6 hours; a small file that runs for 10 minutes hangs. A text of 5,000 pages (20 MB) needs 3 minutes.
        """
        return self.timeout * min(TIMEOUT_GROWS_TO, 1 + size / TIMEOUT_GROWS_BY)


RATIO_COUNTS_FROM = 64 << 20
"""Bytes unpacked under which no ratio is too high."""
TIMEOUT_GROWS_BY, TIMEOUT_GROWS_TO = 4 << 20, 16.0


@lru_cache
def unstructured_version() -> str:
    """Of the installed distribution; reading it does not import the package."""
    return metadata.version("unstructured")
