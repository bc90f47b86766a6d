import pytest

from pipeline.report import words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Übersicht 表 𝔘", "Übersicht 表 𝔘"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("lone \udc80", "lone \\udc80"),
        ("line\u2028end", "line\\u2028end"),
        ("tag\U000e0041", "tag\\U000e0041"),
    ],
)
def test_printable_leaves_no_character_that_acts(text, shown):
    assert words.printable(text) == shown


def test_printable_can_keep_lines():
    assert words.printable("a\n\tb\r\x07", keep_lines=True) == "a\n\tb\\r\\x07"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_600, "1.0 MB"),
        (12_345_678_901, "12.3 GB"),
        (10**21, "1000000 PB"),
    ],
)
def test_size(value, text):
    assert words.size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "under 1 s"),
        (1, "1 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (5340, "89 min"),
        (5400, "1 h 30 min"),
        (7200, "2 h"),
        (180_000, "2 days 2 h"),
    ],
)
def test_span_of_time(seconds, text):
    assert words.span_of_time(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(7.9, "0:07"), (754, "12:34"), (3723, "1:02:03")])
def test_clock_time(seconds, text):
    assert words.clock_time(seconds) == text


@pytest.mark.parametrize(("part", "whole", "text"), [(0, 0, "0 %"), (0, 9, "0 %"), (1, 1000, "1 %"), (999, 1000, "99 %"), (9, 9, "100 %")])
def test_percent_says_neither_all_nor_nothing_too_early(part, whole, text):
    assert words.percent(part, whole) == text


def test_shortened_texts_have_the_length_and_keep_what_matters():
    assert words.shortened("abcdefgh", 5) == "abcd…"
    assert words.shortened_middle("file:///a/very/long/way/name.pdf", 20) == "file:/…/way/name.pdf"
    assert words.shortened_middle("short", 20) == "short"


def test_counted():
    assert (words.counted(1, "page"), words.counted(1200, "page")) == ("1 page", "1,200 pages")
