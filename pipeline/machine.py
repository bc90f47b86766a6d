"""What this machine has for a job."""

import math
import os
from pathlib import Path


def available_cpus() -> int:
    """CPUs that this process may use: its affinity, and the quota of its control group (a container's), whichever is less."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        cpus = min(cpus, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):
        pass  # no control group v2, or "max": no quota
    return max(cpus, 1)
