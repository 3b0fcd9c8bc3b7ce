"""The parts of a problem that decisions look at, and what loop orders mean to them."""

from collections.abc import Mapping, Sequence

from sparray.compiler import names
from sparray.compiler.cin.concretize import merged_value, split_reductions
from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.appending import located_prefix
from sparray.compiler.levels import level_index, loop_parts, may_miss_at_once, n_levels
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.assembly import Choice, block_parts, indices_inside
from sparray.compiler.scheduler.walks import walked_at
from sparray.formats.allotted import Allottable
from sparray.formats.level import Preparable
from sparray.records import dataclass

__all__ = [
    "Shape",
    "late_indices",
    "parallel_index",
    "shape_of",
    "stored_order",
]


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts of an assignment that decisions look at.

    Attributes
    ----------
    value : Expr
        The right side, a workspace in place of each reduction.
    merged : Expr
        The right side, each reduction over no index: what loops merge.
    reduced : tuple of str
        Loops that reduce.
    parts : mapping of str to tuple of str
        Indices whose loops run over parts.
    terms, ops, summed : tuple
        Of each reduction: what is reduced, how, and over which indices.
    copies : bool
        Whether the right side is a single access or reduction.
    """

    value: Expr
    merged: Expr
    reduced: tuple[str, ...]
    parts: Mapping[str, tuple[str, ...]]
    terms: tuple[Expr, ...]
    ops: tuple[str, ...]
    summed: tuple[tuple[str, ...], ...]
    copies: bool


def shape_of(
    problem: Problem, split: Mapping[str, tuple[str, ...]] | None = None
) -> Shape:
    """Return the parts of a problem, whose loops may be ``split`` further."""
    return _shape(problem, split) if split else _whole_shape(problem)


@cached_by_identity(512)
def _whole_shape(problem: Problem) -> Shape:
    return _shape(problem, None)


def _shape(problem: Problem, split: Mapping[str, tuple[str, ...]] | None) -> Shape:
    assignment = problem.assignment
    value, reductions = split_reductions(assignment.value)
    merged = merged_value(value, reductions)
    reduced = dict.fromkeys(i for item in reductions for i in item.reduce.indices)
    terms = tuple(item.reduce.operand for item in reductions)
    ops = tuple(item.reduce.op for item in reductions)
    summed = tuple(item.reduce.indices for item in reductions)
    parts = loop_parts(accesses(merged), problem.specs)
    for index, made in block_parts(problem).items():
        parts.setdefault(index, made)
    parts.update(split or {})
    loops = tuple(part for i in reduced for part in parts.get(i, (i,)))
    copies = isinstance(value, Access)
    return Shape(value, merged, loops, parts, terms, ops, summed, copies)


def late_indices(order: Sequence[str], reduced: frozenset[str]) -> list[str]:
    """Return the target's indices whose loops stand inside a reduction's."""
    return list(names.wholes(indices_inside(order, reduced)))


def parallel_index(
    order: Sequence[str], shape: Shape, choice: Choice, problem: Problem
) -> str | None:
    """Return the outermost index if its loop may run on several threads."""
    if not order or order[0] in shape.reduced:
        return None
    if isinstance(names.derived(order[0]), names.Diagonal):
        return None
    if not _has_one_range(shape.merged, order[0], problem):
        return None
    output = problem.output
    if choice.way is Assembly.APPEND and located_prefix(output):
        if not output.format.levels[0].full:
            return None
    if choice.way is Assembly.ALLOT and any(
        isinstance(level, Allottable) for level in output.format.levels
    ):
        # Two threads must not insert into one table.
        outermost = level_index(output, problem.assignment.target, 0)
        if order[0] != outermost or not isinstance(output.format.levels[0], Preparable):
            return None
    if choice.way is Assembly.BLOCKS and not located_prefix(output):
        # All of the result is one unit.
        return None
    return order[0]


@cached_by_identity(1024)
def _has_one_range(merged: Expr, index: str, problem: Problem) -> bool:
    """Tell whether the outermost loop is over one range, in which all work is."""
    if any(may_miss_at_once(problem.specs[a.tensor], a) for a in accesses(merged)):
        # There are loops with the operand, and others without it.
        return False
    walked, points = walked_at(merged, index, problem)
    return not walked or (len(walked) == 1 and frozenset() not in points)


def stored_order(access: Access, problem: Problem) -> list[str]:
    """Return the index of each level of an access, outermost first."""
    spec = problem.specs[access.tensor]
    return [level_index(spec, access, depth) for depth in range(n_levels(spec))]
