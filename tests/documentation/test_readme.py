"""What the README says of formats and columns is what their tables say, and its examples are Python."""

import ast
import re
from pathlib import Path

import pytest

from transforms.partition.formats import FORMATS, Format
from transforms.sinks import documents, images, text_documents

README = Path(__file__).parents[2] / "README.md"
HEADER = "| format | MIME type | extensions | grouped by | pictures | needs |\n|---|---|---|---|---|---|\n"


def row(known: Format) -> str:
    tools = [tool.name for tool in known.tools] + [f"{tool.name} for text in pictures" for tool in known.ocr_tools]
    cells = (known.name, known.mime_type, " ".join(known.extensions), known.grouped_by, "yes" if known.pictures else "", ", ".join(tools))
    return "| " + " | ".join(cells) + " |"


def test_the_readme_has_the_table_of_formats() -> None:
    assert HEADER + "\n".join(map(row, FORMATS)) + "\n\n" in README.read_text()


@pytest.mark.parametrize("dataset", [text_documents, images, documents])
def test_the_readme_explains_every_column_in_its_order(dataset) -> None:
    table = README.read_text().split(f"\n**{dataset.NAME}**")[1].split("|---|---|\n")[1].split("\n\n")[0]
    columns = [name for line in table.splitlines() for name in re.findall("`([a-z_0-9]+)`", line.split("|")[1])]
    assert columns == dataset.SCHEMA.names


def test_the_examples_are_python() -> None:
    examples = re.findall("```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        ast.parse(example)
