"""Why loops in an order cannot compute an expression in one kernel."""

from sparray.compiler import names
from sparray.compiler.absence import fill_of
from sparray.compiler.index_notation.apply import reduction_identity
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.kernel_facts.appending import located_prefix
from sparray.compiler.kernel_facts.workspaces import LISTED_BYTES
from sparray.compiler.levels import is_walked, level_index, n_levels
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.collecting import is_collected
from sparray.compiler.scheduler.loop_order import first_reduction
from sparray.compiler.scheduler.shape import Shape
from sparray.compiler.scheduler.statistics import Statistics

__all__ = ["refusal", "too_long"]

_ADDITIONS = frozenset({"add", "or"})
"""What combines repeated coordinates, and starts from the zeros of fresh memory."""

_LONGEST_LIST = 2**22
"""Extent up to which a list of blocks is always taken: 17 bytes each, per thread."""

_LIST_PER_PRODUCT = 16
"""Beyond it, coordinates per product up to which it is still taken."""


def refusal(
    order: tuple[str, ...],
    late: list[str],
    shape: Shape,
    choice: Choice,
    problem: Problem,
) -> str | None:
    """Return why loops of the target may not stand inside a reduction's; None if so."""
    before = order[: first_reduction(order, frozenset(shape.reduced))]
    in_place = choice.way in (Assembly.INSERT, Assembly.PLACE, Assembly.ALLOT)
    adds_in_place = in_place and shape.copies
    if set(late) & set(names.wholes(before)) and not adds_in_place:
        # Some parts of an index stand before a sum and some in it: a workspace over
        # the index would be emptied for each of the former.
        return "a workspace would be emptied for each part of an index"
    if not _can_be_late(late, shape, choice, problem):
        return f"no workspace holds the sums over {' '.join(late)}, which stands inside"
    return None


def _can_be_late(
    late: list[str], shape: Shape, choice: Choice, problem: Problem
) -> bool:
    """Tell whether loops of the target may stand inside the one reduction's."""
    if len(shape.terms) != 1 or not set(late) <= set(free_indices(shape.terms[0])):
        return False
    if _walks_parts(late, shape, problem):
        return False
    if shape.ops[0] not in _ADDITIONS:
        return _is_held(late, shape, choice, problem)
    if choice.way in (Assembly.BLOCKS, Assembly.ALLOT):
        return shape.copies
    if choice.way in (Assembly.INSERT, Assembly.PLACE):
        return shape.copies or len(late) == 1
    if not is_collected(problem.output.format):
        return shape.copies
    return choice.way is Assembly.APPEND and len(late) == 1


def _is_held(late: list[str], shape: Shape, choice: Choice, problem: Problem) -> bool:
    """Tell whether a reduction by any operator has a place to accumulate in.

    That is a list, which takes its first values as they are, or the result where it
    starts from the operator's identity. Repeated coordinates would be added up.
    """
    if choice.way is Assembly.APPEND:
        return is_collected(problem.output.format) and len(late) == 1
    if choice.way is not Assembly.INSERT:
        return False
    if not shape.copies:
        return len(late) == 1
    identity = reduction_identity(shape.ops[0], problem.output.dtype)
    return problem.has_known_fill and problem.output.fill == fill_of(identity)


def _walks_parts(late: list[str], shape: Shape, problem: Problem) -> bool:
    """Tell whether what stands outside the sum walks parts of a late index.

    The loop over what the sum has left runs over the index itself.
    """
    for access in accesses(shape.value):
        spec = problem.specs.get(access.tensor)
        if spec is None:
            continue
        for depth in range(n_levels(spec)):
            index = level_index(spec, access, depth)
            whole = names.whole(index)
            if whole != index and whole in late and is_walked(spec, access, depth):
                return True
    return False


def too_long(
    choice: Choice, problem: Problem, statistics: Statistics, iterations: float
) -> str | None:
    """Return which list would be far longer than what it collects, or None.

    Its memory grows with the extent of its index. A list of the products, sorted,
    grows with their number alone.
    """
    if choice.way is not Assembly.BLOCKS:
        return None
    depth = located_prefix(problem.output)
    target, format = problem.assignment.target, problem.output.format
    shape = [statistics.extents[index] for index in target.indices]
    extent = format.expressions[depth].extent(shape)
    each = numpy_dtype(problem.output.dtype).itemsize + LISTED_BYTES
    # Extents are known to a power of two only.
    if 2 * each * extent > statistics.workspace_bytes:
        return "a list of blocks might not fit in memory"
    if extent <= max(_LONGEST_LIST, _LIST_PER_PRODUCT * iterations):
        return None
    return "a list of blocks would be far longer than what it collects"
