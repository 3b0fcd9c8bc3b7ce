"""What may vary in a kernel beside its loop order: tiles, sums, prefetches, threads."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.candidates import Candidate
from sparray.compiler.scheduler.cost_model import COSTS, loop_length
from sparray.compiler.scheduler.packing import Packing, is_near, packing
from sparray.compiler.scheduler.shape import (
    Shape,
    parallel_index,
    shape_of,
)
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.tiling import (
    PREFETCH_DISTANCE,
    SUMS,
    TILE_BYTES,
    can_reduce_in_vectors,
)
from sparray.compiler.scheduler.walks import walked_at
from sparray.compiler.scheduler.workspace_kinds import workspace_kinds
from sparray.records import dataclass

__all__ = [
    "Knobs",
    "best_knobs",
    "cost_with",
    "knob_factor",
    "knob_settings",
    "packing_of",
    "sums_side_by_side",
    "walks_one",
]

_SUMS_OF = ((16, 1), (32, SUMS))
"""Mean lengths up to which one sum, or as many as usual, are the fastest; each more
leaves a remainder of more steps (SpMV of 200,000 entries, 8 to 128 a row, float32 and
float64: one sum 1.0 to 1.2 times as fast as four up to 12 a row, eight from 32 on)."""
_MOST_SUMS = 8
_NARROW_ROW = 128
"""Bytes of rows in tiles of fewer than two vectors, whose sums wait for each other."""
_SHORT = 10
"""Mean length of the loop over such rows from which on sums side by side pay (SpMM of
20,000 rows, 16 columns of float32, four sums beside one: 1.28 times the time at 2 a
row, 1.14 at 6, 1.03 at 8, 0.95 at 12, 0.87 at 32; 0.95 to 1.09 with 32 columns)."""
_NEAR = 1.02
"""Factor of a setting about which the cost model knows only that it is not the usual
one: near enough to be measured, never preferred unmeasured."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """Settings of one kernel's schedule beside its loop order.

    Attributes
    ----------
    workspace : str
        What holds sums whose loop stands around a loop of the target: ``"registers"``,
        ``"memory"`` (the result itself), ``"list"`` or ``"hashed"``; empty for the
        usual one.
    tile_bytes : int
        Bytes of the largest tile in registers.
    prefetch : int
        Positions ahead that gathered rows are prefetched; 0 for not at all.
    sums : int
        Sums side by side; 1 for no unrolling.
    vector : bool
        Whether a sum along contiguous memory runs in vector instructions.
    parallel : bool
        Whether the outermost loop runs on several threads where it may.
    pack : bool
        Whether a panel of the dense operand whose rows are gathered is packed.
    blocks : bool
        Whether arrays in different orders are passed in blocks.
    """

    workspace: str = ""
    tile_bytes: int = TILE_BYTES
    prefetch: int = PREFETCH_DISTANCE
    sums: int = SUMS
    vector: bool = True
    parallel: bool = True
    pack: bool = False
    blocks: bool = True

    def __str__(self) -> str:
        """Return the settings that are not the usual ones: ``sums 8, one thread``."""
        usual = Knobs()
        said = [self.workspace] if self.workspace else []
        if self.tile_bytes != usual.tile_bytes:
            said.append(f"tiles of {self.tile_bytes} bytes")
        if self.prefetch != usual.prefetch:
            said.append(f"prefetch {self.prefetch}" if self.prefetch else "no prefetch")
        if self.sums != usual.sums:
            said.append(f"sums {self.sums}")
        if not self.vector:
            said.append("no vectors")
        if not self.parallel:
            said.append("one thread")
        if self.pack:
            said.append("packed")
        if not self.blocks:
            said.append("no blocks")
        return ", ".join(said)


def walks_one(index: str, shape: Shape, problem: Problem) -> bool:
    """Tell whether a loop walks one operand, each of its coordinates once."""
    walked, points = walked_at(shape.merged, index, problem)
    if len(walked) != 1 or points != (frozenset(walked),):
        return False
    spec = problem.specs[walked[0].tensor]
    return all(level.unique for level in spec.format.levels)


def sums_side_by_side(order: Sequence[str], shape: Shape, problem: Problem) -> bool:
    """Tell whether the loop around the innermost sum visits one operand's entries.

    Then sums of several of them are independent, and may share what they load.
    """
    if len(order) < 2 or order[-1] not in shape.reduced or order[-2] in shape.reduced:
        return False
    return walks_one(order[-2], shape, problem)


def knob_settings(
    candidate: Candidate, problem: Problem, statistics: Statistics, vector_bytes: int
) -> Iterator[tuple[Knobs, float]]:
    """Yield every setting with a schedule of its own, and the kernel's cost with it.

    The usual one comes first.
    """
    shape = shape_of(problem)
    order, choice = candidate.order, candidate.choice
    threads = parallel_index(order, shape, choice, problem) is not None
    packed = packing_of(candidate, problem, statistics)
    best, _ = best_knobs(candidate, problem, statistics)
    settings = dict.fromkeys(
        [
            replace(best, pack=False),
            *_collecting_settings(candidate),
            *_loop_settings(order, choice, shape, problem, vector_bytes),
        ]
    )
    collecting = dict(candidate.collecting)
    usual = min(collecting.values(), default=0.0)
    for knobs in settings:
        more = collecting.get(knobs.workspace, usual) - usual
        made = [(knobs, candidate.cost + more)]
        if packed is not None and knobs.workspace == "":
            made.append((replace(knobs, pack=True), _packed_cost(candidate, packed)))
        for setting, cost in made:
            # What it costs to collect sums is no factor, and is added already.
            weighed = replace(setting, workspace="") if collecting else setting
            yield setting, cost * knob_factor(weighed, best)
            if threads:
                alone = replace(weighed, parallel=False)
                factor = knob_factor(alone, best)
                yield replace(setting, parallel=False), cost * factor


def packing_of(
    candidate: Candidate, problem: Problem, statistics: Statistics
) -> Packing | None:
    """Return what a candidate's kernel may pack, with the usual workspace."""
    shape, order = shape_of(problem), candidate.order
    kinds = workspace_kinds(order, candidate.choice, shape, problem)
    if kinds[:1] != ("registers",):
        return None
    return packing(order, shape, problem, statistics, TILE_BYTES)


def best_knobs(
    candidate: Candidate, problem: Problem, statistics: Statistics
) -> tuple[Knobs, float]:
    """Return the settings that the scheduler takes, and the kernel's cost with them."""
    best, order = Knobs(), candidate.order
    if not statistics.known or not order:
        return best, candidate.cost
    shape = shape_of(problem)
    kinds = workspace_kinds(order, candidate.choice, shape, problem)
    if kinds[:1] == ("registers",):
        packed = packing(order, shape, problem, statistics, TILE_BYTES)
        if packed is not None and packed.saving > 0:
            # What was packed a moment ago is near.
            best = replace(best, pack=True, prefetch=0)
            return best, _packed_cost(candidate, packed)
        if is_near(order, shape, problem, statistics):
            best = replace(best, prefetch=0)
        if _few_narrow_rows(order, shape, problem, statistics):
            best = replace(best, sums=1)
    elif not kinds and walks_one(order[-1], shape, problem):
        best = replace(best, sums=_sums(order, shape, problem, statistics))
    return best, candidate.cost


def cost_with(
    knobs: Knobs,
    candidate: Candidate,
    problem: Problem,
    statistics: Statistics,
    vector_bytes: int,
) -> float:
    """Return the kernel's cost with some of `knob_settings`."""
    best, cost = best_knobs(candidate, problem, statistics)
    if knobs == best:
        return cost
    found = knob_settings(candidate, problem, statistics, vector_bytes)
    return next((cost for made, cost in found if made == knobs), candidate.cost)


def _sums(
    order: Sequence[str], shape: Shape, problem: Problem, statistics: Statistics
) -> int:
    """Return how many sums side by side suit the mean length of the innermost loop."""
    length = loop_length(shape.merged, order[-1], order, problem, statistics)
    return next((sums for longest, sums in _SUMS_OF if length < longest), _MOST_SUMS)


def _few_narrow_rows(
    order: Sequence[str], shape: Shape, problem: Problem, statistics: Statistics
) -> bool:
    """Tell whether the loop around a tile adds up a few rows of few elements."""
    *_, around, inner = order
    itemsize = np.dtype(computed_dtype(problem.output.dtype)).itemsize
    if statistics.extent(inner) * itemsize >= _NARROW_ROW:
        return False
    if not walks_one(around, shape, problem):
        return False
    return loop_length(shape.merged, around, order, problem, statistics) < _SHORT


def _packed_cost(candidate: Candidate, packed: Packing) -> float:
    """Return what a packed kernel costs: never less than a tenth of the other."""
    return max(0.1 * candidate.cost, candidate.cost - packed.saving)


def _collecting_settings(candidate: Candidate) -> Iterator[Knobs]:
    """Yield the settings with another of the workspaces that list coordinates."""
    for kind, _ in candidate.collecting[1:]:
        yield Knobs(workspace=kind)


def _loop_settings(
    order: Sequence[str],
    choice: Choice,
    shape: Shape,
    problem: Problem,
    vector_bytes: int,
) -> Iterator[Knobs]:
    kinds = workspace_kinds(order, choice, shape, problem)
    yield Knobs()
    for number, kind in enumerate(kinds):
        if kind == "registers":
            yield from _tile_settings(order, shape, problem, vector_bytes)
        elif number and choice.way is not Assembly.APPEND:
            yield Knobs(workspace=kind)
    if kinds or len(shape.terms) != 1:
        return
    inner = order[-1]
    if shape.ops == ("add",) and can_reduce_in_vectors(
        inner, order, shape.merged, problem
    ):
        yield Knobs(vector=False)
        if sums_side_by_side(order, shape, problem):
            yield Knobs(sums=1)
    elif walks_one(inner, shape, problem):
        yield from (Knobs(sums=sums) for sums in (1, 2, 8))


def _tile_settings(
    order: Sequence[str], shape: Shape, problem: Problem, vector_bytes: int
) -> Iterator[Knobs]:
    gathers = len(walked_at(shape.merged, order[-2], problem)[0]) == 1
    for tile_bytes in (TILE_BYTES, TILE_BYTES // 2, 2 * TILE_BYTES):
        if tile_bytes < vector_bytes:
            continue
        prefetches = (PREFETCH_DISTANCE, 0, 2 * PREFETCH_DISTANCE) if gathers else (8,)
        for prefetch in prefetches:
            for sums in (SUMS, 1) if gathers else (SUMS,):
                knobs = Knobs(tile_bytes=tile_bytes, prefetch=prefetch, sums=sums)
                if knobs != Knobs():
                    yield knobs


def knob_factor(knobs: Knobs, best: Knobs) -> float:
    """Return the estimated factor on a kernel's cost beside the best settings.

    That of packing is no such factor: it depends on sizes.
    """
    factor = 1.0
    if not knobs.parallel:
        factor *= COSTS["serial"]
    if knobs.workspace:
        factor *= COSTS[knobs.workspace]
    if not knobs.vector:
        factor *= COSTS["leaf"] / COSTS["vector"]
    if knobs.sums != best.sums:
        waits = knobs.sums == 1 < best.sums
        factor *= COSTS["waiting"] if waits else _NEAR
    if knobs.prefetch != best.prefetch:
        factor *= _NEAR
    if knobs.tile_bytes != best.tile_bytes:
        factor *= _NEAR
    return factor
