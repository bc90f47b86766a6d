"""`universal-decoder` with another decoder: python with_decoder.py MODULE:FUNCTION backfill …"""

import sys
from functools import partial

import pipeline.flink.run
import pipeline.run
from pipeline import cli

if __name__ == "__main__":
    pipeline.run.run = partial(pipeline.run.run, decoder=sys.argv[1])
    pipeline.flink.run.submit = partial(pipeline.flink.run.submit, decoder=sys.argv[1])
    sys.exit(cli.main(sys.argv[2:]))
