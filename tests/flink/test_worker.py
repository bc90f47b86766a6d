"""The worker's boot, as a real process: it answers to nobody, or ends with its parent."""

import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import psutil
from apache_beam.portability.api import beam_provision_api_pb2
from flink_jobs import WorkerPool
from google.protobuf import struct_pb2

from pipeline.flink.worker import worker_environment

ROOT = Path(__file__).parents[2]


def test_what_the_runner_tells_becomes_the_variables_that_beams_worker_reads() -> None:
    options = struct_pb2.Struct()
    options.update({"beam:option:job_name:v1": "one"})
    info = beam_provision_api_pb2.ProvisionInfo(pipeline_options=options, runner_capabilities=["a", "b"])
    info.control_endpoint.url = "localhost:1"
    given = Namespace(id="1-1", logging_endpoint="localhost:2", control_endpoint="localhost:9")

    environment = worker_environment(given, info)

    assert environment == {
        "WORKER_ID": "1-1",
        "LOGGING_API_SERVICE_DESCRIPTOR": 'url: "localhost:2"\n',  # as given on the command line
        "CONTROL_API_SERVICE_DESCRIPTOR": 'url: "localhost:1"\n',  # the runner's word counts more
        "PIPELINE_OPTIONS": '{\n  "beam:option:job_name:v1": "one"\n}',
        "RUNNER_CAPABILITIES": "a b",
    }


PARENT = """
import subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {worker!r}], stdout=subprocess.PIPE, text=True)
print(worker.pid, worker.stdout.readline().strip(), flush=True)
time.sleep(600)
"""
WORKER = """
import os, time
from pipeline.flink.worker import die_with
die_with(os.getppid())
print("watches", flush=True)
time.sleep(600)
"""


def test_a_worker_ends_with_its_parent_whatever_the_signal() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT.format(worker=WORKER)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    pid, word = parent.stdout.readline().split()
    assert word == "watches"
    worker = psutil.Process(int(pid))

    parent.kill()
    parent.communicate()

    deadline = time.monotonic() + 60
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_a_worker_without_a_runner_says_what_is_missing() -> None:
    done = subprocess.run([sys.executable, "-m", "pipeline.flink.worker"], capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.returncode == 2
    assert "--id and --provision_endpoint are missing" in done.stderr


def test_a_worker_pool_stops_when_its_container_does(tmp_path: Path) -> None:
    """Also where Ctrl-C is ignored."""
    pool = WorkerPool.start(tmp_path / "pool.log")

    pool.stop()

    assert pool.process.returncode == 0
