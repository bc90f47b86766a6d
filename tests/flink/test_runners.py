"""The same library on every runner that there is: the same bytes. A runner that cannot be had on a machine is skipped by name."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flink_jobs import DIVIDED, WorkerPool, until
from runs import SAMPLES, FinishedRun, backfill

from pipeline.flink import distribution
from pipeline.flink.cluster import DevelopmentCluster

pytestmark = [pytest.mark.flink, pytest.mark.timeout(2400)]

DATASETS = ("text_documents", "images", "provenance", "dead_letters")
PRISM = "github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0"
ONE_SLOT_TWO_CHILDREN = ("--parallelism", "1", "--children", "2")
TWO_SLOTS_ONE_CHILD = ("--parallelism", "2", "--children", "1")


def same_bytes(direct: FinishedRun, output: Path, *arguments: str | Path) -> None:
    other = backfill(SAMPLES, output, *DIVIDED, *arguments)

    assert other.digests(*DATASETS) == direct.digests(*DATASETS)
    assert without_seconds(other.manifest["counts"]) == without_seconds(direct.manifest["counts"])


def without_seconds(counts: Any) -> Any:
    if not isinstance(counts, dict):
        return counts
    return {name: without_seconds(value) for name, value in counts.items() if name != "decode_seconds"}


@pytest.mark.parametrize("engine", [[], ["--streaming"]], ids=["batch", "streaming"])
@pytest.mark.parametrize("shape", [ONE_SLOT_TWO_CHILDREN, TWO_SLOTS_ONE_CHILD], ids=["1 slot x 2", "2 slots x 1"])
def test_flink(
    direct: FinishedRun, cluster: DevelopmentCluster, job_server: str, tmp_path: Path, engine: list[str], shape: tuple[str, ...]
) -> None:
    where = ["--runner", "FlinkRunner", "--flink_master", cluster.address, f"--job_endpoint={job_server}"]
    same_bytes(direct, tmp_path / "out", *where, *shape, *engine)

    # What was kept to follow the job is gone.
    assert sorted(path.name for path in (tmp_path / "out" / "staging").iterdir() if any(path.iterdir())) == [direct.manifest["fingerprint"]]


def test_flink_with_a_worker_pool(direct: FinishedRun, cluster: DevelopmentCluster, worker_pool: WorkerPool, tmp_path: Path) -> None:
    pool = f"--environment_config={worker_pool.address}"
    same_bytes(direct, tmp_path / "out", "--runner", "FlinkRunner", "--flink_master", cluster.address, "--streaming", pool)

    assert "Starting worker with command" in worker_pool.log.read_text()


def test_flink_without_java_on_the_submitter(direct: FinishedRun, cluster: DevelopmentCluster, tmp_path: Path) -> None:
    where = ["--runner", "FlinkRunner", "--flink_master", cluster.address, "--streaming"]
    same_bytes(direct, tmp_path / "out", *where, "--flink_submit_uber_jar", *ONE_SLOT_TWO_CHILDREN)


def test_several_processes_of_beam(direct: FinishedRun, tmp_path: Path) -> None:
    same_bytes(direct, tmp_path / "out", "--direct_running_mode=multi_processing", "--direct_num_workers=2", "--children", "1")


def test_portable_runner_with_a_worker_pool(direct: FinishedRun, job_service: str, worker_pool: WorkerPool, tmp_path: Path) -> None:
    pool = ["--environment_type=EXTERNAL", f"--environment_config={worker_pool.address}"]
    same_bytes(direct, tmp_path / "out", "--runner", "PortableRunner", "--job_endpoint", job_service, *pool, "--children", "2")


def test_prism(direct: FinishedRun, prism: Path, tmp_path: Path) -> None:
    same_bytes(direct, tmp_path / "out", "--runner", "PrismRunner", f"--prism_location={prism}", "--children", "2")


@pytest.fixture(scope="module")
def job_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Beam's own job service, in Python: HOST:PORT."""
    folder = tmp_path_factory.mktemp("job-service")
    port = folder / "port"
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "apache_beam.runners.portability.local_job_service_main", "--port=0", f"--port_file={port}"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    until(lambda: port.is_file() and port.read_text().strip(), "the job service listens")
    yield f"localhost:{port.read_text().strip()}"
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def prism() -> Path:
    """Beam's Prism runner, built once (two minutes) and kept."""
    folder = distribution.cache_folder() / "prism-2.77.0"
    if not (folder / "prism").is_file():
        if shutil.which("go") is None:
            pytest.skip("Prism is built with Go, and there is no go here")
        subprocess.run(["go", "install", PRISM], env={**os.environ, "GOBIN": str(folder)}, check=True, capture_output=True)
    return folder / "prism"
