"""NumPy's functions of sparse arrays: what `__array_function__` answers.

A function is sparray's of the same name, or of another one; some are written here for
what NumPy's signature has more. Whatever is left is refused: nothing is made dense.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_operators import ArrayOperators
from sparray.errors import ShapeError, UnsupportedError
from sparray.functions import elementwise
from sparray.functions.alike import full_like
from sparray.functions.creation import full
from sparray.functions.data_types import can_cast, result_type
from sparray.functions.differences import diff
from sparray.functions.einsum import as_operand
from sparray.functions.linear_algebra import norms
from sparray.functions.linear_algebra.products import matmul, outer, tensordot
from sparray.functions.searching import nonzero
from sparray.sparse_array import SparseArray

__all__ = ["apply_function"]

# NumPy's names of functions that sparray calls otherwise.
_ALIASES = {
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "transpose": "permute_dims",
}
# The same name for something else.
_OTHERS = frozenset({"save", "load"})


def apply_function(
    function: Callable[..., Any],
    types: Iterable[type],
    args: Sequence[Any],
    options: Mapping[str, Any],
) -> Any:
    """Apply a function of NumPy to arguments of which one is sparse.

    Parameters
    ----------
    function : callable
        NumPy's.
    types : iterable of type
        Those of arguments that answer for NumPy's functions.
    args, options
        As NumPy's function got them.

    Returns
    -------
    object
        NotImplemented if there is an argument of a kind that sparray does not know.

    Raises
    ------
    UnsupportedError
        If sparray does not have the function.
    """
    if not all(issubclass(t, ArrayOperators | np.ndarray) for t in types):
        return NotImplemented
    own = _OWN.get(function)
    if own is None:
        own = _by_name(function)
    return own(*args, **options)


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    namespace: Any = sys.modules["sparray"]
    module = getattr(function, "__module__", "")
    name = _ALIASES.get(function.__name__, function.__name__)
    if module == "numpy.linalg":
        namespace = namespace.linalg
    elif module != "numpy" or name in _OTHERS:
        namespace = None
    if namespace is not None and name in namespace.__all__:
        found: Callable[..., Any] = getattr(namespace, name)
        return found
    raise UnsupportedError(
        f"{module}.{function.__name__}: expected a function that sparray has, got "
        "another one; of A.todense() it makes a dense array"
    )


def _shape(a: Any) -> tuple[int, ...]:
    return tuple(a.shape)


def _ndim(a: Any) -> int:
    return int(a.ndim)


def _size(a: Any, axis: int | None = None) -> int:
    return int(a.size if axis is None else a.shape[axis])


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return a.copy()


def _round(a: Any, decimals: int = 0, out: None = None) -> Any:
    if decimals or out is not None:
        raise UnsupportedError("round: expected no decimals and no out")
    # NumPy leaves integers as they are.
    return elementwise.round(a)


def _like(fill_value: Any) -> Callable[..., SparseArray]:
    def function(a: Any, *args: Any, **options: Any) -> SparseArray:
        return _full_like(a, fill_value, *args, **options)

    return function


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> SparseArray:
    if shape is None:
        return full_like(a, fill_value, dtype, device=device)
    return full(shape, fill_value, a.dtype if dtype is None else dtype, device=device)


def _dot(a: Any, b: Any, out: None = None) -> Any:
    if out is not None:
        raise UnsupportedError("dot: out: expected None, got an array")
    left, right = as_operand("a", a), as_operand("b", b)
    if not left.ndim or not right.ndim:
        return elementwise.multiply(a, b)
    if left.ndim <= 2 and right.ndim <= 2:
        return matmul(left, right)
    return tensordot(left, right, axes=((-1,), (-min(2, right.ndim),)))


def _inner(a: Any, b: Any, /) -> Any:
    left, right = as_operand("a", a), as_operand("b", b)
    if not left.ndim or not right.ndim:
        return elementwise.multiply(a, b)
    return tensordot(left, right, axes=((-1,), (-1,)))


def _trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
) -> Any:
    if out is not None:
        raise UnsupportedError("trace: out: expected None, got an array")
    return a.diagonal(offset, axis1, axis2).sum(axis=-1, dtype=dtype)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    operand = as_operand("x", x)
    axes = range(operand.ndim) if axis is None else np.atleast_1d(axis)
    if ord is None or len(axes) == 1:
        order = 2 if ord is None else ord
        wanted = tuple(int(n) for n in axes)
        return norms.vector_norm(operand, axis=wanted, keepdims=keepdims, ord=order)
    last = [operand.ndim - 2, operand.ndim - 1]
    if [int(n) % max(operand.ndim, 1) for n in axes] != last:
        raise ShapeError(
            f"norm: expected the last two axes for a norm of matrices, got {axis} of "
            f"shape {operand.shape}"
        )
    return norms.matrix_norm(operand, keepdims=keepdims, ord=ord)


def _diff(a: Any, n: int = 1, axis: int = -1, **beside: Any) -> Any:
    return diff(a, n=n, axis=axis, **beside)


def _iscomplexobj(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


def _isrealobj(x: Any) -> bool:
    return not _iscomplexobj(x)


def _where(condition: Any, *choices: Any) -> Any:
    if choices:
        return elementwise.where(condition, *choices)
    return nonzero(condition)


def _can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    if casting == "safe":
        return can_cast(from_, to)
    dtype = getattr(from_, "dtype", from_)
    return bool(np.can_cast(dtype, to, casting))  # type: ignore[arg-type]


_OWN: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.copy: _copy,
    np.round: _round,
    np.around: _round,
    np.full_like: _full_like,
    np.zeros_like: _like(0),
    np.empty_like: _like(0),
    np.ones_like: _like(1),
    np.diff: _diff,
    np.dot: _dot,
    np.inner: _inner,
    np.trace: _trace,
    np.linalg.norm: _norm,
    np.iscomplexobj: _iscomplexobj,
    np.isrealobj: _isrealobj,
    np.where: _where,
    np.outer: outer,
    np.result_type: result_type,
    np.can_cast: _can_cast,
}
