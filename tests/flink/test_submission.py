"""Defaults of a submission, and what workers and this machine have to agree in. The rest is seen on a real cluster (test_cluster.py)."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from flink_jobs import WORKER

from pipeline.flink.checks import _check_jar
from pipeline.flink.probe import Marker, judge, problem_here, versions_here, with_absolute_places
from pipeline.flink.rest import TaskManager
from pipeline.flink.submission import _environment, _retries, children_for, master, short
from pipeline.options.backfill import parse_backfill
from pipeline.preflight import check_beam_arguments
from transforms.decode_documents import DecodeAhead, DecodeTask
from transforms.errors import JobFailed, UsageError
from transforms.settings import DecodeSettings, Limits
from transforms.trustgraph.library import Library


def machine(cpus: int) -> TaskManager:
    return TaskManager("one", slots=2, free_slots=2, cpus=cpus, network_memory=0, segments=0, free_segments=0)


def test_the_children_of_all_workers_of_a_machine_are_its_cpus() -> None:
    assert children_for([machine(16)], workers=1) == 16
    assert children_for([machine(16)], workers=2) == 8
    assert children_for([machine(16), machine(8)], workers=2) == 4
    assert children_for([machine(1)], workers=2) == 1


def test_a_job_server_is_made_for_a_minor_version() -> None:
    assert [short(version) for version in ("1.19.3", "2.0.0-preview1", "2.1")] == ["1.19", "2.0", "2.1"]


def test_a_lost_job_is_started_again_as_the_cluster_has_it_else_three_times_on_the_streaming_engine() -> None:
    assert _retries([], streaming=True, strategy="") == 3
    assert _retries([], streaming=True, strategy="exponential-delay") is None
    assert _retries(["--number_of_execution_retries=7"], streaming=True, strategy="exponential-delay") == 7
    assert _retries([], streaming=False, strategy="exponential-delay") is None
    assert _retries([], streaming=False, strategy="") == 0


@pytest.mark.parametrize(
    ("streaming", "given", "sentence"),
    [
        (True, "-1", "--number_of_execution_retries '-1' is not a number of tries: give 0 or more."),
        (
            False,
            "3",
            "--number_of_execution_retries goes with --streaming: the batch engine has the cluster's restart-strategy only.",
        ),
    ],
)
def test_a_number_of_tries_that_cannot_be_had_is_refused(streaming: bool, given: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        _retries([f"--number_of_execution_retries={given}"], streaming=streaming, strategy="")
    assert refused.value.sentence == sentence


def environment(*arguments: str) -> list[str]:
    return _environment(PipelineOptions(list(arguments)).view_as(PortableOptions))


def test_workers_are_processes_or_those_of_a_pool() -> None:
    assert environment() == ["--environment_type=PROCESS", f"--environment_options=process_command={WORKER}"]
    assert environment("--environment_options=process_command=/boot") == ["--environment_type=PROCESS"]
    assert environment("--environment_config=localhost:50000") == ["--environment_type=EXTERNAL"]
    assert environment("--environment_type=LOOPBACK") == []
    with pytest.raises(UsageError) as refused:
        environment("--environment_options=external_service_address=localhost:50000")
    assert refused.value.sentence.endswith("is read by no Beam so far: --environment_config=localhost:50000.")


def test_a_cluster_has_to_be_named() -> None:
    with pytest.raises(UsageError) as refused:
        master(check_beam_arguments([]))
    assert refused.value.sentence == (
        "--runner FlinkRunner needs --flink_master HOST:PORT, the REST address of a cluster: make flink-up starts one on this machine."
    )
    assert master(check_beam_arguments(["--flink_master=http://host:8081/"])).url == "http://host:8081"
    assert master(check_beam_arguments(["--flink_master=host:8081"])).url == "http://host:8081"


def test_a_job_server_of_another_flink_is_refused(tmp_path: Path) -> None:
    jar = tmp_path / "server.jar"
    with zipfile.ZipFile(jar, "w") as members:
        members.writestr("META-INF/maven/org.apache.beam/beam-runners-flink-1.18/pom.properties", "version=2.70.0")

    _check_jar(str(jar), "1.18")
    with pytest.raises(UsageError) as refused:
        _check_jar(str(jar), "1.19")

    assert refused.value.sentence == f"--flink_job_server_jar {jar} is made for Flink 1.18, and the cluster is Flink 1.19."


def test_a_file_that_is_no_jar_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.jar").write_text("no")
    with pytest.raises(UsageError, match="is not a jar"):
        _check_jar(str(tmp_path / "server.jar"), "1.19")


HERE = versions_here()


def sentence(*markers: Marker) -> str:
    with pytest.raises(UsageError) as refused:
        judge(markers, HERE, "/out")
    return refused.value.sentence


def test_workers_that_agree_are_taken() -> None:
    judge([Marker("a", HERE, ""), Marker("b", HERE, "")], HERE, "/out")


@pytest.mark.parametrize(
    ("field", "what"), [("decoder", "universal-decoder"), ("unstructured", "unstructured"), ("beam", "apache-beam"), ("python", "Python")]
)
def test_a_worker_with_another_version_is_refused(field: str, what: str) -> None:
    other = replace(HERE, **{field: "9.9"})

    told = sentence(Marker("a", HERE, ""), Marker("b", other, ""))

    assert told == f"The worker on b has {what} 9.9, and this machine {getattr(HERE, field)}: install the same on both."


def test_an_output_that_only_the_workers_see_is_refused() -> None:
    assert sentence().startswith("--output /out is not the same place here and on the workers")


def test_places_are_those_of_the_submitter_wherever_a_worker_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    (here / "library").mkdir(parents=True)
    (here / "library" / "one.txt").write_text("One document.")
    (here / "list.jsonl").write_text('{"uri": "library/one.txt"}')
    elsewhere.mkdir()
    monkeypatch.chdir(here)
    settings, _ = parse_backfill(["--input", "library", "--references", "list.jsonl", "--output", "out"])
    settings = replace(settings, library=Library(store="cassandra://a", document_ids="ids"))

    meant = with_absolute_places(settings)

    assert meant.inputs == (str(here / "library"),)
    assert (meant.references, meant.output) == ((str(here / "list.jsonl"),), str(here / "out"))
    assert meant.library == Library(store="cassandra://a", document_ids=str(here / "ids"))
    monkeypatch.chdir(elsewhere)
    on_worker = replace(settings, library=None)
    assert problem_here(on_worker).startswith("There is no file or folder ")
    assert problem_here(replace(meant, library=None)) == ""


def test_what_a_worker_lacks_is_told_with_its_name() -> None:
    assert sentence(Marker("b", HERE, "--input /library matches nothing.")) == "On the worker b: --input /library matches nothing."


def test_a_worker_that_joins_later_with_other_versions_ends_the_job_before_it_decodes() -> None:
    task = DecodeTask("/out", DecodeSettings(), Limits(), "2026-01-31T10:00:00Z", children=1, fingerprint="of the submitter")

    with pytest.raises(JobFailed, match="has other versions of the decoder or of unstructured"):
        DecodeAhead(task).setup()


def test_not_to_wait_is_for_clusters() -> None:
    base = ["--input", "a", "--output", "b", "--no-wait"]
    settings, _ = parse_backfill([*base, "--runner", "FlinkRunner"])
    assert settings.no_wait
    with pytest.raises(UsageError, match=r"^--no-wait goes with --runner FlinkRunner or DataflowRunner only"):
        parse_backfill(base)
