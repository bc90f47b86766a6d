"""Writes a finished run as files for TrustGraph's own commands, and says how they are loaded."""

from rich.console import Console
from rich.text import Text

from pipeline.options.export import ExportSettings
from pipeline.report.finished_run import open_run_at
from pipeline.report.words import counted, printable
from transforms.storage import filesystem
from transforms.trustgraph.export import KG_CORE_BROKEN, LEFT_OUT, LOAD_SCRIPT, TRIG_SINCE, Export, Exported, export
from transforms.trustgraph.export_format import ExportFormat
from transforms.trustgraph.run_documents import shards_of


def main(settings: ExportSettings, console: Console) -> None:
    """Exports and tells. Raises: CommandError."""
    run = open_run_at(settings.run)
    job = Export(run.output, settings.to, settings.format, sources=settings.sources, largest=settings.max_message_size)
    with filesystem.output_told(settings.to):
        done = export(job, shards_of(run.manifest, run.folder))
    for line in told(job, done, run.run_id):
        console.print(Text(printable(line)), soft_wrap=True)


def told(job: Export, done: Exported, run_id: str) -> list[str]:
    """What was written, as lines."""
    library = f", {counted(done.library_documents, 'document')} of the library" if job.format == ExportFormat.KG_CORE else ""
    lines = [
        f"Run {run_id}: {counted(done.documents, 'document')}, {counted(done.quads, 'quad')}{library} in {counted(done.files, 'file')} in "
        f"{job.to}."
    ]
    if done.left_out:
        lines.append(f"{counted(done.left_out, 'document')} of the library left out: {filesystem.join(job.to, LEFT_OUT)} says why.")
    if job.format == ExportFormat.JSONL:
        lines.append("Each line is one message of the gateway's socket /api/v1/flow/FLOW/import/triples.")
        return lines
    lines.append({ExportFormat.KG_CORE: KG_CORE_BROKEN, ExportFormat.TRIG: TRIG_SINCE}[job.format])
    script = filesystem.join(job.to, LOAD_SCRIPT)
    lines.append(f"To load it: TRUSTGRAPH_URL=http://HOST:PORT/ TRUSTGRAPH_TOKEN=… TRUSTGRAPH_WORKSPACE=… sh {script}")
    return lines
