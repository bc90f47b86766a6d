"""How much memory a child has used for one document, measured by the child itself."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def reset_peak_memory() -> None:
    """Starts a new measurement where the kernel can (Linux): the high-water mark is the process's, and a child decodes many documents."""
    if _CLEAR_REFS.exists():
        _CLEAR_REFS.write_text("5", encoding="ascii")  # 5 = reset VmHWM, see proc(5)


def peak_memory_mb() -> float:
    """Peak resident memory of this process since the last reset, in MiB, the pages that it shares with the zygote included."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts bytes on macOS, KiB elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / (1 << 20), 1)
