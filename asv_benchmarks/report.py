"""Run the ratios of benchmark classes and print them as a Markdown table.

From the root of the checkout::

    python -m asv_benchmarks.report                  # the table of SpMM
    python -m asv_benchmarks.report SpMV Add --rounds 3
    python -m asv_benchmarks.report --all
"""

import argparse
import importlib
import inspect
import itertools
import math
import pkgutil
import platform
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from asv_benchmarks import benchmarks

__all__ = ["Row", "main", "measure", "table"]


@dataclass(frozen=True)
class Row:
    """The measured ratios of one workload against one other library."""

    parameters: tuple[Any, ...]
    ratios: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between them lies half of the rounds."""
        low, high = np.quantile(self.ratios, (0.25, 0.75))
        return float(low), float(high)


def classes() -> dict[str, type]:
    """Return every benchmark class that has ratios, by name."""
    found = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        loaded = importlib.import_module(f"{benchmarks.__name__}.{module.name}")
        for name in getattr(loaded, "__all__", ()):
            value = getattr(loaded, name)
            if inspect.isclass(value) and ratio_methods(value):
                found[name] = value
    return found


def ratio_methods(workload: type) -> list[str]:
    """Return the names of a class's ``track_ratio_*`` methods."""
    return [name for name in dir(workload) if name.startswith("track_ratio_")]


def combinations(workload: Any) -> Iterator[tuple[Any, ...]]:
    """Yield every combination of a class's parameters."""
    return itertools.product(*getattr(workload, "params", []))


def measure(workload: type, method: str, rounds: int) -> list[Row]:
    """Measure one ratio for every combination, each round with new operands."""
    rows = []
    for parameters in combinations(workload):
        ratios = []
        for _ in range(rounds):
            instance = workload()
            instance.setup(*parameters)
            track: Callable[..., float] = getattr(instance, method)
            ratios.append(track(*parameters))
            del instance, track
        rows.append(Row(parameters, tuple(ratios)))
    return rows


def table(names: list[str], rows: list[Row]) -> str:
    """Return a Markdown table with the geometric mean of several rows."""
    header = [*names, "ratio", "quartiles"]
    lines = [header, ["---"] * len(header)]
    for row in rows:
        low, high = row.quartiles
        shown = [f"{p:,}" if isinstance(p, int) else str(p) for p in row.parameters]
        lines.append([*shown, f"{row.median:.2f}", f"{low:.2f} to {high:.2f}"])
    if len(rows) > 1:
        mean = math.exp(statistics.fmean(math.log(row.median) for row in rows))
        empty = [""] * (len(names) - 1)
        lines.append(["geometric mean", *empty, f"**{mean:.2f}**", ""])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure the classes that the command line names."""
    known = classes()
    parser = argparse.ArgumentParser(prog="python -m asv_benchmarks.report")
    parser.add_argument(
        "classes", nargs="*", metavar="CLASS", help=f"of {', '.join(known)}"
    )
    parser.add_argument("--all", action="store_true", help="every class")
    parser.add_argument("--against", help="one other library, such as torch")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each")
    options = parser.parse_args()
    chosen = list(known) if options.all else options.classes or ["SpMM"]
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(
            f"expected classes of {', '.join(known)}, got {', '.join(unknown)}"
        )
    print(f"{platform.machine()}, 2 threads, {options.rounds} rounds each\n")
    for name in chosen:
        report(known[name], options.against, options.rounds)


def report(workload: Any, against: str | None, rounds: int) -> None:
    """Print the tables of one class."""
    for method in ratio_methods(workload):
        other = method.removeprefix("track_ratio_")
        if against is not None and other != against:
            continue
        summary = (inspect.getdoc(workload) or "").splitlines()[0]
        print(f"### {workload.__name__}, times as fast as {other}\n\n{summary}\n")
        names = list(getattr(workload, "param_names", []))
        print(table(names, measure(workload, method, rounds)), flush=True)
        print()


if __name__ == "__main__":
    main()
