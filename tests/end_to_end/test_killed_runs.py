"""A run that is killed at any moment leaves nothing running, nothing half-written that counts, and work to go on from."""

from pathlib import Path

import pytest
from kill_matrix import count, facts, kill_and_run_again, moments
from runs import FinishedRun

SEED = 7


@pytest.mark.parametrize("index", range(4))
def test_a_run_that_was_killed_at_a_random_moment_ends_with_the_same_bytes(sample_run: FinishedRun, tmp_path: Path, index: int) -> None:
    commits = count(sample_run.output, "staging/*/*/*.zip")
    moment = list(moments(SEED, 4, commits))[index]

    met, again = kill_and_run_again(moment, tmp_path, duration=15.0)

    assert facts(again) == facts(sample_run), f"{moment}; {met}"
