"""Makes the metadata of elements cheap: unstructured (0.27.35) builds up to three records of 48 fields an element, and most are empty.

A field that is None is not stored, so that of 48 assignments a handful has an effect: 7 µs in place of 20. And a copy of a
record whose values cannot be changed needs no copies of them: 2 µs in place of 72.
"""

import inspect
import os
import pathlib
from typing import Any

from transforms.partition.acceleration.patches import Patches

IMMUTABLE = frozenset({str, int, float, bool})


def speed_up_metadata(patches: Patches) -> None:
    """Replaces the constructor of `ElementMetadata`, and gives it a copy of its own."""
    from unstructured.documents.elements import UNSTRUCTURED_INCLUDE_DEBUG_METADATA, ElementMetadata

    if UNSTRUCTURED_INCLUDE_DEBUG_METADATA:  # debug fields are stored then
        return
    original = ElementMetadata.__init__
    names = list(inspect.signature(original).parameters)[1:]
    # The order in which the original sets fields is the order in which they are written: that of its parameters, but for these.
    order = {name: place for place, name in enumerate(_assigned(original, names))}

    def init(self: Any, *arguments: Any, **fields: Any) -> None:
        if arguments or not fields.keys() <= order.keys():
            original(self, *arguments, **fields)
            return
        if "filename" in fields or "file_directory" in fields:
            path = fields.get("filename")
            directory, name = os.path.split(str(path) if isinstance(path, pathlib.Path) else path or "")
            fields["file_directory"] = fields.get("file_directory") or directory or None
            fields["filename"] = name or None
        self.__dict__.update({name: fields[name] for name in sorted(fields, key=order.__getitem__) if fields[name] is not None})

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        if all(type(value) in IMMUTABLE for name, value in self.__dict__.items() if name != "_known_field_names"):
            copied.__dict__.update(self.__dict__)
        else:
            from copy import deepcopy as copy_deeply

            copied.__dict__.update(copy_deeply(self.__dict__, memo))
        return copied

    patches.attribute(ElementMetadata, "__init__", init)
    patches.attribute(ElementMetadata, "__deepcopy__", deepcopy)


def _assigned(init: Any, names: list[str]) -> list[str]:
    """The fields in the order in which the constructor sets them, as its code names the attributes that it stores."""
    import dis

    stored = [step.argval for step in dis.get_instructions(init) if step.opname == "STORE_ATTR"]
    if sorted(stored) != sorted(names):
        raise AttributeError(f"ElementMetadata has the fields {', '.join(sorted(set(stored) ^ set(names)))}")
    return stored
