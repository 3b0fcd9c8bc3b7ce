"""Kernel results as users see them."""

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from sparray.evaluation.stored import Stored

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["wrap_result"]


def wrap_result(
    result: Stored, like: "SparseArray | type[SparseArray]"
) -> "SparseArray | npt.NDArray[Any]":
    """Return a result whose levels are all dense as an ndarray, others as sparse.

    ``like`` is a SparseArray or the class: this module is below it.
    """
    if not any(result._levels):
        return result.as_ndarray()
    return like._from_trusted(
        result.format,
        result.shape,
        result._levels,
        result.values,
        result.values.dtype.type(result.fill_value),
    )
