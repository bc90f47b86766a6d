"""Beam's job server, for the time of a submission: a program in Java that translates the graph for Flink and hands it to the cluster.

Why not the one that Beam's `FlinkRunner` starts by itself: it shares the terminal's process group, so that Ctrl-C ends it before the job
can be cancelled in order; it survives a submitter that is killed; and what it has to say is lost among its logs.
"""

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transforms.errors import JobFailed

START_WITHIN = 180.0
"""Seconds; 3 s on an idle machine."""
STOP_WITHIN = 5.0
JVM_OPTIONS = ("-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""It needs a tenth of that memory, as the jar that it uploads is streamed; and it lives too short for the better compiler to pay."""


@dataclass(frozen=True)
class JobServer:
    """A job server that listens."""

    endpoint: str
    """HOST:PORT; empty: none is needed, as Beam puts the job into a jar and hands that to the cluster itself (--flink_submit_uber_jar)."""
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    """None: it is not ours."""

    def last_words(self) -> str:
        """What it said last that tells a cause."""
        return _last_error(self.log.read_text(errors="replace")) if self.log.is_file() else ""


@contextlib.contextmanager
def started_job_server(options: Any) -> Iterator[JobServer]:
    """A job server for as long as the block runs: the one of `--job_endpoint`, which is left alone, else one of our own.

    Args:
      options: Beam's `PipelineOptions`, complete.
    Raises:
      JobFailed: it does not start.
    """
    from apache_beam.options.pipeline_options import FlinkRunnerOptions, JobServerOptions, PortableOptions

    endpoint = options.view_as(PortableOptions).job_endpoint
    if endpoint or options.view_as(FlinkRunnerOptions).flink_submit_uber_jar:
        yield JobServer(endpoint or "", Path("/nonexistent"))
        return
    server = options.view_as(JobServerOptions)
    jar = _jar(options)
    port = server.job_port or _free_port()
    with tempfile.TemporaryDirectory(prefix="universal-decoder-job-server-") as folder:
        log = Path(folder) / "job-server.log"
        command = [
            *_ends_with_this_process(),
            server.job_server_java_launcher or "java",
            *(server.job_server_jvm_properties or JVM_OPTIONS),
            "-jar",
            str(jar),
            f"--flink-master={_host_and_port(options)}",
            f"--artifacts-dir={server.artifacts_dir or folder}",
            f"--job-port={port}",
            f"--artifact-port={server.artifact_port}",
            f"--expansion-port={server.expansion_port}",
        ]
        with log.open("wb") as stream:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            _await_port(port, process, log)
            yield JobServer(f"localhost:{port}", log, process)
        finally:
            _stop(process)


def _jar(options: Any) -> str:
    """The path of the jar; one that is elsewhere is fetched by Beam, which keeps it."""
    from apache_beam.options.pipeline_options import FlinkRunnerOptions, JobServerOptions
    from apache_beam.runners.portability.flink_runner import FlinkJarJobServer

    beams = FlinkJarJobServer(options)
    try:
        return str(beams.local_jar(beams.path_to_jar(), options.view_as(JobServerOptions).jar_cache_dir))
    except Exception as error:  # a download raises whatever its library has
        version = options.view_as(FlinkRunnerOptions).flink_version
        raise JobFailed(
            f"Beam's job server for Flink {version} cannot be fetched ({' '.join(str(error).split())}): give its path with "
            "--flink_job_server_jar, or build the one for 1.19 with make flink-up."
        ) from error


def _host_and_port(options: Any) -> str:
    from apache_beam.options.pipeline_options import FlinkRunnerOptions

    return re.sub(r"^https?://", "", str(options.view_as(FlinkRunnerOptions).flink_master)).rstrip("/")


def _ends_with_this_process() -> list[str]:
    """util-linux's setpriv has the kernel end a program together with the thread that started it: here the main one."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _await_port(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            told = _last_error(log.read_text(errors="replace")) or f"exit code {process.returncode}"
            raise JobFailed(f"Beam's job server ended at its start ({told}).")
        with contextlib.suppress(OSError), socket.create_connection(("localhost", port), 1):
            return
        time.sleep(0.1)
    raise JobFailed(f"Beam's job server did not listen after {START_WITHIN:g} s.")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if re.search(r"Exception|Error|error:", line)]
    return re.sub(r"^(Caused by: )?([\w$]+\.)+", "", lines[-1])[:300] if lines else ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])
