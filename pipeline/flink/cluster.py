"""A Flink cluster on this machine, for development and tests: `python -m pipeline.flink.cluster up | down | status`.

One JobManager and TaskManagers, as processes of this user, on ports that are free or chosen. What it started it remembers by process id
and start time, and ends nothing else.
"""

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.flink import distribution
from pipeline.flink.rest import Cluster, FlinkError
from pipeline.report.words import counted
from transforms.errors import CommandError, ExitCode, UsageError
from transforms.isolation.processes import start_time
from transforms.settings import DECODER

FOLDER = Path(".make/flink")
"""Of the cluster of `make flink-up`: its configuration, logs, and what runs."""
STATE = "cluster.json"
UP_WITHIN = 300.0
"""Seconds for REST to answer and the TaskManager to register; 8 s on two cores."""
DOWN_WITHIN = 20.0
"""Seconds for a process to leave after SIGTERM, then it is killed."""

DEFAULTS: Mapping[str, str] = {
    "jobmanager.memory.process.size": "1024m",
    "taskmanager.numberOfTaskSlots": "2",
    # Few and small things pass through Flink here (references, paths, counts): the memory belongs to the Python workers beside it.
    "taskmanager.memory.process.size": "2200m",
    "taskmanager.memory.task.off-heap.size": "256m",
    "taskmanager.memory.managed.size": "128m",
    # Both equal, as Flink takes the fraction between them. The default of 64 MB to a tenth of the memory is too little for the batch
    # engine: each result that a task writes holds 512 buffers of 32 KiB (taskmanager.network.sort-shuffle.min-buffers).
    "taskmanager.memory.network.min": "512m",
    "taskmanager.memory.network.max": "512m",
    "parallelism.default": "1",
    "blob.server.port": "0",
    "taskmanager.rpc.port": "0",
    # A TaskManager that was killed is noticed after two heartbeats, one that is away after this time: 50 s are long for one machine.
    "heartbeat.timeout": "15000",
    "heartbeat.interval": "1000",
    # The only way to have the batch engine start a job again (`submission.write_flink_settings`).
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "3 s",
    # So long after its start a cluster without free slots waits for some; after the default of five minutes a job that has lost its
    # TaskManager fails at once. 200 days, as Flink's timer ends at 248 days and takes the JobManager with it.
    "resourcemanager.standalone.start-up-time": str(200 * 24 * 3600 * 1000),
}


@dataclass
class DevelopmentCluster:
    """The cluster in one folder. Not for two programs at a time."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Flink, over `DEFAULTS`."""
    port: int = 0
    """Of REST; 0: a free one."""

    # --- what runs ---

    def start(self, task_managers: int = 1) -> Cluster:
        """Starts what does not run yet, and waits until the TaskManagers have registered.

        Returns:
          A client of it.
        Raises:
          CommandError: it does not come up; what was started then is ended again.
        """
        if self.running("jobmanager"):
            return self.client()
        self.folder.mkdir(parents=True, exist_ok=True)
        port = self.port or _free_port()
        self._configure(port)
        self._write_state({"port": port, "processes": []})
        try:
            self._launch("jobmanager")
            client = self.client()
            self._await(lambda: bool(client.version()), "JobManager")
            for _ in range(task_managers):
                self.start_task_manager()
        except BaseException:
            self.stop()
            raise
        return client

    def start_task_manager(self) -> int:
        """Starts one more TaskManager, and waits until it has registered. Returns its process id."""
        client = self.client()
        before = {machine.id for machine in client.task_managers()}
        pid = self._launch("taskmanager")
        # Its slots, as those register after itself: in between the cluster has a TaskManager of 0 slots.
        self._await(lambda: any(machine.slots and machine.id not in before for machine in client.task_managers()), "TaskManager")
        return pid

    def stop(self) -> int:
        """Ends all that this cluster started and that still runs. Returns how many processes those were."""
        ended = 0
        for process in reversed(self._state()["processes"]):
            if _lives(process):
                _end(process)
                ended += 1
        (self.folder / STATE).unlink(missing_ok=True)
        return ended

    def running(self, kind: str) -> list[int]:
        """Process ids of what this cluster started and that still runs: `jobmanager` or `taskmanager`."""
        return [process["pid"] for process in self._state()["processes"] if process["kind"] == kind and _lives(process)]

    def client(self) -> Cluster:
        """A client of its REST API."""
        return Cluster(f"localhost:{self._state()['port']}")

    @property
    def address(self) -> str:
        """HOST:PORT, for --flink_master."""
        return self.client().address

    def logs(self, kind: str = "*") -> str:
        """The logs of its JobManager or TaskManagers (all starts), as text."""
        return "".join(path.read_text(errors="replace") for path in sorted((self.folder / "log").glob(f"{kind}-*.log")))

    # --- how ---

    def _configure(self, port: int) -> None:
        home = distribution.flink_home()
        conf = self.folder / "conf"
        shutil.rmtree(conf, ignore_errors=True)
        shutil.copytree(home / "conf", conf)
        ours = {
            **DEFAULTS,
            "jobmanager.rpc.address": "localhost",
            "jobmanager.rpc.port": str(_free_port()),
            "rest.address": "localhost",
            "rest.bind-address": "localhost",
            "rest.port": str(port),
            "io.tmp.dirs": str(self.folder.absolute() / "tmp"),
            "env.log.max": "3",
            **self.settings,
        }
        (self.folder / "tmp").mkdir(exist_ok=True)
        # After Flink's own file, of which only what opens the JVM's modules is wanted.
        opening = [line for line in (conf / "config.yaml").read_text().splitlines() if "--add-exports" in line]
        # The better compiler takes more of a small machine than it gives back: hardly anything is computed in Java here.
        lines = [
            f"env.java.opts.all: {opening[0].partition('all:')[2].strip()} -XX:TieredStopAtLevel=1",
            *(f"{name}: {value}" for name, value in ours.items()),
        ]
        (conf / "config.yaml").write_text("\n".join(lines) + "\n")

    def _launch(self, kind: str) -> int:
        home = distribution.flink_home()
        log = self.folder / "log" / f"{kind}-{len(self._state()['processes'])}.log"
        log.parent.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "FLINK_HOME": str(home),
            "FLINK_CONF_DIR": str((self.folder / "conf").absolute()),
            "FLINK_LOG_DIR": str(log.parent.absolute()),
            "FLINK_PID_DIR": str((self.folder / "tmp").absolute()),
        }
        with log.open("wb") as stream:
            # The script ends in an exec of java: the process that is started here is the one that runs.
            process = subprocess.Popen(
                [str(home / "bin" / f"{kind}.sh"), "start-foreground"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal of `make flink-up` is none of its business
            )
        state = self._state()
        state["processes"].append({"kind": kind, "pid": process.pid, "started": start_time(process.pid), "log": str(log)})
        self._write_state(state)
        return process.pid

    def _await(self, ready: Any, what: str) -> None:
        deadline = time.monotonic() + UP_WITHIN
        newest = self._state()["processes"][-1]
        while time.monotonic() < deadline:
            with contextlib.suppress(FlinkError):
                if ready():
                    return
            if not _lives(newest):
                raise CommandError(f"Flink's {what} ended at its start ({_last_line(Path(newest['log']))}): see {newest['log']}.")
            time.sleep(0.2)
        raise CommandError(f"Flink's {what} was not up after {UP_WITHIN:g} s: see {newest['log']}.")

    def _state(self) -> dict[str, Any]:
        try:
            state: dict[str, Any] = json.loads((self.folder / STATE).read_text())
        except FileNotFoundError:
            return {"port": self.port, "processes": []}
        return state

    def _write_state(self, state: Mapping[str, Any]) -> None:
        temporary = self.folder / f".{STATE}"
        temporary.write_text(json.dumps(state, indent=1))
        temporary.replace(self.folder / STATE)


@contextlib.contextmanager
def running_cluster(folder: Path, settings: Mapping[str, str] | None = None, task_managers: int = 1) -> Iterator[DevelopmentCluster]:
    """A cluster for the time of a `with`."""
    cluster = DevelopmentCluster(folder, settings or {})
    cluster.start(task_managers)
    try:
        yield cluster
    finally:
        cluster.stop()


def _lives(process: Mapping[str, Any]) -> bool:
    """Whether it is still the process that was started, and no other one that got its number."""
    _reap(process["pid"])
    return bool(process["started"]) and start_time(process["pid"]) == process["started"]


def _reap(pid: int) -> None:
    """A child of this very process stays a zombie, and has a start time, until somebody asks for its end."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _end(process: Mapping[str, Any]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process["pid"], number)
        deadline = time.monotonic() + DOWN_WITHIN
        while time.monotonic() < deadline:
            if not _lives(process):
                return
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "its log is empty"


def main(argv: Sequence[str] | None = None) -> int:
    """The program behind `make flink-up` and `make flink-down`."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.flink.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["up", "down", "status", "fetch"], help="fetch: only what up needs besides")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it lives (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="of REST (default: 8081 if that is free, else any)")
    parser.add_argument("--slots", type=int, default=2, help="of the TaskManager (default: %(default)s)")
    parser.add_argument("--task-managers", type=int, default=1, help="how many (default: %(default)s)")
    found = parser.parse_args(argv)
    try:
        _command(found)
    except CommandError as error:
        print(error.sentence, file=sys.stderr)
        return error.exit_code
    return ExitCode.DONE


def _command(found: argparse.Namespace) -> None:
    cluster = DevelopmentCluster(found.folder, {"taskmanager.numberOfTaskSlots": str(found.slots)}, found.port or _usual_port())
    if found.command == "down":
        ended = cluster.stop()
        print(f"The cluster in {found.folder} is ended." if ended else f"No cluster runs in {found.folder}.")
        return
    if found.command in ("up", "fetch"):
        distribution.check_java()
        distribution.flink_home()
        distribution.job_server()
    if found.command == "up":
        cluster.start(found.task_managers)
    if found.command in ("up", "status"):
        if not cluster.running("jobmanager"):
            raise UsageError(f"No cluster runs in {found.folder}: make flink-up starts one.")
        seen, address = cluster.client().overview(), cluster.address
        machines = counted(seen.task_managers, "TaskManager")
        print(
            f"Flink {seen.version} at {address}: {machines}, {seen.free_slots} of {seen.slots} slots free; logs in {found.folder / 'log'}."
        )
        print(f"{_program()} backfill --input samples/library --output out --runner FlinkRunner --flink_master {address}")


def _program() -> str:
    """How the command is started that belongs to this Python: a virtual environment's is seldom on the PATH."""
    beside = Path(sys.executable).with_name(DECODER)
    return shlex.quote(str(beside)) if beside.is_file() else DECODER


def _usual_port() -> int:
    """8081, where Flink's dashboard is looked for, if nobody listens there."""
    with socket.socket() as probe:
        try:
            probe.bind(("localhost", 8081))
        except OSError:
            return 0
        return 8081


if __name__ == "__main__":
    sys.exit(main())
