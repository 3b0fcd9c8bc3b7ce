"""``python -m sparray measure-costs``: the cost model's constants on this machine."""

import argparse
import json
from pathlib import Path
from typing import Any

from sparray.compiler.scheduler.costs import load_costs
from sparray.errors import SettingError
from sparray.functions.measured_costs import measure_costs, provenance

__all__ = ["add_parser"]


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "measure-costs",
        help="measure the constants of the scheduler's cost model",
        description="Time kernels of this compiler on this machine, and print what the "
        "constants of the cost model would be, in units of one multiply-add.",
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="for each kernel; default: 0.5"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="for SPARRAY_COSTS to name"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    if not arguments.seconds > 0:
        raise SettingError(
            f"seconds: expected a positive number, got {arguments.seconds}"
        )
    used = load_costs()
    origin = provenance()
    for name, fact in origin.items():
        print(f"{name:<9} {fact}")
    print(f"\n{'constant':<10} {'in use':>7} {'measured':>9}  how")
    rows = {}
    for cost in measure_costs(arguments.seconds):
        value = float(f"{cost.value:.3g}")
        rows[cost.name] = {"value": value, "meaning": used.meanings[cost.name]}
        shown = f"{used.values[cost.name]:>7g} {value:>9g}"
        print(f"{cost.name:<10} {shown}  {cost.how}", flush=True)
    for name in [name for name in used.values if name not in rows]:
        print(f"{name:<10} {used.values[name]:>7g} {'':>9}  assumed, not measured")
    if arguments.write is not None:
        content = {"provenance": origin, "costs": rows}
        try:
            arguments.write.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        except OSError as error:
            raise SettingError(
                f"write: expected a file that can be written, got {arguments.write} "
                f"({error.strerror})"
            ) from error
        print(
            f"\nwritten to {arguments.write}; SPARRAY_COSTS={arguments.write} uses it"
        )
