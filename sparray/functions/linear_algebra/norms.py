"""Norms, traces and transposes of matrices."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from sparray.errors import DTypeError, ShapeError, UnsupportedError
from sparray.functions.einsum import as_operand, compute
from sparray.functions.indexing.diagonals import diagonal as any_diagonal
from sparray.sparse_array import SparseArray

__all__ = ["diagonal", "matrix_norm", "matrix_transpose", "trace", "vector_norm"]

Result = SparseArray | npt.NDArray[Any]


def matrix_transpose(x: Any, /) -> Result:
    """Return an array with its last two dimensions exchanged, its buffers shared.

    Parameters
    ----------
    x : SparseArray or array-like
        Two dimensions or more.

    Returns
    -------
    SparseArray or ndarray
        As `SparseArray.mT`.

    Raises
    ------
    ShapeError
        If there are fewer than two dimensions.
    """
    operand = as_operand("x", x)
    if operand.ndim < 2:
        raise ShapeError(
            f"matrix_transpose: expected 2 dimensions or more, got {operand.ndim}"
        )
    return operand.mT


def diagonal(x: Any, /, *, offset: int = 0) -> SparseArray:
    """Return a diagonal of each matrix.

    Parameters
    ----------
    x : SparseArray or array-like
        Matrices are the last two dimensions.
    offset : int
        Of the diagonal above the main one.

    Returns
    -------
    SparseArray
        As `sparray.diagonal` of the last two axes.
    """
    return any_diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    """Return the sum along a diagonal of each matrix.

    Parameters
    ----------
    x : SparseArray or array-like
        Matrices are the last two dimensions.
    offset : int
        Of the diagonal above the main one.
    dtype : dtype, optional
        As for `sparray.sum`.

    Returns
    -------
    SparseArray, ndarray or scalar
        Without the last two dimensions.
    """
    found = diagonal(x, offset=offset)
    return found.sum(axis=-1, dtype=dtype)


# What is summed, and what of the sum is the norm, by the order of the norm.
_SUMS = {
    0: ("sum", "1.0 * ({a} != 0)", "{s}"),
    1: ("sum", "abs({a})", "{s}"),
    2: ("sum", "square(abs({a}))", "sqrt({s})"),
    np.inf: ("max", "abs({a})", "{s}"),
    -np.inf: ("min", "abs({a})", "{s}"),
}


def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Any:
    """Return the norm of vectors: one expression, over stored entries.

    Parameters
    ----------
    x : SparseArray or array-like
        Integers are computed in float64.
    axis : int or tuple of int, optional
        Whose elements are a vector's; all by default.
    keepdims : bool
        Whether these axes stay, with extent 1.
    ord : float
        The order: ``inf``, ``-inf``, 0 (how many are not zero), or any other number.

    Returns
    -------
    SparseArray, ndarray or scalar
        Without the axes.

    Raises
    ------
    ShapeError
        If there are no such axes.
    DTypeError
        If the order is no real number.
    """
    operand = _as_float(x)
    axes = _axes(axis, operand.ndim)
    if not isinstance(ord, int | float) or ord != ord:
        raise DTypeError(f"ord: expected a real number, got {ord!r}")
    op, term, whole = _SUMS.get(
        ord, ("sum", f"abs({{a}}) ** {float(ord)!r}", f"({{s}}) ** {1 / (ord or 1)!r}")
    )
    names = [f"i{n}" for n in range(operand.ndim)]
    summed = [names[n] for n in axes]
    element = f"A[{','.join(names)}]" if names else "A"
    reduced = term.format(a=element)
    if summed:
        reduced = f"{op}(({', '.join(summed)},), {reduced})".replace(",)", ")")
    made = _computed(whole.format(s=reduced), names, axes, operand)
    return _kept(made, axes, keepdims, operand.ndim)


def _computed(
    value: str, names: Sequence[str], axes: Sequence[int], operand: Result
) -> Result:
    kept = [name for n, name in enumerate(names) if n not in axes]
    target = f"C[{','.join(kept)}]" if kept else "C"
    made = cast(Result, compute(f"{target} = {value}", A=operand))
    return made.astype(_real(operand.dtype))


def _kept(made: Result, axes: Sequence[int], keepdims: bool, ndim: int) -> Any:
    if keepdims:
        index = tuple(None if n in axes else slice(None) for n in range(ndim))
        return made[index]
    return made[()] if not made.ndim and isinstance(made, np.ndarray) else made


def _as_float(x: Any) -> Result:
    operand = as_operand("x", x)
    return operand.astype(np.float64) if operand.dtype.kind in "biu" else operand


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.empty(0, dtype).real.dtype


def _axes(axis: Any, ndim: int) -> list[int]:
    if axis is None:
        return list(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(n, int | np.integer) and -ndim <= n < ndim for n in given):
        raise ShapeError(
            f"axis: expected axes of {ndim} dimensions, or None, got {axis!r}"
        )
    axes = [int(n) % ndim for n in given]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis: expected each axis once, got {axis}")
    return axes


# The order of a norm of matrices: over which axis sums run, and what of them it is.
_OF_SUMS = {1: (-2, "max"), -1: (-2, "min"), np.inf: (-1, "max"), -np.inf: (-1, "min")}


def matrix_norm(
    x: Any,
    /,
    *,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] = "fro",
) -> Any:
    """Return the norm of matrices.

    Parameters
    ----------
    x : SparseArray or array-like
        Matrices are the last two dimensions.
    keepdims : bool
        Whether these stay, with extent 1.
    ord : {"fro", 1, -1, inf, -inf, 2}
        ``"fro"`` is the root of all squares; 1 and ``inf`` are the largest sums of
        magnitudes of a column and of a row, -1 and ``-inf`` the smallest; 2 is the
        largest singular value.

    Returns
    -------
    SparseArray, ndarray or scalar
        Without the last two dimensions.

    Raises
    ------
    ShapeError
        If there are fewer than two dimensions.
    UnsupportedError
        If the order asks for all singular values.
    """
    operand = _as_float(x)
    ndim = operand.ndim
    if ndim < 2:
        raise ShapeError(
            f"matrix_norm: expected 2 dimensions or more, got shape {operand.shape}"
        )
    axes = [ndim - 2, ndim - 1]
    if ord == "fro":
        return vector_norm(operand, axis=(-2, -1), keepdims=keepdims)
    if ord == 2 and ndim == 2:
        from sparray.functions.linear_algebra.spectra import svdvals

        largest = np.asarray(svdvals(operand, k=1)[0], _real(operand.dtype))
        return _kept(largest, axes, keepdims, ndim)
    if not isinstance(ord, int | float) or ord not in _OF_SUMS:
        raise UnsupportedError(
            "matrix_norm: expected ord to be 'fro', 1, -1, inf or -inf, or 2 of a "
            f"single matrix, got {ord!r} of shape {operand.shape}: other ones ask for "
            "all singular values, for which there is no sparse solver"
        )
    summed, op = _OF_SUMS[ord]
    names = [f"i{n}" for n in range(ndim)]
    other = names[-1] if summed == -2 else names[-2]
    sums = f"sum({names[summed]}, abs(A[{','.join(names)}]))"
    made = _computed(f"{op}({other}, {sums})", names, axes, operand)
    return _kept(made, axes, keepdims, ndim)
