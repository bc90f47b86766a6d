"""The page that a person sees first: the commands, and examples of them."""

from transforms.settings import DECODER
from transforms.version import VERSION

COMMANDS = {
    "backfill": "decode a library of documents into texts, images and provenance",
    "trace": "follow a page, section or image back to its document, and show its text",
    "report": "print the summary of a run again",
    "load": "bring a run into TrustGraph: its texts and images to the library, its provenance to the graph",
    "export": "write a run as files for TrustGraph's own commands",
    "doctor": "show what this installation can decode, and what to install for the rest",
}

EXAMPLES = f"""\
examples:
  {DECODER} backfill --input ~/library --output ~/decoded --dry-run
  {DECODER} backfill --input 'gs://bucket/library/**' --output gs://bucket/decoded --section-strategy heading
  {DECODER} backfill --references references.jsonl --output decoded --max-failures 0.01
  {DECODER} backfill --librarian http://localhost:8088 --output decoded
  {DECODER} trace urn:page:6f1d... --output decoded
  {DECODER} report decoded
  {DECODER} doctor
"""


def overview() -> str:
    """What `universal-decoder --help` prints."""
    lines = [
        f"usage: {DECODER} COMMAND [options]",
        "",
        f"{DECODER} {VERSION} decodes a library of documents of any format into text, images and provenance.",
        "",
        "commands:",
        *(f"  {name:<10} {text}" for name, text in COMMANDS.items()),
        "",
        f"{DECODER} COMMAND --help shows the options of a command; {DECODER} --version the version.",
        "",
    ]
    return "\n".join(lines) + "\n" + EXAMPLES
