"""The images' recipes, as far as can be told without a container daemon: every step against the locks, the lists and `setup.py`."""

import re
import shlex
from pathlib import Path

import pytest

from pipeline.flink.worker import POOL_PORT

ROOT = Path(__file__).parents[2]
DOCKERFILES = {name: ROOT / "templates" / name / "Dockerfile" for name in ("docker", "dataflow")}


def instructions(name: str) -> list[tuple[str, str]]:
    """Instruction and argument, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILES[name].read_text(), flags=re.MULTILINE)
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def stages(name: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    current = "before"
    for word, rest in instructions(name):
        if word == "FROM":
            current = rest.partition(" AS ")[2] or rest
        found.setdefault(current, []).append((word, rest))
    return found


@pytest.mark.parametrize("name", DOCKERFILES)
def test_every_file_that_is_copied_is_in_the_repository_and_in_the_context(name: str) -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [shlex.split(rest)[:-1] for word, rest in instructions(name) if word == "COPY" and "--from=" not in rest]
    assert copied
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists()
        assert any(source == entry or source.startswith(f"{entry}/") for entry in kept)


def test_packages_come_from_the_lock_as_in_the_makefile() -> None:
    runs = [rest for word, rest in stages("docker")["base"] if word == "RUN"]
    makefile = (ROOT / "Makefile").read_text()

    [locked] = [run for run in runs if "--require-hashes" in run]
    assert locked == "pip install --no-deps --require-hashes -r requirements/light.txt"
    assert "install --quiet --no-deps --require-hashes -r requirements/light.txt" in makefile
    assert "pip install --no-deps ." in runs
    # All that the package itself needs to be built is copied before.
    copied = {source for word, rest in stages("docker")["base"] if word == "COPY" for source in rest.split()[:-1]}
    assert {"setup.py", "pyproject.toml", "README.md", "pipeline", "transforms"} <= copied


def test_the_version_of_beam_in_the_image_is_that_of_the_lock() -> None:
    [locked] = re.findall(r"^apache-beam==(\S+)", (ROOT / "requirements" / "light.txt").read_text(), flags=re.MULTILINE)
    assert f'"apache-beam[$BEAM_EXTRAS]=={locked}"' in DOCKERFILES["docker"].read_text()
    assert f"apache/beam_python3.11_sdk:{locked}" in DOCKERFILES["dataflow"].read_text()
    assert f"apache-beam=={locked}" in (ROOT / "setup.py").read_text()


def test_debian_packages_are_those_of_the_lists() -> None:
    [run] = [rest for word, rest in stages("docker")["base"] if word == "RUN" and "apt-get" in rest]
    assert "$(cat requirements/debian.txt requirements/debian-office.txt)" in run


def test_the_entry_points_are_the_packages_own() -> None:
    programs = re.findall(r'"([\w-]+) = [\w.]+:\w+"', (ROOT / "setup.py").read_text())
    for stage in ("worker", "submitter"):
        [entry] = [rest for word, rest in stages("docker")[stage] if word == "ENTRYPOINT"]
        assert entry.strip('[]"') in programs
    assert ("EXPOSE", str(POOL_PORT)) in stages("docker")["worker"]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_no_image_ends_as_root(name: str) -> None:
    users = [rest for word, rest in instructions(name) if word == "USER"]
    assert users[-1] == "10001"
    if name == "docker":
        for stage in ("base", "submitter"):
            assert [rest for word, rest in stages(name)[stage] if word == "USER"][-1] == "10001"


def test_the_job_server_is_where_the_submitting_job_looks_for_it() -> None:
    [copy] = [rest for word, rest in stages("docker")["submitter"] if word == "COPY"]
    source, target = copy.split()[-2:]
    assert source == "/build/target/flink-job-server.jar"
    assert "<finalName>flink-job-server</finalName>" in (ROOT / "templates" / "flink" / "job-server" / "pom.xml").read_text()
    assert f"--flink_job_server_jar={target}" in (ROOT / "templates" / "flink" / "submit-job.yaml").read_text()
