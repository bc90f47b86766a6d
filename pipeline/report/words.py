"""How numbers, times and foreign text are written for a terminal: one way for the progress, the plan, the summary and `trace`."""

import unicodedata

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def printable(text: str, keep_lines: bool = False) -> str:
    r"""Text of documents, file names and foreign messages, made safe to show.

    A title may hold escape sequences that rewrite the screen or the clipboard, or marks that turn the direction of the line around: every
    control and format character and every lone surrogate is shown as `\x1b` or `\u202e` instead.

    Args:
      keep_lines: leaves line feeds and tabs as they are.
    """
    return "".join(
        character
        if (keep_lines and character in "\n\t") or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shortened(text: str, length: int) -> str:
    """At most `length` characters; what is cut off is shown as an ellipsis."""
    return text if len(text) <= length else text[: max(length - 1, 0)].rstrip() + "…"


def shortened_middle(text: str, length: int) -> str:
    """As `shortened`, but keeps the end as well: of a URI both the place and the name matter."""
    if len(text) <= length:
        return text
    head = (length - 1) // 3
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def number(value: int) -> str:
    """`1,234,567`."""
    return f"{value:,}"


def counted(value: int, noun: str) -> str:
    """`1 document`, `2 documents`."""
    return f"{value:,} {noun}" + ("" if value == 1 else "s")


def size(value: float) -> str:
    """Bytes in units of 1000, as `1.5 MB`."""
    unit = 0
    while value >= 999.5 and unit < len(UNITS) - 1:  # 999.6 would be written as 1000
        value /= 1000
        unit += 1
    return f"{value:.0f} {UNITS[unit]}" if unit == 0 or value >= 99.95 else f"{value:.1f} {UNITS[unit]}"


def clock_time(seconds: float) -> str:
    """`0:07`, `12:34`, `1:02:03`: a time that has passed."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def span_of_time(seconds: float) -> str:
    """`under 1 s`, `45 s`, `12 min`, `3 h 20 min`, `2 days 4 h`: how long something takes, as exactly as it matters."""
    if seconds < 1:
        return "under 1 s"
    minutes = round(seconds / 60)
    if round(seconds) < 90:
        return f"{round(seconds)} s"
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h" if hours else f"{days} days"


def percent(part: int, whole: int) -> str:
    """`12 %`; never 100 % before the end, never 0 % after the start."""
    if not whole:
        return "0 %"
    exact = 100 * part / whole
    return f"{min(max(round(exact), 1), 99) if 0 < part < whole else round(exact)} %"
