"""From the bytes of a document to its typed elements: formats, detection, unstructured, pictures, and the child processes that it all runs in."""
