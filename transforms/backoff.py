"""How long to wait before something is tried again that may have failed for a moment only."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Exponential back-off: `first * factor**(n - 1)` seconds after attempt n, up to `longest`, less up to half of it by chance.

    The chance keeps the workers of a job apart, that all see a store fail at the same moment.
    """

    attempts: int = 5
    first: float = 0.5
    factor: float = 2.0
    longest: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def wait(self, attempt: int) -> None:
        """Waits after a failed attempt (1 is the first)."""
        delay = min(self.longest, self.first * self.factor ** (attempt - 1))
        self.sleep(delay * (1 - self.chance() / 2))
