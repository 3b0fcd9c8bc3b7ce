"""Reductions by an operator: products, extremes, truths, and sums by segments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_protocols import dense_view
from sparray.compiler.loop_ir.dtypes import widened
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, PatternError, ShapeError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.formats.named import named_format
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axes
from sparray.functions.reductions.by_kernel import (
    COMPILE_ERRORS,
    ByKernel,
    by_kernel,
)
from sparray.functions.reductions.segments import Segments, segments
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = ["FOLDS", "Fold", "fold", "loop_dtype", "reduced_axes"]

Elements = npt.NDArray[Any]
_COUNTED = 2**62
_IN_NOTATION = frozenset({"sum", "prod", "min", "max", "any", "all"})
_WORTH_COMPILING = 2**15
"""Values from which on a kernel is worth the time that it takes to compile."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An operator that reduces.

    Attributes
    ----------
    name : str
        Of the function, in index notation too.
    ufunc : numpy.ufunc
        The operator.
    repeated : callable
        ``repeated(fill, counts)`` gives the fill value combined with itself so often.
    has_identity : bool
        Whether there is a result of no terms.
    keeps : bool
        Whether the identity leaves each other element as it is: ``gcd(-4, 0)`` is 4.
    """

    name: str
    ufunc: np.ufunc
    repeated: Callable[[Elements, Elements], Elements]
    has_identity: bool = True
    keeps: bool = True


def _product(fill: Elements, counts: Elements) -> Elements:
    with np.errstate(all="ignore"):
        made: Elements = fill * counts.astype(fill.dtype)
    return made


def _power(fill: Elements, counts: Elements) -> Elements:
    with np.errstate(all="ignore"):
        if fill.dtype.kind == "u":
            counts = counts.astype(np.uint64)
        made: Elements = np.power(fill, counts).astype(fill.dtype)
    return made


def _itself(fill: Elements, counts: Elements) -> Elements:
    return np.broadcast_to(fill, counts.shape)


def _odd(fill: Elements, counts: Elements) -> Elements:
    """Return the fill value where it is counted an odd number of times, and else 0."""
    return np.where(counts % 2 == 1, fill, fill.dtype.type(0))


def _magnitude(fill: Elements, counts: Elements) -> Elements:
    return np.where(counts == 1, fill, np.abs(fill))


def _length(fill: Elements, counts: Elements) -> Elements:
    long = np.abs(fill) * np.sqrt(counts.astype(fill.dtype))
    return np.where(counts == 1, fill, long)


def _logarithm(of: np.ufunc) -> Callable[[Elements, Elements], Elements]:
    def repeated(fill: Elements, counts: Elements) -> Elements:
        with np.errstate(all="ignore"):
            made: Elements = fill + of(counts.astype(fill.dtype))
        return made

    return repeated


FOLDS = {
    one.name: one
    for one in (
        Fold("sum", np.add, _product),
        Fold("prod", np.multiply, _power),
        Fold("min", np.minimum, _itself, has_identity=False),
        Fold("max", np.maximum, _itself, has_identity=False),
        Fold("any", np.logical_or, _itself),
        Fold("all", np.logical_and, _itself),
        Fold("logical_xor", np.logical_xor, _odd),
        Fold("bitwise_and", np.bitwise_and, _itself),
        Fold("bitwise_or", np.bitwise_or, _itself),
        Fold("bitwise_xor", np.bitwise_xor, _odd),
        Fold("fmax", np.fmax, _itself, has_identity=False),
        Fold("fmin", np.fmin, _itself, has_identity=False),
        Fold("gcd", np.gcd, _magnitude, keeps=False),
        Fold("lcm", np.lcm, _magnitude, has_identity=False),
        Fold("hypot", np.hypot, _length, keeps=False),
        Fold("logaddexp", np.logaddexp, _logarithm(np.log)),
        Fold("logaddexp2", np.logaddexp2, _logarithm(np.log2)),
    )
}


def loop_dtype(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that a ufunc of two reduces elements of a dtype in.

    Raises
    ------
    DTypeError
        If it does not.
    """
    if ufunc.types and ufunc.ntypes > 1:
        try:
            return ufunc.resolve_dtypes((None, dtype, None), reduction=True)[-1]
        except TypeError as error:
            raise DTypeError(f"{ufunc.__name__}: {error}") from None
    return dtype


def reduced_axes(axis: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes that are reduced, in order; all of them for None.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is given twice.
    """
    if axis is None:
        return tuple(range(len(shape)))
    return tuple(sorted(checked_axes(axis, shape)))


def fold(
    name: str, x: Any, axis: Any, dtype: npt.DTypeLike | None, *, keepdims: bool
) -> Any:
    """Reduce an array over axes.

    Parameters
    ----------
    name : str
        A key of `FOLDS`.
    x : SparseArray or array-like
        Any format.
    axis : int, tuple of int or None
        Which axes; None for all.
    dtype : dtype or None
        Of the operator; None for the values' own.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Raises
    ------
    ShapeError
        If there are no such axes, or no terms to give a minimum.
    """
    if hasattr(x, "__sparray_function__"):
        options = {"keepdims": True} if keepdims else {}
        return getattr(x, name)(axis=axis, **options)
    array = asarray(x)
    axes = reduced_axes(axis, array.shape)
    operator = FOLDS[name]
    if name in ("any", "all", "logical_xor"):
        array = _truths(array)
    elif dtype is not None:
        array = array.astype(dtype)
    if array.format.is_dense:
        return _dense(operator, array, axes, keepdims)
    if keepdims is False and _stays_outside(array, axes):
        compiled = _compiled(operator, array, axes)
        if compiled is not None:
            return compiled
    several = by_kernel(array, axes, keepdims=keepdims)
    if several is not None and name in _IN_NOTATION:
        try:
            return by_segments(operator, several, array.fill_value)
        except COMPILE_ERRORS:
            pass
    parts = segments(array, axes, keepdims=keepdims)
    if not operator.has_identity and parts.n_terms == 0:
        raise _no_terms(name, array.shape, axes)
    return by_segments(operator, parts, array.fill_value)


def _truths(array: SparseArray) -> SparseArray:
    """Return which elements are not zero; NaN is not."""
    if array.dtype == np.bool_:
        return array
    return SparseArray._from_trusted(
        array.format,
        array.shape,
        array._levels,
        array.values != 0,
        np.bool_(array.fill_value != 0),
    )


def _no_terms(name: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> ShapeError:
    return ShapeError(
        f"{name}: expected at least one element along the axes {axes} of shape "
        f"{shape}, got none, of which there is no {name}"
    )


def _dense(
    operator: Fold, array: SparseArray, axes: tuple[int, ...], keepdims: bool
) -> Any:
    elements = widened(dense_view(array))
    try:
        made = operator.ufunc.reduce(
            elements, axis=axes, keepdims=keepdims, dtype=elements.dtype
        )
    except ValueError:
        raise _no_terms(operator.name, array.shape, axes) from None
    return made.astype(array.dtype)


def _stays_outside(array: SparseArray, axes: tuple[int, ...]) -> bool:
    """Tell whether a kernel would know of each element's terms one after the other.

    Else it would need another order of the entries to know how many are not stored.
    """
    order = array.format.order
    return len(axes) == array.ndim or not order or order[0] not in axes


def _compiled(operator: Fold, array: SparseArray, axes: tuple[int, ...]) -> Any:
    """Reduce many entries by a kernel; None where segments are the better way.

    A product would multiply by every zero, and a result of several dimensions would be
    dense where the fill value is no identity.
    """
    kept = [d for d in range(array.ndim) if d not in axes]
    if operator.name not in ("min", "max", "any", "all") or not axes:
        return None
    if len(array.values) < _WORTH_COMPILING or len(kept) > 1 or array.ndim > 8:
        return None
    if array.dtype.kind == "c" or 0 in array.shape:
        return None
    names = [f"i{d}" for d in range(array.ndim)]
    over = ",".join(names[d] for d in axes)
    over = f"({over})" if len(axes) > 1 else over
    target = f"C[{names[kept[0]]}]" if kept else "C"
    text = f"{target} = {operator.name}({over}, A[{','.join(names)}])"
    try:
        stored = try_compiled(
            assignment_expression(text), [array], named_format("dense", len(kept))
        )
    except (UnsupportedError, DTypeError, PatternError):
        return None
    return None if stored is None else stored.as_ndarray()[() if not kept else ...]


def by_segments(operator: Fold, parts: Segments | ByKernel, fill: Any) -> Any:
    """Reduce segments of entries, and so many times the fill value.

    Parameters
    ----------
    operator : Fold
        What reduces.
    parts : Segments or ByKernel
        Of at least one term each, if the operator has no identity.
    fill : scalar
        What every element is that is not stored.
    """
    if isinstance(parts, ByKernel):
        values = parts.array.values
        nothing = _nothing(operator, values.dtype)
        wide = np.asarray(fill, values.dtype)
        elements = parts.fold(operator.name, values, nothing)
    else:
        values, wide = (
            widened(parts.values),
            widened(np.asarray(fill, parts.values.dtype)),
        )
        elements = parts.combined(operator.ufunc, values)
    elements, empty = _with_fill(operator, parts, elements, wide)
    return parts.result(elements.astype(values_dtype(parts), copy=False), empty)


def values_dtype(parts: Segments | ByKernel) -> np.dtype[Any]:
    """Return the dtype of the values that are reduced."""
    made = parts.array if isinstance(parts, ByKernel) else parts.values
    return made.dtype


def _nothing(operator: Fold, dtype: np.dtype[Any]) -> Any:
    """Return what an operator makes of no terms, or what changes none of its terms."""
    if operator.ufunc.identity is not None:
        return operator.ufunc.identity
    if dtype.kind == "b":
        return operator.name == "min"
    if dtype.kind == "f":
        return np.inf if operator.name == "min" else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if operator.name == "min" else limits.min


def _with_fill(
    operator: Fold, parts: Segments | ByKernel, elements: Elements, fill: Elements
) -> tuple[Elements, Any]:
    """Return elements with the fill values that are among their terms.

    Returns
    -------
    elements : dtype[segments]
        Each combined with so many fill values as it has terms that are not stored.
    empty : scalar
        What fill values alone give.
    """
    n_terms = parts.n_terms
    identity = operator.ufunc.identity
    if n_terms == 0 and identity is not None:
        return elements, np.asarray(identity, fill.dtype)
    if identity is not None and operator.keeps and bool(fill == identity):
        return elements, fill
    if n_terms > _COUNTED and operator.name in ("sum", "prod") and fill != 0:
        raise UnsupportedError(
            f"{operator.name}: expected at most {_COUNTED} elements to reduce to "
            f"one where the fill value is {fill}, got {n_terms}"
        )
    # Of a fill value that combines to itself it is enough to know that it is there.
    n_terms = min(n_terms, _COUNTED)
    missing = n_terms - parts.counts
    with np.errstate(all="ignore"):
        there = operator.ufunc(elements, operator.repeated(fill, missing))
    made = np.where(missing > 0, there, elements)
    return made, operator.repeated(fill, np.array([n_terms]))[0]
