"""Cuts a page into columns and rows by the ends of its boxes, where unstructured counts the boxes over every point of the page.

`unstructured.partition.utils.xycut` (0.27.35) projects boxes onto an axis as an array with an entry a point, and looks for gaps in it. So
one character that stands 10^12 points away asks for terabytes and costs the text layer of its page; and for its loops over points it needs
numba, which takes 0.6 s and 60 MB of each zygote. The gaps between the boxes' ends are the same. `--no-acceleration` leaves unstructured's
way, and such a page without its text layer.
"""

from typing import Any, NamedTuple

import numpy as np

from transforms.partition.acceleration.patches import Patches
from transforms.partition.deferred import deferred_imports

MIN_VALUE, MIN_GAP = 0, 1
"""What unstructured's sorting gives to `split_projection_profile`: any box counts, and boxes that touch are together."""

Ends = tuple[list[int], list[int]]


class Projection(NamedTuple):
    """Boxes, shape (count, 4), and the axis that they are projected onto: 0 for x, 1 for y."""

    boxes: np.ndarray
    axis: int


def covered(projection: Projection) -> Ends | None:
    """The parts of an axis that boxes cover: what `split_projection_profile` gives for the array of `projection_by_bboxes`.

    Plain Python, as the boxes of a page are few: with numpy's functions the sorting of a page takes twice as long.

    Returns:
      First points and ends (exclusive) of the parts, growing; None where there are none.
    """
    boxes, axis = projection
    firsts: list[int] = []
    ends: list[int] = []
    reached = -1
    for start, end in sorted(zip(boxes[:, axis].tolist(), boxes[:, axis + 2].tolist(), strict=True)):
        if start >= end:
            continue
        if start > reached:
            if firsts:
                ends.append(reached)
            firsts.append(start)
            reached = end
        elif end > reached:
            reached = end
    if not firsts:
        return None
    ends.append(reached)
    return firsts, ends


def cut_by_ends(patches: Patches) -> None:
    """Has the functions of unstructured's module work so.

    What they are not given by unstructured itself (other thresholds, or points below 0, which count from the other end there) goes to the
    original ones.
    """
    with deferred_imports():
        from unstructured.partition.utils import xycut
    project, split = xycut.projection_by_bboxes, xycut.split_projection_profile

    def projection_by_bboxes(boxes: np.ndarray, axis: int) -> Any:
        if axis not in (0, 1) or not len(boxes):
            return project(boxes, axis)
        if boxes.min() < 0 and ((boxes[:, axis] < 0) & (boxes[:, axis] < boxes[:, axis + 2])).any():
            return project(boxes, axis)
        return Projection(boxes, axis)

    def split_projection_profile(profile: Any, min_value: float, min_gap: float) -> Ends | None:
        if not isinstance(profile, Projection):
            return split(profile, min_value, min_gap)  # type: ignore[no-any-return]
        if (min_value, min_gap) != (MIN_VALUE, MIN_GAP):
            return split(project(*profile), min_value, min_gap)  # type: ignore[no-any-return]
        return covered(profile)

    patches.function(xycut, "projection_by_bboxes", projection_by_bboxes)
    patches.function(xycut, "split_projection_profile", split_projection_profile)
