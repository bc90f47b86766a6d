"""The reading order of a page is unstructured's own, and no longer costs what its coordinates are."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from unstructured.partition.utils import xycut

from transforms.partition.acceleration.installation import accelerate, restore
from transforms.partition.acceleration.patches import Patches
from transforms.partition.acceleration.reading_order import Projection, covered, cut_by_ends
from transforms.partition.pdf.document import partition_pdf
from transforms.partition.pdf_kernel.self_test import page_pdf
from transforms.settings import DecodeSettings

POINTS = st.integers(0, 60)
BOXES = st.lists(st.tuples(POINTS, POINTS, POINTS, POINTS), min_size=1, max_size=30)
"""Left, top, right, bottom: also empty ones, and ones that end before they begin."""
UPRIGHT = BOXES.map(lambda boxes: [(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in boxes])


@pytest.fixture(scope="module")
def original():
    """unstructured's functions as they came, whatever other tests have put in their place."""
    restore()
    return xycut.projection_by_bboxes, xycut.split_projection_profile


@given(BOXES, st.sampled_from((0, 1)))
@example([(5, 5, 5, 5)], 0)
@example([(0, 0, 10, 1), (10, 0, 20, 1), (21, 0, 22, 1)], 0)
@settings(max_examples=500, deadline=None)
def test_what_boxes_cover_is_what_a_count_over_all_points_says(original, boxes, axis):
    project, split = original
    array = np.array(boxes)
    expected = split(project(boxes=array, axis=axis), 0, 1)
    found = covered(Projection(array, axis))
    if expected is None:
        assert found is None
        return
    assert list(found) == [part.tolist() for part in expected]


@given(UPRIGHT)
@settings(max_examples=300, deadline=None)
def test_the_order_of_boxes_is_the_same(original, boxes):
    array = np.array(boxes)

    def orders():
        found = ([], [])
        xycut.recursive_xy_cut(array, np.arange(len(array)), found[0])
        xycut.recursive_xy_cut_swapped(array, np.arange(len(array)), found[1])
        return found

    expected = orders()
    patches = Patches("unstructured")
    cut_by_ends(patches)
    try:
        assert orders() == expected
    finally:
        patches.undo()


def test_what_unstructured_does_not_ask_for_itself_goes_to_its_own_functions(original):
    project, split = original
    boxes = np.array([(0, 0, 2, 2), (1, 0, 9, 2), (14, 0, 16, 2)])
    patches = Patches("unstructured")
    cut_by_ends(patches)
    try:
        assert xycut.projection_by_bboxes(boxes - [[0, 1, 0, 1]], 1).tolist() == project(boxes - [[0, 1, 0, 1]], 1).tolist()  # from -1
        found = xycut.split_projection_profile(xycut.projection_by_bboxes(boxes, 0), 1, 1)  # where two boxes lie over each other
        assert [list(part) for part in found] == [part.tolist() for part in split(project(boxes, 0), 1, 1)] == [[1], [2]]
        found = xycut.split_projection_profile(xycut.projection_by_bboxes(boxes, 0), 0, 8)
        assert [part.tolist() for part in found] == [[0], [16]]
    finally:
        patches.undo()
    assert (xycut.projection_by_bboxes, xycut.split_projection_profile) == original


@pytest.mark.parametrize("away", [1e6, 1e12, 1e19])
def test_a_character_far_away_costs_its_page_nothing(tmp_path, model, away):
    assert accelerate(model).on
    content = b"BT /F1 12 Tf 60 700 Td (The lens was ground in the tower.) Tj 1 0 0 1 %d %d Tm (!) Tj ET" % (away, away)
    path = tmp_path / "document"
    path.write_bytes(page_pdf([content]))
    document = partition_pdf(path, DecodeSettings())
    assert "The lens was ground in the tower." in [element.text for element in document.elements]
    assert document.missing_pages == []


def test_a_zygote_reads_pdfs_without_numba():
    program = (
        "import sys\n"
        "from transforms.decode import preload\n"
        "preload()\n"
        "print([name for name in ('numba', 'scipy', 'matplotlib', 'onnxruntime', 'typer') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
