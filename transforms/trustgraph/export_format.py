"""The forms in which a run is written for TrustGraph's own commands: apart from `export`, as the command line is read without pyarrow."""

from enum import StrEnum


class ExportFormat(StrEnum):
    """What `export` writes."""

    TRIG = "trig"
    KG_CORE = "kg-core"
    JSONL = "jsonl"
