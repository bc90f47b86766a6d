"""The command line as values: every flag is read here, checked here, and nowhere else.

A module for each command holds its settings, its parser (from which its help comes) and the function from arguments to settings.
`library`, `decoding` and `limits` are the groups of `backfill` that make values of their own. `values` checks single words; `parser`,
`runners` and `trustgraph` hold what several commands share.

Nothing here imports Beam, unstructured or pyarrow, so that `--help` and a mistyped flag answer at once. A flag that is not the decoder's
may be Beam's: it is kept as it is, and `pipeline.preflight` asks Beam for it.
"""
