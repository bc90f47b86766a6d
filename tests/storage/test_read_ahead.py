"""Reading ahead changes neither order nor errors, and holds no more than it says."""

import threading

import pytest

from transforms.storage.read_ahead import AHEAD, read_ahead


@pytest.mark.parametrize("place", ["/disk", "s3://bucket/out"])
def test_results_come_in_the_order_of_the_items_and_errors_in_their_place(place):
    results = read_ahead(place, lambda number: 12 // (3 - number), range(10))
    assert [next(results) for _ in range(3)] == [4, 6, 12]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_from_a_store_many_are_read_at_a_time_and_no_more_than_that_are_taken():
    together = threading.Barrier(AHEAD, timeout=30)
    taken = []

    def numbers():
        for number in range(10 * AHEAD):
            taken.append(number)
            yield number

    def read(number):
        if number < AHEAD:
            together.wait()  # they only come on together
        return number

    results = read_ahead("s3://bucket/out", read, numbers())
    assert next(results) == 0
    assert len(taken) == AHEAD
    assert list(results) == list(range(1, 10 * AHEAD))
