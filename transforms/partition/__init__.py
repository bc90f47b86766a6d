"""From the bytes of a document to its typed elements: formats, detection, partitioners and pictures."""
