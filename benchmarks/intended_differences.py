"""Compares the decoder's elements with those of plain `partition()`, and names the intention behind each difference.

usage: python benchmarks/intended_differences.py FOLDER [--generated N]

Category, text, order, depth, page and table HTML are compared. The decoder differs from `partition()` on purpose in the points of
`INTENTIONS`, each of which says by what it is told: whatever is not explained by them is printed as DIFFERENT. Exit code 1: there is such a
document.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from bench_set import TEXT_SUFFIXES  # noqa: E402 - a script finds the package beside it
from generated_documents import write_documents  # noqa: E402
from identical import side  # noqa: E402

IDENTICAL, INTENDED, DIFFERENT = "identical", "identical but for what is intended", "DIFFERENT"


class Piece(NamedTuple):
    """What is compared of an element."""

    category: str
    text: str
    depth: int | None
    page: int | None
    html: str


@dataclass(frozen=True)
class Outcome:
    """What came of a document: elements, or a sentence."""

    pieces: tuple[Piece, ...] = ()
    error: str = ""


Pair = tuple[Outcome, Outcome]
"""Of `partition()`, and of the decoder."""


@dataclass(frozen=True)
class Intention:
    """A point in which the decoder is meant to differ."""

    name: str
    reason: str
    adapt: Callable[[Outcome, Outcome], Pair]
    """Gives both without the difference, where there is this one and nothing else is lost."""
    suffixes: frozenset[str] = frozenset()
    """Of the documents that have it; empty: all."""


def main() -> int:
    """Compares, prints how many documents have which difference, and gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--generated", type=int, default=0, help="generated documents of many kinds and languages besides")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory() as temporary,
        side("plain pieces", exact=True) as plain,
        side("decoder pieces", exact=False) as decoder,
    ):
        files = [path for path in sorted(arguments.folder.rglob("*")) if path.suffix.lower() in {*TEXT_SUFFIXES, ".pdf"}]
        files += write_documents(Path(temporary), arguments.generated)
        for file in files:
            pair = outcome(plain(file)["content"]), outcome(decoder(file)["content"])
            names, rest = explain(pair, file.suffix.lower())
            if rest is not None:
                counts[DIFFERENT] += 1
                print(f"{DIFFERENT} {file}\n{rest}", flush=True)
                continue
            counts[INTENDED if names else IDENTICAL] += 1
            for name in names:
                counts[name] += 1
                examples.setdefault(name, file.name)
    tally = (f"{counts[kind]} {kind}" for kind in (IDENTICAL, INTENDED, DIFFERENT))
    print(f"{len(files)} documents: {', '.join(tally)}")
    for intention in INTENTIONS:
        if counts[intention.name]:
            print(f"{counts[intention.name]:5} {intention.name}: {intention.reason} ({examples[intention.name]})")
    return 1 if counts[DIFFERENT] else 0


def outcome(content: Any) -> Outcome:
    """As a side sends it."""
    return Outcome(error=content) if isinstance(content, str) else Outcome(tuple(Piece(*piece) for piece in content))


def explain(pair: Pair, suffix: str) -> tuple[list[str], str | None]:
    """The names of the intentions that a document's difference comes down to, and the difference that is left, if one is."""
    names = []
    for intention in INTENTIONS:
        if pair[0] == pair[1]:
            break
        if not intention.suffixes or suffix in intention.suffixes:
            adapted = intention.adapt(*pair)
            if adapted != pair:
                names.append(intention.name)
                pair = adapted
    return names, None if pair[0] == pair[1] else first_difference(*pair)


def first_difference(plain: Outcome, decoder: Outcome) -> str:
    """In two lines."""
    if plain.error or decoder.error:
        return f"  plain   {plain.error or len(plain.pieces)}\n  decoder {decoder.error or len(decoder.pieces)}"
    longest = max(len(plain.pieces), len(decoder.pieces))
    index = next(index for index in range(longest) if plain.pieces[index : index + 1] != decoder.pieces[index : index + 1])
    one, other = (found.pieces[index : index + 1] for found in (plain, decoder))
    return f"  element {index} of {len(plain.pieces)}: {str(one)[:400]}\n  and of {len(decoder.pieces)}: {str(other)[:400]}"


# --- the intentions ----------------------------------------------------------------------------------------------------------------------


def _told(plain: Outcome, decoder: Outcome) -> Pair:
    """With a message about encryption even where `partition()` gives something: what it gives is the cipher or a notice."""
    nothing = not plain.pieces and (decoder.error.startswith("DecodeError") or not decoder.pieces)
    return (decoder, decoder) if nothing or "encrypted" in decoder.error else (plain, decoder)


def _rescued(plain: Outcome, decoder: Outcome) -> Pair:
    return (decoder, decoder) if decoder.pieces and not plain.pieces else (plain, decoder)


def _decoded(plain: Outcome, decoder: Outcome) -> Pair:
    """`partition()` gives the source of the mail, and the decoder's text stands in it."""
    is_source = any("MIME-Version:" in piece.text for piece in plain.pieces)
    return (decoder, decoder) if is_source and _is_subsequence(_characters(decoder.pieces), _characters(plain.pieces)) else (plain, decoder)


def _without_pictures(plain: Outcome, decoder: Outcome) -> Pair:
    return _both(plain, decoder, lambda pieces: (piece for piece in pieces if piece.category != "Image"))


def _both(plain: Outcome, decoder: Outcome, adapt: Callable[[Sequence[Piece]], Iterable[Piece]]) -> Pair:
    """The same done to the pieces of both."""
    return replace(plain, pieces=tuple(adapt(plain.pieces))), replace(decoder, pieces=tuple(adapt(decoder.pieces)))


def _cells(plain: Outcome, decoder: Outcome) -> Pair:
    """Each word of a cell stands in the decoder's text as well; of numbers, dates and empty cells pandas writes what it makes of them."""
    text = " ".join(piece.text for piece in decoder.pieces)
    found = " ".join(piece.text.replace("\\n", " ") for piece in plain.pieces).split()  # pandas writes a line's end so
    words = [word for word in found if not re.search(r"\d", word) and word not in _PANDAS]
    is_table = all(piece.category == "Table" for piece in decoder.pieces)
    return (decoder, decoder) if is_table and all(word in text for word in words) else (plain, decoder)


_PANDAS = frozenset({"None", "nan", "NaN", "NaT", "True", "False", "inf"})


def _added(plain: Outcome, decoder: Outcome) -> Pair:
    """All of `partition()`'s characters stand in the decoder's texts in the same order, in elements of the same category where they have a
    text in common."""
    categories = defaultdict(set)
    for piece in decoder.pieces:
        categories[piece.text].add(piece.category)
    kept = all(piece.category in categories.get(piece.text, {piece.category}) for piece in plain.pieces)
    return (decoder, decoder) if kept and _is_subsequence(_characters(plain.pieces), _characters(decoder.pieces)) else (plain, decoder)


def _characters(pieces: Sequence[Piece]) -> str:
    return "".join("".join(piece.text.split()) for piece in pieces)


def _is_subsequence(short: str, long: str) -> bool:
    remaining = iter(long)
    return all(character in remaining for character in short)


def _headings(plain: Outcome, decoder: Outcome) -> Pair:
    """Headings by their text alone, where the decoder has each of `partition()`'s."""
    titles = {piece.text for piece in decoder.pieces if piece.category == "Title"}
    if {(piece.text, piece.depth) for piece in plain.pieces if piece.category == "Title"} <= {
        (piece.text, piece.depth) for piece in decoder.pieces if piece.category == "Title"
    } and not any(piece.category != "Title" and piece.text in titles for piece in plain.pieces):
        return plain, decoder
    return _both(
        plain,
        decoder,
        lambda pieces: (piece._replace(category="Title", depth=None) if piece.text in titles else piece for piece in pieces),
    )


def _without_attachments(plain: Outcome, decoder: Outcome) -> Pair:
    body = replace(plain, pieces=plain.pieces[: len(decoder.pieces)])
    return (body, decoder) if body == decoder else (plain, decoder)


def _without_meaningless(plain: Outcome, decoder: Outcome) -> Pair:
    first, second = _both(plain, decoder, lambda pieces: (piece for piece in pieces if not _is_meaningless(piece.text)))
    return (first, second) if len(first.pieces) < len(plain.pieces) else (plain, decoder)


def _is_meaningless(text: str) -> bool:
    """Mostly glyphs to which their font gives no character (at 9 of 10 the decoder leaves an element out)."""
    glyphs = re.findall(r"\(cid:\d+\)|[\ufffd\ue000-\uf8ff]", text)
    rest = len("".join(re.sub(r"\(cid:\d+\)|[\ufffd\ue000-\uf8ff]", "", text).split()))
    return len(glyphs) > rest


def _upright(plain: Outcome, decoder: Outcome) -> Pair:
    """Pages of which both have the same characters in another order."""
    pages = {number for number in {piece.page for piece in plain.pieces} if number is not None}
    turned = {
        number
        for number in pages
        if _page(plain, number) != _page(decoder, number)
        and Counter(_characters(_page(plain, number))) == Counter(_characters(_page(decoder, number)))
    }
    return _both(plain, decoder, lambda pieces: (piece for piece in pieces if piece.page not in turned))


def _page(found: Outcome, number: int) -> list[Piece]:
    return [piece for piece in found.pieces if piece.page == number]


def _encodings(plain: Outcome, decoder: Outcome) -> Pair:
    """The same but for characters beyond ASCII, one for one."""
    first, second = _both(
        plain, decoder, lambda pieces: (piece._replace(text=re.sub(r"[^\x00-\x7f]", "\ufffd", piece.text)) for piece in pieces)
    )
    return (decoder, decoder) if first == second else (plain, decoder)


INTENTIONS = (
    Intention(
        "a reason in place of silence", "where `partition()` raises or gives nothing, the document has a status and a sentence", _told
    ),
    Intention(
        "more is readable", "where `partition()` raises or gives nothing, there is text after all: damage, dialects, drawings", _rescued
    ),
    Intention("mails in UTF-16", "their text is read; `partition()` gives their source", _decoded, frozenset({".eml"})),
    Intention(
        "pictures",
        "they are elements with a place; `partition()` gives none, or those of HTML by their alternative text",
        _without_pictures,
    ),
    Intention(
        "cells as they are",
        "a sheet is one table with each cell's own text; `partition()` divides it, cuts a column at a letter, has pandas format numbers",
        _cells,
        frozenset({".csv", ".tsv", ".xls", ".xlsx"}),
    ),
    Intention(
        "headings of Word documents",
        "a paragraph with an outline level is one, and the document's title stands above those of the first level",
        _headings,
        frozenset({".docx", ".odt"}),
    ),
    Intention(
        "hidden places of Word documents",
        "text boxes, content controls, equations, check boxes and insertions are read",
        _added,
        frozenset({".docx", ".odt"}),
    ),
    Intention(
        "Western letters",
        "of code pages that read equally well Windows-1252 is taken; `partition()` takes the first by name, cp1250",
        _encodings,
        frozenset({".csv", ".htm", ".html", ".md", ".tsv", ".txt"}),
    ),
    Intention("forms in files of elements", "their keys and values are their text", _added, frozenset({".json", ".ndjson"})),
    Intention(
        "figures and forms of pages",
        "`partition()` drops what stands in figure, details and form",
        _added,
        frozenset({".html", ".htm", ".epub"}),
    ),
    Intention(
        "attachments",
        "they are documents of their own; `partition()` adds their elements to the mail's",
        _without_attachments,
        frozenset({".eml", ".msg"}),
    ),
    Intention(
        "glyphs without a meaning",
        "an element of characters that the font does not name is no text",
        _without_meaningless,
        frozenset({".pdf"}),
    ),
    Intention("lines that stand sideways", "pdfminer cuts them into letters; they are read upright", _upright, frozenset({".pdf"})),
)
"""In the order in which they are looked at."""


if __name__ == "__main__":
    sys.exit(main())
