"""Levels without an order: where loops may walk them as they are."""

from collections.abc import Iterator, Sequence

from sparray.compiler import names
from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.levels import is_known_above, level_index
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.loop_order import first_reduction
from sparray.compiler.scheduler.shape import Shape
from sparray.compiler.scheduler.walks import walked_at
from sparray.formats.level import Locatable

__all__ = ["takes_any_order"]


def takes_any_order(
    order: Sequence[str], shape: Shape, choice: Choice, problem: Problem
) -> bool:
    """Tell whether nothing depends on the order in which unordered levels come.

    Parameters
    ----------
    order : sequence of str
        Every loop, outermost first.
    shape : Shape
        Of the problem.
    choice : Choice
        How the result is assembled.
    problem : Problem
        What is computed.

    Notes
    -----
    A loop that merges operands needs their coordinates to ascend; one that walks a
    single operand, and has work where that has entries, does not. A result that is
    appended to needs it for its ordered levels, unless a list workspace, which is
    sorted, stands in between. Coordinates that come more than once, and not side by
    side, are for a result that can have them more than once.
    """
    for access, depth in _unordered(shape, problem):
        spec = problem.specs[access.tensor]
        index = level_index(spec, access, depth)
        if is_known_above(spec, access, depth) or is_affine(index):
            # It is searched by halves, for a coordinate or for where a window begins.
            return False
        if not spec.format.levels[depth].unique and problem.output.format.unique:
            return False
        is_early = index in order[: first_reduction(order, frozenset(shape.reduced))]
        if is_early and _is_appended(index, choice, problem):
            return False
        if not is_early and access in accesses(shape.value):
            # It meets the workspace of what is summed.
            return False
        if not _needs_alone(access, index, is_early, shape, problem):
            return False
    return True


def _needs_alone(
    access: Access, index: str, is_early: bool, shape: Shape, problem: Problem
) -> bool:
    """Tell whether loops over an index have work where one operand has entries.

    Each sum has loops of its own, in which nothing may be added where it has none.
    """
    absence = problem.absence
    if is_early:
        rest = absence.without(problem.assignment.value, [access])
        values, leaves = [shape.merged], absence.is_constant(rest)
    else:
        sums = [
            (term, op)
            for term, op in zip(shape.terms, shape.ops, strict=True)
            if access in accesses(term)
        ]
        values = [term for term, _ in sums]
        leaves = all(
            absence.leaves("", op, absence.without(term, [access])) for term, op in sums
        )
    return leaves and all(
        walked_at(value, index, problem) == ([access], (frozenset([access]),))
        for value in values
    )


def _unordered(shape: Shape, problem: Problem) -> Iterator[tuple[Access, int]]:
    """Yield each level in no order that is walked or searched: access and depth."""
    for access in dict.fromkeys(accesses(shape.merged)):
        for depth, level in enumerate(problem.specs[access.tensor].format.levels):
            if not level.ordered and not isinstance(level, Locatable):
                yield access, depth


def _is_appended(index: str, choice: Choice, problem: Problem) -> bool:
    """Tell whether an ordered level of the result gets what a loop visits."""
    if choice.way not in (Assembly.APPEND, Assembly.SCATTER):
        return False
    whole = names.whole(index)
    spec, target = problem.output, problem.assignment.target
    return any(
        level.ordered
        and not isinstance(level, Locatable)
        and level_index(spec, target, depth) == whole
        for depth, level in enumerate(spec.format.levels)
    )
