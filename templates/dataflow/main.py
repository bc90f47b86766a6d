"""What the launcher of a Dataflow flex template runs: a template's parameters, as options of `universal-decoder backfill`."""

import sys
from collections.abc import Sequence

from pipeline import cli
from pipeline.options.backfill import backfill_parser
from pipeline.options.parser import parser_flags

SWITCHES = ("force", "retry-failed", "images")
"""Options without a value; a parameter always has one."""


def arguments(parameters: Sequence[str]) -> list[str]:
    """The arguments of the command.

    Args:
      parameters: `--name=value`, as the launcher gives them. A parameter has underscores where an option of the decoder has hyphens; what
        is no option of the decoder is one of Beam.
    """
    own = {flag.removeprefix("--") for flag in parser_flags(backfill_parser())}
    found = ["backfill", "--runner=DataflowRunner", "--no-wait"]  # a launcher that waits for its job never starts it
    for parameter in parameters:
        name, _, value = parameter.removeprefix("--").partition("=")
        option = name.replace("_", "-")
        if name == "runner":
            continue
        if option in SWITCHES:
            found += [f"--{'' if value.lower() == 'true' else 'no-'}{option}"] if option == "images" or value.lower() == "true" else []
        else:
            found.append(f"--{option}={value}" if option in own else parameter)
    return found


if __name__ == "__main__":
    sys.exit(cli.main(arguments(sys.argv[1:])))
