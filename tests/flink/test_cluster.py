"""The command against a real cluster: what is checked before a job, jobs that nobody waits for, and the cluster of `make flink-up`."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flink_jobs import ROOT, ended, flink_arguments, start
from runs import FinishedRun

from pipeline.flink.cluster import DevelopmentCluster, running_cluster

pytestmark = [pytest.mark.flink, pytest.mark.timeout(2400)]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "one.txt").write_text("One document.")
    return tmp_path / "library"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--flink_version=2.0"], "--flink_version 2.0 does not fit the cluster at {address}, which is Flink 1.19.3: leave it out."),
        (["--parallelism=3"], "--parallelism 3 is more than the 2 slots of the cluster: start TaskManagers, or give less."),
        (
            ["--setup_file=setup.py"],
            "--setup_file is of no use on Flink: its workers install nothing, the decoder is installed where they run.",
        ),
    ],
)
def test_what_does_not_fit_the_cluster_is_told_before_anything_runs_there(
    cluster: DevelopmentCluster, library: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    before = cluster.client().jobs()

    said = ended(start(*flink_arguments(library, tmp_path / "out", cluster.address), *arguments), expect=2)

    assert said.splitlines()[-1] == f"universal-decoder: {sentence.format(address=cluster.address)}"
    assert cluster.client().jobs() == before


def test_an_output_that_the_workers_cannot_write_is_told_by_the_probe(cluster: DevelopmentCluster, library: Path, tmp_path: Path) -> None:
    """Workers and this machine have the same disk here, so the worker's part of it is made to fail by a file where its folder should be."""
    output = tmp_path / "out"
    output.mkdir()
    (output / "staging").write_text("not a folder")

    said = ended(start(*flink_arguments(library, output, cluster.address)), expect=2)

    assert f"cannot run the job: OSError: {output} cannot be written from " in said
    assert "(Not a directory)" in said


def test_a_job_that_nobody_waits_for_is_followed_by_report(cluster: DevelopmentCluster, library: Path, tmp_path: Path) -> None:
    said = ended(start(*flink_arguments(library, tmp_path / "out", cluster.address), "--streaming", "--no-wait"))
    assert f"Run first goes on at {cluster.address} as job " in said

    said = ended(start("report", tmp_path / "out", "--run", "first"))

    assert "Run first: 1 document, finished " in said
    assert FinishedRun(tmp_path / "out", "first").statuses() == {"one.txt": "ok"}
    assert not (tmp_path / "out" / "staging" / "submitted" / "first.json").exists()


def test_places_may_be_relative_and_the_address_as_a_browser_has_it(
    cluster: DevelopmentCluster, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    ended(start(*flink_arguments(Path("library"), Path("out"), f"http://{cluster.address}/"), "--streaming"))

    assert FinishedRun(tmp_path / "out", "first").statuses() == {"one.txt": "ok"}


def test_a_report_that_is_interrupted_leaves_the_job_running(cluster: DevelopmentCluster, library: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (library / "waits.txt").write_text(f"wait for {gate}")
    ended(start(*flink_arguments(library, tmp_path / "out", cluster.address), "--streaming", "--no-wait"))
    command = [sys.executable, "-m", "pipeline", "report", str(tmp_path / "out"), "--run", "first"]
    following = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert following.stderr is not None
    first_line = following.stderr.readline()

    following.send_signal(signal.SIGINT)

    assert first_line == f"0:00  Decoding on {cluster.address}\n"
    said = ended(following, expect=130)
    assert (
        said.splitlines()[-1]
        == "universal-decoder: Not followed any longer; the job is left to the cluster. The same command follows it again."
    )
    gate.touch()
    assert "Run first: 2 documents, finished " in ended(start("report", tmp_path / "out", "--run", "first"))


@pytest.fixture(scope="module")
def cramped(flink_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevelopmentCluster]:
    """Another cluster, of which little is asked."""
    few = {"taskmanager.memory.network.min": "16m", "taskmanager.memory.network.max": "16m"}
    with running_cluster(tmp_path_factory.mktemp("cramped"), few) as running:
        yield running


def test_too_few_network_buffers_are_found_before_anything_starts(cramped: DevelopmentCluster, library: Path, tmp_path: Path) -> None:
    said = ended(start(*flink_arguments(library, tmp_path / "out", cramped.address)), expect=2)

    assert "has 512 network buffers, and this job needs about 2660 there: set taskmanager.memory.network.min and .max to 87.2 MB" in said
    assert cramped.client().jobs() == []


def test_a_cluster_ends_only_what_it_started(cramped: DevelopmentCluster) -> None:
    bystander = subprocess.Popen(["sleep", "600"])
    started = [*cramped.running("jobmanager"), *cramped.running("taskmanager")]
    assert len(started) == 2
    # A process that got the number of one of ours, long after that had ended.
    state = cramped._state()
    state["processes"].append({"kind": "taskmanager", "pid": bystander.pid, "started": "1", "log": ""})
    cramped._write_state(state)

    assert cramped.stop() == 2

    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()
    assert "Shutting" in cramped.logs("jobmanager")  # its logs stay
