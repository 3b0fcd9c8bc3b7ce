"""Which levels of a result are appended to, and which of them are kept as they are."""

from itertools import takewhile

from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import level_index
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.schedule.assemble import Assembly
from sparray.formats.format import Format
from sparray.formats.level import Locatable, PositionIterable

__all__ = [
    "append_groups",
    "appended_levels",
    "copied_in_order",
    "keeps_fibres_apart",
    "keeps_leaf",
    "located_prefix",
]


def located_prefix(spec: TensorSpec) -> int:
    """Return the number of leading levels that are located."""
    depth = 0
    for level in spec.format.levels:
        if not isinstance(level, Locatable):
            break
        depth += 1
    return depth


def appended_levels(spec: TensorSpec) -> tuple[int, ...]:
    """Return the levels after the located prefix, up to the next located one."""
    first = located_prefix(spec)
    levels = enumerate(spec.format.levels[first:], first)
    return tuple(
        depth
        for depth, _ in takewhile(lambda x: not isinstance(x[1], Locatable), levels)
    )


def append_groups(spec: TensorSpec) -> tuple[tuple[int, ...], ...]:
    """Return the appended levels in groups that share a cursor."""
    groups: list[tuple[int, ...]] = []
    for depth in appended_levels(spec):
        level = spec.format.levels[depth]
        if level.branchless and groups:
            groups[-1] = (*groups[-1], depth)
        else:
            groups.append((depth,))
    return tuple(groups)


def copied_in_order(problem: Problem, way: Assembly) -> TensorSpec | None:
    """Return the operand whose entries a result appends just as they are, if so."""
    if way is not Assembly.APPEND or problem.prune or len(problem.operands) != 1:
        return None
    ((_, spec),), output = problem.operands, problem.output
    value, target = problem.assignment.value, problem.assignment.target
    same = (
        isinstance(value, Access)
        and value.indices == target.indices
        and spec.dtype == output.dtype
        and spec.format.order == output.format.order
    )
    return spec if same else None


def keeps_leaf(problem: Problem, way: Assembly) -> bool:
    """Tell whether a result has an operand's innermost coordinates and its values.

    So does a copy whose fibres are listed another way, as CSR and DCSR list them: all
    entries are the same, in the same order, and only the levels above are made.
    """
    spec, output = copied_in_order(problem, way), problem.output
    if spec is None:
        return False
    leaf = append_groups(output)[-1]
    return (
        len(leaf) == 1 == output.format.n_levels - leaf[0]
        and spec.format.levels[-1] == output.format.levels[-1]
        and all(map(_lists_fibres, (spec.format, output.format)))
    )


def _lists_fibres(format: Format) -> bool:
    """Tell whether each entry has one position, in the order of the coordinates."""
    *_, leaf = format.levels
    return (
        format.is_plain
        and format.batch_ndim == 0
        and isinstance(leaf, PositionIterable)
        and leaf.compact
        and not leaf.branchless
        and all(level.unique and level.ordered for level in format.levels)
    )


def keeps_fibres_apart(outermost: str, problem: Problem, way: Assembly) -> bool:
    """Tell whether all entries of a scattered fibre come in one step of a loop."""
    spec, target = problem.output, problem.assignment.target
    prefix = range(located_prefix(spec))
    return way is Assembly.SCATTER and outermost in {
        level_index(spec, target, depth) for depth in prefix
    }
