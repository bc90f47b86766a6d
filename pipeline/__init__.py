"""The backfill job: command line, options, Beam graph, run, report."""
