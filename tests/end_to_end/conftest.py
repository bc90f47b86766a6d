"""What the end-to-end tests share: one undisturbed run over the sample library, that the others are compared with."""

import pytest
from runs import SAMPLES, FinishedRun, backfill


@pytest.fixture(scope="session")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """The sample library, decoded once with the default options: what the other runs are compared with."""
    return backfill(SAMPLES, tmp_path_factory.mktemp("samples") / "out", "--children", "2")
