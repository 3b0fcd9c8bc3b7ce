"""Results that are made of a list's own entries."""

from sparray.compiler.kernel_facts.appending import (
    append_groups,
    copied_in_order,
    located_prefix,
)
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.format_facts import is_coordinate_list

__all__ = ["keeps_entries"]


def keeps_entries(problem: Problem, way: Assembly) -> bool:
    """Tell whether a result's fibres are runs of a list's entries, none repeated.

    Then nothing is left to fill once the entries are counted: the result has the
    list's last coordinates and its values.
    """
    spec, output = copied_in_order(problem, way), problem.output
    if spec is None:
        return False
    prefix = located_prefix(output)
    return (
        is_coordinate_list(spec.format)
        and spec.format.is_sorted
        and append_groups(output) == ((prefix,),)
        and output.format.n_levels == prefix + 1 > 1
        and output.format.levels[-1].roles == spec.format.levels[0].roles
    )
