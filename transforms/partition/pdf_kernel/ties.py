"""The order in which pdfminer joins boxes at equal distances, made the same in each process.

`group_textboxes` (pdfminer.six 20260107) puts `id()` into its heap, so that of equal distances the boxes that lie lower in memory come
first, and its result depends on the allocator: one damaged page gave three results in three processes. No run may differ from another over
that, with the kernel or without.
"""

import itertools
from collections.abc import Callable
from typing import Any

from pdfminer import layout


def order_ties() -> Callable[[], None]:
    """Has pdfminer take such boxes in the order in which it found them, in this process. Returns what puts it back."""
    numbers = itertools.count()

    def found(item: Any) -> int:
        number: int = item.__dict__.setdefault("found", next(numbers))
        return number

    vars(layout)["id"] = found  # before the built-in one, to this module's functions

    def undo() -> None:
        vars(layout).pop("id", None)

    return undo
