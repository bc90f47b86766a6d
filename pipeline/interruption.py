"""Ends a running job on Ctrl-C or SIGTERM: within seconds, whatever its threads and children do, and with nothing left behind.

The runner's threads wait for decoding children, and Python joins threads before it exits: an exception alone would wait for the longest
document of all. So the children are ended first, which ends what the threads wait for; then the stack unwinds; and what is not gone by
then (an upload to a store that does not answer, a part that is being written) is left by `os._exit`. Nothing of that is taken for
finished: what is published is published by one rename or put, and the next run sweeps what lies half-written.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

PATIENCE = 3.0
"""Seconds for the stack to unwind; the promise is 5 s for all that runs on this machine."""
CLUSTER_PATIENCE = 90.0
"""Seconds where the job runs on a cluster, and is cancelled there first: its tasks have a minute to leave (`pipeline.flink.run`)."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A signal has ended the job. No `Exception`: nothing on the way may take it for a failure of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """As a shell has it."""
        return 128 + self.number

    @property
    def name(self) -> str:
        return signal.Signals(self.number).name


INTERRUPTIONS = (Interrupted, KeyboardInterrupt)
"""What a signal raises within `ending_on_signals`, and outside of it."""


@contextmanager
def ending_at_once(sentence: str) -> Iterator[None]:
    """Has SIGINT end the process within the block, where modules are imported and nothing is under way; decoders end with it.

    An exception will not do there: raised in a callback of the import system it is lost, with a lock held that every later import waits
    for (once in 185 interrupts, Python 3.11).
    """
    old = signal.getsignal(signal.SIGINT)
    if old is signal.SIG_IGN:
        yield
        return

    def leave(number: int, _frame: FrameType | None) -> None:
        with suppress(OSError):  # not by print: this thread may be in the middle of one
            os.write(2, f"{sentence}\n".encode())
        os._exit(128 + number)

    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


@contextmanager
def ending_on_signals(close: Callable[[], None], farewell: Callable[[Interrupted], None], patience: float = PATIENCE) -> Iterator[None]:
    """Has SIGINT and SIGTERM end the block, and if need be the process.

    Args:
      close: ends the children; called at once, in a thread of its own.
      farewell: says what is kept and how to go on. Called once: when the block has ended, or when the process is about to be.
      patience: seconds until the process ends in any case, with the signal's exit code.
    Raises:
      Interrupted: in the main thread, after `farewell`.
    """
    once = threading.Lock()
    received: list[Interrupted] = []

    def say(interrupted: Interrupted) -> None:
        if once.acquire(blocking=False):
            farewell(interrupted)

    def leave(interrupted: Interrupted) -> None:
        say(interrupted)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(interrupted.exit_code)

    def end(number: int, _frame: FrameType | None) -> None:
        interrupted = Interrupted(number)
        received.append(interrupted)
        for each in handled:  # a second Ctrl-C does not wait
            signal.signal(each, lambda *_: leave(interrupted))
        watch = threading.Timer(patience, leave, [interrupted])
        watch.daemon = True
        watch.start()
        closing = threading.Thread(target=close, name="close", daemon=True)
        closing.start()  # not here: this thread may hold the lock that closing needs
        raise interrupted

    handled = {number: old for number in SIGNALS if (old := signal.getsignal(number)) is not signal.SIG_IGN}  # nohup ignores SIGINT
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        # Also where the block has made something else of it, as Beam does with all that a step raises (2.77.0), or has just ended well.
        if received:
            say(received[0])  # the handlers and the watch stay: Python still joins its threads
            raise received[0] from None
        for number, old in handled.items():
            signal.signal(number, old)
