import io
import threading

import pytest
from rich.console import Console

from pipeline.progress import Progress, Tally


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def plain():
    stream, clock = io.StringIO(), Clock()
    return Progress(Console(file=stream, width=300), clock, interval=5.0, ticking=False), clock, stream


def test_lines_come_at_most_every_interval_and_once_at_the_end(plain):
    progress, clock, stream = plain
    with progress:
        progress.found(4, 4_000_000)
        progress.staged(1, 1_000_000)
        clock.now += 4
        progress.tick()
        progress.done("ok", 1_000_000)
        clock.now += 1
        progress.tick()
        progress.tick()
        clock.now += 5
        progress.done("corrupt", 1_000_000)
        progress.tick()
        progress.done("ok", 1_000_000)
    assert stream.getvalue().splitlines() == [
        "0:05  2 of 4 documents (50 %), 2.0 MB of 4.0 MB, 12.0 a minute, about 10 s left, 1 decoded before, 0 failed",
        "0:10  3 of 4 documents (75 %), 3.0 MB of 4.0 MB, 12.0 a minute, about 5 s left, 1 decoded before, 1 failed",
        "0:10  4 of 4 documents (100 %), 4.0 MB of 4.0 MB, 18.0 a minute, 1 decoded before, 1 failed",
    ]


def test_the_last_line_is_not_printed_twice(plain):
    progress, clock, stream = plain
    with progress:
        progress.found(1, 0)
        clock.now += 5
        progress.tick()
        progress.done("ok", 0)
        for _ in range(3):  # the datasets are written
            clock.now += 5
            progress.tick()
    assert stream.getvalue().splitlines() == [
        "0:05  0 of 1 document (0 %), 0 failed, starting the decoders",
        "0:10  1 of 1 document (100 %), 6.0 a minute, 0 failed",
    ]


def test_until_the_first_document_is_decoded_the_decoders_are_starting():
    assert Tally(found=3, staged=1).bar_line() == "starting the decoders  1/3  0 failed"
    assert Tally(found=3, staged=1, decoded=1).bar_line() == "2/3  0 failed"
    assert Tally(found=1, staged=1).bar_line() == "1/1  0 failed"


def test_of_large_documents_the_pages_are_told_while_they_are_read(plain):
    progress, clock, stream = plain
    with progress:
        progress.count("found", 1, 0)
        progress.count("pages", 400, 0)
        progress.count("pages_read", 150, 0)
        assert progress.tally().bar_line() == "0/1  150/400 pages  0 failed"
        clock.now += 5
        progress.tick()
        progress.count("pages_read", 250, 0)
        clock.now += 5
        progress.tick()
        progress.count("ok", 1, 0)
    assert stream.getvalue().splitlines() == [
        "0:05  0 of 1 document (0 %), 0 failed, 150/400 pages of large PDFs",
        "0:10  0 of 1 document (0 %), 0 failed",
        "0:10  1 of 1 document (100 %), 6.0 a minute, 0 failed",
    ]


def test_the_time_left_weighs_documents_and_bytes_alike():
    tally = Tally(found=10, found_bytes=1000, decoded=8, decoded_bytes=200, seconds=50.0)
    assert tally.seconds_left == pytest.approx(50.0)


def test_beside_the_bar_stands_what_matters_first():
    tally = Tally(found=1200, found_bytes=3_000_000, staged=100, decoded=500, decoded_bytes=1_500_000, failed=3, seconds=50.0)
    assert tally.bar_line() == "600/1,200  3 failed  55 s left  10.0/s  1.5 MB of 3.0 MB"


def test_without_sizes_the_time_left_goes_by_documents():
    assert Tally(found=10, decoded=5, seconds=20.0).seconds_left == pytest.approx(20.0)


def test_nothing_is_estimated_from_the_first_moments():
    tally = Tally(found=10, decoded=5, seconds=1.0)
    assert (tally.rate, tally.seconds_left) == (None, None)


def test_a_job_that_found_nothing_prints_nothing(plain):
    progress, _, stream = plain
    with progress:
        pass
    assert stream.getvalue() == ""


def test_before_any_document_is_found_lines_tell_what_goes_on(plain):
    progress, clock, stream = plain
    with progress:
        clock.now += 5
        progress.tick()
        progress.phase("Asking the workers")
        clock.now += 5
        progress.tick()
        progress.found(1, 0)
        clock.now += 5
    assert stream.getvalue().splitlines() == [
        "0:05  Looking for documents",
        "0:05  Asking the workers",
        "0:10  Asking the workers",
        "0:15  0 of 1 document (0 %), 0 failed, starting the decoders",
    ]


def test_a_moment_is_left_without_about():
    assert Tally(found=100, decoded=95, seconds=10.0).line() == "95 of 100 documents (95 %), 9.5 a second, under 1 s left, 0 failed"


def test_counts_of_many_threads_add_up(plain):
    progress, _, _ = plain

    def work():
        for _ in range(500):
            progress.found(1, 2)
            progress.done("timeout", 2)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally = progress.tally()
    assert (tally.found, tally.found_bytes, tally.decoded, tally.decoded_bytes, tally.failed) == (4000, 8000, 4000, 8000, 4000)


def test_unknown_sizes_count_as_nothing(plain):
    progress, _, _ = plain
    progress.found(1, -1)
    progress.done("ok", -1)
    assert (progress.tally().found_bytes, progress.tally().decoded_bytes) == (0, 0)


def test_a_phase_is_told_and_cannot_control_the_terminal(plain):
    progress, _, stream = plain
    with progress:
        progress.phase("Writing \x1b[2J")
    assert stream.getvalue() == "0:00  Writing \\x1b[2J\n"


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)
    with Progress(console, Clock()) as progress:
        progress.found(2, 0)
        progress.done("ok", 0)
        progress._bar.refresh()
        shown = stream.getvalue()
    assert "1/2  0 failed" in shown
    assert stream.getvalue().endswith("\x1b[2K")


def test_the_thread_of_its_own_writes_lines_and_ends():
    stream, written = io.StringIO(), threading.Event()

    class Console2(Console):
        def print(self, *objects, **options):
            super().print(*objects, **options)
            written.set()

    with Progress(Console2(file=stream, width=200), interval=0.01) as progress:
        progress.found(1, 0)
        assert written.wait(30)
        thread = progress._thread
    assert not thread.is_alive()
    assert "0 of 1 document (0 %), 0 failed, starting the decoders" in stream.getvalue()
