"""`python -m pipeline`. Thin, because Beam's workers import the main module of the process that submits."""

import sys

from pipeline.cli import main

if __name__ == "__main__":
    sys.exit(main())
