"""Exit code 0: this Python can compile extension modules. Used by the Makefile, before the package is installed."""

import shutil
import sys
import sysconfig
from pathlib import Path

headers = Path(sysconfig.get_path("include"), "Python.h")
sys.exit(0 if shutil.which("cc") and headers.exists() else 1)
