"""What can hold the sums of loops that stand inside those of a reduction."""

from collections.abc import Sequence

from sparray.compiler import names
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.schedule.collect import COLLECTED
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.candidates import Candidate
from sparray.compiler.scheduler.collecting import is_collected
from sparray.compiler.scheduler.loop_order import first_reduction
from sparray.compiler.scheduler.shape import Shape, late_indices
from sparray.compiler.scheduler.tiling import can_tile

__all__ = ["usual_workspace", "workspace_kinds"]


def workspace_kinds(
    order: Sequence[str], choice: Choice, shape: Shape, problem: Problem
) -> tuple[str, ...]:
    """Return what can hold the sums of late loops, the usual one first.

    Empty where no loop of the target stands inside the one reduction's.
    """
    reduced = frozenset(shape.reduced)
    late = late_indices(order, reduced)
    if len(shape.terms) != 1 or not late:
        return ()
    if choice.way in (Assembly.BLOCKS, Assembly.ALLOT):
        return ("memory",)
    if choice.way is Assembly.APPEND:
        return COLLECTED if is_collected(problem.output.format) else ("memory",)
    kinds = []
    in_place = choice.way is Assembly.INSERT
    if in_place and late == [order[-1]] and can_tile(order[-1], shape.merged, problem):
        kinds.append("registers")
    if shape.copies:
        kinds.append("memory")
    # A list is over a whole index, none of whose parts stands around the sum.
    around = names.wholes(order[: first_reduction(order, reduced)])
    if len(late) == 1 and late[0] not in around:
        kinds.append("list")
    return tuple(kinds)


def usual_workspace(candidate: Candidate, kinds: Sequence[str]) -> str:
    """Return which of the kinds holds sums where nothing else is asked for.

    That is the cheapest by the sizes of the operands, where these decide.
    """
    return next((kind for kind, _ in candidate.collecting), next(iter(kinds), ""))
