"""`universal-decoder` with another decoder: python with_decoder.py MODULE:FUNCTION backfill …"""

import sys

from pipeline import cli

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[2:], decoder=sys.argv[1]))
