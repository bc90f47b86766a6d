"""The ways a command can end other than well, each of them one sentence to the user and an exit code."""

import enum


class ExitCode(enum.IntEnum):
    """What the process returns. Source: design, section 3."""

    DONE = 0
    """The job ran; dead letters are data, and printed."""
    FAILED = 1
    """The job itself failed: it may be run again and goes on where it stopped."""
    USAGE = 2
    """A wrong option, or a place or tool that is not there: nothing was started."""
    TOO_MANY_FAILURES = 3
    """The job ran, and more documents failed than `--max-failures` allows."""
    INTERRUPTED = 130
    """Ctrl-C (128 + SIGINT); a SIGTERM gives 143."""


class CommandError(Exception):
    """Ends the command with one sentence and no traceback.

    `sentence` says what is wrong, where, and what to do. It may hold text from documents or file names: it is escaped where it is printed.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class UsageError(CommandError):
    """The command cannot start as it was given: exit 2, before any work."""

    exit_code = ExitCode.USAGE


class JobFailed(CommandError):  # noqa: N818 - what happened to the job, as the design names it
    """The job started and did not come to its end: exit 1."""

    exit_code = ExitCode.FAILED
