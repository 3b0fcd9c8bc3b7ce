"""Enumerate the ways to compute a problem by one kernel and conversions around it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import inf, prod

from sparray.compiler.cin.concretize import split_reductions
from sparray.compiler.index_notation.affine import bases
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.simplify import (
    accesses,
    contains_reduce,
    free_indices,
)
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import (
    Candidate,
    best_candidate,
    candidate_in,
)
from sparray.compiler.scheduler.contraction import occupied
from sparray.compiler.scheduler.conversions import (
    conversion_cost,
    is_direct,
    least_conversion_cost,
)
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.format_facts import is_coordinate_list
from sparray.compiler.scheduler.loop_order import constraints, violated
from sparray.compiler.scheduler.merging import gather_cost, sort_cost, takes_table
from sparray.compiler.scheduler.result_size import result_entries, result_products
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.temporaries import (
    coordinate_list,
    reordered,
    sorted_spec,
)
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import Locatable
from sparray.records import dataclass

__all__ = [
    "HOPELESS",
    "Judge",
    "Option",
    "options",
]

HOPELESS = 3.0
"""What costs that many times as much is not looked at, where only the best way is
asked for."""

Judge = Callable[[Problem, Statistics, float], Iterable[Candidate]]
"""Picks the loop orders that are looked at for a kernel."""

_MOST_REORDERED = 4
_MOST_PERMUTED = 5
_ROWS_PER_ENTRY = 8
"""Rows per stored entry up to which a row of its own for each is worth its place."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to compute a problem.

    Attributes
    ----------
    problem : Problem
        What the kernel computes: some specs may differ from the original ones.
    statistics : Statistics
        Of its operands, in the formats that the kernel gets.
    candidate : Candidate
        The kernel's loop order and way of assembly.
    cost : float
        Conversions included.
    convert : mapping of str to TensorSpec
        What operands are converted to first.
    final : TensorSpec or None
        What the kernel's result is converted to.
    sort : bool
        The kernel's result is a list of coordinates, to be sorted before that.
    table : bool
        What is repeated in that list is added up in a hash table first.
    """

    problem: Problem
    statistics: Statistics
    candidate: Candidate
    cost: float
    convert: Mapping[str, TensorSpec]
    final: TensorSpec | None = None
    sort: bool = False
    table: bool = False


def _best(problem: Problem, statistics: Statistics, most: float) -> list[Candidate]:
    """Look at the cheapest loop order only, if it may cost no more than ``most``."""
    found = best_candidate(problem, statistics, most)
    return [] if found is None else [found]


def options(
    problem: Problem,
    statistics: Statistics,
    *,
    direct_only: bool = False,
    judge: Judge = _best,
    hopeless: float = HOPELESS,
) -> Iterator[Option]:
    """Yield ways to compute a problem by one kernel.

    Parameters
    ----------
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of its operands.
    direct_only : bool
        Yield conversions of a single kernel only, where there are any: while a
        conversion is planned, so that planning ends.
    judge : callable
        Which loop orders of each kernel to look at: `candidates` for all of them. By
        default the cheapest one.
    hopeless : float
        What costs that many times what a kernel without any conversion does is not
        looked at.
    """
    found, most = False, inf
    for candidate in judge(problem, statistics, inf):
        found = True
        most = min(most, hopeless * candidate.cost)
        yield Option(problem, statistics, candidate, candidate.cost, {})
    if found and (direct_only or _is_copy(problem)):
        # What converts a copy's operand first does the work of the copy, and again.
        return
    for option in _with_conversions(problem, statistics, direct_only, judge, most):
        found = True
        yield option
    if not found and not direct_only:
        yield from _all_converted(problem, statistics)


def _is_copy(problem: Problem) -> bool:
    """Tell whether a result has an operand's entries, with dimensions in any order."""
    value, target = problem.assignment.value, problem.assignment.target
    return isinstance(value, Access) and sorted(value.indices) == sorted(target.indices)


def _with_conversions(
    problem: Problem,
    statistics: Statistics,
    direct_only: bool,
    judge: Judge,
    most: float,
) -> Iterator[Option]:
    """Yield the options with a conversion, which alone may cost up to ``most``."""
    yield from _converted_operands(problem, statistics, direct_only, judge, most)
    yield from _laid_out_operands(problem, statistics, judge, most)
    if problem.output.format.is_dense and contains_reduce(problem.assignment.value):
        yield from _laid_out_result(problem, statistics, judge, most)
    if not problem.output.format.is_dense:
        products = result_products(problem, statistics)
        entries = result_entries(problem, statistics)
        if least_conversion_cost(entries) <= most:
            yield from _converted_result(
                problem, statistics, direct_only, entries, judge, most
            )
        yield from _sorted_result(problem, statistics, products, judge, most)


def _converted_operands(
    problem: Problem,
    statistics: Statistics,
    direct_only: bool,
    judge: Judge,
    most: float,
) -> Iterator[Option]:
    """Yield an option for each other way to store each sparse operand."""
    for access in accesses(problem.assignment.value):
        name, spec = access.tensor, problem.specs[access.tensor]
        if not 2 <= spec.format.ndim <= _MOST_REORDERED or spec.format.is_dense:
            continue
        stored = statistics.positions[name][-1]
        if least_conversion_cost(stored) > most:
            continue
        others = [*_other_orders(spec)]
        if not direct_only:
            others += _located_first(access, spec, statistics)
        for other in others:
            if direct_only and not is_direct(statistics, spec, other):
                continue
            changed, sizes = _respecified(problem, statistics, {name: other})
            around = conversion_cost(statistics, spec, other, stored)
            for candidate in judge(changed, sizes, most - around):
                cost = candidate.cost + around
                yield Option(changed, sizes, candidate, cost, {name: other})


def _laid_out_operands(
    problem: Problem, statistics: Statistics, judge: Judge, most: float
) -> Iterator[Option]:
    """Yield an option for each sum's index: dense operands with it innermost.

    A sum along contiguous memory runs in vector instructions; one that jumps from row
    to row misses the cache at each step.
    """
    _, reductions = split_reductions(problem.assignment.value)
    for index in dict.fromkeys(i for item in reductions for i in item.reduce.indices):
        convert = _laid_out_along(index, problem)
        if not convert:
            continue
        changed, sizes = _respecified(problem, statistics, convert)
        moved = _transposed(convert, statistics)
        for candidate in judge(changed, sizes, most - moved):
            cost = candidate.cost + moved
            yield Option(changed, sizes, candidate, cost, convert)


def _laid_out_result(
    problem: Problem, statistics: Statistics, judge: Judge, most: float
) -> Iterator[Option]:
    """Yield an option for each index of a dense result: all that has it innermost.

    Where every operand with that index is dense, each entry of the others is multiplied
    by vectors along it, whose sums stay in registers; the result is transposed after.
    """
    target, output = problem.assignment.target, problem.output
    order, read = output.format.order, accesses(problem.assignment.value)
    for dimension in order[:-1]:
        index = target.indices[dimension]
        having = [access for access in read if index in free_indices(access)]
        if not having or target.indices.count(index) != 1:
            continue
        if not all(problem.specs[a.tensor].format.is_dense for a in having):
            continue
        convert = _laid_out_along(index, problem)
        laid_out = reordered(output, [n for n in order if n != dimension] + [dimension])
        changed, sizes = _respecified(problem, statistics, convert)
        changed = replace(changed, output=laid_out)
        elements = prod(statistics.extent(each) for each in target.indices)
        moved = _transposed(convert, statistics)
        moved += COSTS["step"] + COSTS["transpose"] * elements
        for candidate in judge(changed, sizes, most - moved):
            cost = candidate.cost + moved
            yield Option(changed, sizes, candidate, cost, convert, output)


def _laid_out_along(index: str, problem: Problem) -> dict[str, TensorSpec]:
    """Return the dense operands that have an index elsewhere, with it innermost."""
    convert = {}
    for access in accesses(problem.assignment.value):
        spec = problem.specs[access.tensor]
        if not spec.format.is_dense or access.indices.count(index) != 1:
            continue
        at = access.indices.index(index)
        if spec.format.order[-1] != at:
            order = [n for n in spec.format.order if n != at]
            convert[access.tensor] = reordered(spec, [*order, at])
    return convert


def _transposed(convert: Mapping[str, TensorSpec], statistics: Statistics) -> float:
    """Return what it costs to copy dense operands in other orders."""
    elements = sum(statistics.positions[name][-1] for name in convert)
    return COSTS["step"] * len(convert) + COSTS["transpose"] * elements


def _converted_result(
    problem: Problem,
    statistics: Statistics,
    direct_only: bool,
    entries: float,
    judge: Judge,
    most: float,
) -> Iterator[Option]:
    """Yield an option for each other order of the result's levels."""
    output = problem.output
    if output.format.ndim > _MOST_REORDERED:
        return
    for other in _other_orders(output):
        if direct_only and not is_direct(statistics, other, output):
            continue
        changed = replace(problem, output=other)
        around = conversion_cost(statistics, other, output, entries)
        for candidate in judge(changed, statistics, most - around):
            cost = candidate.cost + around
            yield Option(changed, statistics, candidate, cost, {}, output)


def _sorted_result(
    problem: Problem,
    statistics: Statistics,
    products: float,
    judge: Judge,
    most: float,
) -> Iterator[Option]:
    """Yield the options to collect the result's entries in a list and sort them.

    Those that are repeated meet in the sorted list, or, where that is cheaper, in a
    hash table before that.
    """
    output = problem.output
    if is_coordinate_list(output.format) and not output.format.is_sorted:
        return
    repeated = contains_reduce(problem.assignment.value)
    listed = coordinate_list(output, unique=not repeated)
    if not is_direct(statistics, sorted_spec(listed), output):
        return
    table, cost = _merging(problem, statistics, products, repeated)
    # The list is sorted, and the result taken from there.
    cost += 2 * COSTS["step"]
    if cost > most:
        return
    changed = replace(problem, output=listed)
    found = [
        Option(changed, statistics, one, one.cost, {}, output, True)
        for one in judge(changed, statistics, most - cost)
    ]
    if repeated:
        found += [
            replace(option, final=output, sort=True)
            for option in _converted_operands(
                changed, statistics, False, judge, most - cost
            )
        ]
    for option in found:
        yield replace(option, cost=option.cost + cost, table=table)


def _merging(
    problem: Problem, statistics: Statistics, entries: float, repeated: bool
) -> tuple[bool, float]:
    """Return whether repeated entries meet in a table, and what that costs."""
    by_sort = sort_cost(entries)
    if not repeated:
        return False, by_sort
    indices = problem.assignment.target.indices
    places = prod(statistics.extent(index) for index in indices)
    by_table = gather_cost(entries, occupied(entries, places))
    table = takes_table(by_table, by_sort, statistics.merging)
    return table, by_table if table else by_sort


def _all_converted(problem: Problem, statistics: Statistics) -> Iterator[Option]:
    """Yield an option for each order of the loops, all operands converted to it."""
    read = accesses(problem.assignment.value)
    for order in _orders(problem):
        convert = {}
        for access in read:
            spec = problem.specs[access.tensor]
            plain = spec.format.is_plain
            if not plain or violated(order, constraints(access, spec, order)):
                dimensions = range(spec.format.ndim)
                wanted = sorted(dimensions, key=_places(access, order).__getitem__)
                convert[access.tensor] = reordered(spec, wanted)
        changed, sizes = _respecified(problem, statistics, convert)
        candidate = candidate_in(order, changed, sizes)
        if not isinstance(candidate, str):
            cost = sum(
                conversion_cost(
                    *(statistics, problem.specs[name], wanted),
                    statistics.positions[name][-1],
                )
                for name, wanted in convert.items()
            )
            cost += candidate.cost
            yield Option(changed, sizes, candidate, cost, convert)


def _orders(problem: Problem) -> Iterator[tuple[str, ...]]:
    """Yield orders of all loops; one of them suits any result."""
    target = problem.assignment.target
    stored = [
        target.indices[dimension] for dimension in problem.output.format.dimension_order
    ]
    _, reductions = split_reductions(problem.assignment.value)
    summed = dict.fromkeys(i for item in reductions for i in item.reduce.indices)
    order = (*stored, *summed)
    if len(order) > _MOST_PERMUTED:
        yield order
        return
    yield from permutations(order)


def _places(access: Access, order: Sequence[str]) -> list[int]:
    """Return where the coordinates of an access become known in an order of loops."""
    return [
        max((order.index(index) for index in bases(coordinate)), default=-1)
        for coordinate in access.indices
    ]


def _respecified(
    problem: Problem, statistics: Statistics, specs: Mapping[str, TensorSpec]
) -> tuple[Problem, Statistics]:
    """Return a problem with operands in other formats, and its statistics."""
    operands = tuple((name, specs.get(name, old)) for name, old in problem.operands)
    changed = replace(problem, operands=operands)
    return changed, statistics.respecified(accesses(problem.assignment.value), specs)


def _other_orders(spec: TensorSpec) -> Iterator[TensorSpec]:
    order = spec.format.dimension_order
    for permuted in permutations(order):
        other = reordered(spec, permuted)
        if other != spec:
            yield other


def _located_first(
    access: Access, spec: TensorSpec, statistics: Statistics
) -> Iterator[TensorSpec]:
    """Yield specs whose outermost level is located, where that one is not.

    A loop inside another one then finds a row, instead of walking past all of them.
    Not where there are far fewer entries than rows.
    """
    format = spec.format
    if isinstance(format.levels[0], Locatable):
        return
    levels = (Dense(), *[Compressed()] * (format.ndim - 1))
    stored = statistics.positions[access.tensor][-1]
    for order in permutations(format.dimension_order):
        rows = statistics.extents[access.indices[order[0]]]
        if rows <= _ROWS_PER_ENTRY * stored:
            yield replace(spec, format=Format(levels, order))
