"""NumPy's functions of sparse arrays: what `__array_function__` answers.

A function is sparray's of the same name, or of another one; some are written here for
what NumPy's signature has more. Whatever is left is refused: nothing is made dense.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_operators import ArrayOperators
from sparray.errors import DTypeError, ShapeError, UnsupportedError
from sparray.functions import elementwise
from sparray.functions.alike import full_like
from sparray.functions.creation import asarray, full
from sparray.functions.dask_chunks import register
from sparray.functions.data_types import can_cast, result_type
from sparray.functions.differences import diff
from sparray.functions.einsum import as_operand, einsum
from sparray.functions.linear_algebra import norms
from sparray.functions.linear_algebra.products import cross, matmul, outer, tensordot
from sparray.functions.manipulation.dimensions import expand_dims
from sparray.functions.manipulation.shapes import reshape
from sparray.functions.numpy_elements import ELEMENTS
from sparray.functions.numpy_reductions import REDUCTIONS
from sparray.functions.numpy_shapes import SHAPES
from sparray.functions.searching import nonzero
from sparray.sparse_array import SparseArray

__all__ = ["apply_function"]

# NumPy's names of functions that sparray calls otherwise.
_ALIASES = {
    "amax": "max",
    "amin": "min",
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
        register()
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


def _array(
    object: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
) -> SparseArray:
    """Return what NumPy's ``array(..., like=A)`` asks for."""
    made = asarray(object, dtype=dtype, copy=copy)
    while made.ndim < ndmin:
        made = expand_dims(made, axis=0)
    return made


def _array_repr(arr: Any, *args: Any, **options: Any) -> str:
    return repr(arr)


def _array_str(a: Any, *args: Any, **options: Any) -> str:
    return str(a)


def _common_type(*arrays: Any) -> type[Any]:
    return np.common_type(*[np.empty(0, as_operand("x", x).dtype) for x in arrays])


def _min_scalar_type(a: Any, /) -> np.dtype[Any]:
    return np.min_scalar_type(np.empty(1, a.dtype))


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, SparseArray):
        raise UnsupportedError(
            "copyto: expected a sparse array to write to, got a dense one; "
            "dense[...] = A.todense() copies"
        )
    given = as_operand("src", src)
    if not np.can_cast(given.dtype, dst.dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(f"copyto: expected {dst.dtype} or less, got {given.dtype}")
    dst[...] = given if where is True else elementwise.where(where, given, dst)


def _cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    if axis is not None or (axisa, axisb, axisc) == (-1, -1, -1):
        return cross(a, b, axis=-1 if axis is None else axis)
    raise UnsupportedError("cross: expected one axis for all, got several")


def _ediff1d(ary: Any, to_end: None = None, to_begin: None = None) -> Any:
    if to_end is not None or to_begin is not None:
        raise UnsupportedError("ediff1d: expected neither to_end nor to_begin")
    return diff(reshape(as_operand("ary", ary), -1))


def _einsum(
    *operands: Any,
    out: None = None,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = True,
) -> Any:
    """Return what NumPy's does; the order of contractions is ours in any case."""
    if out is not None:
        raise UnsupportedError("einsum: out: expected None, got an array")
    text, *given = operands
    if dtype is not None:
        given = [as_operand("operand", x).astype(np.dtype(dtype)) for x in given]
    return einsum(text, *given)


def _multi_dot(arrays: Sequence[Any], *, out: None = None) -> Any:
    if out is not None or len(arrays) < 2:
        raise UnsupportedError("multi_dot: expected two arrays or more, and no out")
    letters = [chr(ord("a") + n) for n in range(len(arrays) + 1)]
    terms = [f"{i}{j}" for i, j in pairwise(letters)]
    given = [as_operand("array", x) for x in arrays]
    if given[0].ndim == 1:
        terms[0] = letters[1]
    if given[-1].ndim == 1:
        terms[-1] = letters[-2]
    first = "" if given[0].ndim == 1 else letters[0]
    last = "" if given[-1].ndim == 1 else letters[-1]
    return einsum(f"{','.join(terms)}->{first}{last}", *given)


def _shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Tell whether two arrays share a buffer of values or of a level."""
    return any(np.may_share_memory(x, y) for x in _buffers(a) for y in _buffers(b))


def _buffers(x: Any) -> list[Any]:
    if not isinstance(x, SparseArray):
        return [np.asarray(x)]
    return [x.values, *[buffer for level in x.levels for buffer in level.values()]]


def _vdot(a: Any, b: Any, /) -> Any:
    left, right = (reshape(as_operand("x", x), -1) for x in (a, b))
    return einsum("i,i->", elementwise.conj(left), right)


_OWN: dict[Callable[..., Any], Callable[..., Any]] = {
    **ELEMENTS,
    **REDUCTIONS,
    **SHAPES,
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.copy: _copy,
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
    np.array: _array,
    np.array_repr: _array_repr,
    np.array_str: _array_str,
    np.common_type: _common_type,
    np.copyto: _copyto,
    np.cross: _cross,
    np.ediff1d: _ediff1d,
    np.einsum: _einsum,
    np.linalg.multi_dot: _multi_dot,
    np.may_share_memory: _shares_memory,
    np.min_scalar_type: _min_scalar_type,
    np.shares_memory: _shares_memory,
    np.vdot: _vdot,
}
