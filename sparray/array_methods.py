"""Methods of arrays that are functions of the namespace too."""

from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from sparray.errors import UnsupportedError

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["ArrayMethods"]


class ArrayMethods:
    """Mixin with the indexing of `SparseArray`, and methods after NumPy's and SciPy's.

    What computes them is imported when it is first needed: it makes SparseArrays.
    """

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        from sparray.functions.indexing.getitem import getitem

        return getitem(cast("SparseArray", self), index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from sparray.functions.indexing.setitem import setitem

        setitem(cast("SparseArray", self), index, value)

    def take(self, indices: Any, axis: int | None = None) -> "SparseArray":
        """Return the slices at integers along an axis: see `sparray.take`."""
        from sparray.functions.indexing.take import take

        return take(cast("SparseArray", self), indices, axis=axis)

    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> "SparseArray":
        """Return a diagonal: see `sparray.diagonal`."""
        from sparray.functions.indexing.diagonals import diagonal

        return diagonal(cast("SparseArray", self), offset, axis1, axis2)

    def reshape(self, *shape: Any) -> "SparseArray":
        """Return the same elements in another shape: see `sparray.reshape`."""
        from sparray.functions.manipulation.shapes import reshape

        wanted = shape[0] if len(shape) == 1 else shape
        return reshape(cast("SparseArray", self), wanted)

    def transpose(self, *axes: Any) -> "SparseArray":
        """Return the dimensions in another order: see `sparray.permute_dims`."""
        from sparray.functions.manipulation.dimensions import permute_dims

        wanted = axes[0] if len(axes) == 1 else axes or None
        return permute_dims(cast("SparseArray", self), wanted)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> "SparseArray":
        """Return the array without dimensions of extent 1: see `sparray.squeeze`."""
        from sparray.functions.manipulation.dimensions import squeeze

        return squeeze(cast("SparseArray", self), axis)

    def sum(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return the sum over axes: see `sparray.sum`."""
        from sparray.functions.reductions.totals import sum

        _refuse_out(out)
        return sum(cast("SparseArray", self), axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return the product over axes: see `sparray.prod`."""
        from sparray.functions.reductions.totals import prod

        _refuse_out(out)
        return prod(
            cast("SparseArray", self), axis=axis, dtype=dtype, keepdims=keepdims
        )

    def min(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return the smallest elements over axes: see `sparray.min`."""
        from sparray.functions.reductions.totals import min

        _refuse_out(out)
        return min(cast("SparseArray", self), axis=axis, keepdims=keepdims)

    def max(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return the largest elements over axes: see `sparray.max`."""
        from sparray.functions.reductions.totals import max

        _refuse_out(out)
        return max(cast("SparseArray", self), axis=axis, keepdims=keepdims)

    def any(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return whether any element is not zero, over axes: see `sparray.any`."""
        from sparray.functions.reductions.totals import any

        _refuse_out(out)
        return any(cast("SparseArray", self), axis=axis, keepdims=keepdims)

    def all(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return whether all elements are not zero, over axes: see `sparray.all`."""
        from sparray.functions.reductions.totals import all

        _refuse_out(out)
        return all(cast("SparseArray", self), axis=axis, keepdims=keepdims)

    def mean(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return the mean over axes: see `sparray.mean`."""
        from sparray.functions.reductions.moments import mean

        _refuse_out(out)
        return mean(
            cast("SparseArray", self), axis=axis, dtype=dtype, keepdims=keepdims
        )

    def var(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        correction: float | None = None,
    ) -> Any:
        """Return the variance over axes: see `sparray.var`."""
        from sparray.functions.reductions.moments import var

        _refuse_out(out)
        return var(
            cast("SparseArray", self),
            axis=axis,
            correction=ddof if correction is None else correction,
            keepdims=keepdims,
        )

    def std(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        correction: float | None = None,
    ) -> Any:
        """Return the standard deviation over axes: see `sparray.std`."""
        from sparray.functions.reductions.moments import std

        _refuse_out(out)
        return std(
            cast("SparseArray", self),
            axis=axis,
            correction=ddof if correction is None else correction,
            keepdims=keepdims,
        )

    def argmin(
        self,
        axis: int | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return where the smallest elements are: see `sparray.argmin`."""
        from sparray.functions.reductions.positions import argmin

        _refuse_out(out)
        return argmin(cast("SparseArray", self), axis=axis, keepdims=keepdims)

    def argmax(
        self,
        axis: int | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """Return where the largest elements are: see `sparray.argmax`."""
        from sparray.functions.reductions.positions import argmax

        _refuse_out(out)
        return argmax(cast("SparseArray", self), axis=axis, keepdims=keepdims)

    def count_nonzero(self, axis: int | tuple[int, ...] | None = None) -> Any:
        """Return how many elements are not zero: see `sparray.count_nonzero`."""
        from sparray.functions.reductions.totals import count_nonzero

        return count_nonzero(cast("SparseArray", self), axis=axis)


def _refuse_out(out: object) -> None:
    if out is not None:
        raise UnsupportedError("out: expected None, got an array to write to")
