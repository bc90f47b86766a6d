"""N-Quads (RDF 1.1) written, and terms of N-Triples read: the only two forms in which RDF enters and leaves the job."""

import re
from collections.abc import Iterable, Iterator

from transforms.provenance.identifiers import blank_node_label
from transforms.provenance.terms import Quad, Term, iri_term, literal_term

_IRI = re.compile(r"<([^<>]*)>")
_BLANK_NODE = re.compile(r"_:(\w(?:[\w.:-]*[\w:-])?)")
_LITERAL = re.compile(r'"((?:[^"\\\n\r]|\\.)*)"(?:\^\^<([^<>]*)>|@([A-Za-z0-9-]+))?', re.DOTALL)
_ESCAPE = re.compile(r"""\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf"'\\])|)""")
_ESCAPED_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def serialise(quads: Iterable[Quad]) -> Iterator[str]:
    """One line a quad, ending in a line feed, in the order given.

    Source: https://www.w3.org/TR/n-quads/
    """
    for quad in quads:
        yield f"{quad.subject} {quad.predicate} {quad.object} {quad.graph} .\n"


def parse_term(text: str, *, scope: str) -> Term:
    """Reads one term of a reference's metadata.

    Args:
      text: N-Triples syntax: `<https://example.org/a>`, `"text"`, `"3"^^<…>`, `"Text"@en`, `_:label`.
      scope: what blank node labels are local to (the document's id): the same label in another scope is another node, also in one file.
    Returns:
      The term, in the one form in which it is written.
    Raises:
      ValueError: with a sentence that says what is wrong.
    Source: https://www.w3.org/TR/n-triples/
    """
    text = text.strip()
    if iri := _IRI.fullmatch(text):
        return iri_term(unescape(iri[1], only_code_points=True))
    if blank := _BLANK_NODE.fullmatch(text):
        return Term("_:" + blank_node_label(blank[1], scope))
    if literal := _LITERAL.fullmatch(text):
        return literal_term(unescape(literal[1]), datatype=unescape(literal[2] or "", only_code_points=True), language=literal[3] or "")
    raise ValueError(f'not a term in N-Triples syntax (<iri>, "text", _:label): {text[:80]!r}')


def unescape(text: str, *, only_code_points: bool = False) -> str:
    """The text that a literal's quoted form (or, with `only_code_points`, an IRI's) stands for.

    Raises:
      ValueError: an escape that N-Triples does not know.
    """

    def character(match: re.Match[str]) -> str:
        short, long, letter = match.groups()
        if letter and not only_code_points:
            return _ESCAPED_CHARACTERS.get(letter, letter)
        code = int(short or long or "110000", 16)
        if code > 0x10FFFF:
            raise ValueError(f"not an escape of N-Triples: {match[0]}… in {text[:80]!r}")
        return chr(code)

    return _ESCAPE.sub(character, text) if "\\" in text else text
