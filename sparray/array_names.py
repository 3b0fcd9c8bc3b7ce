"""Methods by which users of NumPy, SciPy and PyData/sparse call functions."""

import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sparray.errors import CoordinateError, DTypeError, ShapeError

if TYPE_CHECKING:
    from sparray.formats.format import Format
    from sparray.sparse_array import SparseArray

__all__ = ["ArrayNames"]


class ArrayNames:
    """Mixin with methods of `SparseArray` that are functions by another name."""

    __slots__ = ()

    def __len__(self) -> int:
        shape = cast("SparseArray", self).shape
        if not shape:
            raise DTypeError("len: expected one dimension or more, got none")
        return shape[0]

    def __contains__(self, element: Any) -> bool:
        return bool(np.any(cast(Any, self) == element))

    @property
    def real(self) -> Any:
        """The real parts: see `sparray.real`."""
        return _call("real", self)

    @property
    def imag(self) -> Any:
        """The imaginary parts: see `sparray.imag`."""
        return _call("imag", self)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(cast("SparseArray", self).dtype.itemsize)

    @property
    def density(self) -> float:
        """How many of the elements are stored."""
        array = cast("SparseArray", self)
        return array.nnz / array.size if array.size else 0.0

    def item(self, *indices: int) -> Any:
        """Return an element as a Python scalar: the only one, or that at indices.

        Raises
        ------
        DTypeError
            If no index is given and there is not exactly one element.
        IndexError
            If there is no such element.
        """
        array = cast(Any, self)
        element = array[indices] if indices else array._only("item")
        return np.asarray(element)[()].item()

    def tolist(self) -> Any:
        """Return all elements as nested lists of Python scalars: see `todense`.

        Raises
        ------
        KernelMemoryError
            If the elements do not fit in memory.
        """
        return cast("SparseArray", self).todense().tolist()

    def conj(self) -> Any:
        """Return the complex conjugates: see `sparray.conj`."""
        return _call("conj", self)

    def conjugate(self) -> Any:
        """Return the complex conjugates: see `sparray.conj`."""
        return _call("conj", self)

    def round(self, decimals: int = 0, out: None = None) -> Any:
        """Return the elements rounded, as `numpy.round` does."""
        return np.round(cast(Any, self), decimals, out)

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """Return each element or the bound that it passes: see `sparray.clip`."""
        return _call("clip", self, min, max)

    def dot(self, other: Any) -> Any:
        """Return the product that `numpy.dot` is."""
        return np.dot(cast(Any, self), other)

    def multiply(self, other: Any) -> Any:
        """Return the products of elements: see `sparray.multiply`."""
        return _call("multiply", self, other)

    def power(self, exponent: Any) -> Any:
        """Return powers of the elements: see `sparray.pow`."""
        return _call("pow", self, exponent)

    def maximum(self, other: Any) -> Any:
        """Return the larger elements: see `sparray.maximum`."""
        return _call("maximum", self, other)

    def minimum(self, other: Any) -> Any:
        """Return the smaller elements: see `sparray.minimum`."""
        return _call("minimum", self, other)

    def sin(self) -> Any:
        """Return the sines: see `sparray.sin`."""
        return _call("sin", self)

    def sinh(self) -> Any:
        """Return the hyperbolic sines: see `sparray.sinh`."""
        return _call("sinh", self)

    def tan(self) -> Any:
        """Return the tangents: see `sparray.tan`."""
        return _call("tan", self)

    def tanh(self) -> Any:
        """Return the hyperbolic tangents: see `sparray.tanh`."""
        return _call("tanh", self)

    def arcsin(self) -> Any:
        """Return the inverse sines: see `sparray.asin`."""
        return _call("asin", self)

    def arcsinh(self) -> Any:
        """Return the inverse hyperbolic sines: see `sparray.asinh`."""
        return _call("asinh", self)

    def arctan(self) -> Any:
        """Return the inverse tangents: see `sparray.atan`."""
        return _call("atan", self)

    def arctanh(self) -> Any:
        """Return the inverse hyperbolic tangents: see `sparray.atanh`."""
        return _call("atanh", self)

    def ceil(self) -> Any:
        """Return the elements rounded up: see `sparray.ceil`."""
        return _call("ceil", self)

    def floor(self) -> Any:
        """Return the elements rounded down: see `sparray.floor`."""
        return _call("floor", self)

    def trunc(self) -> Any:
        """Return the elements rounded towards zero: see `sparray.trunc`."""
        return _call("trunc", self)

    def sign(self) -> Any:
        """Return the signs of elements: see `sparray.sign`."""
        return _call("sign", self)

    def sqrt(self) -> Any:
        """Return the square roots: see `sparray.sqrt`."""
        return _call("sqrt", self)

    def expm1(self) -> Any:
        """Return the exponentials minus 1: see `sparray.expm1`."""
        return _call("expm1", self)

    def log1p(self) -> Any:
        """Return the logarithms of 1 plus the elements: see `sparray.log1p`."""
        return _call("log1p", self)

    def rint(self) -> Any:
        """Return the elements rounded to the nearest integer, as `numpy.rint` does."""
        return np.rint(cast(Any, self))

    def deg2rad(self) -> Any:
        """Return the elements in radians, from degrees, as `numpy.deg2rad` does."""
        return np.deg2rad(cast(Any, self))

    def rad2deg(self) -> Any:
        """Return the elements in degrees, from radians, as `numpy.rad2deg` does."""
        return np.rad2deg(cast(Any, self))

    def todia(self) -> "SparseArray":
        """Return the array in the format ``dia``: SciPy's name."""
        return cast("SparseArray", self).to_format("dia")

    def tobsr(self, blocksize: tuple[int, int] = (1, 1)) -> "SparseArray":
        """Return the array in the format ``bcsr``, with blocks of a size."""
        rows, columns = blocksize
        return cast("SparseArray", self).to_format(f"bcsr({rows}, {columns})")

    def eliminate_zeros(self) -> None:
        """Drop entries that are equal to the fill value, in place: see `prune`."""
        array = cast("SparseArray", self)
        made = _call("prune", array)
        array._replace_buffers(made._levels, made.values)

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set the elements of a diagonal, in place.

        Parameters
        ----------
        values : array_like
            One number, or as many as there are; of more the first ones.
        k : int
            Which diagonal: 0 the main one, positive numbers those above.

        Raises
        ------
        ShapeError
            If the array has not two dimensions, or the values more than one.
        IndexError
            If there is no such diagonal.
        """
        array = cast("SparseArray", self)
        given = np.asarray(values)
        if array.ndim != 2 or given.ndim > 1:
            raise ShapeError(
                "setdiag: expected a matrix and values of at most one dimension, got "
                f"shapes {array.shape} and {given.shape}"
            )
        n_rows, n_columns = array.shape
        length = min(n_rows + min(k, 0), n_columns - max(k, 0))
        if length <= 0:
            raise CoordinateError(
                f"setdiag: expected a diagonal from {1 - n_rows} to {n_columns - 1}, "
                f"got {k}"
            )
        steps = np.arange(length if given.ndim == 0 else min(length, len(given)))
        place = steps - min(k, 0), steps + max(k, 0)
        array[place] = given if given.ndim == 0 else given[: len(steps)]

    def nonzero(self) -> Any:
        """Return where elements are not zero: see `sparray.nonzero`."""
        return _call("nonzero", self)

    def trace(self, offset: int = 0) -> Any:
        """Return the sum along a diagonal, as `numpy.trace` does."""
        return np.trace(cast(Any, self), offset)

    def cumsum(
        self, axis: int | None = None, dtype: npt.DTypeLike | None = None
    ) -> Any:
        """Return running sums, as `numpy.cumsum` does: dense."""
        return np.cumsum(cast(Any, self), axis, dtype)

    def cumprod(
        self, axis: int | None = None, dtype: npt.DTypeLike | None = None
    ) -> Any:
        """Return running products, as `numpy.cumprod` does: dense."""
        return np.cumprod(cast(Any, self), axis, dtype)

    def flatten(self, order: str = "C") -> "SparseArray":
        """Return all elements in one dimension: see `sparray.reshape`."""
        return cast("SparseArray", np.ravel(cast(Any, self), order))  # type: ignore[call-overload]

    def ravel(self, order: str = "C") -> "SparseArray":
        """Return all elements in one dimension: see `sparray.reshape`."""
        return self.flatten(order)

    def swapaxes(self, axis1: int, axis2: int) -> "SparseArray":
        """Return the array with two dimensions exchanged, its buffers shared."""
        return cast("SparseArray", np.swapaxes(cast(Any, self), axis1, axis2))

    def repeat(self, repeats: Any, axis: int | None = None) -> "SparseArray":
        """Return the array with its elements repeated: see `sparray.repeat`."""
        return cast("SparseArray", _call("repeat", self, repeats, axis=axis))

    def broadcast_to(self, shape: tuple[int, ...]) -> "SparseArray":
        """Return the array in a shape that it broadcasts to."""
        return cast("SparseArray", _call("broadcast_to", self, shape))

    def toarray(self) -> npt.NDArray[Any]:
        """Return a dense array, as `todense` does: SciPy's name."""
        return cast("SparseArray", self).todense()

    def asformat(self, format: "str | Format") -> "SparseArray":
        """Return the array in a format, as `to_format` does: SciPy's name."""
        return cast("SparseArray", self).to_format(format)

    def tocsr(self) -> "SparseArray":
        """Return the array in the format ``csr``: SciPy's name."""
        return cast("SparseArray", self).to_format("csr")

    def tocsc(self) -> "SparseArray":
        """Return the array in the format ``csc``: SciPy's name."""
        return cast("SparseArray", self).to_format("csc")

    def tocoo(self) -> "SparseArray":
        """Return the array in the format ``coo``: SciPy's name."""
        return cast("SparseArray", self).to_format("coo")


def _call(name: str, *args: Any, **options: Any) -> Any:
    # By name: what computes makes SparseArrays.
    return getattr(sys.modules["sparray"], name)(*args, **options)
