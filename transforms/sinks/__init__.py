"""One module a dataset of the run; each knows its schema, its rows and its file format."""
