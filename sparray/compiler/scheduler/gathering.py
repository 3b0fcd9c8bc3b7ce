"""Decide how the repeated coordinates of an operand meet: by sorting, or in a table."""

from dataclasses import replace
from math import prod

from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.draft import Planner
from sparray.compiler.scheduler.format_facts import is_coordinate_list
from sparray.compiler.scheduler.merging import gather_cost, sort_cost, takes_table
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import gather_step
from sparray.compiler.scheduler.temporaries import coordinate_list

__all__ = ["gather_operands"]


def gather_operands(planner: Planner) -> None:
    """Replace lists of few coordinates that are often repeated by each one's sum.

    **Rewrite**: ``A`` in any order, with repetitions → ``T1`` in the order in which its
    coordinates came first, without; where that is cheaper than to sort all entries.
    """
    problem, statistics = planner.problem, planner.statistics
    if not problem.output.format.unique:
        # It may take them as they are.
        return
    for access in accesses(problem.assignment.value):
        name, spec = access.tensor, planner.problem.specs[access.tensor]
        listed = is_coordinate_list(spec.format) and spec.format.is_plain
        if spec.format.unique or spec.format.is_sorted or not listed:
            continue
        entries = statistics.positions[name][-1]
        extents = [float(statistics.extents.get(i, 2**63)) for i in access.indices]
        distinct = min(entries, statistics.distinct.get(name, entries), prod(extents))
        gathered, sorted_ = gather_cost(entries, distinct), sort_cost(entries)
        if not takes_table(gathered, sorted_, statistics.merging):
            continue
        result, made = planner.fresh(), coordinate_list(spec, unique=True)
        planner.steps.append(gather_step(planner.bindings[name], result, spec, made))
        planner.reasons.append(
            Reason(
                f"add up the repeated coordinates of {name} in a hash table",
                f"about {distinct:.3g} of {entries:.3g} entries' coordinates differ: "
                f"{gathered:.3g} multiply-adds, and {sorted_:.3g} to sort all entries",
            )
        )
        planner.replace_operand(name, result, made)
        planner.statistics = _with_entries(planner.statistics, name, round(distinct))


def _with_entries(statistics: Statistics, name: str, entries: int) -> Statistics:
    counts = [entries] * len(statistics.positions[name])
    return replace(statistics, positions={**statistics.positions, name: counts})
