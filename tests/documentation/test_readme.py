"""What the README says of the formats is what the table of formats says."""

from pathlib import Path

from transforms.partition.formats import FORMATS, Format

README = Path(__file__).parents[2] / "README.md"
HEADER = "| format | MIME type | extensions | grouped by | pictures | needs |\n|---|---|---|---|---|---|\n"


def row(known: Format) -> str:
    tools = [tool.name for tool in known.tools] + [f"{tool.name} for text in pictures" for tool in known.ocr_tools]
    cells = (known.name, known.mime_type, " ".join(known.extensions), known.grouped_by, "yes" if known.pictures else "", ", ".join(tools))
    return "| " + " | ".join(cells) + " |"


def test_the_readme_has_the_table_of_formats() -> None:
    assert HEADER + "\n".join(map(row, FORMATS)) + "\n\n" in README.read_text()
