"""``python -m sparray``: demo, explain, info, convert, cache, measure-costs."""

import argparse
import sys
from collections.abc import Sequence

from sparray import __version__
from sparray.command_line import cache, demo, explain, info, measure_costs
from sparray.errors import SparrayError
from sparray.io import command as convert

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; return 0, or 1 after an error that is printed."""
    parser = argparse.ArgumentParser(
        prog="sparray", description="Sparse arrays whose formats are levels."
    )
    parser.add_argument("--version", action="version", version=__version__)
    names = "{demo,explain,info,convert,cache,measure-costs}"
    subparsers = parser.add_subparsers(required=True, metavar=names)
    for command in (demo, explain, info, convert, cache, measure_costs):
        command.add_parser(subparsers)
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
    except SparrayError as error:
        print(f"sparray: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
