"""A library of TrustGraph as the source of documents, and the gateway that they may be read from."""

import argparse
import os
from pathlib import Path

from pipeline.options.trustgraph import add_workspace, workspace
from pipeline.options.values import gateway, place, whole_number, word
from transforms.errors import UsageError
from transforms.trustgraph.gateway import STREAMS, TOKEN_VARIABLE, URL_VARIABLE, gateway_url
from transforms.trustgraph.library import GatewayAccess, Library, store_address


def add_library(parser: argparse.ArgumentParser) -> None:
    """Adds the group of what names a library, and documents in it."""
    group = parser.add_argument_group(
        "a TrustGraph library",
        f"the documents of a librarian; the gateway's token comes from {TOKEN_VARIABLE} in the environment, or from a file",
    )
    group.add_argument(
        "--librarian",
        metavar="URL",
        type=gateway("--librarian"),
        default=None,
        help="the gateway of a TrustGraph, such as http://localhost:8088",
    )
    group.add_argument(
        "--librarian-store",
        metavar="URI",
        type=_store,
        default=None,
        help="instead of --librarian: the librarian's own tables, cassandra://HOST[,HOST...][:PORT][/KEYSPACE][?bucket=NAME], and its "
        "bucket on S3; for libraries of any size (pip install 'universal-decoder[trustgraph]')",
    )
    add_workspace(group, "whose library")
    group.add_argument(
        "--kind",
        dest="kinds",
        metavar="MIME",
        nargs="+",
        action="extend",
        default=[],
        type=word("--kind"),
        help="only documents of this MIME type, such as application/pdf or 'text/*'; may be repeated",
    )
    group.add_argument(
        "--tag",
        dest="tags",
        metavar="TAG",
        nargs="+",
        action="extend",
        default=[],
        type=word("--tag"),
        help="only documents with this tag, or one of several; may be repeated",
    )
    group.add_argument(
        "--document-ids", metavar="FILE", type=place("--document-ids"), default=None, help="only the documents with these ids, one a line"
    )
    group.add_argument(
        "--librarian-token-file",
        metavar="FILE",
        type=place("--librarian-token-file"),
        default=None,
        help=f"holds the token (default: {TOKEN_VARIABLE} in the environment); workers on other machines look for either as well",
    )
    group.add_argument(
        "--librarian-streams",
        metavar="N",
        type=whole_number("--librarian-streams", "streams", 64),
        default=STREAMS,
        help="documents that one worker process reads from the gateway at a time (default: %(default)s)",
    )


def read_library(found: argparse.Namespace) -> tuple[Library | None, GatewayAccess | None]:
    """The library of TrustGraph that is asked for, and the gateway that documents may be read from: also those that references name."""
    token_file = str(Path(found.librarian_token_file).absolute()) if found.librarian_token_file else ""
    url = found.librarian or (_gateway_of_environment() if found.references else "")
    access = GatewayAccess(url, token_file, found.librarian_streams) if url else None
    if found.librarian and found.librarian_store:
        raise UsageError("--librarian and --librarian-store name the same library twice: give one of them.")
    if not found.librarian and not found.librarian_store:
        for flag in ("workspace", "kinds", "tags", "document_ids"):
            if getattr(found, flag):
                name = {"kinds": "kind", "tags": "tag"}.get(flag, flag).replace("_", "-")
                raise UsageError(f"--{name} is about a TrustGraph library: give --librarian URL or --librarian-store URI with it.")
        return None, access
    library = Library(
        gateway=access if found.librarian else None,
        store=found.librarian_store or "",
        workspace=workspace(found),
        kinds=tuple(dict.fromkeys(found.kinds)),
        tags=tuple(dict.fromkeys(found.tags)),
        document_ids=found.document_ids or "",
    )
    return library, access


def _gateway_of_environment() -> str:
    try:
        return gateway_url(os.environ[URL_VARIABLE])
    except (KeyError, ValueError):  # other programs' business, until a document is there
        return ""


def _store(text: str) -> str:
    try:
        store_address(text)
    except ValueError as error:
        raise UsageError(f"--librarian-store {text if '@' not in text else 'with its URL'} {error}.") from None
    return text
