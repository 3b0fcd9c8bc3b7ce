"""The index that each level of an access stores, and the loops that this asks for.

A level may store a part of a dimension (``j // b``, ``j % b``) or a difference of two
(``j - i``). Where such a level is *walked*, the loops run over the parts, and the
index itself follows from them; where it is *located*, the loop runs over the index and
the parts follow from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from sparray.compiler import names
from sparray.compiler.index_notation.affine import affine, bases, is_affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.problem import TensorSpec
from sparray.formats.level import Locatable
from sparray.formats.level_expression import (
    Difference,
    Dimension,
    LevelExpression,
    Quotient,
    Remainder,
)

__all__ = [
    "collapse",
    "is_known_above",
    "is_walked",
    "level_index",
    "loop_parts",
    "may_miss",
    "may_miss_at_once",
    "n_levels",
    "walked_index",
]


def n_levels(spec: TensorSpec) -> int:
    """Return the number of levels of a tensor."""
    return len(spec.format.levels)


def level_index(spec: TensorSpec, access: Access, depth: int) -> str:
    """Return the index that the level after ``depth`` resolved ones stores."""
    return _name(spec.format.expressions[depth], access.indices)


@lru_cache(maxsize=4096)
def _name(expression: LevelExpression, indices: tuple[str, ...]) -> str:
    index = indices[expression.dimension]
    if isinstance(expression, Dimension):
        return index
    if isinstance(expression, Quotient):
        return names.quotient(index, expression.block)
    if isinstance(expression, Remainder):
        return names.remainder(index, expression.block)
    return names.diagonal(index, indices[expression.other])


def walked_index(spec: TensorSpec, access: Access, depth: int) -> str | None:
    """Return the index whose loop walks a level; None if that is no single one."""
    index = level_index(spec, access, depth)
    made = affine(index)
    if made is None:
        return index
    return made.terms[0][0] if len(made.terms) == 1 else None


def is_walked(spec: TensorSpec, access: Access, depth: int) -> bool:
    """Tell whether the loop over a level's index has to walk the level.

    It has not where the level finds a coordinate, or where that is known already.
    """
    level = spec.format.levels[depth]
    return not isinstance(level, Locatable) and not is_known_above(spec, access, depth)


def is_known_above(spec: TensorSpec, access: Access, depth: int) -> bool:
    """Tell whether a level's coordinate is known without walking it.

    A level above stores the same index (the access is a diagonal), the coordinate is a
    constant, or a sum of indices that are all bound before. The level is searched then.
    """
    if not _needs_search(access.indices):
        return False
    index = level_index(spec, access, depth)
    if is_affine(index) and len(bases(index)) != 1:
        return True
    known = {index, *bases(index)}
    return any(
        not known.isdisjoint({above, *bases(above)})
        for above in (level_index(spec, access, n) for n in range(depth))
    )


@lru_cache(maxsize=4096)
def _needs_search(coordinates: tuple[str, ...]) -> bool:
    found = [index for coordinate in coordinates for index in bases(coordinate)]
    return len(set(found)) < len(found) or any(
        is_affine(coordinate) and len(bases(coordinate)) != 1
        for coordinate in coordinates
    )


def may_miss_at_once(spec: TensorSpec, access: Access) -> bool:
    """Tell whether an access may hold nothing whatever the indices are.

    Its outermost levels are read at constants.
    """
    for depth, level in enumerate(spec.format.levels):
        if bases(level_index(spec, access, depth)):
            return False
        if not level.full:
            return True
    return False


def may_miss(spec: TensorSpec, access: Access) -> bool:
    """Tell whether a level, once its index is bound, may turn out to hold nothing."""
    return any(
        is_known_above(spec, access, depth)
        or (isinstance(level, Locatable) and not level.full)
        for depth, level in enumerate(spec.format.levels)
    )


def loop_parts(
    found: Iterable[Access], specs: Mapping[str, TensorSpec]
) -> dict[str, tuple[str, ...]]:
    """Return the indices whose loops run over parts, each with its parts.

    Notes
    -----
    An index stored in blocks of two sizes, or once walked whole and once in parts, has
    no loops that serve both: one of the operands has to be converted. Then the parts of
    the first are returned, and no loop order will suit the second.
    """
    parts: dict[str, tuple[str, ...]] = {}
    for access in found:
        spec = specs[access.tensor]
        for depth, expression in enumerate(spec.format.expressions):
            if isinstance(expression, Dimension) or not is_walked(spec, access, depth):
                continue
            index = access.indices[expression.dimension]
            if isinstance(expression, Difference):
                made: tuple[str, ...] = (level_index(spec, access, depth),)
            else:
                block = expression.block
                made = (names.quotient(index, block), names.remainder(index, block))
            parts.setdefault(index, made)
    return parts


def collapse(
    order: Sequence[str], parts: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the indices of the expression that loops visit in ascending order.

    Parts that stand together, in their order, visit their index in its order. Parts
    apart stay as they are: no index of the expression comes in order there.
    """
    whole = {made: index for index, made in parts.items()}
    result: list[str] = []
    at = 0
    while at < len(order):
        pair = tuple(order[at : at + 2])
        if pair in whole:
            result.append(whole[pair])
            at += 2
        else:
            result.append(order[at])
            at += 1
    return tuple(result)
