import socket
from dataclasses import replace

import pytest

from pipeline import doctor, preflight
from pipeline.options.backfill import parse_backfill
from transforms.errors import UsageError
from transforms.settings import DecodeSettings, Strategy
from transforms.storage import filesystem


def sentence_of(check, *arguments, **facts):
    with pytest.raises(UsageError) as caught:
        check(*arguments, **facts)
    return caught.value.sentence


@pytest.fixture
def settings(library, tmp_path):
    return parse_backfill(["--input", str(library), "--output", str(tmp_path / "out")])[0]


def test_what_is_right_passes_and_makes_the_output(settings, tmp_path):
    preflight.check(settings, ["--runner=DirectRunner", "--direct_num_workers=2", "--experiments=a,b", "--streaming"])
    assert list((tmp_path / "out").iterdir()) == []


def test_a_dry_run_makes_nothing(settings, tmp_path):
    preflight.check(replace(settings, dry_run=True), ["--runner=DirectRunner"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--flink_master=host:8081", "--flink_version", "1.19", "--parallelism=2"],
        ["--object_reuse=true", "--max_bundle_size", "5"],
        ["--temp_location", "gs://b/t", "--project=p", "--region=r", "--machine_type=n2"],
        ["--direct_running_mode=multi_processing", "--direct_runner_bundle_repeat=1"],
        ["--environment_type=PROCESS", "--environment_options=process_command=/x"],
    ],
)
def test_options_of_beam_and_of_its_job_server_pass(arguments):
    preflight.check_beam_arguments(["--runner=DirectRunner", *arguments])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--flink_mastr=x"], "--flink_mastr is not an option of universal-decoder backfill: did you mean --flink_master?"),
        (
            ["--section_strategy=size"],
            "--section_strategy is not an option of universal-decoder backfill: did you mean --section-strategy?",
        ),
        (["--dry_run"], "--dry_run is not an option of universal-decoder backfill: did you mean --dry-run?"),
        (["--xyzzy", "1"], "--xyzzy is not an option of universal-decoder backfill: universal-decoder backfill --help shows them all."),
        (["-v"], "-v is not an option of universal-decoder backfill: universal-decoder backfill --help shows them all."),
        (["b.pdf"], "'b.pdf' belongs to no option: universal-decoder backfill --help shows what can be given."),
        (["--direct_num_workers", "x"], "--direct_num_workers: invalid int value: 'x' (an option of Beam)."),
        (
            ["--direct_running_mode=multi_threading"],
            "--direct_running_mode=multi_threading loses records in silence (Beam 2.77: its workers flush their streams from a timer "
            "thread without a lock): leave it out, as --children decodes in parallel, or use multi_processing.",
        ),
        (
            ["--experiments=use_x", "--experiment", "y,data_buffer_time_limit_ms=1000"],
            "--experiments data_buffer_time_limit_ms loses records in silence (Beam 2.77 flushes output streams from a timer thread "
            "without a lock): leave it out.",
        ),
        (
            ["--checkpointing_interval=1000"],
            "--checkpointing_interval keeps the sources of a batch job from ever ending on Flink: leave it out; a backfill that was "
            "stopped goes on where it was without checkpoints.",
        ),
    ],
)
def test_an_option_that_is_wrong_or_harmful_is_refused(arguments, sentence):
    assert sentence_of(preflight.check_beam_arguments, ["--runner=DirectRunner", *arguments]) == sentence


@pytest.fixture
def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def runner_sentence(name, *arguments):
    return sentence_of(preflight.check_runner, name, preflight.check_beam_arguments(arguments))


def test_a_runner_that_is_not_there_is_named(closed_port, tmp_path, monkeypatch):
    assert runner_sentence("Flink") == "--runner 'Flink' is not known to Beam: did you mean FlinkRunner?"
    assert runner_sentence("x.y.Z") == "--runner x.y.Z is not installed here: No module named 'x'."
    assert runner_sentence("PortableRunner") == "--runner PortableRunner needs --job_endpoint HOST:PORT, the address of a job server."
    assert runner_sentence("FlinkRunner", f"--flink_master=127.0.0.1:{closed_port}") == (
        f"--flink_master 127.0.0.1:{closed_port} cannot be reached (Connection refused): start it, or give the address that it listens on."
    )
    assert runner_sentence("FlinkRunner", "--flink_job_server_jar=/none.jar", "--flink_version=1.19") == (
        "--flink_job_server_jar /none.jar is not a file: give the path of Beam's job server for Flink 1.19."
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert runner_sentence("FlinkRunner") == (
        "--runner FlinkRunner starts a job server in Java, and there is no java here: install Java 17, or give --job_endpoint."
    )


def test_a_cluster_that_takes_connections_passes():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        options = preflight.check_beam_arguments([f"--flink_master=http://127.0.0.1:{port}", "--flink_submit_uber_jar"])
        preflight.check_runner("FlinkRunner", options)


def test_an_input_that_is_not_there(tmp_path, library):
    def said(place):
        return sentence_of(preflight.check_sources, parse_backfill(["--input", place, "--output", "out"])[0])

    none = str(tmp_path / "none")
    assert said(none) == f"There is no file or folder {none}."
    assert said("nosuch://x/y") == (
        "--input nosuch://x/y: there is no file system for nosuch:// here: use a local path, or one of gs://, s3://, azfs:// or hdfs://."
    )


@pytest.fixture
def no_file_systems(monkeypatch):
    """Whatever is installed, the packages of the object stores are not."""
    known = {scheme: (extra, "no_such_package") for scheme, (extra, _) in filesystem.FILE_SYSTEMS.items()}
    monkeypatch.setattr(filesystem, "FILE_SYSTEMS", known)
    filesystem._missing_scheme.cache_clear()
    yield
    filesystem._missing_scheme.cache_clear()


@pytest.mark.parametrize(("scheme", "extra"), [("gs", "gcp"), ("s3", "aws"), ("azfs", "azure"), ("hdfs", "hadoop")])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_store_whose_package_is_missing_is_told_with_its_extra(settings, no_file_systems, scheme, extra, dry_run):
    beam = doctor.version_of("apache-beam")
    remedy = f"there is no file system for {scheme}:// here: pip install 'apache-beam[{extra}]=={beam}'."
    place = f"{scheme}://a/b/c"
    for flag, facts in (("--input", {"inputs": (place,)}), ("--references", {"references": (place,)}), ("--output", {"output": place})):
        asked = replace(settings, dry_run=dry_run, **facts)
        assert sentence_of(preflight.check, asked, ["--runner=DirectRunner"]) == f"{flag} {place}: {remedy}"


def test_an_output_that_cannot_be_one(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert sentence_of(preflight.check_output, str(file), "r") == f"--output {file} is a file: give a folder."
    assert (
        sentence_of(preflight.check_output, f"{file}/a/b", "r") == f"--output {file}/a/b lies below {file}, which is a file: give a folder."
    )
    assert sentence_of(preflight.check_output, "/proc/out", "r") == (
        "--output /proc/out cannot be written (No such file or directory): choose another folder, or make this one writable."
    )


def test_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "MINIMUM_FREE", 1 << 62)
    assert sentence_of(preflight.check_output, str(tmp_path), "r").startswith(f"--output {tmp_path}: its disk has ")


def test_a_run_that_is_finished_is_not_written_again(output):
    assert sentence_of(preflight.check_output, str(output.path), "first") == (
        f"--run-id first names a run that is finished already, in {output.path}: choose another name, or leave it out."
    )
    preflight.check_output(str(output.path), "second")


def with_decode(settings, **facts):
    return replace(settings, decode=DecodeSettings(**facts))


@pytest.fixture
def no_tesseract(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    doctor.ocr_languages.cache_clear()
    yield
    doctor.ocr_languages.cache_clear()


def test_without_tesseract_only_a_strategy_that_is_all_ocr_stops(settings, no_tesseract):
    preflight.check_decode_tools(with_decode(settings, languages=("deu",)))
    assert sentence_of(preflight.check_decode_tools, with_decode(settings, strategy=Strategy.OCR_ONLY)) == (
        "--strategy ocr_only needs tesseract, which this installation lacks: apt-get install tesseract-ocr, or use --strategy fast."
    )


def test_a_language_that_is_not_installed(settings, tmp_path, monkeypatch):
    tesseract = tmp_path / "tesseract"
    tesseract.write_text("#!/bin/sh\necho Languages:\necho eng\necho osd\n")
    tesseract.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    doctor.ocr_languages.cache_clear()
    try:
        preflight.check_decode_tools(with_decode(settings, languages=("eng",)))
        preflight.check_decode_tools(with_decode(settings, languages=("deu",), strategy=Strategy.FAST))
        assert sentence_of(preflight.check_decode_tools, with_decode(settings, languages=("eng", "chi_sim"))) == (
            "--languages chi_sim is not installed for tesseract: apt-get install tesseract-ocr-chi-sim, or use one of eng."
        )
        assert sentence_of(preflight.check_decode_tools, with_decode(settings, languages=("en",))) == (
            "--languages en is not installed for tesseract: apt-get install tesseract-ocr-en, or use eng."
        )
    finally:
        doctor.ocr_languages.cache_clear()


def test_hi_res_without_its_models(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    sentence = sentence_of(preflight.check_decode_tools, with_decode(settings, strategy=Strategy.HI_RES))
    assert sentence.startswith("--strategy hi_res needs the layout models, which this installation lacks (")
    assert sentence.endswith(
        "hf download unstructuredio/yolo_x_layout && hf download microsoft/table-transformer-structure-recognition, or use --strategy auto."
    )


def test_on_a_cluster_this_machines_tools_do_not_matter(settings, no_tesseract):
    remote = with_decode(replace(settings, runner="PortableRunner", dry_run=True), strategy=Strategy.OCR_ONLY)
    preflight.check(remote, ["--runner=PortableRunner", "--job_endpoint=embed"])
