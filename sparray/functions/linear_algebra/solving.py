"""Systems of equations and determinants, by SciPy's sparse factorisation."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparray.convert import from_scipy, to_scipy
from sparray.errors import ShapeError, SingularMatrixError
from sparray.functions.creation import asarray
from sparray.functions.einsum import as_operand
from sparray.sparse_array import SparseArray

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator, SuperLU

__all__ = ["SlogdetResult", "aslinearoperator", "det", "slogdet", "solve"]

Result = SparseArray | npt.NDArray[Any]


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the magnitude of a determinant."""

    sign: Any
    logabsdet: Any


def solve(x1: Any, x2: Any, /) -> Result:
    """Solve a system of equations, with a matrix of any format.

    Parameters
    ----------
    x1 : SparseArray or array-like
        A square matrix.
    x2 : SparseArray or array-like
        The right-hand side, or several as columns.

    Returns
    -------
    SparseArray or ndarray
        What times ``x1`` is ``x2``; sparse for a sparse right-hand side, unless its
        fill value is another one than 0.

    Raises
    ------
    ShapeError
        If the matrix is not square, or the right-hand side has another extent.
    SingularMatrixError
        If there is not one solution.

    Notes
    -----
    SuperLU, by ``scipy.sparse.linalg.splu``; of dense operands `numpy.linalg.solve`.
    Index buffers and values of ``csc`` are shared with SciPy, other formats converted.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[2.0, 0.0], [1.0, 4.0]], format="coo")
    >>> sp.linalg.solve(A, [2.0, 5.0])
    array([1., 1.])
    """
    matrix, right = as_operand("x1", x1), as_operand("x2", x2)
    _check_square("solve", matrix)
    if right.ndim not in (1, 2) or right.shape[0] != matrix.shape[0]:
        raise ShapeError(
            f"solve: expected a right-hand side of {matrix.shape[0]} rows, got shapes "
            f"{matrix.shape} and {right.shape}"
        )
    dtype = np.result_type(matrix.dtype, right.dtype, np.float32)
    if isinstance(matrix, np.ndarray):
        if isinstance(right, SparseArray):
            matrix = asarray(matrix)
        else:
            try:
                return np.linalg.solve(matrix, right)
            except np.linalg.LinAlgError as error:
                raise SingularMatrixError(f"solve: {error}") from None
    factors = _factors("solve", matrix, dtype)
    if isinstance(right, SparseArray) and right.fill_value != 0:
        # Its elements, and those of the solution, are all numbers of their own.
        right = right.todense()
    if isinstance(right, np.ndarray):
        return np.asarray(factors.solve(right.astype(dtype)))
    return _sparse_solution(factors, right, dtype)


def _sparse_solution(
    factors: "SuperLU", right: SparseArray, dtype: np.dtype[Any]
) -> SparseArray:
    """Solve for one sparse column after the other: one dense column at a time."""
    import scipy.sparse

    column = right.ndim == 1
    format = right.format
    wide = right[:, None] if column else right
    given = to_scipy(wide.to_format("csc")).astype(dtype)
    columns = []
    for n in range(given.shape[1]):
        one = given[:, [n]].toarray().ravel()
        columns.append(scipy.sparse.csc_array(factors.solve(one)[:, None]))
    shape = given.shape
    stacked = scipy.sparse.hstack(columns, "csc") if columns else given
    made = from_scipy(scipy.sparse.csc_array(stacked).reshape(shape))
    found: SparseArray = made[:, 0] if column else made
    return found.to_format(format)


def _factors(name: str, matrix: SparseArray, dtype: np.dtype[Any]) -> "SuperLU":
    from scipy.sparse.linalg import splu

    given = to_scipy(matrix.to_format("csc")).astype(dtype, copy=False)
    if given.indices.dtype != np.intc:
        from scipy.sparse import csc_array

        # SuperLU counts in int32; SciPy refuses what does not fit.
        parts = given.data, given.indices.astype(np.intc), given.indptr.astype(np.intc)
        given = csc_array(parts, shape=given.shape)
    try:
        return splu(given)
    except RuntimeError as error:
        raise SingularMatrixError(
            f"{name}: expected a matrix that can be inverted, got a singular one of "
            f"shape {matrix.shape} ({error})"
        ) from None


def _check_square(name: str, matrix: Result) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"{name}: expected a square matrix, got shape {matrix.shape}")


def slogdet(x: Any, /) -> SlogdetResult:
    """Return sign and logarithm of the magnitude of a determinant.

    Parameters
    ----------
    x : SparseArray or array-like
        A square matrix.

    Returns
    -------
    SlogdetResult
        ``sign`` and ``logabsdet``: 0 and ``-inf`` of a singular matrix.

    Raises
    ------
    ShapeError
        If the matrix is not square.
    """
    matrix = as_operand("x", x)
    _check_square("slogdet", matrix)
    if isinstance(matrix, np.ndarray):
        return SlogdetResult(*np.linalg.slogdet(matrix))
    dtype = np.result_type(matrix.dtype, np.float32)
    real = np.empty(0, dtype).real.dtype.type
    if not matrix.shape[0]:
        return SlogdetResult(dtype.type(1), real(0))
    try:
        factors = _factors("slogdet", matrix, dtype)
    except SingularMatrixError:
        return SlogdetResult(dtype.type(0), real(-np.inf))
    pivots = factors.U.diagonal()
    magnitudes = np.abs(pivots)
    sign = _parity(factors.perm_r) * _parity(factors.perm_c)
    turned = np.prod(pivots / magnitudes) * sign
    return SlogdetResult(dtype.type(turned), real(np.log(magnitudes).sum()))


def _parity(order: npt.NDArray[Any]) -> int:
    """Return 1 for an even permutation and -1 for an odd one, by its cycles."""
    seen = np.zeros(len(order), bool)
    sign = 1
    for first in range(len(order)):
        place, length = first, 0
        while not seen[place]:
            seen[place] = True
            place, length = int(order[place]), length + 1
        if length and length % 2 == 0:
            sign = -sign
    return sign


def det(x: Any, /) -> Any:
    """Return the determinant of a matrix.

    Parameters
    ----------
    x : SparseArray or array-like
        A square matrix.

    Returns
    -------
    scalar
        0 of a singular matrix; `slogdet` cannot overflow.

    Raises
    ------
    ShapeError
        If the matrix is not square.
    """
    sign, logarithm = slogdet(x)
    with np.errstate(over="ignore"):
        return sign * np.exp(logarithm)


def aslinearoperator(x: Any, /) -> "LinearOperator":
    """Return a matrix as SciPy's solvers take it: its products are compiled kernels.

    Parameters
    ----------
    x : SparseArray or array-like
        A matrix of any format.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        With ``matvec``, ``rmatvec``, ``matmat`` and ``rmatmat``. A SparseArray has
        these methods itself, so that SciPy's own `aslinearoperator` takes it too.

    Raises
    ------
    ShapeError
        If it is no matrix.
    """
    from scipy.sparse.linalg import LinearOperator

    array = asarray(x)
    if array.ndim != 2:
        raise ShapeError(
            f"aslinearoperator: expected a matrix, got shape {array.shape}"
        )
    return LinearOperator(
        array.shape,
        matvec=array.matvec,
        rmatvec=array.rmatvec,
        matmat=array.matmat,
        rmatmat=array.rmatmat,
        dtype=array.dtype,
    )
