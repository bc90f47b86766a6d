"""How documents are read and divided: what changes the results."""

import argparse
import re

from pipeline.options.parser import add_switch
from pipeline.options.values import choice, whole_number
from transforms.errors import UsageError
from transforms.settings import DecodeSettings, SectionStrategy, Strategy


def add_decoding(parser: argparse.ArgumentParser) -> None:
    """Adds the group of what makes another result."""
    decode = DecodeSettings()
    group = parser.add_argument_group("what decoding does", "another value gives another result, decoded anew and kept beside the first")
    group.add_argument(
        "--strategy",
        metavar="NAME",
        type=choice("--strategy", Strategy),
        default=decode.strategy,
        help="how pages are read: auto (OCR where a page is a picture), fast (never OCR), hi_res (a layout model finds tables and titles; "
        f"slow) or ocr_only (default: {decode.strategy.value})",
    )
    group.add_argument(
        "--languages",
        metavar="CODES",
        type=_languages,
        default=decode.languages,
        help=f"languages that OCR reads, as tesseract codes with commas between them (default: {','.join(decode.languages)})",
    )
    group.add_argument(
        "--section-strategy",
        metavar="NAME",
        type=choice("--section-strategy", SectionStrategy),
        default=decode.section_strategy,
        help="how a document without pages is divided: whole-document, heading (at its headings, nested), element-type (tables stand "
        f"alone), count or size (default: {decode.section_strategy.value})",
    )
    group.add_argument(
        "--section-element-count",
        metavar="N",
        type=whole_number("--section-element-count", "elements"),
        default=decode.section_element_count,
        help="elements a section, for count (default: %(default)s)",
    )
    group.add_argument(
        "--section-max-size",
        metavar="N",
        type=whole_number("--section-max-size", "characters"),
        default=decode.section_max_size,
        help="characters a section, tables as HTML, for size (default: %(default)s)",
    )
    add_switch(
        group,
        "--section-within-pages",
        decode.section_within_pages,
        "divide each page into sections as well, by the section strategy (default: false)",
    )
    group.add_argument("--images", dest="images", action="store_true", default=decode.images, help="store the images as blobs (default)")
    group.add_argument("--no-images", dest="images", action="store_false", help="leave images out")


def read_decoding(found: argparse.Namespace) -> DecodeSettings:
    """What is given, and the defaults for the rest."""
    return DecodeSettings(
        strategy=found.strategy,
        languages=found.languages,
        section_strategy=found.section_strategy,
        section_element_count=found.section_element_count,
        section_max_size=found.section_max_size,
        section_within_pages=found.section_within_pages,
        images=found.images,
    )


def _languages(text: str) -> tuple[str, ...]:
    """`eng,deu` or tesseract's own `eng+deu`; whether they are installed is for `preflight` to see."""
    codes = [code.strip() for code in re.split(r"[,+]", text)]
    for code in codes:
        if not re.fullmatch(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+)?", code):
            raise UsageError(
                f"--languages {text!r} is not a list of languages: give tesseract codes with commas between them, such as eng,deu."
            )
    return tuple(dict.fromkeys(codes))
