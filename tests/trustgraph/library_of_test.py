"""A library of a real TrustGraph, as a test uses it."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runs import STARTED_AT, FinishedRun, universal_decoder
from stack import HERE, TOKEN, Stack

from transforms.model import DocumentReference
from transforms.references.fetch import fetch
from transforms.references.librarian import list_library
from transforms.trustgraph.gateway import Gateway
from transforms.trustgraph.library import GatewayAccess, Library, Place, document_uri


@dataclass(frozen=True)
class LibraryOfTest:
    """A workspace of its own, and the ways into it."""

    stack: Stack
    workspace: str
    gateway: Gateway

    def upload(self, *documents: Mapping[str, Any]) -> list[str]:
        """Adds documents with TrustGraph's own client. Returns their ids."""
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        command = [str(self.stack.python()), str(HERE / "upload_documents.py"), self.stack.url, TOKEN, self.workspace]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def add(self, document_id: str, text: bytes | str, **metadata: Any) -> str:
        """Adds one text through the gateway."""
        content = text.encode() if isinstance(text, str) else text
        self.gateway.add_document({"id": document_id, "time": 1_700_000_000, "kind": "text/plain", "title": "", **metadata}, content)
        return document_id

    def references(self, *, store: bool = False, **wanted: Any) -> list[DocumentReference]:
        """Its documents as the job lists them, by the gateway or by the store. The environment of this process is set for it."""
        place = {"store": self.stack.store} if store else {"gateway": GatewayAccess(self.stack.url)}
        return list(list_library(Library(workspace=self.workspace, **place, **wanted), collection="default"))

    def fetch(self, document_id: str, destination: Path, *, limit_bytes: int = 1 << 30, uri: str = "", version: str = "") -> int:
        """Fetches a document as the job does, by the gateway unless a URI is given."""
        reference = DocumentReference(uri or document_uri(Place(self.stack.url, self.workspace, document_id)), document_id, version=version)
        return fetch(reference, destination, limit_bytes=limit_bytes, access=GatewayAccess(self.stack.url))

    @property
    def source(self) -> list[str]:
        """The options that name it."""
        return ["--librarian", self.stack.url, "--workspace", self.workspace]

    @property
    def store(self) -> list[str]:
        """The options that name what lies behind the gateway."""
        return ["--librarian-store", self.stack.store, "--workspace", self.workspace]

    def run(self, *arguments: str | Path, expect: int = 0, **environment: str) -> str:
        """Runs the command with this library's environment."""
        return universal_decoder(*arguments, expect=expect, extra=self.stack.environment(**environment))

    def backfill(self, output: Path, *arguments: str | Path, run_id: str = "first") -> FinishedRun:
        """A backfill of it, to its end."""
        source = [] if "--librarian-store" in arguments or "--references" in arguments else self.source
        self.run("backfill", *source, "--output", output, "--run-id", run_id, "--started-at", STARTED_AT, "--children", "2", *arguments)
        return FinishedRun(output, run_id)


def rows_by_id(run: FinishedRun, dataset: str) -> dict[str, dict[str, Any]]:
    """Without the place of the source and the time that it took; and of what is not read to its end the type is only what was said."""
    own = ("source_uri", "seconds", "peak_memory_mb", "title", "mime_type") if dataset == "documents" else ("source_uri",)
    rows = run.rows(dataset)
    keyed = {row.get("id") or row["document_id"]: {name: value for name, value in row.items() if name not in own} for row in rows}
    assert len(keyed) == len(rows)
    return keyed
