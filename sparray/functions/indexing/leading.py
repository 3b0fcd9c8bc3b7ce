"""A slice of the buffers: where only the outermost level is restricted.

A row of ``csr``, a column of ``csc`` and a range of either are cut out of the buffers
without a look at any other entry.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.evaluation.stored import Operand, Stored, index_dtype
from sparray.formats.compressed import Compressed
from sparray.formats.format import Format
from sparray.formats.level import IntArray, Level
from sparray.formats.packing import narrowest_index_dtype
from sparray.functions.indexing.result_format import selected_format
from sparray.functions.indexing.selectors import Pick, Selector, Window
from sparray.functions.indexing.walk import (
    is_array_of_positions,
    is_walkable,
    ranges,
)

__all__ = ["cut_leading"]


def cut_leading(operand: Operand, selector: Selector) -> Stored | None:
    """Return what a point or a range along the outermost level's dimension selects.

    Parameters
    ----------
    operand : SparseArray or Stored
        Of at least one dimension.
    selector : Selector
        Of the dimension that the outermost level stores.

    Returns
    -------
    Stored or None
        New buffers, in the format of `selected_format`; without the dimension, if it is
        a point. None where that is not a slice of the buffers.

    Notes
    -----
    O(log n) to find the entries where the level is sparse, then a copy of them.
    """
    format = operand.format
    is_point = isinstance(selector, Window) and selector.point
    made = _cut_format(format, is_point)
    if made is None or not isinstance(selector, Window | Pick):
        return None
    if isinstance(selector, Pick) or (selector.step != 1 and selector.length != 1):
        return _gathered(operand, selector, made)
    level, buffers = format.levels[0], operand._levels[0]
    begin, end = selector.start, selector.start + selector.length
    if not is_array_of_positions(level):
        ends = np.searchsorted(buffers["crd"], [begin, end])
        begin, end = int(ends[0]), int(ends[1])
        if is_point and begin == end and level.unique:
            return None
    dimension = format.order[0]
    extents = [operand.shape[d] for d in format.order[1:]]
    cut, values = _cut_below(operand, extents, begin, end)
    if is_point and not level.unique and cut:
        # The entries of the point: the next level is the outermost one now.
        cut[0] = {"pos": _ends(end - begin, cut[0]["crd"]), **cut[0]}
    elif not is_point and not is_array_of_positions(level):
        crd = buffers["crd"][begin:end] - buffers["crd"].dtype.type(selector.start)
        cut.insert(0, {"pos": _ends(end - begin, crd), "crd": crd})
    elif not is_point:
        cut.insert(0, {})
    shape = list(operand.shape)
    if is_point:
        del shape[dimension]
    else:
        shape[dimension] = selector.length
    return Stored(made, tuple(shape), tuple(cut), values, operand.fill_value)


def _gathered(operand: Operand, selector: Window | Pick, made: Format) -> Stored | None:
    """Return the fibres at coordinates of a level without buffers, in their order."""
    levels, dimension = operand.format.levels, operand.format.order[0]
    if not is_array_of_positions(levels[0]):
        return None
    positions, _ = selector.chosen()
    shape = list(operand.shape)
    shape[dimension] = len(positions)
    cut: list[dict[str, IntArray]] = [{}]
    extents = [operand.shape[d] for d in operand.format.order[1:]]
    parts = zip(levels[1:], operand._levels[1:], extents, strict=True)
    for level, buffers, extent in parts:
        if is_array_of_positions(level):
            below = positions[:, np.newaxis] * extent + np.arange(extent)
            positions = below.reshape(-1)
            cut.append({})
            continue
        made_buffers: dict[str, IntArray] = {}
        if not level.branchless:
            pos = buffers["pos"]
            begin = pos[positions].astype(np.int64)
            end = pos[positions + 1].astype(np.int64)
            made_pos = np.zeros(len(positions) + 1, np.int64)
            np.cumsum(end - begin, out=made_pos[1:])
            positions = ranges(begin, end)
            made_buffers["pos"] = made_pos
        crd = np.take(buffers["crd"], positions, mode="clip")
        cut.append({**made_buffers, "crd": crd})
    # Fibres that are taken several times may be more than 32 bits count.
    narrow = narrowest_index_dtype(shape, len(positions))
    dtype = np.promote_types(index_dtype(operand), narrow)
    kept = tuple(
        {role: buffer.astype(dtype, copy=False) for role, buffer in buffers.items()}
        for buffers in cut
    )
    # Positions are inside: that they need not be checked makes it a third faster.
    values = np.take(operand.values, positions, mode="clip")
    return Stored(made, tuple(shape), kept, values, operand.fill_value)


@lru_cache(maxsize=1024)
def _cut_format(format: Format, is_point: bool) -> Format | None:
    """Return the format of a slice of the buffers; None where none is the result."""
    if not is_walkable(format) or format.is_full or not format.levels[0].ordered:
        return None
    dimensions = range(format.ndim)
    if not is_point:
        return selected_format(format, tuple(dimensions))
    leading = format.order[0]
    made = selected_format(format, tuple(d for d in dimensions if d != leading))
    below = list(format.levels[1:])
    if not format.levels[0].unique and below:
        below[0] = _outermost(below[0])
    if not below or made.levels != tuple(below):
        return None
    order = [d - (d > leading) for d in format.order[1:]]
    return made if made.order == tuple(order) else None


def _outermost(level: Level) -> Level:
    return Compressed(unique=level.unique, ordered=level.ordered)


def _ends(count: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([0, count], like.dtype)


def _cut_below(
    operand: Operand, extents: list[int], begin: int, end: int
) -> tuple[list[dict[str, IntArray]], npt.NDArray[Any]]:
    """Return the buffers below a range of positions of the outermost level."""
    cut: list[dict[str, IntArray]] = []
    parts = zip(operand.format.levels[1:], operand._levels[1:], extents, strict=True)
    for level, buffers, extent in parts:
        if is_array_of_positions(level):
            begin, end = begin * extent, end * extent
            cut.append({})
        elif level.branchless:
            cut.append({"crd": buffers["crd"][begin:end].copy()})
        else:
            pos = buffers["pos"][begin : end + 1]
            begin, end = int(pos[0]), int(pos[-1])
            cut.append({"pos": pos - pos[0], "crd": buffers["crd"][begin:end].copy()})
    return cut, operand.values[begin:end].copy()
