"""Search all schedules of an expression, and compare the scheduler's with the best.

From the root of the checkout::

    python -m asv_benchmarks.search SpMV SpMM --inputs mtx/bcsstk16.mtx.gz power_law
    python -m asv_benchmarks.search --all --seconds 20 --table table.md

For each work and input every way that the scheduler could have chosen
(`sparray.compiler.scheduler.plan.plan_ways`) is compiled and timed on the same
operands, in turns. Pruned are ways whose estimate is more than ``--most-costly`` times
the cheapest one's (unless there would be fewer than eight), and, by successive halving,
ways that turn out slower. What is printed is the median time of the scheduler's choice
divided by the median of the fastest: 1.00 is the best that can be chosen.
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sparray as sp
from asv_benchmarks.search_inputs import DTYPE, MATRICES, TENSORS, load_input
from sparray.evaluation.expression import assignment_expression, einsum_expression
from sparray.formats import named_format
from sparray.functions.contest import Contest
from sparray.functions.race import race

__all__ = ["WORKS", "Found", "main", "search", "table"]

DATA = Path("/work/shared/data")
LEAST_WAYS = 8


def dense(*shape: int) -> Any:
    """Return a dense operand."""
    return np.random.default_rng(5).standard_normal(shape).astype(DTYPE)


def moved(array: sp.SparseArray, by: int) -> sp.SparseArray:
    """Return an array with half of its entries moved along the last dimension."""
    coords, values = array.to_coords()
    coords = np.array(coords)
    coords[-1, ::2] = (coords[-1, ::2] + by) % array.shape[-1]
    return sp.from_coords(
        coords, np.array(values), array.shape, array.format, duplicates="sum"
    )


def transposed(array: sp.SparseArray) -> sp.SparseArray:
    """Return the transpose, stored along its own rows."""
    coords, values = array.to_coords()
    return sp.from_coords(
        np.array(coords)[::-1], np.array(values), array.shape[::-1], array.format
    )


@dataclass(frozen=True)
class Work:
    """One kind of work: an expression, and its operands from one sparse input."""

    text: str
    operands: Callable[[sp.SparseArray], Sequence[Any]]
    ndim: int = 2
    format: str | None = None


WORKS = {
    "SpMV": Work("ij,j->i", lambda A: [A, dense(A.shape[1])]),
    "SpMM": Work("ij,jk->ik", lambda A: [A, dense(A.shape[1], 32)]),
    "SpGEMM": Work("ij,jk->ik", lambda A: [A, transposed(A)]),
    "SDDMM": Work(
        "C[i,j] = M[i,j] * A[i,k] * B[j,k]",
        lambda M: [M, dense(M.shape[0], 32), dense(M.shape[1], 32)],
    ),
    "MTTKRP": Work(
        "ijk,jr,kr->ir", lambda T: [T, dense(T.shape[1], 16), dense(T.shape[2], 16)], 3
    ),
    "TTV": Work("ijk,k->ij", lambda T: [T, dense(T.shape[2])], 3, "csf"),
    "TTM": Work("ijk,kr->ijr", lambda T: [T, dense(T.shape[2], 16)], 3),
    "TTMc": Work(
        "ijk,jr,ks->irs", lambda T: [T, dense(T.shape[1], 8), dense(T.shape[2], 8)], 3
    ),
    "plus2": Work("C[i,j] = A[i,j] + B[i,j]", lambda A: [A, moved(A, 1)]),
    "plus3": Work(
        "D[i,j] = A[i,j] + B[i,j] + C[i,j]", lambda A: [A, moved(A, 1), moved(A, 2)]
    ),
    "masked": Work("ik,kj,ij->ij", lambda A: [A, transposed(A), _square(A)]),
    "innerprod3": Work("ijk,ijk->", lambda T: [T, moved(T, 1)], 3),
}


def _square(array: sp.SparseArray) -> sp.SparseArray:
    """Return a mask of the shape of A Aᵀ: A's entries, as far as they fit."""
    coords, values = (np.array(x) for x in array.to_coords())
    kept = (coords < array.shape[0]).all(axis=0)
    shape = (array.shape[0],) * 2
    return sp.from_coords(coords[:, kept], values[kept], shape, array.format)


@dataclass(frozen=True)
class Found:
    """What a search found for one work and input."""

    work: str
    input: str
    ways: int
    timed: int
    chosen_s: float
    best_s: float
    chosen: str
    best: str

    @property
    def ratio(self) -> float:
        """The scheduler's time in units of the best one."""
        return self.chosen_s / self.best_s


def search(
    name: str, work: Work, array: sp.SparseArray, input: str, options: Any
) -> Found:
    """Time the ways to compute one work for one input."""
    operands = work.operands(array)
    text = work.text
    expression = (
        assignment_expression(text)
        if "=" in text
        else einsum_expression(text, len(operands))
    )
    ndim = len(expression.assignment.target.indices)
    format = None if work.format is None else named_format(work.format, ndim)
    contest = Contest(expression, operands, format)
    cheapest = contest.ways[0].cost
    likely = [way for way in contest.ways if way.cost <= options.most_costly * cheapest]
    if len(likely) < LEAST_WAYS:
        likely = contest.shortlist(LEAST_WAYS)
    elif len(likely) > options.most:
        likely = contest.shortlist(options.most)
    contenders = contest.contenders(likely)
    clock = time.process_time if options.processor_time else time.perf_counter
    times = race([contender.run for contender in contenders], options.seconds, clock)
    # The two that are compared once more, in turns, with all the time left to them.
    first = times.index(min(times))
    chosen_s, best_s = times[0], times[first]
    if first:
        finalists = [contenders[0].run, contenders[first].run]
        chosen_s, best_s = race(finalists, options.seconds / 4, clock)
        if chosen_s < best_s:
            first, best_s = 0, chosen_s
    chosen, best = (f"{contenders[n].way}" for n in (0, first))
    return Found(
        name, input, len(contest.ways), len(contenders), chosen_s, best_s, chosen, best
    )


def table(found: Sequence[Found]) -> str:
    """Return a Markdown table: one row per work and input."""
    header = ["work", "input", "ways", "timed", "chosen", "best", "ratio", "best way"]
    rows = [header, ["---"] * len(header)]
    for one in found:
        way = "the scheduler's" if one.best == one.chosen else f"`{one.best}`"
        rows.append(
            [
                one.work,
                Path(one.input).name,
                str(one.ways),
                str(one.timed),
                f"{1e6 * one.chosen_s:,.0f} µs",
                f"{1e6 * one.best_s:,.0f} µs",
                f"{one.ratio:.2f}",
                way,
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def summary(found: Sequence[Found]) -> Iterator[str]:
    """Yield a line per work: the geometric mean and the worst of its ratios."""
    for work in dict.fromkeys(one.work for one in found):
        ratios = [one.ratio for one in found if one.work == work]
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        yield f"{work}: {mean:.2f} in the mean, {max(ratios):.2f} at worst"


def main(arguments: Sequence[str] | None = None) -> None:
    """Search what the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m asv_benchmarks.search", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--all", action="store_true", help="every work")
    parser.add_argument("--inputs", nargs="*", help="default: all of the data folder")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of real inputs")
    parser.add_argument("--seconds", type=float, default=10, help="of timing, each")
    parser.add_argument("--most", type=int, default=120, help="ways that are timed")
    parser.add_argument(
        "--most-costly", type=float, default=20, help="factor of the estimate"
    )
    parser.add_argument("--threads", type=int, default=2, help="of each kernel")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="on one thread: what other programs do hardly counts then",
    )
    parser.add_argument("--table", type=Path, help="write the table to this file")
    options = parser.parse_args(arguments)
    works = list(WORKS) if options.all else options.works
    unknown = [name for name in works if name not in WORKS]
    if unknown or not works:
        parser.error(f"expected works of {', '.join(WORKS)}, got {', '.join(unknown)}")
    if options.processor_time and options.threads != 1:
        parser.error("expected --threads 1 for --processor-time")
    sp.set_num_threads(options.threads)
    found: list[Found] = []
    for name in works:
        work = WORKS[name]
        for input in options.inputs or (MATRICES if work.ndim == 2 else TENSORS):
            array = load_input(input, work.ndim, options.data)
            found.append(search(name, work, array, input, options))
            one = found[-1]
            print(f"{name} {input}: {one.ratio:.2f}", file=sys.stderr, flush=True)
    shown = table(found)
    print(shown)
    print("\n" + "\n".join(summary(found)))
    if options.table is not None:
        options.table.write_text(shown + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
