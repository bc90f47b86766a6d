"""The program, also `python -m pipeline`. Thin, because Beam's workers import the main module of the process that submits."""

import signal
from typing import NoReturn


def start() -> NoReturn:
    """Runs the program. An interrupt while it is imported ends it without a word, where Python would print a traceback."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it was started with nohup
    if is_usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pipeline.cli import run_and_exit

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_and_exit()


if __name__ == "__main__":
    start()
