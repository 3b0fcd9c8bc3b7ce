"""The map from dimensions to levels, and back.

A map is good if every dimension can be recovered: stored whole, or as its quotient and
its remainder by one block size, or as its difference to a dimension that is known.

Source: Chou et al. 2018, section 3, and the coordinate remapping of Chou, Kjolstad,
Amarasinghe 2020, "Automatic generation of efficient sparse tensor format conversion
routines".
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import ShapeError
from sparray.formats.level_expression import (
    Difference,
    Dimension,
    LevelExpression,
    Quotient,
    Remainder,
)

__all__ = [
    "dimension_coordinates",
    "level_coordinates",
    "level_extents",
    "loses_nothing",
    "unrecoverable",
]

Rows = Sequence[npt.NDArray[np.int64]]
Problem = tuple[int | None, str]


def unrecoverable(
    expressions: Sequence[LevelExpression], names: Sequence[str]
) -> Problem | None:
    """Return what keeps a dimension from being recovered, or from being stored once.

    Parameters
    ----------
    expressions : sequence of LevelExpression
        What each level stores.
    names : sequence of str
        The dimensions' names, for the message.

    Returns
    -------
    (int or None, str) or None
        The level at fault, None for all of them together, and what is wrong; None if
        nothing is.
    """
    known: set[int] = set()
    for number, expression in enumerate(expressions):
        if isinstance(expression, Dimension):
            if expression.dimension in known:
                return number, f"dimension {names[expression.dimension]} has two levels"
            known.add(expression.dimension)
    problem = _bad_parts(expressions, names, known)
    if problem is None:
        problem = _bad_differences(expressions, names, known)
    if problem is not None:
        return problem
    missing = [name for number, name in enumerate(names) if number not in known]
    if missing:
        return None, f"expected a level for dimension {missing[0]}, got none"
    return None


def _bad_parts(
    expressions: Sequence[LevelExpression], names: Sequence[str], known: set[int]
) -> Problem | None:
    """Check quotients and remainders; add their dimensions to ``known``."""
    parts: dict[tuple[type, int], tuple[int, Quotient | Remainder]] = {}
    for number, part in enumerate(expressions):
        if isinstance(part, Quotient | Remainder):
            name = names[part.dimension]
            if part.dimension in known:
                return number, f"dimension {name} has a level of its own already"
            if (type(part), part.dimension) in parts:
                what = "quotients" if isinstance(part, Quotient) else "remainders"
                return number, f"dimension {name} has two {what}"
            parts[type(part), part.dimension] = number, part
    for (kind, dimension), (number, part) in parts.items():
        other = Remainder if kind is Quotient else Quotient
        wanted = other(dimension, part.block).text(names)
        _, found = parts.get((other, dimension), (None, None))
        if found is None:
            given = part.text(names)
            return number, f"expected a level {wanted} too, got {given} alone"
        if found.block != part.block:
            return number, f"expected {wanted} beside it, got {found.text(names)}"
    known.update(dimension for _, dimension in parts)
    return None


def _bad_differences(
    expressions: Sequence[LevelExpression], names: Sequence[str], known: set[int]
) -> Problem | None:
    """Check differences; add the dimensions that they give to ``known``."""
    left = {n: e for n, e in enumerate(expressions) if isinstance(e, Difference)}
    while left:
        for number, expression in left.items():
            new = set(expression.dimensions) - known
            if not new or expression.dimension == expression.other:
                text = expression.text(names)
                return number, f"{text} tells nothing that the other levels do not"
            if len(new) == 1:
                known |= new
                del left[number]
                break
        else:
            number, expression = next(iter(left.items()))
            either = " or ".join(names[d] for d in expression.dimensions)
            text = expression.text(names)
            return number, f"expected a level for {either} beside {text}, got none"
    return None


def level_extents(
    expressions: Sequence[LevelExpression], shape: Sequence[int]
) -> tuple[int, ...]:
    """Return the extent of each level.

    Raises
    ------
    ShapeError
        If there are more diagonals than coordinates can count.
    """
    extents = tuple([expression.extent(shape) for expression in expressions])
    if max(extents, default=0) > sys.maxsize:
        raise ShapeError(
            f"shape: expected extents whose sum is at most {sys.maxsize}, got "
            f"{tuple(shape)}"
        )
    return extents


def loses_nothing(expressions: Sequence[LevelExpression], shape: Sequence[int]) -> bool:
    """Whether every combination of level coordinates lies inside the shape."""
    return all(
        isinstance(expression, Dimension)
        or (
            isinstance(expression, Quotient | Remainder)
            and shape[expression.dimension] % expression.block == 0
        )
        for expression in expressions
    )


def dimension_coordinates(
    expressions: Sequence[LevelExpression], rows: Rows, shape: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
    """Return the dimensions' coordinates, and which of them lie inside the shape.

    Parameters
    ----------
    expressions : sequence of LevelExpression
        What each level stores.
    rows : sequence of int64[n]
        The coordinates in each level.
    shape : sequence of int
        Extent of each dimension.

    Returns
    -------
    coords : int64[ndim, n]
        A new array.
    inside : bool[n] or None
        None where all are inside.

    Notes
    -----
    O(n) for each level. A sum that passes 2**63 wraps to a negative number, which is
    outside like any other.
    """
    n_entries = len(rows[0]) if len(rows) else 0
    coords = np.zeros((len(shape), n_entries), dtype=np.int64)
    differences: list[tuple[Difference, npt.NDArray[np.int64]]] = []
    known: set[int] = set()
    for expression, row in zip(expressions, rows, strict=True):
        if isinstance(expression, Difference):
            differences.append((expression, row))
            continue
        known.add(expression.dimension)
        if isinstance(expression, Quotient):
            coords[expression.dimension] += row * expression.block
        else:
            coords[expression.dimension] += row
    while differences:
        difference, row = differences.pop(0)
        offset = row - (shape[difference.other] - 1)
        if difference.other in known:
            coords[difference.dimension] = coords[difference.other] + offset
        elif difference.dimension in known:
            coords[difference.other] = coords[difference.dimension] - offset
        else:
            differences.append((difference, row))
            continue
        known.update(difference.dimensions)
    if loses_nothing(expressions, shape):
        return coords, None
    inside = np.ones(n_entries, dtype=bool)
    for row, extent in zip(coords, shape, strict=True):
        inside &= (row >= 0) & (row < extent)
    return coords, inside


def level_coordinates(
    expressions: Sequence[LevelExpression], coords: Any, shape: Sequence[int]
) -> list[npt.NDArray[np.int64]]:
    """Return the coordinates in each level of entries inside the shape.

    The row of a level that stores a whole dimension is the one that was given.
    """
    return [expression.coordinate(coords, shape) for expression in expressions]
