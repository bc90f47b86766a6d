"""The README's example, as it stands, over the sample library."""

import re
import subprocess
import sys
from pathlib import Path

from runs import ROOT, FinishedRun


def test_the_pyarrow_example_shows_a_page_and_its_elements(sample_run: FinishedRun, tmp_path: Path) -> None:
    example = re.search("```python\n(import pyarrow.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    (tmp_path / "out").symlink_to(sample_run.output)

    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert (done.returncode, done.stderr) == (0, "")
    page = next(row for row in sample_run.rows("text_documents") if "annual-report" in row["source_uri"] and row["page_number"] == 4)
    assert done.stdout.startswith(f"{page['id']} Page 4 {page['text'][:60]}\n")
    shown = done.stdout.removeprefix(f"{page['id']} Page 4 {page['text'][:60]}\n")
    assert [line.split(" [")[0] for line in shown.splitlines() if " [0." in line] == [element["category"] for element in page["elements"]]
