"""What the tests on Flink share: a real cluster with both engines, a worker pool, and one undisturbed run to compare with."""

import os
from collections.abc import Iterator

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from flink_jobs import DIVIDED, HERE, ROOT, WORKER, WorkerPool
from runs import SAMPLES, FinishedRun, backfill

from pipeline.flink import distribution
from pipeline.flink.cluster import DevelopmentCluster, running_cluster
from pipeline.flink.job_server import started_job_server


@pytest.fixture(scope="session", autouse=True)
def worker_path() -> Iterator[None]:
    """TaskManagers and pools hand their environment on to the workers: there lie the decoders of these tests."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(HERE)])
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="session")
def flink_parts() -> None:
    """What a cluster is made of; a machine that cannot have it says so."""
    if not WORKER.is_file():
        pytest.skip(f"no {WORKER}: the package is not installed beside this Python")
    distribution.check_java()
    distribution.flink_home()
    distribution.job_server()


@pytest.fixture(scope="session")
def cluster(flink_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevelopmentCluster]:
    """One JobManager, one TaskManager with two slots, as `make flink-up` has them."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def job_server(cluster: DevelopmentCluster) -> Iterator[str]:
    """A job server for the tests that are not about it, HOST:PORT: its start takes as much as a small job."""
    jar = distribution.built_job_server()
    options = PipelineOptions([f"--flink_master={cluster.address}", f"--flink_job_server_jar={jar}", "--flink_version=1.19"])
    with started_job_server(options) as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def worker_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """A pool of Python workers, for the environment type EXTERNAL."""
    pool = WorkerPool.start(tmp_path_factory.mktemp("pool") / "pool.log")
    yield pool
    pool.stop()


@pytest.fixture(scope="session")
def direct(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """The sample library on this machine alone: what the other runners are compared with."""
    return backfill(SAMPLES, tmp_path_factory.mktemp("direct") / "out", "--children", "2", *DIVIDED)
