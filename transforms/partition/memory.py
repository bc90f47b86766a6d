"""How much memory the decode of one document has added to its child, measured by the child itself."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def start_measurement() -> float:
    """Starts a measurement.

    Returns:
      The baseline for `added_memory_mb`: what is resident now, MiB. Most of it is shared with the zygote, and charged to nobody.
    """
    if not _STATUS.exists():
        return _high_water_mb()
    _CLEAR_REFS.write_text("5", encoding="ascii")  # 5 = set VmHWM back to what is resident, see proc(5): a child decodes many documents
    return _status_mb("VmRSS:")


def added_memory_mb(baseline: float) -> float:
    """The most that was resident since `start_measurement`, above its baseline, in MiB."""
    return round(max(_high_water_mb() - baseline, 0.0), 1)


def _high_water_mb() -> float:
    if _STATUS.exists():
        return _status_mb("VmHWM:")
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts bytes on macOS, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / (1 << 20)


def _status_mb(name: str) -> float:
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
