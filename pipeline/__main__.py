"""`python -m pipeline`. Thin, because Beam's workers import the main module of the process that submits."""

from pipeline.cli import run_and_exit

if __name__ == "__main__":
    run_and_exit()
