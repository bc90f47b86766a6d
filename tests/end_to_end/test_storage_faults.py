"""Disks that fill up, become read-only, lose files or hold odd ones: each document has one explained outcome, or the job one sentence."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runs import ROOT, STARTED_AT, FinishedRun, backfill, command, start

DOCUMENTS = 300
"""So many that a run is not over when the fault comes, and so small that it costs nothing."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 MB of its own (the preflight asks for 256)."""
    mount = tmp_path / "disk"
    mount.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", mount], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no disk can be mounted here: not root, or in a container without the right to")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    for number in range(DOCUMENTS):
        (folder / f"{number:03d}.txt").write_text(f"Document number {number} speaks of lenses.")
    return folder


def staged(output: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in output.glob("staging/*/*/*.zip")}


def run_until(output: Path, library: Path, fault: Callable[[], Any]) -> str:
    """Starts a run, lets the fault happen once some documents are staged, and gives what the run says at its end, which must be 1."""
    process = start("backfill", "--input", library, "--output", output, "--started-at", STARTED_AT, "--children", "2", "--run-id", "first")
    while len(staged(output)) < 5 and process.poll() is None:
        time.sleep(0.005)
    fault()
    out, err = process.communicate()
    assert process.returncode == 1, out + err
    assert "Traceback" not in out + err
    said = [line for line in err.splitlines() if line.startswith("universal-decoder: ")]
    assert len(said) == 1, err
    assert not (output / "runs" / "first" / "manifest.json").exists()
    assert not (output / "latest").exists()
    return said[0]


def assert_goes_on(output: Path, library: Path) -> None:
    before = staged(output)
    assert 5 <= len(before) < DOCUMENTS
    run = backfill(library, output, "--children", "2")
    assert set(run.statuses().values()) == {"ok"}
    assert run.manifest["invariant"] == {"matched": DOCUMENTS, "ok": DOCUMENTS, "empty": 0, "duplicate": 0, "dead_letters": 0}
    assert {name: staged(output)[name] for name in before} == before
    assert not list(output.rglob("*.tmp"))


def test_a_disk_that_fills_up_ends_the_run_in_a_sentence_and_a_rerun_completes_it(disk: Path, library: Path) -> None:
    ballast = disk / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(b"\0" * 4096)

    said = run_until(disk / "out", library, fill)
    assert said == (
        f"universal-decoder: The job failed: {disk}/out cannot be read or written: no space left on device. "
        "What was decoded until then is kept: the same command goes on from there."
    )
    ballast.unlink()
    assert_goes_on(disk / "out", library)


def test_a_disk_that_becomes_read_only_ends_the_run_in_a_sentence_and_a_rerun_completes_it(disk: Path, library: Path) -> None:
    def make_read_only() -> None:
        until = time.monotonic() + 60
        while subprocess.run(
            ["mount", "-o", "remount,ro", disk], capture_output=True, check=False
        ).returncode:  # busy: a file is being written
            assert time.monotonic() < until

    said = run_until(disk / "out", library, make_read_only)
    assert f"The job failed: {disk}/out cannot be read or written: read-only file system. What was decoded until then is kept" in said
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert_goes_on(disk / "out", library)


def test_a_limit_on_the_size_of_files_ends_the_run_in_a_sentence(tmp_path: Path, library: Path) -> None:
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from transforms.sinks.write import write_shard\n"
        "from transforms.errors import JobFailed\n"
        "from transforms.storage.filesystem import output_told\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    with output_told(sys.argv[1]):\n"
        "        write_shard(sys.argv[1], 'small', 0, 1, [])\n"
        "except JobFailed as failed:\n"
        "    print(failed.sentence)\n"
    )
    output = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", script, output], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == f"{output} cannot be read or written: file too large\n", done.stderr
    left = [path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()]
    assert "runs/small/text_documents/part-00000-of-00001.parquet" not in left  # 7 kB of columns' names
    assert not [path for path in left if "manifest" in path or path.endswith(".tmp")]


def test_documents_that_may_not_be_read_vanish_or_change_are_dead_letters_and_the_rest_is_decoded(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    for name in ("good", "changed", "rewritten", "folder"):
        (library / name).write_text(f"The document {name} speaks of lenses.")
    lines = []
    for name in ("good", "changed", "rewritten"):
        status = (library / name).stat()
        lines.append({"uri": str(library / name), "size": status.st_size, "version": f"{status.st_size}-{status.st_mtime_ns}"})
    (library / "changed").write_text("Longer by some words than it was when it was listed.")
    os.utime(library / "rewritten", ns=(0, 0))
    (library / "folder").unlink()
    (library / "folder").mkdir()
    lines += [{"uri": str(library / "gone.txt")}, {"uri": str(library / "folder")}]
    references = tmp_path / "references.jsonl"
    references.write_text("".join(json.dumps(line) + "\n" for line in lines))

    process = start("backfill", "--references", references, "--output", tmp_path / "out", "--run-id", "first", "--children", "2")
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    run = FinishedRun(tmp_path / "out", "first")
    assert run.statuses() == {"good": "ok"} | dict.fromkeys(("changed", "rewritten", "gone.txt", "folder"), "fetch_failed")
    messages = {letter["source_uri"].rsplit("/", 1)[-1]: letter["message"] for letter in run.dead_letters()}
    base = f"file://{library}"
    assert messages == {
        "changed": f"{base}/changed has changed since it was listed: it has 52 bytes, not {lines[1]['size']}.",
        "rewritten": f"{base}/rewritten has changed since it was listed: it was written to again.",
        "gone.txt": f"There is no file {base}/gone.txt.",
        "folder": f"{base}/folder is a folder, not a file.",
    }
    assert run.manifest["invariant"] == {"matched": 5, "ok": 1, "empty": 0, "duplicate": 0, "dead_letters": 4}

    (library / "gone.txt").write_text("It is back, and speaks of lenses.")
    process = start("backfill", "--references", references, "--output", tmp_path / "out", "--run-id", "second", "--children", "2")
    process.communicate()
    assert FinishedRun(tmp_path / "out", "second").statuses()["gone.txt"] == "ok"


def test_a_mail_whose_attachment_lacked_a_tool_is_decoded_again_when_the_tool_is_there(tmp_path: Path) -> None:
    if shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed")
    library, tools = tmp_path / "library", tmp_path / "tools"
    library.mkdir()
    tools.mkdir()
    (library / "scan.eml").write_bytes(mail_with_a_scan())
    (library / "other.txt").write_text("Nothing is wrong with this document.")

    def run(name: str, path: str) -> FinishedRun:
        return backfill(library, tmp_path / "out", "--children", "1", run_id=name, extra={"PATH": path})

    without = run("without", str(tools))
    assert statuses(without) == {"scan.eml": "ok", "other.txt": "ok", "scan.eml#attachment": "missing_tool"}
    with_it = run("with", os.environ["PATH"])
    assert statuses(with_it) == {"scan.eml": "ok", "other.txt": "ok", "scan.eml#attachment": "ok"}
    assert with_it.manifest["counts"]["staged_before"] == 1


def statuses(run: FinishedRun) -> dict[str, str]:
    return {row["source_uri"].rsplit("/", 1)[-1].split("=")[0]: row["status"] for row in run.rows("documents")}


def mail_with_a_scan() -> bytes:
    import io
    from email.message import EmailMessage

    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (600, 120), "white")
    ImageDraw.Draw(picture).text((20, 30), "Lenses and mirrors", fill="black", font_size=48)
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "A scan", "a@example.org", "b@example.org"
    mail.set_content("The scan is attached to this mail.")
    mail.add_attachment(stream.getvalue(), maintype="image", subtype="png", filename="scan.png")
    return mail.as_bytes()


def test_links_loops_pipes_and_names_of_any_bytes(tmp_path: Path) -> None:
    library = os.fsencode(tmp_path / "library")
    names = [
        b"a b.txt",
        b"100%.txt",
        b"a%20b.txt",
        b"no#1.txt",
        b"why?.txt",
        b"line\nfeed.txt",
        b"caf\xe9.txt",
        b"n" * 251 + b".txt",
        b"-x.txt",
    ]
    os.mkdir(library)
    for number, name in enumerate(names):
        Path(os.fsdecode(library + b"/" + name)).write_text(f"Document number {number} speaks of lenses.")
    os.mkdir(library + b"/sub")
    Path(os.fsdecode(library + b"/sub/below.txt")).write_text("The document below speaks of mirrors.")
    os.symlink(b"..", library + b"/sub/up")
    os.symlink(b"self", library + b"/self")
    os.symlink(b"nowhere.txt", library + b"/broken.txt")
    os.mkfifo(library + b"/pipe")

    run = backfill(Path(os.fsdecode(library)), tmp_path / "out", "--children", "2")

    ok = [
        "a%20b.txt",
        "100%25.txt",
        "a%2520b.txt",
        "no%231.txt",
        "why%3F.txt",
        "line%0Afeed.txt",
        "caf%E9.txt",
        "n" * 251 + ".txt",
        "-x.txt",
    ]
    assert run.statuses() == dict.fromkeys([*ok, "below.txt"], "ok") | dict.fromkeys(("self", "broken.txt", "pipe"), "fetch_failed")
    assert sorted(row["text"] for row in run.rows("text_documents")) == sorted(
        [f"Document number {number} speaks of lenses." for number in range(len(names))] + ["The document below speaks of mirrors."]
    )


def test_what_a_user_may_not_read_is_a_dead_letter_and_where_he_may_not_write_is_a_sentence(tmp_path: Path) -> None:
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and there is no setpriv to take that right away")
    library, output = tmp_path / "library", tmp_path / "out"
    (library / "locked").mkdir(parents=True)
    for name in ("good.txt", "secret.txt", "locked/inside.txt"):
        (library / name).write_text(f"The document {name} speaks of lenses.")
    (library / "secret.txt").chmod(0)
    (library / "locked").chmod(0)
    output.mkdir()
    output.chmod(0o555)

    def run() -> tuple[int, str]:
        as_others = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
        arguments = command("backfill", "--input", library, "--output", output, "--run-id", "first", "--children", "1")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([*as_others, *arguments], env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    code, said = run()
    assert code == 2
    assert f"--output {output} cannot be written (Permission denied): choose another folder, or make this one writable." in said
    output.chmod(0o777)
    code, said = run()
    (library / "locked").chmod(0o755)
    assert code == 0, said
    finished = FinishedRun(output, "first")
    assert finished.statuses() == {"good.txt": "ok", "secret.txt": "fetch_failed", "": "fetch_failed"}
    messages = sorted(letter["message"] for letter in finished.dead_letters())
    assert messages == [
        f"The folder file://{library}/locked/ cannot be listed, so its files are missing: permission denied.",
        f"file://{library}/secret.txt may not be read: permission denied.",
    ]
