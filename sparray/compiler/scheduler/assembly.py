"""Choose how a result is assembled under a loop order."""

from collections.abc import Mapping, Sequence

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.appending import append_groups, located_prefix
from sparray.compiler.levels import (
    collapse,
    level_index,
    loop_parts,
    may_miss,
    n_levels,
)
from sparray.compiler.merge_lattice import lattice
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.format_facts import (
    can_allot,
    can_assemble,
    can_place,
    has_blocks,
    is_coordinate_list,
    takes_parts,
)
from sparray.compiler.scheduler.loop_order import first_reduction
from sparray.compiler.scheduler.walks import walked_at
from sparray.formats.format import Format
from sparray.formats.level_expression import Difference, Quotient
from sparray.records import dataclass

__all__ = [
    "Choice",
    "block_parts",
    "choose_assembly",
    "indices_inside",
]


@dataclass(frozen=True, slots=True)
class Choice:
    """A way of assembly, the reason for it, and the operand it inherits from.

    ``way`` is None where the entries do not come in any order that the result's
    levels could take, so that they must be sorted in between.
    """

    way: Assembly | None
    reason: str
    source: str | None = None


def choose_assembly(
    value: Expr,
    order: Sequence[str],
    reduced: frozenset[str],
    problem: Problem,
    split: Mapping[str, tuple[str, ...]] | None = None,
) -> Choice:
    """Choose the way of assembly for an order of the loops.

    Parameters
    ----------
    value : Expr
        What is computed, its reductions' terms in place of the reductions.
    order : sequence of str
        Every index, outermost first.
    reduced : frozenset of str
        The indices that are summed over.
    problem : Problem
        Formats; the target is a `names.OUTPUT`.
    split : mapping of str to tuple of str, optional
        Indices whose loops are split, though no level stores their parts.
    """
    spec, target = problem.output, problem.assignment.target
    if spec.format.is_dense and spec.format.is_plain:
        return Choice(Assembly.INSERT, "every level of the result is located")
    source = _inherited(value, order, reduced, problem)
    if source is not None:
        return Choice(
            Assembly.INHERIT, f"the result has the pattern of {source}", source
        )
    placed = _in_any_order(order, reduced, problem)
    if placed is not None:
        return placed
    appended = [
        level_index(spec, target, depth)
        for group in append_groups(spec)
        for depth in group
    ]
    if not can_assemble(spec.format):
        return _into_parts(value, order, problem)
    parts = {**loop_parts(accesses(value), problem.specs), **(split or {})}
    order = collapse(order, parts)
    reduced = reduced | {whole for whole, made in parts.items() if set(made) <= reduced}
    after = indices_inside(order, reduced)
    if is_coordinate_list(spec.format) and not spec.format.is_sorted:
        if not after or not spec.format.unique:
            return Choice(Assembly.APPEND, "the result takes entries in any order")
        return Choice(None, "the same coordinates come more than once")
    kept = [index for index in order if index not in reduced]
    # A column that follows from diagonals comes again for each of them.
    visited = set(kept) == set(target.indices)
    in_order = visited and kept[len(kept) - len(appended) :] == appended
    if in_order and (not after or after == appended[-1:]):
        return Choice(Assembly.APPEND, "entries come in the result's order")
    # From one diagonal to the next a row's columns ascend, a column's rows descend.
    if not after and (visited or _is_column(appended[-1], parts)):
        return _into_fibres(spec, appended)
    return Choice(None, "entries come in an order that the result cannot take")


def _into_fibres(spec: TensorSpec, appended: Sequence[str]) -> Choice:
    """Choose how a result is made of fibres whose entries come in order."""
    one_level = len(appended) == 1 and located_prefix(spec) >= 1
    if not one_level or not spec.format.levels[-1].unique:
        return Choice(None, "entries come in an order that the result cannot take")
    return Choice(
        Assembly.SCATTER,
        f"each fibre along {appended[0]} gets its entries in order, one at a time",
    )


def _in_any_order(
    order: Sequence[str], reduced: frozenset[str], problem: Problem
) -> Choice | None:
    """Choose how a result is made whose entries may come in any order, if it is one."""
    spec = problem.output
    if can_place(spec.format):
        return Choice(
            Assembly.PLACE, "every level of the result has room for all entries"
        )
    if can_allot(spec.format):
        if problem.prune or not any(level.bounded for level in spec.format.levels):
            return Choice(
                Assembly.ALLOT,
                "levels of the result get room once it is counted what they hold",
            )
        return Choice(None, "zeros have no slots of their own")
    return _into_blocks(order, reduced, problem)


def _into_parts(value: Expr, order: Sequence[str], problem: Problem) -> Choice:
    """Choose how a copy becomes a result that gives slots to parts of a dimension.

    Whatever the order of the others, a part's coordinates ascend where the loop runs
    over the whole dimension.
    """
    spec, target = problem.output, problem.assignment.target
    if not takes_parts(spec.format):
        return Choice(None, "a located level stands below an appended one")
    if not problem.prune:
        return Choice(None, "zeros have no slots of their own")
    parts = loop_parts(accesses(value), problem.specs)
    if sorted(collapse(order, parts)) != sorted(target.indices):
        return Choice(None, "entries come in an order that the result cannot take")
    return Choice(
        Assembly.SCATTER,
        "each part of a fibre gets its entries in order, one at a time",
    )


def block_parts(problem: Problem) -> dict[str, tuple[str, ...]]:
    """Return the indices whose loops must run over parts where a result has blocks.

    Its units are the blocks of its located prefix, which the outermost loops visit; or
    the outermost loop visits the blocks of all units, one coordinate after the other,
    as an operand stores them.
    """
    spec, target = problem.output, problem.assignment.target
    if not has_blocks(spec.format):
        return {}
    prefix = located_prefix(spec)
    split = spec.format.expressions[:prefix]
    appended = spec.format.expressions[prefix]
    if prefix and _outermost(problem) == target.indices[appended.dimension]:
        split = (appended,)
    parts: dict[str, tuple[str, ...]] = {}
    for expression in split:
        if isinstance(expression, Quotient):
            index, block = target.indices[expression.dimension], expression.block
            parts[index] = names.quotient(index, block), names.remainder(index, block)
    return parts


def _outermost(problem: Problem) -> str | None:
    """Return the index that a copy's operand stores outermost, whole or in blocks."""
    value = problem.assignment.value
    if not isinstance(value, Access) or value.tensor not in problem.specs:
        return None
    spec = problem.specs[value.tensor]
    if n_levels(spec) == 0 or not spec.format.levels[0].full:
        return None
    return names.whole(level_index(spec, value, 0))


def _into_blocks(
    order: Sequence[str], reduced: frozenset[str], problem: Problem
) -> Choice | None:
    """Choose how a result with blocks takes entries; None for any other result."""
    if not has_blocks(problem.output.format):
        return None
    if _takes_blocks(order, reduced, problem):
        return Choice(
            Assembly.BLOCKS,
            "the result stores blocks: they are listed, then filled in any order",
        )
    if _scatters_blocks(order, problem):
        return Choice(
            Assembly.SCATTER,
            f"each unit gets its blocks in order along {order[0]}, one at a time",
        )
    return None


def _scatters_blocks(order: Sequence[str], problem: Problem) -> bool:
    """Tell whether a copy meets the blocks of every unit in order, each once.

    The outermost loop is over their coordinates, and no entry comes twice.
    """
    spec, value = problem.output, problem.assignment.value
    prefix = located_prefix(spec)
    if not prefix or not isinstance(value, Access):
        return False
    source = problem.specs[value.tensor].format
    return (
        order[0] == level_index(spec, problem.assignment.target, prefix)
        and source.unique
        and source.levels[0].ordered
        and not any(isinstance(e, Difference) for e in spec.format.expressions)
    )


def _takes_blocks(
    order: Sequence[str], reduced: frozenset[str], problem: Problem
) -> bool:
    """Tell whether the outermost loops visit the units of a result with blocks."""
    spec, target = problem.output, problem.assignment.target
    prefix = located_prefix(spec)
    units = {level_index(spec, target, depth) for depth in range(prefix)}
    return set(order[:prefix]) == units and not units & reduced


def _is_column(index: str, parts: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether an index follows from diagonals, and no other from its parts."""
    made = parts.get(index, ())
    return len(parts) == 1 and any(
        isinstance(names.derived(part), names.Diagonal) for part in made
    )


def indices_inside(order: Sequence[str], reduced: frozenset[str]) -> list[str]:
    """Return the target's indices whose loops stand inside a reduction's."""
    inside = order[first_reduction(order, reduced) :]
    return [index for index in inside if index not in reduced]


def _inherited(
    value: Expr, order: Sequence[str], reduced: frozenset[str], problem: Problem
) -> str | None:
    """Return the operand whose pattern is that of the result, if there is one."""
    target = problem.assignment.target
    if indices_inside(order, reduced):
        return None
    for access in dict.fromkeys(accesses(value)):
        spec = problem.specs[access.tensor]
        if _transposed(access, spec, target) != problem.output.format:
            continue
        if not spec.format.unique or spec.index_dtype != problem.output.index_dtype:
            continue
        if _decides_alone(access, value, order, reduced, problem):
            return access.tensor
    return None


def _transposed(access: Access, spec: TensorSpec, target: Access) -> Format | None:
    """Return the format of an operand's buffers with the target's dimensions."""
    if access.indices == target.indices:
        return spec.format
    if sorted(access.indices) != sorted(target.indices):
        return None
    return spec.format.permuted([access.indices.index(i) for i in target.indices])


def _decides_alone(
    access: Access,
    value: Expr,
    order: Sequence[str],
    reduced: frozenset[str],
    problem: Problem,
) -> bool:
    for other in accesses(value):
        # A located level may hold nothing where the source has an entry.
        if other != access and may_miss(problem.specs[other.tensor], other):
            return False
    if may_miss(problem.specs[access.tensor], access):
        # No loop walks it: whether there is work where it has no entry, as in the sum
        # with a dense operand, is not seen below.
        alone = (frozenset([access]),)
        if lattice(value, [access], problem.absence) != alone:
            return False
    for index in order:
        walked, points = walked_at(value, index, problem)
        if index in reduced and walked:
            return False
        if any(other != access for other in walked):
            return False
        if walked and points != (frozenset([access]),):
            return False
    return True
