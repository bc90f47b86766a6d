"""From the bytes of a document to its typed elements: formats, detection, partitioners, pictures, and the processes that they run in."""
