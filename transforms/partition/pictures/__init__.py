"""Pictures inside of documents: what they are by their bytes, and where they stand."""
