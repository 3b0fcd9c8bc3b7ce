"""Products of arrays, each one expression: so each is one kernel."""

import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sparray.array_operators import broadcast_access, broadcast_shape
from sparray.convert import default_format, from_coords
from sparray.errors import ShapeError
from sparray.formats.coordinates import as_shape
from sparray.functions.creation import asarray, eye
from sparray.functions.einsum import as_operand, compute, einsum
from sparray.sparse_array import SparseArray

__all__ = [
    "cross",
    "kron",
    "matmul",
    "matrix_power",
    "outer",
    "tensordot",
    "vecdot",
]

Result = SparseArray | npt.NDArray[Any]


def matmul(x1: Any, x2: Any, /) -> Result:
    """Return the matrix product, as ``@`` does.

    Parameters
    ----------
    x1, x2 : SparseArray or array-like
        At least one dimension each; of more than two the last two are matrices, and the
        others are broadcast.

    Returns
    -------
    SparseArray or ndarray
        An ndarray where every element may have a value, as of a dense operand.

    Raises
    ------
    ShapeError
        If an operand has no dimensions, or extents disagree.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2], [3, 0]], format="csr")
    >>> sp.matmul(A, A).todense()
    array([[6, 0],
           [0, 6]])
    """
    for x in (x1, x2):
        if hasattr(x, "__sparray_function__"):
            return x1 @ x2  # type: ignore[no-any-return]
    a, b = as_operand("x1", x1), as_operand("x2", x2)
    if not a.ndim or not b.ndim:
        raise ShapeError(
            "matmul: expected operands of 1 dimension or more, got shapes "
            f"{a.shape} and {b.shape}"
        )
    left = "k" if a.ndim == 1 else "...ik"
    right = "k" if b.ndim == 1 else "...kj"
    target = "..." + "i" * (a.ndim > 1) + "j" * (b.ndim > 1)
    if a.ndim < 3 and b.ndim < 3:
        left, right, target = (
            text.replace("...", "") for text in (left, right, target)
        )
    elif a.shape[-1] != b.shape[-1 if b.ndim == 1 else -2]:
        raise ShapeError(
            f"matmul: expected matrices that fit, got shapes {a.shape} and {b.shape}"
        )
    return einsum(f"{left},{right}->{target}", a, b)


def tensordot(
    x1: Any, x2: Any, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Result:
    """Return the sum of products over axes of both operands.

    Parameters
    ----------
    x1, x2 : SparseArray or array-like
        The operands.
    axes : int or pair of sequences of int
        How many axes, the last ones of ``x1`` and the first ones of ``x2``; or which.

    Returns
    -------
    SparseArray or ndarray
        With the other axes of ``x1``, then those of ``x2``.

    Raises
    ------
    ShapeError
        If there are no such axes, or their extents disagree.
    """
    a, b = as_operand("x1", x1), as_operand("x2", x2)
    first, second = _pairs(axes, a.ndim, b.ndim)
    left = [f"i{n}" for n in range(a.ndim)]
    right = [f"j{n}" for n in range(b.ndim)]
    for one, other in zip(first, second, strict=True):
        if a.shape[one] != b.shape[other]:
            raise ShapeError(
                f"tensordot: expected equal extents along axes {one} and {other}, got "
                f"shapes {a.shape} and {b.shape}"
            )
        right[other] = left[one]
    kept = [name for n, name in enumerate(left) if n not in first]
    kept += [name for n, name in enumerate(right) if n not in second]
    return _product(kept, ("A", left, a), ("B", right, b))


def _pairs(axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    """Return the axes of both operands over which products are summed."""
    try:
        count = operator.index(axes)
    except TypeError:
        try:
            first, second = (
                [operator.index(n) for n in np.atleast_1d(x)] for x in axes
            )
        except (TypeError, ValueError):
            raise ShapeError(
                f"axes: expected an integer or two sequences of them, got {axes!r}"
            ) from None
    else:
        if not 0 <= count <= min(left, right):
            raise ShapeError(
                f"axes: expected at most {min(left, right)}, the number of dimensions, "
                f"got {count}"
            )
        first, second = list(range(left - count, left)), list(range(count))
    if len(first) != len(second):
        raise ShapeError(
            f"axes: expected as many axes of each operand, got {first} and {second}"
        )
    return _places(first, left), _places(second, right)


def _places(axes: Sequence[int], ndim: int) -> list[int]:
    places = [axis % ndim if -ndim <= axis < ndim else -1 for axis in axes]
    if -1 in places or len(set(places)) != len(places):
        raise ShapeError(
            f"axes: expected different axes of {ndim} dimensions, got {list(axes)}"
        )
    return places


def _product(
    target: Sequence[str], *operands: tuple[str, Sequence[str], Result]
) -> Result:
    """Compute the sum of products of operands, each with its name and its indices."""
    value = " * ".join(f"{name}[{','.join(read)}]" for name, read, _ in operands)
    left = f"C[{','.join(target)}]" if target else "C"
    # Without an index ``A[]`` is a number.
    text = f"{left} = {value}".replace("[]", "")
    named: dict[str, Any] = {name: x for name, _, x in operands}
    return cast(Result, compute(text, **named))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Result:
    """Return the products of vectors along an axis, those of ``x1`` conjugated.

    Parameters
    ----------
    x1, x2 : SparseArray or array-like
        Their other dimensions are broadcast.
    axis : int
        Which, counted from the end: negative.

    Returns
    -------
    SparseArray or ndarray
        Without the axis.

    Raises
    ------
    ShapeError
        If an operand has no such axis, or its extents disagree.
    """
    a, b = as_operand("x1", x1), as_operand("x2", x2)
    if not -min(a.ndim, b.ndim) <= axis < 0:
        raise ShapeError(
            f"vecdot: expected a negative axis that both operands have, got {axis} of "
            f"shapes {a.shape} and {b.shape}"
        )
    if a.shape[axis] != b.shape[axis]:
        raise ShapeError(
            f"vecdot: expected equal extents along axis {axis}, got shapes {a.shape} "
            f"and {b.shape}"
        )
    full = broadcast_shape("vecdot", [a.shape, b.shape])
    names = [f"i{n}" for n in range(len(full))]
    summed = names[axis]
    left = broadcast_access("A", a.shape, full)
    if a.dtype.kind == "c":
        left = f"conj({left})"
    right = broadcast_access("B", b.shape, full)
    kept = [name for name in names if name != summed]
    target = f"C[{','.join(kept)}]" if kept else "C"
    return cast(Result, compute(f"{target} = {left} * {right}", A=a, B=b))


def outer(x1: Any, x2: Any, /) -> Result:
    """Return the products of each element of one vector and each of another.

    Parameters
    ----------
    x1, x2 : SparseArray or array-like
        One dimension each.

    Returns
    -------
    SparseArray or ndarray
        Two dimensions.

    Raises
    ------
    ShapeError
        If an operand has another number of dimensions.
    """
    a, b = as_operand("x1", x1), as_operand("x2", x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(
            f"outer: expected 1 dimension each, got shapes {a.shape} and {b.shape}"
        )
    return einsum("i,j->ij", a, b)


def kron(a: Any, b: Any, /) -> Result:
    """Return the Kronecker product: every element of one times all of the other.

    Parameters
    ----------
    a, b : SparseArray or array-like
        Of the one with fewer dimensions the first ones have extent 1.

    Returns
    -------
    SparseArray or ndarray
        Extents are products of theirs. In the format of the first operand that is
        sparse and has as many dimensions; an ndarray of dense operands.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.kron(sp.eye(2), sp.array([[1.0, 2.0]])).todense()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    left, right = as_operand("a", a), as_operand("b", b)
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.kron(left, right)
    ndim = max(left.ndim, right.ndim)
    shapes = [(1,) * (ndim - x.ndim) + x.shape for x in (left, right)]
    shape = as_shape([n * m for n, m in zip(*shapes, strict=True)])
    reads = [
        [f"{letter}{n}" for n in range(ndim - x.ndim, ndim)]
        for letter, x in (("i", left), ("j", right))
    ]
    target = [*reads[0], *reads[1]]
    made = _product(target, ("A", reads[0], left), ("B", reads[1], right))
    operands = [x for x in (left, right) if isinstance(x, SparseArray)]
    formats = [x.format for x in operands if x.ndim == ndim]
    format = formats[0] if formats else default_format(ndim)
    made = asarray(made)
    coords, values = made.to_coords()
    rows = []
    for n in range(ndim):
        one = coords[target.index(f"i{n}")] if f"i{n}" in target else 0
        other = coords[target.index(f"j{n}")] if f"j{n}" in target else 0
        rows.append(one * np.int64(shapes[1][n]) + other)
    table = np.array(rows, np.int64).reshape(ndim, len(values))
    return from_coords(table, values, shape, format, fill_value=made.fill_value)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Result:
    """Return the cross products of vectors of three elements along an axis.

    Parameters
    ----------
    x1, x2 : SparseArray or array-like
        Equal shapes.
    axis : int
        Along which they have three elements.

    Returns
    -------
    SparseArray or ndarray
        Of the same shape.

    Raises
    ------
    ShapeError
        If shapes differ, or the axis has another extent.
    """
    a, b = as_operand("x1", x1), as_operand("x2", x2)
    if a.shape != b.shape or not -a.ndim <= axis < a.ndim or a.shape[axis] != 3:
        raise ShapeError(
            f"cross: expected equal shapes and 3 elements along axis {axis}, got "
            f"shapes {a.shape} and {b.shape}"
        )
    coords = [[0, 1, 2, 0, 2, 1], [1, 2, 0, 2, 1, 0], [2, 0, 1, 1, 0, 2]]
    wanted = np.result_type(a.dtype, b.dtype)
    signs = np.array([1, 1, 1, -1, -1, -1]).astype(wanted)
    epsilon = from_coords(coords, signs, (3, 3, 3), "csf").todense()
    place = axis % a.ndim
    rest = [f"i{n}" for n in range(a.ndim)]
    reads = [[*rest[:place], name, *rest[place + 1 :]] for name in ("p", "q", "r")]
    return _product(
        reads[0],
        ("E", ["p", "q", "r"], epsilon),
        ("A", reads[1], a),
        ("B", reads[2], b),
    )


def matrix_power(x: Any, n: int, /) -> Result:
    """Return the product of a square matrix with itself, ``n`` times.

    Parameters
    ----------
    x : SparseArray or array-like
        A square matrix.
    n : int
        0 or more: an inverse would be dense.

    Returns
    -------
    SparseArray or ndarray
        Of O(log n) products.

    Raises
    ------
    ShapeError
        If the matrix is not square, or the power is negative.
    """
    matrix = as_operand("x", x)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"matrix_power: expected a square, got shape {matrix.shape}")
    try:
        power = operator.index(n)
    except TypeError:
        power = -1
    if power < 0:
        raise ShapeError(f"matrix_power: expected an integer of 0 or more, got {n!r}")
    if isinstance(matrix, np.ndarray):
        return np.linalg.matrix_power(matrix, power)
    if power == 0:
        return eye(matrix.shape[0], dtype=matrix.dtype, format=matrix.format)
    result: Result | None = None
    square: Result = matrix
    while True:
        if power & 1:
            result = square if result is None else matmul(result, square)
        power >>= 1
        if not power:
            break
        square = matmul(square, square)
    assert result is not None
    return result
