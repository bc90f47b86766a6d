"""What all tests share: a seeded hypothesis profile, and commands that heed Ctrl-C wherever the tests run."""

import signal

from hypothesis import settings

# No deadline: the machines that run this are shared, and a slow example proves nothing.
settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

# A shell has what it starts in the background ignore the signal, and so would each command that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
