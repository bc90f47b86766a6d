"""A program of its own: has LibreOffice convert one document, in this very process, by its C interface (LibreOfficeKit).

The command `soffice` cannot run in a child: it makes itself a socket in /tmp, whatever TMPDIR says, and connects to it, to find out whether
another LibreOffice runs already (7.4), and both are forbidden there (`transforms.isolation.confinement`). The socket stays when it is
killed, too. The interface has none of it, runs no macro, and gives the same document.

It imports nothing of the project, and is run by the path of this file.
"""

import ctypes
import os
import sys
from typing import Any

Pointer = ctypes.c_void_p


class _OfficeFunctions(ctypes.Structure):
    """The beginning of LibreOfficeKitClass, which only grows at its end. Source: LibreOfficeKit/LibreOfficeKit.h."""

    _fields_ = [("size", ctypes.c_size_t), ("destroy", Pointer), ("load", Pointer), ("error", Pointer)]


class _DocumentFunctions(ctypes.Structure):
    """The beginning of LibreOfficeKitDocumentClass."""

    _fields_ = [("size", ctypes.c_size_t), ("destroy", Pointer), ("save", Pointer)]


def convert(library: str, profile: str, source: str, target: str, target_format: str) -> str:
    """Converts a document.

    Args:
      library: path of the library that has the interface.
      profile: URL of the user profile, made where there is none.
      source: URL of the document.
      target: URL of the converted one.
      target_format: LibreOffice's short name of it ("docx").
    Returns:
      What went wrong; empty: nothing.
    """
    hook = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL).libreofficekit_hook_2
    hook.restype, hook.argtypes = Pointer, [ctypes.c_char_p, ctypes.c_char_p]
    office = hook(os.path.dirname(library).encode(), profile.encode())  # noqa: PTH120
    if not office:
        return "it does not start"
    functions = _functions(office, _OfficeFunctions)
    document = ctypes.CFUNCTYPE(Pointer, Pointer, ctypes.c_char_p)(functions.load)(office, source.encode())
    if not document:
        told = ctypes.CFUNCTYPE(ctypes.c_char_p, Pointer)(functions.error)(office) or b""
        return told.decode("utf-8", "replace") or "it cannot load the document"
    save = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p)(
        _functions(document, _DocumentFunctions).save
    )
    return "" if save(document, target.encode(), target_format.encode(), b"") else "it cannot save the document"


def _functions(instance: int, kind: Any) -> Any:
    """The table of functions that the first word of an instance points to."""
    table = ctypes.cast(instance, ctypes.POINTER(Pointer))[0]
    return ctypes.cast(table, ctypes.POINTER(kind))[0]


if __name__ == "__main__":
    message = convert(*sys.argv[1:])
    print(message, flush=True)
    os._exit(1 if message else 0)  # without LibreOffice's own way out, which may wait for its threads
