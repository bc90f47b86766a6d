"""How many examples hypothesis tries."""

import os

SLOWER = 10
"""With a sanitizer, and PYTHONMALLOC=malloc, an example takes about as many times as long."""


def examples(number: int) -> int:
    """`number`; fewer where the kernel runs under AddressSanitizer, so that its tests end within minutes."""
    return max(number // SLOWER, 20) if "ASAN_OPTIONS" in os.environ else number
