"""Where documents come from: folders, globs and files that list them; and how their bytes are fetched."""

from transforms.references.listing import MissingInput, list_files
from transforms.references.manifest_files import read_inline, read_references
from transforms.references.sources import check_sources

__all__ = ["MissingInput", "check_sources", "list_files", "read_inline", "read_references"]
