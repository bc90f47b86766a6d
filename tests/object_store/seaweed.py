"""A real S3 server for the tests: SeaweedFS, from a package of the index, started and killed by them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

ACCESS, SECRET = "tester", "a secret of the tests"
REGION = "us-east-1"
PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc")


def weed() -> str | None:
    """The server's program, where its package is installed."""
    return shutil.which("weed", path=sysconfig.get_path("scripts")) or shutil.which("weed")


class Server:
    """One server on this machine; after `kill` it can be started again, with what it held."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = f"http://127.0.0.1:{self._ports['s3.port']}"
        folder.mkdir(parents=True, exist_ok=True)
        credentials = [{"accessKey": ACCESS, "secretKey": SECRET}]
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        self._config = folder / "s3.json"
        self._config.write_text(json.dumps({"identities": [{"name": ACCESS, "credentials": credentials, "actions": actions}]}))

    def start(self) -> None:
        program = weed()
        assert program is not None
        (self._folder / "data").mkdir(exist_ok=True)
        arguments = [program, "-logtostderr", "server", f"-dir={self._folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        arguments += ["-filer", "-s3", f"-s3.config={self._config}", "-s3.autoCreateBucket=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        arguments += ["-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=100"]
        arguments += [f"-filer.localSocket={self._folder / 'filer.sock'}", f"-s3.localSocket={self._folder / 's3.sock'}"]
        arguments += [f"-{name}={port}" for name, port in self._ports.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(arguments, stdout=log, stderr=log, cwd=self._folder, start_new_session=True)
        until = time.monotonic() + 60
        while not self._takes_an_object():
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.1)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def client(self) -> Any:
        import boto3
        from botocore.config import Config

        config = Config(retries={"total_max_attempts": 1})
        return boto3.client(
            "s3", endpoint_url=self.endpoint, region_name=REGION, aws_access_key_id=ACCESS, aws_secret_access_key=SECRET, config=config
        )

    def environment(self, **other: str) -> dict[str, str]:
        """For a process that uses this server; nothing of this user's own settings."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            **other,
        }

    def _takes_an_object(self) -> bool:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            client = self.client()
            client.create_bucket(Bucket="is-it-up")
        except (BotoCoreError, ClientError) as error:
            if "BucketAlready" not in str(error):
                return False
        try:
            client.put_object(Bucket="is-it-up", Key="yes", Body=b"yes")
        except (BotoCoreError, ClientError):
            return False
        return True


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
