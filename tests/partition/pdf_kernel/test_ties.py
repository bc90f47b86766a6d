"""Boxes at equal distances, which pdfminer by itself joins as they lie in memory."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from transforms.partition.environment import DECODE_ENVIRONMENT
from transforms.partition.pdf_kernel.installation import SWITCH
from transforms.partition.pdf_kernel.self_test import write_pdf

ROOT = Path(__file__).parents[3]
PROGRAM = """
import random, sys
from pdfminer.layout import LTTextBoxHorizontal, LTTextGroupLRTB
from pdfminer.pdfpage import PDFPage
from transforms.partition import pdf_kernel
from unstructured.partition.pdf_image.pdfminer_utils import init_pdfminer
state = pdf_kernel.install()
from transforms.partition.pdf_kernel.pages import _interpreter
device, interpreter = (_interpreter if state.on else init_pdfminer)(None)
generator = random.Random(int(sys.argv[2]))
held = [kind() for _ in range(20_000) for kind in (LTTextBoxHorizontal, lambda: LTTextGroupLRTB([]))]
generator.shuffle(held)
del held[::2]  # what comes now lies in the gaps, in any order
with open(sys.argv[1], "rb") as stream:
    for page in PDFPage.get_pages(stream):
        interpreter.process_page(page)
        print(state.on, [item.get_text() for item in device.get_result() if hasattr(item, "get_text")])
"""


def boxes(path: Path, layout: int, **variables: str) -> str:
    environment = {**os.environ, **DECODE_ENVIRONMENT, **variables}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path), str(layout)]
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize("kernel", [{}, {SWITCH: "1"}], ids=["with the kernel", "without"])
def test_they_are_joined_in_one_order_in_every_process(kernel, tmp_path):
    places = [(40 + 40 * column, 100 + 40 * row) for column in range(9) for row in range(11)]
    random.Random(1).shuffle(places)
    shows = [f"BT /F1 8 Tf {x} {y} Td ({number:02}) Tj ET" for number, (x, y) in enumerate(places)]
    # So far out that the kernel hands the page back.
    shows.append("BT /F1 8 Tf 1 0 0 1 -1000000000000 300 Tm (00) Tj ET")
    content = "\n".join(shows).encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        # Two digits are as wide as they are high, so that neighbours are at one distance, to the last bit.
        b"<</Type/Font/Subtype/TrueType/BaseFont/F/FirstChar 48/LastChar 57/Widths[%s]/FontDescriptor 6 0 R>>" % (b"500 " * 10),
        b"<</Type/FontDescriptor/FontName/F/Flags 32/Ascent 750/Descent -250/FontBBox[0 -250 500 750]>>",
    ]
    path = tmp_path / "ties.pdf"
    path.write_bytes(write_pdf(objects))

    first, *others = [boxes(path, layout, **kernel) for layout in (1, 2, 3)]

    assert first.startswith(str(not kernel))
    assert first.count("\\n") == len(places) + 1
    assert others == [first] * 2
