"""What the development cluster is made of, brought once and kept in a cache: Flink from the package index, the job server by Maven."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from transforms.errors import CommandError, UsageError

FLINK_VERSION = "1.19.3"
ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements" / "flink.txt"
JOB_SERVER_POM = ROOT / "templates" / "flink" / "job-server" / "pom.xml"
CACHE_VARIABLE = "UNIVERSAL_DECODER_CACHE"
"""In the environment: the folder of the cache; else a folder of its own in XDG_CACHE_HOME or ~/.cache."""


def cache_folder() -> Path:
    """Where downloads are kept between runs, and between clones of this repository."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "universal-decoder"


def flink_home(say: Callable[[str], None] = print) -> Path:
    """The folder of Flink, as its scripts call FLINK_HOME; brought first where it is not there (230 MB, 15 s).

    Flink's own archive is on no package index, but all of it is: the jars in the source distribution of `apache-flink-libraries`, the
    scripts in the wheel of `apache-flink`.

    Raises:
      CommandError: it cannot be had.
    """
    home = cache_folder() / f"flink-{FLINK_VERSION}"
    if not home.is_dir():
        say(f"Bringing Flink {FLINK_VERSION} to {home} ...")
        _make_once(home, _unpack_flink)
    return home


def _unpack_flink(folder: Path) -> None:
    downloads = folder.with_name(f"{folder.name}-downloads")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    _run([*command, "--no-binary", "apache-flink-libraries", "-r", str(REQUIREMENTS), "-d", str(downloads)])
    [archive], [wheel] = downloads.glob("apache-flink-libraries-*.tar.gz"), downloads.glob("apache_flink-*.whl")
    with tarfile.open(archive) as members:
        prefix = f"{archive.name.removesuffix('.tar.gz')}/deps/"
        for member in members:
            if member.name.startswith(prefix) and member.isfile():
                member.name = member.name.removeprefix(prefix)
                members.extract(member, folder, filter="data")
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if name.startswith(("pyflink/bin/", "pyflink/conf/")) and not name.endswith("/"):
                target = folder / name.removeprefix("pyflink/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files.read(name))
                target.chmod(0o755)  # a wheel does not keep it
    shutil.rmtree(downloads)


def built_job_server() -> Path:
    """Where the job server lies once it is built. A change of its pom gives it another name."""
    digest = hashlib.sha256(JOB_SERVER_POM.read_bytes()).hexdigest()[:12] if JOB_SERVER_POM.is_file() else "none"
    return cache_folder() / f"flink-job-server-{digest}" / "flink-job-server.jar"


def job_server(say: Callable[[str], None] = print) -> Path:
    """The jar of Beam's job server, built first where it is not there (Maven, a minute, 163 MB).

    Raises:
      CommandError: it cannot be built.
    """
    jar = built_job_server()
    if not jar.is_file():
        if shutil.which("mvn") is None:
            raise UsageError("The job server is built with Maven, and there is no mvn here: apt-get install maven.")
        say(f"Building the job server with Maven to {jar.parent} ...")
        _make_once(jar.parent, _build_job_server)
    return jar


def _build_job_server(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="universal-decoder-job-server-") as work:
        shutil.copy(JOB_SERVER_POM, work)
        _run(["mvn", "--quiet", "--batch-mode", "--file", f"{work}/pom.xml", "package"])
        shutil.copy(f"{work}/target/flink-job-server.jar", folder)


def check_java() -> None:
    """Raises UsageError where Java 11 to 21, on which Flink 1.19 runs, is not there."""
    if shutil.which("java") is None:
        raise UsageError("Flink runs on Java, and there is no java here: apt-get install openjdk-17-jre-headless.")
    if platform.system() not in ("Linux", "Darwin"):
        raise UsageError("Flink's scripts run on Linux and macOS only.")


def _make_once(target: Path, make: Callable[[Path], None]) -> None:
    """Makes a folder under another name and renames it, so that one that was broken off is never taken for a whole one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        make(made)
        if not target.exists():
            made.rename(target)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        told = next((line for line in lines if "ERROR" in line), lines[-1] if lines else f"exit code {done.returncode}")
        raise CommandError(f"{Path(command[0]).name} failed ({told}): try again, and look at: {' '.join(command)}")
