"""Which loops can run over the positions of an operand."""

from sparray.compiler import names
from sparray.compiler.cin.effective import target_access
from sparray.compiler.cin.nodes import Access, Forall
from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.levels import level_index
from sparray.compiler.problem import TensorSpec
from sparray.formats.level import Level, Locatable, PositionIterable

__all__ = ["has_positions", "kept_loops", "may_cut"]


def kept_loops(statement: Forall) -> int | None:
    """Return how many loops the result has of those that were fused.

    They are the outermost ones: a chunk has all positions at which their coordinates
    are the same. None where an inner one has a place of the result, an outer one not.
    """
    target = target_access(statement).indices
    has = [index in target for index in (statement.index, *statement.fused)]
    return None if sorted(has, reverse=True) != has else sum(has)


def has_positions(access: Access, spec: TensorSpec, loops: tuple[str, ...]) -> bool:
    """Tell whether the outermost levels of an operand are loops over one's positions.

    They store the loops' indices in that order. All but the outermost one have a
    coordinate for each position, and each position of the innermost one is another
    element.
    """
    levels = spec.format.levels[: len(loops)]
    if spec.format.batch_ndim or len(levels) < len(loops):
        return False
    stored = tuple(level_index(spec, access, depth) for depth in range(len(levels)))
    if stored != loops or len(set(access.indices)) < len(access.indices):
        return False
    if any(names.derived(i) is not None or is_affine(i) for i in access.indices):
        return False
    *outer, last = levels
    dense = bool(outer) and isinstance(levels[0], Locatable) and levels[0].full
    walked = levels[1:] if dense else levels
    below = (*levels[1:], last)
    repeats = any(
        not level.unique and not inner.branchless
        for level, inner in zip(levels, below, strict=True)
    )
    return last.unique and not repeats and all(map(_has_coordinates, walked))


def may_cut(spec: TensorSpec, kept: int, loops: int) -> bool:
    """Tell whether positions can be cut where the ``kept`` outermost loops go on.

    Either each level below has ``pos``, or positions are the same in all of them.
    """
    levels = spec.format.levels
    inner = levels[kept:loops]
    segments = all(_has_segments(level) for level in inner)
    return segments or all(level.branchless for level in levels[1:loops])


def _has_coordinates(level: Level) -> bool:
    one_by_one = isinstance(level, PositionIterable) and not isinstance(
        level, Locatable
    )
    return (
        one_by_one
        and "crd" in level.roles
        and (_has_segments(level) or level.branchless)
    )


def _has_segments(level: Level) -> bool:
    return isinstance(level, PositionIterable) and "pos" in level.roles
