"""`universal-decoder-worker`: starts a Python worker of Beam for a Flink TaskManager, which Beam's own images do with a program in Go.

It serves both kinds of environments that run without Docker: PROCESS, where the TaskManager starts it, and EXTERNAL, where a worker pool
does, which it can be as well (`--worker_pool`). What the worker needs to know, it asks the runner's provision service. It stages nothing:
the decoder and all that it needs is installed where the worker runs (`pipeline.flink.probe` compares the versions).
"""

import argparse
import contextlib
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from transforms.isolation.processes import open_pidfd

POOL_PORT = 50000
"""Where a pool listens, as in Beam's images."""
PROVISION_WITHIN = 60.0
"""Seconds for the runner to answer: a TaskManager that starts many workers at a time is slow."""
PARENT_INTERVAL = 1.0
"""Seconds between two looks at the parent where the system has no pidfd."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one worker to its end, or a pool of them.

    Args:
      argv: as Beam's container contract has it: `--id`, and the addresses of the runner's services; or `--worker_pool`.
    Returns:
      The exit code.
    """
    parser = argparse.ArgumentParser(prog="universal-decoder-worker", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--worker_pool", action="store_true", help="serve as a worker pool, for --environment_type=EXTERNAL")
    parser.add_argument("--service_port", type=int, default=POOL_PORT, help="port of the worker pool (default: %(default)s)")
    parser.add_argument("--id", metavar="WORKER", help="name of the worker, from the runner")
    parser.add_argument("--provision_endpoint", metavar="HOST:PORT", help="address of the runner's provision service")
    for service in ("logging", "control", "artifact"):
        parser.add_argument(f"--{service}_endpoint", metavar="HOST:PORT", default="", help=f"address of the runner's {service} service")
    found, _ = parser.parse_known_args(argv)  # what else the contract may hold one day is of no use here
    if found.worker_pool:
        return serve_pool(found.service_port)
    if not found.id or not found.provision_endpoint:
        parser.error("--id and --provision_endpoint are missing: a TaskManager or a worker pool gives them.")
    die_with(os.getppid())
    os.dup2(2, 1)  # Beam 2.77's pool gives a worker a pipe as standard output and never reads it: after 64 KiB the worker would hang
    os.environ.update(worker_environment(found, provision(found.id, found.provision_endpoint)))
    from apache_beam.runners.worker import sdk_worker_main

    # In this process, not by exec: another start of Python and its imports take 1 s, and the watch over the parent would be lost.
    sdk_worker_main.main([])
    return 0


def serve_pool(port: int) -> int:
    """Serves as a worker pool until it is stopped; its workers end with it, whatever the signal, as each watches its parent."""
    from apache_beam.runners.worker import worker_pool_main

    # How a container is stopped, and what Beam's pool heeds; where a shell has started it in the background, that one is ignored, too.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt):  # between its start and its wait
        worker_pool_main.main([f"--service_port={port}", f"--container_executable={sys.argv[0]}"])
    return 0


def provision(worker: str, endpoint: str) -> Any:
    """What the runner tells a worker: Beam's `ProvisionInfo`. The call has to carry the worker's name, else Flink does not answer."""
    import grpc
    from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc
    from apache_beam.runners.worker.worker_id_interceptor import WorkerIdInterceptor

    with grpc.insecure_channel(endpoint) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(grpc.intercept_channel(channel, WorkerIdInterceptor(worker)))
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        return service.GetProvisionInfo(request, timeout=PROVISION_WITHIN, wait_for_ready=True).info


def worker_environment(found: argparse.Namespace, info: Any) -> dict[str, str]:
    """The variables that Beam's worker reads (Beam 2.77.0, `sdk_worker_main.create_harness`)."""
    from google.protobuf import json_format

    environment = {
        "WORKER_ID": found.id,
        "LOGGING_API_SERVICE_DESCRIPTOR": _descriptor(info.logging_endpoint.url or found.logging_endpoint),
        "CONTROL_API_SERVICE_DESCRIPTOR": _descriptor(info.control_endpoint.url or found.control_endpoint),
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
    }
    if info.status_endpoint.url:
        environment["STATUS_API_SERVICE_DESCRIPTOR"] = _descriptor(info.status_endpoint.url)
    return environment


def _descriptor(url: str) -> str:
    from apache_beam.portability.api import endpoints_pb2
    from google.protobuf import text_format

    return str(text_format.MessageToString(endpoints_pb2.ApiServiceDescriptor(url=url)))


def die_with(parent: int) -> None:
    """Ends this process when its parent has ended, however that did: a TaskManager that was killed leaves no worker behind.

    Not by PR_SET_PDEATHSIG: that fires when the *thread* that started the worker ends, and Flink starts workers from the threads of tasks.
    """
    try:
        descriptor = open_pidfd(parent)
    except ProcessLookupError:
        _end()
    else:
        threading.Thread(target=_wait_for_end, args=(parent, descriptor), name="watch-parent", daemon=True).start()


def _wait_for_end(parent: int, descriptor: int | None) -> None:
    if descriptor is not None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
    else:
        while os.getppid() == parent:
            time.sleep(PARENT_INTERVAL)
    _end()


def _end() -> None:
    """At once: nothing that this process holds is of use to anybody, and its decoding children watch it in turn."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
