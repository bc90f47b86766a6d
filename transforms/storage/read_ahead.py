"""Reads many objects of a store at a time: a request takes 10 to 30 ms there, nearly all of it waiting."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from transforms.storage.filesystem import is_local

AHEAD = 16
"""Requests at a time, and so results held at most. Of commits (mostly 10 KB, seldom 10 MB) that is little memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def read_ahead(place: str, read: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Applies a function that reads from a place to each item.

    Args:
      place: path or URI. On a local disk threads would only cost: there it is a plain `map`.
      read: for threads.
      items: taken as they are needed, at most AHEAD before their results are.
    Yields:
      The results, in the order of the items. What `read` raises comes where its result would.
    """
    if is_local(place):
        yield from map(read, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="read-ahead") as threads:
        try:
            for item in items:
                pending.append(threads.submit(read, item))
                if len(pending) >= AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)
