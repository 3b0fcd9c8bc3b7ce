"""Arrays joined by their buffers: along the dimension of the outermost level."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.formats.level import IntArray
from sparray.formats.packing import LevelBuffers, narrowest_index_dtype
from sparray.functions.indexing.walk import is_array_of_positions, is_walkable
from sparray.sparse_array import SparseArray

__all__ = ["joined_buffers"]


def joined_buffers(
    arrays: Sequence[SparseArray], along: int, dtype: np.dtype[Any]
) -> tuple[LevelBuffers, npt.NDArray[Any]] | None:
    """Return the buffers of arrays that follow each other, as rows of ``csr`` do.

    Parameters
    ----------
    arrays : sequence of SparseArray
        Of shapes that agree but for one dimension.
    along : int
        Which one.
    dtype : dtype
        Of the values.

    Returns
    -------
    (levels, values) or None
        None where formats differ, or the outermost level does not have a position for
        each coordinate of the dimension: entries would have to move.
    """
    format = arrays[0].format
    outermost = format.levels[0] if format.levels else None
    if outermost is None or not is_array_of_positions(outermost):
        return None
    if not is_walkable(format) or format.is_full or format.order[0] != along:
        return None
    if any(x.format != format for x in arrays):
        return None
    values = np.concatenate([x.values.astype(dtype, copy=False) for x in arrays])
    extents = (sum(x.shape[along] for x in arrays), *arrays[0].shape)
    width = narrowest_index_dtype(extents, len(values))
    if any(x.index_dtype == np.int64 for x in arrays):
        width = np.dtype(np.int64)
    levels: list[dict[str, IntArray]] = [{}]
    for number in range(1, format.n_levels):
        parts = [x._levels[number] for x in arrays]
        made: dict[str, IntArray] = {}
        if "pos" in parts[0]:
            made["pos"] = _joined_ends([part["pos"] for part in parts], width)
        if "crd" in parts[0]:
            crd = [part["crd"].astype(width, copy=False) for part in parts]
            made["crd"] = np.concatenate(crd)
        levels.append(made)
    return tuple(levels), values


def _joined_ends(parts: Sequence[IntArray], width: np.dtype[Any]) -> IntArray:
    """Return where fibres end that follow those of other arrays."""
    ends, before = [np.zeros(1, width)], 0
    for part in parts:
        ends.append((part[1:].astype(np.int64) + before).astype(width))
        before += int(part[-1])
    joined: IntArray = np.concatenate(ends)
    return joined
