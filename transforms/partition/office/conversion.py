"""Runs pandoc and LibreOffice, on our terms: a private folder and profile, no files of the host, no network, a time limit.

unstructured starts both itself, but soffice with the user's own profile (two at a time block each other) and neither with a time limit.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from transforms.model import DecodeError, Stage, Status
from transforms.partition.containers import corrupt
from transforms.partition.formats import PANDOC, SOFFICE, Tool, pandoc_path, soffice_path
from transforms.partition.office import office_kit

CONVERSION_SECONDS = 300.0
"""A conversion takes seconds. The document's own time limit, which ends the whole process group, is usually met first; this one is for
whoever calls a partitioner without it."""

HTML_BODY = "$body$\n"
"""pandoc template: what `--embed-resources` needs in order to work, without pandoc's own title block and style sheet."""


def _office_settings() -> str:
    """LibreOffice's profile. It fetches linked pictures when it loads a document (7.4): where no fence of the kernel forbids it, it shall
    ask a proxy that is not there. (`BlockUntrustedRefererLinks` does not help: a linked picture of a DOC has no referer.)"""
    security = [(name, "true") for name in ("BlockUntrustedRefererLinks", "DisableMacrosExecution")]
    proxies = [
        (f"ooInet{kind}Proxy{what}", value) for kind in ("HTTP", "HTTPS", "FTP") for what, value in (("Name", "127.0.0.1"), ("Port", "9"))
    ]
    values = {
        "/org.openoffice.Office.Common/Security/Scripting": security,
        "/org.openoffice.Inet/Settings": [("ooInetProxyType", "2"), ("ooInetNoProxy", ""), *proxies],
    }
    items = "".join(
        f'<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, properties in values.items()
        for name, value in properties
    )
    return f'<?xml version="1.0" encoding="UTF-8"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">{items}</oor:items>'


@contextmanager
def work_folder() -> Iterator[Path]:
    """A private folder under TMPDIR (in a child: its lease's), removed at the end."""
    with tempfile.TemporaryDirectory(prefix="convert-") as folder:
        yield Path(folder)


def pandoc(source: Path, reader: str, writer: str, target: Path, *, embed: bool = False) -> None:
    """Converts with pandoc, in its sandbox: includes, images and styles outside of the document are neither read nor fetched.

    Args:
      source: the document.
      reader: pandoc's name of its format.
      writer: pandoc's name of the target's.
      target: written.
      embed: put the document's own pictures into the HTML, as data URIs.
    Raises:
      DecodeError: `missing_tool`, `corrupt` or `timeout`.
    """
    command = pandoc_path()
    if command is None:
        raise _missing(PANDOC)
    arguments = [command, "--sandbox", f"--from={reader}", f"--to={writer}", f"--output={target}"]
    if embed:
        template = target.with_suffix(".template")
        template.write_text(HTML_BODY, encoding="ascii")
        arguments += ["--embed-resources", "--standalone", f"--template={template}", "--metadata=title:-"]
    code, message = _run([*arguments, "--", str(source)], target.parent, "pandoc")
    if code != 0 or not target.exists():
        raise corrupt(f"pandoc could not read it as {reader}: {message or f'exit code {code}'}.")


def soffice(source: Path, extension: str, target_extension: str, target_filter: str) -> Path:
    """Converts with LibreOffice.

    Args:
      source: the document; a copy with `extension` is what LibreOffice sees, as it goes by names.
      extension: of the source's format, with the dot.
      target_extension: without the dot.
      target_filter: LibreOffice's name of the export filter, for the command.
    Returns:
      The converted file, in a folder `converted` beside the source.
    Raises:
      DecodeError: `missing_tool`, `corrupt` or `timeout`.
    """
    command = soffice_path()
    if command is None:
        raise _missing(SOFFICE)
    folder = source.parent / "converted"
    folder.mkdir(exist_ok=True)
    named = folder / f"document{extension}"
    shutil.copyfile(source, named)
    profile = (folder / "profile").resolve().as_uri()  # LibreOffice runs once a profile: a shared one would make children wait
    target = folder / "out" / f"document.{target_extension}"
    target.parent.mkdir(exist_ok=True)
    settings = folder / "profile" / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(_office_settings(), encoding="utf-8")
    kit = _office_kit(Path(command))
    if kit is not None:
        places = [profile, named.resolve().as_uri(), target.resolve().as_uri()]
        arguments = [sys.executable, "-I", "-S", office_kit.__file__, str(kit), *places, target_extension]
    else:
        arguments = [
            command,
            f"-env:UserInstallation={profile}",
            "--headless",
            "--norestore",
            "--nolockcheck",
            "--convert-to",
            f"{target_extension}:{target_filter}",
            "--outdir",
            str(target.parent),
            str(named),
        ]
    code, message = _run(arguments, folder, "LibreOffice")
    # The command's exit code is 0 for a file that it could not load: the result is the only proof.
    if not target.exists() or target.stat().st_size == 0:
        raise corrupt(f"LibreOffice could not convert it: {message or f'exit code {code}'}.")
    return target


def _office_kit(command: Path) -> Path | None:
    """The library of LibreOffice that `office_kit` runs; None where this installation has none, and only the command is left."""
    program = command.resolve().parent
    return next((path for name in ("libmergedlo.so", "libsofficeapp.so") if (path := program / name).exists()), None)


def _missing(tool: Tool) -> DecodeError:
    return DecodeError(Status.MISSING_TOOL, f"{tool.name} is not installed. {tool.sentence}", Stage.PARTITION)


def _run(arguments: Sequence[str], folder: Path, name: str) -> tuple[int, str]:
    """Runs a converter in its own process group; its exit code and the last line that it said."""
    environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8", "http_proxy": "", "https_proxy": ""}
    with tempfile.TemporaryFile(dir=folder) as log:
        process = subprocess.Popen(arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            code = process.wait(CONVERSION_SECONDS)
        except subprocess.TimeoutExpired as error:
            _end(process)
            message = f"{name} did not finish within {CONVERSION_SECONDS:.0f} s."
            raise DecodeError(Status.TIMEOUT, message, Stage.PARTITION) from error
        log.seek(0)
        lines = [line for line in log.read(1 << 20).decode("utf-8", "replace").splitlines() if line.strip()]
    return code, next((line.strip().rstrip(".") for line in reversed(lines) if "[WARNING]" not in line), "")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a converter and what it started (soffice is a script around soffice.bin)."""
    import psutil

    try:
        descendants = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        descendants = []
    process.send_signal(signal.SIGKILL)
    for descendant in descendants:
        try:
            descendant.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()
