"""Methods of ufuncs on sparse arrays: `reduce`, `accumulate`, `outer`, `at`, ...

A reduction that sparray has is that one. Other ufuncs whose order does not matter are
folded over stored entries; the rest, `subtract` say, over one slice after the other.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sparray.array_operators import apply_operands
from sparray.compiler.loop_ir.dtypes import is_half
from sparray.errors import (
    CoordinateError,
    DTypeError,
    ShapeError,
    UnsupportedError,
    WouldDensifyError,
)
from sparray.functions.creation import asarray, full
from sparray.functions.elementwise import where as choose
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.indexing.selection import select
from sparray.functions.indexing.setitem import every_element
from sparray.functions.indexing.targets import targets
from sparray.functions.manipulation.dimensions import expand_dims
from sparray.functions.manipulation.joining import concat, unstack
from sparray.functions.reductions.folds import FOLDS, fold, loop_dtype, reduced_axes
from sparray.functions.reductions.running import running
from sparray.sparse_array import SparseArray

__all__ = ["METHODS", "reduced"]

# The functions that are a ufunc's reduction.
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}

# What stands in index notation for ufuncs that `outer` computes as one kernel.
_OUTER = {
    "add": "{a} + {b}",
    "subtract": "{a} - {b}",
    "multiply": "{a} * {b}",
    "divide": "{a} / {b}",
    "maximum": "max({a}, {b})",
    "minimum": "min({a}, {b})",
    "power": "{a} ** {b}",
    "equal": "{a} == {b}",
    "not_equal": "{a} != {b}",
    "less": "{a} < {b}",
    "less_equal": "{a} <= {b}",
    "greater": "{a} > {b}",
    "greater_equal": "{a} >= {b}",
    "logical_and": "{a} & {b}",
    "logical_or": "{a} | {b}",
    "floor_divide": "floor_divide({a}, {b})",
    "remainder": "remainder({a}, {b})",
    "hypot": "hypot({a}, {b})",
    "arctan2": "atan2({a}, {b})",
}

# Without an identity: what is there already changes nothing.
_IDEMPOTENT = (np.maximum, np.minimum, np.fmax, np.fmin)

_SLAB = 2**16
"""How many elements of a vector are dense at once where their order matters."""


def reduced(
    ufunc: np.ufunc,
    x: Any,
    axis: int | tuple[int, ...] | None = 0,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """Reduce an array by a ufunc, as ``ufunc.reduce`` does.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Of two operands and one result.
    x : SparseArray
        Any format.
    axis : int, tuple of int or None
        Which axes.
    dtype : dtype, optional
        What is computed in.
    keepdims : bool
        Whether the axes stay, with extent 1.
    initial : scalar, optional
        What the reduction starts with.
    where : bool array
        Which elements count.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.sum`.

    Raises
    ------
    ShapeError
        If there are no such axes, several of a ufunc whose order matters, or there is
        no element and no identity.
    DTypeError
        If the ufunc does not take the dtype.
    """
    array = asarray(x)
    given = initial is not np._NoValue and initial is not None
    if where is not True:
        array = _counting(ufunc, array, where, initial if given else None)
    axes = reduced_axes(axis, array.shape)
    empty = any(array.shape[n] == 0 for n in axes)
    if given and empty and ufunc.identity is None:
        return _nothing(array, axes, keepdims, initial)
    made = _reduced(ufunc, array, axes, dtype, keepdims)
    return ufunc(initial, made) if given else made


def _reduced(
    ufunc: np.ufunc,
    array: SparseArray,
    axes: tuple[int, ...],
    dtype: npt.DTypeLike | None,
    keepdims: bool,
) -> Any:
    own = getattr(np, ufunc.__name__, None) is ufunc
    name = _REDUCTIONS.get(ufunc.__name__) if own else None
    if name is not None:
        options: dict[str, Any] = {"keepdims": True} if keepdims else {}
        if name in ("sum", "prod"):
            options["dtype"] = dtype
        elif dtype is not None and name in ("max", "min"):
            array = array.astype(np.dtype(dtype))
        # By name, as users call it.
        return getattr(sys.modules["sparray"], name)(array, axis=axes, **options)
    truths = ufunc is np.logical_xor
    made = loop_dtype(ufunc, array.dtype) if dtype is None else np.dtype(dtype)
    if not truths and array.dtype != made and not is_half(array.dtype):
        array = array.astype(made)
    if own and ufunc.__name__ in FOLDS:
        return fold(ufunc.__name__, array, axes, None, keepdims=keepdims)
    return _one_after_the_other(ufunc, array, axes, keepdims)


def _counting(
    ufunc: np.ufunc, array: SparseArray, where: Any, initial: Any
) -> SparseArray:
    """Put what changes no result in place of elements that do not count."""
    neutral = ufunc.identity
    if neutral is None and ufunc in _IDEMPOTENT:
        neutral = initial
        if neutral is None:
            raise ShapeError(
                f"{ufunc.__name__}.reduce: expected initial beside where, as the ufunc "
                "has no identity"
            )
    if neutral is None:
        raise UnsupportedError(
            f"{ufunc.__name__}.reduce: expected where=True, as the order of elements "
            "matters"
        )
    return cast("SparseArray", choose(where, array, neutral))


def _nothing(
    array: SparseArray, axes: tuple[int, ...], keepdims: bool, initial: Any
) -> Any:
    shape = [
        1 if d in axes else n
        for d, n in enumerate(array.shape)
        if keepdims or d not in axes
    ]
    made = np.asarray(initial, array.dtype)
    return full(tuple(shape), made[()]) if len(shape) > 1 else np.full(shape, made)[()]


def _one_after_the_other(
    ufunc: np.ufunc, array: SparseArray, axes: tuple[int, ...], keepdims: bool
) -> Any:
    """Reduce along one axis in order, as what comes first is not like the rest."""
    if len(axes) != 1:
        raise ShapeError(
            f"{ufunc.__name__}.reduce: expected one axis, as the order of elements "
            f"matters, got axes {axes}"
        )
    (axis,) = axes
    if array.shape[axis] == 0:
        if ufunc.identity is None:
            raise ShapeError(
                f"{ufunc.__name__}.reduce: expected at least one element along axis "
                f"{axis} of shape {array.shape}, got none"
            )
        return _nothing(array, axes, keepdims, ufunc.identity)
    if array.ndim == 1:
        made = _vector_reduced(ufunc, array)
        return np.reshape(made, 1) if keepdims else made
    parts = unstack(array, axis=axis)
    total: Any = parts[0]
    for part in parts[1:]:
        total = ufunc(total, part)
    if total.ndim == 1:
        total = total.todense() if isinstance(total, SparseArray) else total
    return expand_dims(total, axis=axis) if keepdims else total


def _vector_reduced(ufunc: np.ufunc, array: SparseArray) -> Any:
    total = array[:1].todense()
    for start in range(1, array.shape[0], _SLAB):
        part = array[start : start + _SLAB].todense()
        # Of some ufuncs, power and arctan2, NumPy's `reduce` is another thing than the
        # last element that it accumulates.
        total = ufunc.accumulate(np.concatenate([total, part]))[-1:]
    return total[0]


def _reduce(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    return reduced(ufunc, inputs[0], **options)


def _accumulate(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    given = {name: value for name, value in options.items() if value is not None}
    return running(ufunc, inputs[0], given.pop("axis", 0), given.pop("dtype", None))


def _outer(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    text = _OUTER.get(ufunc.__name__)
    if text is not None and getattr(np, ufunc.__name__) is ufunc and not options:
        return apply_operands(text, inputs, outer=True)
    left, right = inputs
    wide = np.ndim(right)
    if np.ndim(left) and wide:
        left = left if isinstance(left, SparseArray) else np.asarray(left)
        left = left.reshape((*left.shape, *[1] * wide))
    return ufunc(left, right, **options)


def _at(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Change the elements that an index selects, one time for each time it does."""
    array, index, *operands = inputs
    if not isinstance(array, SparseArray):
        raise WouldDensifyError(
            f"{ufunc.__name__}.at: expected a dense operand beside a dense array, got "
            f"a sparse one; of todense() it takes "
            f"{sum(getattr(x, 'size', 0) * x.dtype.itemsize for x in operands)} bytes"
        )
    selection = select(index, array.shape)
    coords, _ = every_element(np.zeros((), np.int8), selection.shape)
    places, _ = targets(coords, selection)
    given = [_broadcast(ufunc, x, selection.shape) for x in operands]
    unique, inverse = np.unique(places, axis=1, return_inverse=True)
    chosen = tuple(unique) if array.ndim else ()
    elements = np.atleast_1d(array[chosen].todense() if array.ndim else array.todense())
    try:
        ufunc.at(elements, inverse.ravel(), *given)
    except TypeError as error:
        raise DTypeError(f"{ufunc.__name__}.at: {error}") from None
    array[chosen] = elements if array.ndim else elements[0]
    return None


def _broadcast(
    ufunc: np.ufunc, operand: Any, shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Return the elements beside each one that an index selects."""
    dense = operand.todense() if isinstance(operand, SparseArray) else operand
    try:
        return np.broadcast_to(np.asarray(dense), shape).ravel()
    except ValueError:
        raise ShapeError(
            f"{ufunc.__name__}.at: expected an operand that broadcasts to shape "
            f"{shape}, got shape {np.shape(dense)}"
        ) from None


def _reduceat(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Reduce from each index on to the next one, if that is larger."""
    array, starts = inputs
    if not isinstance(array, SparseArray):
        raise UnsupportedError(
            f"{ufunc.__name__}.reduceat: expected a sparse array, got a dense one with "
            "sparse indices"
        )
    axis = checked_axis(options.get("axis", 0), array.shape)
    extent, begins = array.shape[axis], np.asarray(starts)
    if begins.ndim != 1 or begins.dtype.kind not in "iu":
        raise DTypeError(
            f"{ufunc.__name__}.reduceat: expected one list of integers, got shape "
            f"{begins.shape} and dtype {begins.dtype}"
        )
    if len(begins) and not 0 <= begins.min() <= begins.max() < extent:
        raise CoordinateError(
            f"{ufunc.__name__}.reduceat: expected indices into axis {axis} of extent "
            f"{extent}, got {begins.min()} to {begins.max()}"
        )
    parts = []
    ends = [*begins[1:], extent][: len(begins)]
    for first, last in zip(begins, ends, strict=True):
        part = [slice(None)] * array.ndim
        part[axis] = slice(int(first), int(max(last, first + 1)))
        dtype = options.get("dtype")
        made = reduced(ufunc, array[tuple(part)], axis, dtype, keepdims=True)
        parts.append(asarray(made))
    if not parts:
        none = [slice(None)] * array.ndim
        none[axis] = slice(0)
        return array[tuple(none)]
    joined = concat(parts, axis=axis)
    return joined.todense() if array.ndim == 1 else joined


METHODS: dict[str, Callable[[np.ufunc, Sequence[Any], dict[str, Any]], Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "at": _at,
    "reduceat": _reduceat,
}
