"""Where bytes rest: file systems with atomic writes, staged commits, content-addressed blobs."""
