"""Results that are made of a list's own entries."""

from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.lower.append import append_groups, located_prefix
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.temporaries import is_coordinate_list

__all__ = ["keeps_entries"]


def keeps_entries(problem: Problem, way: Assembly) -> bool:
    """Tell whether a result's fibres are runs of a list's entries, none repeated.

    Then nothing is left to fill once the entries are counted: the result has the
    list's last coordinates and its values.
    """
    if way is not Assembly.APPEND or problem.prune or len(problem.operands) != 1:
        return False
    ((_, spec),), output = problem.operands, problem.output
    prefix = located_prefix(output)
    return (
        isinstance(problem.assignment.value, Access)
        and problem.assignment.value.indices == problem.assignment.target.indices
        and is_coordinate_list(spec.format)
        and spec.format.is_sorted
        and spec.format.order == output.format.order
        and spec.dtype == output.dtype
        and append_groups(output) == ((prefix,),)
        and output.format.n_levels == prefix + 1 > 1
        and output.format.levels[-1].roles == spec.format.levels[0].roles
    )
