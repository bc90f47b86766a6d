"""What a script would do: `unstructured.partition()` over all files, in one process or in a pool of several.

usage: python plain.py FOLDER PROCESSES
"""

import logging
import multiprocessing
import sys
import warnings
from pathlib import Path


def outcome(file: str) -> str:
    """`ok`, `empty` (no elements), or the name of the exception."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from unstructured.partition.auto import partition

    try:
        return "ok" if partition(filename=file, strategy="fast") else "empty"
    except Exception as error:
        return type(error).__name__


if __name__ == "__main__":
    files = sorted(str(path) for path in Path(sys.argv[1]).iterdir())
    processes = int(sys.argv[2])
    if processes == 1:
        outcomes = [outcome(file) for file in files]
    else:
        with multiprocessing.Pool(processes) as pool:
            outcomes = pool.map(outcome, files, chunksize=1)
    print(outcomes.count("ok"))
