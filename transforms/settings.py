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
    """What one document may cost. None of it changes the result of a document that stays inside."""

    timeout: float = 600.0
    """Seconds of wall clock, for the whole process group of the child."""
    memory: int = 4096
    """MiB of resident memory, summed over the child's process group."""
    document_size: int = 1024
    """MiB of the document's bytes."""


@lru_cache
def unstructured_version() -> str:
    """Of the installed distribution; reading it does not import the package."""
    return metadata.version("unstructured")
