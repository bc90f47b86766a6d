"""The real decoder, with documents that wait for a gate to open, or that end the process that decodes them. Runs in the children."""

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

from transforms.decode import DOCUMENT, decode_file


def decode(request: Any, folder: Path) -> Any:
    """`transforms.decode:decode_file`, once the file that the text names after `wait for` is there."""
    text = (folder / DOCUMENT).read_bytes().decode(errors="replace")
    if "kills its process" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    gate = re.search(r"wait for (/\S+)", text)
    while gate and not Path(gate[1]).exists():
        time.sleep(0.02)
    return decode_file(request, folder)
