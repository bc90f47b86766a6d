"""The line of a failure that tells its cause, and answers that are not Flink's."""

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from pipeline.flink.rest import Cluster, FlinkError, JobStatus, python_error

PYTHON_IN_JAVA = """\
org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy
	at org.apache.flink.runtime.executiongraph.failover.ExecutionFailureHandler.handleFailure(ExecutionFailureHandler.java:180)
Caused by: java.lang.RuntimeException: Error received from SDK harness for instruction 5: Traceback (most recent call last):
  File "sdk_worker.py", line 313, in _execute
    response = task()
  File "filesystem.py", line 90, in open_read
    raise OSError(28, "No space left on device")
OSError: [Errno 28] No space left on device

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "sdk_worker.py", line 320, in _execute
    raise
OSError: /out cannot be written (No space left on device) [while running 'DecodeDocuments/DecodeAhead-ptransform-51']

	at org.apache.beam.runners.fnexecution.control.FnApiControlClient$ResponseStreamObserver.onNext(FnApiControlClient.java:189)
"""
JAVA_ONLY = """\
org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy
	at org.apache.flink.runtime.scheduler.DefaultScheduler.handleGlobalFailure(DefaultScheduler.java:247)
Caused by: java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id localhost:4711 timed out.
	at org.apache.flink.runtime.jobmaster.JobMaster$TaskManagerHeartbeatListener.notifyHeartbeatTimeout(JobMaster.java:1453)
"""


def test_the_cause_is_the_last_line_of_pythons_last_traceback() -> None:
    assert python_error(PYTHON_IN_JAVA) == "OSError: /out cannot be written (No space left on device)"


def test_without_python_it_is_javas_innermost_cause() -> None:
    assert python_error(JAVA_ONLY) == "Heartbeat of TaskManager with id localhost:4711 timed out"


def test_only_three_states_are_final() -> None:
    assert {status for status in JobStatus if status.is_final} == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}


@pytest.fixture
def some_server() -> Iterator[str]:
    """A web server that is no Flink."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/config"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("localhost", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_what_is_not_flink_is_called_so(some_server: str) -> None:
    with pytest.raises(FlinkError, match=r"^what answers there is not Flink$"):
        Cluster(some_server).version()
    with pytest.raises(FlinkError, match=r"^it answers 404$"):
        Cluster(some_server).jobs()


def test_what_does_not_listen_is_told_with_its_reason() -> None:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        address = f"localhost:{taken.getsockname()[1]}"
        with pytest.raises(FlinkError, match=r"^Connection refused$"):
            Cluster(address).overview()


@pytest.mark.parametrize(
    "cause", ["client cancelled", "call already cancelled. Use ServerCallStreamObserver.setOnCancelHandler() to disable this exception"]
)
def test_a_worker_that_was_lost_is_told_as_such(cause: str) -> None:
    failure = f"java.lang.RuntimeException: x\nCaused by: org.apache.beam.io.grpc.StatusRuntimeException: CANCELLED: {cause}\n\tat y"

    assert python_error(failure).startswith("a Python worker ended unexpectedly (")
