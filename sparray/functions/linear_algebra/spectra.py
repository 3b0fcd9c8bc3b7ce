"""Some eigenvalues and singular values, by SciPy's iterative solvers.

All of them would be dense, and found by dense methods: so a number of them is asked
for. The solvers multiply by compiled kernels, in the matrix's own format.
"""

import operator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparray.errors import SettingError, ShapeError, WouldDensifyError
from sparray.functions.creation import asarray
from sparray.functions.linear_algebra.solving import aslinearoperator
from sparray.sparse_array import SparseArray

__all__ = [
    "EighResult",
    "SVDResult",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "svd",
    "svdvals",
]


class EighResult(NamedTuple):
    """Eigenvalues, and a column for the vector of each."""

    eigenvalues: npt.NDArray[Any]
    eigenvectors: npt.NDArray[Any]


class SVDResult(NamedTuple):
    """Columns, singular values, and rows."""

    U: npt.NDArray[Any]
    S: npt.NDArray[Any]
    Vh: npt.NDArray[Any]


def eigh(x: Any, /, *, k: int | None = None, which: str = "LM") -> EighResult:
    """Return some eigenvalues and eigenvectors of a symmetric or Hermitian matrix.

    Parameters
    ----------
    x : SparseArray or array-like
        A square matrix, symmetric or Hermitian: that is not checked.
    k : int
        How many: less than the extent.
    which : {"LM", "SM", "LA", "SA", "BE"}
        Those of the largest or smallest magnitude, the largest or smallest ones, or
        half from each end.

    Returns
    -------
    EighResult
        ``eigenvalues`` in ascending order and ``eigenvectors``.

    Raises
    ------
    WouldDensifyError
        If ``k`` is not given: all eigenvectors are a dense matrix.
    SettingError
        If there are not so many.
    ShapeError
        If the matrix is not square.

    Notes
    -----
    ARPACK, by ``scipy.sparse.linalg.eigsh``, which begins with the same vector always.
    """
    from scipy.sparse.linalg import eigsh

    matrix, number = _checked("eigh", x, k, 1)
    start = _start(matrix.shape[0])
    values, vectors = eigsh(aslinearoperator(matrix), number, which=which, v0=start)
    order = np.argsort(values)
    return EighResult(values[order], vectors[:, order])


def eigvalsh(x: Any, /, *, k: int | None = None, which: str = "LM") -> Any:
    """Return some eigenvalues of a symmetric or Hermitian matrix, in ascending order.

    Parameters
    ----------
    x, k, which
        As for `eigh`.

    Returns
    -------
    ndarray
        Of ``k`` values.
    """
    return eigh(x, k=k, which=which).eigenvalues


def eig(x: Any, /, *, k: int | None = None, which: str = "LM") -> EighResult:
    """Return some eigenvalues and eigenvectors of a square matrix.

    Parameters
    ----------
    x : SparseArray or array-like
        A square matrix.
    k : int
        How many: less than the extent minus 1.
    which : {"LM", "SM", "LR", "SR", "LI", "SI"}
        Those of the largest or smallest magnitude, real or imaginary part.

    Returns
    -------
    EighResult
        ``eigenvalues`` and ``eigenvectors``, complex.

    Raises
    ------
    WouldDensifyError
        If ``k`` is not given: all eigenvectors are a dense matrix.
    SettingError
        If there are not so many.
    ShapeError
        If the matrix is not square.
    """
    from scipy.sparse.linalg import eigs

    matrix, number = _checked("eig", x, k, 2)
    start = _start(matrix.shape[0])
    values, vectors = eigs(aslinearoperator(matrix), number, which=which, v0=start)
    return EighResult(values, vectors)


def eigvals(x: Any, /, *, k: int | None = None, which: str = "LM") -> Any:
    """Return some eigenvalues of a square matrix.

    Parameters
    ----------
    x, k, which
        As for `eig`.

    Returns
    -------
    ndarray
        Of ``k`` complex values.
    """
    return eig(x, k=k, which=which).eigenvalues


def svd(x: Any, /, *, full_matrices: bool = False, k: int | None = None) -> SVDResult:
    """Return the largest singular values of a matrix, and their vectors.

    Parameters
    ----------
    x : SparseArray or array-like
        A matrix.
    full_matrices : bool
        False: there are ``k`` vectors.
    k : int
        How many: less than both extents.

    Returns
    -------
    SVDResult
        ``U``, ``S`` in descending order, and ``Vh``.

    Raises
    ------
    WouldDensifyError
        If ``k`` is not given, or full matrices are asked for.
    SettingError
        If there are not so many.
    ShapeError
        If it is no matrix.
    """
    from scipy.sparse.linalg import svds

    matrix, number = _checked("svd", x, None if full_matrices else k, 1, square=False)
    start = _start(min(matrix.shape))
    left, values, right = svds(aslinearoperator(matrix), number, v0=start)
    order = np.argsort(-values)
    return SVDResult(left[:, order], values[order], right[order])


def svdvals(x: Any, /, *, k: int | None = None) -> Any:
    """Return the largest singular values of a matrix, in descending order.

    Parameters
    ----------
    x, k
        As for `svd`.

    Returns
    -------
    ndarray
        Of ``k`` values.
    """
    return svd(x, k=k).S


def _start(extent: int) -> npt.NDArray[Any]:
    """Return the vector that iterations begin with: the same in every run."""
    return np.random.default_rng(0).uniform(-1, 1, extent)


def _checked(
    name: str, x: Any, k: int | None, spare: int, square: bool = True
) -> tuple[SparseArray, int]:
    """Return a matrix of floats, and how many values are wanted of it."""
    matrix = asarray(x)
    shape = matrix.shape
    if matrix.ndim != 2 or (square and shape[0] != shape[1]):
        what = "a square matrix" if square else "a matrix"
        raise ShapeError(f"{name}: expected {what}, got shape {shape}")
    smallest = min(shape)
    if k is None:
        size = smallest * max(shape) * matrix.dtype.itemsize
        raise WouldDensifyError(
            f"{name}: expected k, how many values are wanted: all vectors are a dense "
            f"matrix of {size} bytes; numpy.linalg.{name}(x.todense()) makes it"
        )
    try:
        number = operator.index(k)
    except TypeError:
        number = 0
    if not 0 < number <= smallest - spare:
        raise SettingError(
            f"{name}: expected k from 1 to {smallest - spare} for shape {shape}, "
            f"got {k!r}"
        )
    if matrix.dtype.kind in "biu":
        matrix = matrix.astype(np.float64)
    return matrix, number
