"""Lists of coordinates in large arrays, by kernels that the compiler makes.

A list is a sparse operand: ``A[rows]`` is ``C[q,j] = S[q,i] * A[i,j]``, where S stores
a 1 for each place q of the list at its coordinate, and points are a product with a list
for each dimension. Values are moved as the bits that they are, by integers of their
size, so that no sum and no product can change one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.index_notation.canonical import index_name
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, PatternError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.stored import Stored, index_dtype
from sparray.formats.compressed import Compressed
from sparray.formats.format import Format
from sparray.formats.level import Level
from sparray.formats.named import named_format
from sparray.formats.packing import LevelBuffers
from sparray.formats.singleton import Singleton
from sparray.functions.indexing.selectors import Every, Pick, Selector
from sparray.functions.indexing.walk import is_array_of_positions, is_walkable
from sparray.sparse_array import SparseArray

__all__ = ["compiled_pick", "compiled_points"]

_WORTH_COMPILING = 2**15
"""Values from which on a kernel is worth the time that it takes to compile."""
_WORTH_LISTING = 2**17
"""Values from which on a list of fibres is worth a kernel: below, copies of slices of
the buffers take less time than the kernel's list and its two phases."""
_MOST_DIMENSIONS = 4
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_REFUSALS = (UnsupportedError, DTypeError, PatternError)

Coordinates = npt.NDArray[np.int64]


def compiled_pick(
    array: SparseArray, selectors: Sequence[Selector], made: Format
) -> SparseArray | None:
    """Compute what a list along one dimension selects, all else being taken whole.

    Parameters
    ----------
    array : SparseArray
        Any format.
    selectors : sequence of Selector
        One for each dimension.
    made : Format
        Of the result.

    Returns
    -------
    SparseArray or None
        None where it is NumPy's task: few values, no compiler, levels that are not
        walked one after the other, slices of the buffers of an array that is not large,
        a dimension that neither the outermost level nor the
        innermost one stores.
    """
    picks = [d for d, one in enumerate(selectors) if isinstance(one, Pick)]
    others = [one for one in selectors if not isinstance(one, Pick)]
    if len(picks) != 1 or not all(isinstance(one, Every) for one in others):
        return None
    (dimension,), order = picks, array.format.order
    if not _is_chain(array) or dimension not in (order[0], order[-1]):
        return None
    pick = selectors[dimension]
    if not isinstance(pick, Pick) or array.ndim < 2:
        return None
    is_outer = dimension == order[0]
    has_slices = is_outer and is_array_of_positions(array.format.levels[0])
    if has_slices and len(array.values) < _WORTH_LISTING:
        return None
    names = [index_name(d) for d in range(array.ndim)]
    target = [*names[:dimension], "q", *names[dimension + 1 :]]
    index = names[dimension]
    # Whatever comes first in the list's array has its loop outside.
    way = f"q,{index}" if is_outer else f"{index},q"
    text = f"C[{','.join(target)}] = S[{way}] * A[{','.join(names)}]"
    extent = array.shape[dimension]
    chosen = _listed(pick.coordinates, extent) if is_outer else _by_place(pick, extent)
    shape = tuple(
        len(pick.coordinates) if d == dimension else n
        for d, n in enumerate(array.shape)
    )
    listed = _list_of(text, [chosen, _bits(array)], array.format.order)
    if listed is None:
        return None
    fibres = _fibres_of(array, pick.coordinates) if is_outer else None
    is_sorted = is_outer or pick.order is None
    return _assembled(array, listed, shape, made, is_sorted, fibres)


def compiled_points(
    array: SparseArray, coordinates: Coordinates
) -> tuple[Coordinates, npt.NDArray[Any]] | None:
    """Return which points an array stores, and their values.

    Parameters
    ----------
    array : SparseArray
        Any format.
    coordinates : int64[ndim, n]
        Inside the shape.

    Returns
    -------
    numbers : int64[m]
        Of the points that are stored, ascending.
    values : dtype[m]
        None instead of both where it is NumPy's task, as for `compiled_pick`.
    """
    if not _is_chain(array):
        return None
    names = [index_name(d) for d in range(array.ndim)]
    lists = [f"S{d}[q,{name}]" for d, name in enumerate(names)]
    # In the order of the levels, so that each list is followed where it is needed.
    factors = [lists[d] for d in array.format.order]
    text = f"C[q] = {' * '.join(factors)} * A[{','.join(names)}]"
    operands = [_listed(coordinates[d], array.shape[d]) for d in array.format.order]
    listed = _list_of(text, [*operands, _bits(array)], (0,))
    if listed is None:
        return None
    numbers = listed._levels[0]["crd"].astype(np.int64)
    return numbers, listed.values.view(array.dtype)


def _is_chain(array: SparseArray) -> bool:
    """Tell whether loops walk the levels of a large array one after the other.

    Then an expression has one order of the loops, and its entries come in that order.
    """
    format = array.format
    return (
        len(array.values) >= _WORTH_COMPILING
        and array.ndim <= _MOST_DIMENSIONS
        and array.dtype.itemsize in _BITS
        and is_walkable(format)
        and not any(is_array_of_positions(level) for level in format.levels[1:])
        and all(level.ordered for level in format.levels)
        and not format.is_full
    )


def _bits(array: SparseArray) -> SparseArray:
    """Return the entries of an array, their values read as integers; no copy."""
    dtype = _BITS[array.dtype.itemsize]
    return SparseArray._from_trusted(
        array.format, array.shape, array._levels, array.values.view(dtype), dtype(0)
    )


def _listed(coordinates: Coordinates, extent: int) -> Any:
    """Return a matrix with a 1 in each row, at the row's coordinate."""
    n = len(coordinates)
    return _ones((n, extent), np.arange(n + 1), coordinates)


def _by_place(pick: Pick, extent: int) -> Any:
    """Return a matrix with a 1 in a row for each place of its number in a list."""
    pos = np.zeros(extent + 1, np.int64)
    np.cumsum(np.bincount(pick.coordinates, minlength=extent), out=pos[1:])
    n = len(pick.coordinates)
    places = np.arange(n) if pick.order is None else pick.order
    return _ones((extent, n), pos, places)


def _ones(shape: tuple[int, int], pos: Coordinates, crd: Coordinates) -> Any:
    narrow = np.int32 if max(*shape, len(crd)) < 2**31 else np.int64
    levels: LevelBuffers = ({}, {"pos": pos.astype(narrow), "crd": crd.astype(narrow)})
    return shape, levels, len(crd)


def _list_of(
    text: str, operands: Sequence[Any], order: tuple[int, ...]
) -> Stored | None:
    """Compute the entries of a result, in the order in which the loops come to them."""
    *lists, bits = operands
    dtype = bits.dtype.type
    given: list[SparseArray] = [
        SparseArray._from_trusted(
            named_format("csr", 2), shape, levels, np.ones(n, dtype), dtype(0)
        )
        for shape, levels, n in lists
    ]
    levels: list[Level] = [Compressed(unique=False, ordered=False)]
    levels += [Singleton(unique=False, ordered=False) for _ in order[1:]]
    try:
        return try_compiled(
            assignment_expression(text), [*given, bits], Format(levels, order)
        )
    except _REFUSALS:
        return None


def _fibres_of(array: SparseArray, chosen: Coordinates) -> Coordinates | None:
    """Return the lengths of fibres below a dense level, if that is the one above."""
    if array.ndim != 2 or not is_array_of_positions(array.format.levels[0]):
        return None
    pos = array._levels[1]["pos"]
    lengths: Coordinates = pos[chosen + 1] - pos[chosen]
    return lengths


def _assembled(
    array: SparseArray,
    listed: Stored,
    shape: tuple[int, ...],
    made: Format,
    is_sorted: bool,
    fibres: Coordinates | None,
) -> SparseArray:
    """Return entries in a format; they are sorted, but for the innermost level."""
    values, fill = listed.values.view(array.dtype), array.fill_value
    order, last = made.order, made.levels[-1]
    simple = made.levels[0].full and len(made.levels) == 2 and "pos" in last.roles
    if is_sorted and simple and order == listed.format.order:
        rows, crd = (level["crd"] for level in listed._levels)
        if fibres is None:
            fibres = np.bincount(rows, minlength=shape[order[0]])
        pos = np.zeros(len(fibres) + 1, index_dtype(listed))
        np.cumsum(fibres, out=pos[1:])
        levels: LevelBuffers = ({}, {"pos": pos, "crd": crd})
        return SparseArray._from_trusted(made, shape, levels, values, fill)
    inner = Singleton(ordered=is_sorted)
    middle: list[Level] = [Singleton(unique=False) for _ in order[2:]]
    format = Format([Compressed(unique=False), *middle, inner], listed.format.order)
    found = SparseArray._from_trusted(format, shape, listed._levels, values, fill)
    return found.to_format(made)
