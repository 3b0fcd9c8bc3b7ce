"""NumPy's functions, and sparray's, on lazy arrays: those of a table, no others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sparray.compiler.loop_ir.operators import OPERATORS
from sparray.errors import ShapeError
from sparray.tracing import operations
from sparray.tracing.graph import View
from sparray.tracing.in_place import share
from sparray.tracing.lazy_array import LazyArray, applied, as_view, lazy
from sparray.tracing.refusal import refusal

__all__ = [
    "call_function",
    "call_handler",
    "call_sparray",
    "call_ufunc",
    "clip",
    "einsum",
    "expand_dims",
    "swapaxes",
    "where",
]

_UNKNOWN = "expected an operation that index notation has"
_UFUNCS: dict[Any, str] = {np.rint: "round"}
for _row in OPERATORS.values():
    # Of two rows with the same function the first is the usual one.
    if isinstance(_row.evaluate, np.ufunc):
        _UFUNCS.setdefault(_row.evaluate, _row.name)
_REDUCED = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Call a ufunc, or reduce by it."""
    name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if method == "reduce" and ufunc in _REDUCED:
        given = {key: x for key, x in options.items() if x is not np._NoValue}
        # A ufunc reduces along the first axis where nothing is said.
        axis = given.pop("axis", inputs[1] if len(inputs) > 1 else 0)
        return getattr(_lazy(name, inputs[0]), _REDUCED[ufunc])(axis=axis, **given)
    if method != "__call__":
        raise refusal(name, _UNKNOWN)
    used = [key for key, x in options.items() if x is not None and x is not True]
    if used:
        raise refusal(f"{name}({used[0]}=...)", "expected arrays alone")
    if ufunc is np.matmul:
        return _lazy(name, inputs[0]) @ _lazy(name, inputs[1])
    if ufunc not in _UFUNCS:
        raise refusal(name, _UNKNOWN)
    return _applied(name, _UFUNCS[ufunc], *inputs)


def call_function(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function of NumPy that is no ufunc."""
    module = getattr(function, "__module__", "numpy").replace("numpy", "np", 1)
    name = f"{module}.{function.__name__}"
    handler = _FUNCTIONS.get(function)
    if handler is None:
        raise refusal(name, _UNKNOWN)
    return call_handler(name, handler, args, kwargs)


def call_sparray(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function of sparray: an operator of the table, or one with a handler."""
    shown = f"sparray.{name}"
    if name in _SPARRAY:
        return call_handler(shown, _SPARRAY[name], args, kwargs)
    if name in OPERATORS:
        return _applied(shown, name, *args)
    raise refusal(shown, _UNKNOWN)


def call_handler(
    name: str,
    handler: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call what stands for a function, named so in errors."""
    given = {key: x for key, x in kwargs.items() if x is not np._NoValue}
    try:
        return handler(*args, **given)
    except TypeError as error:
        # Of an argument that the handler does not have; its own errors are named.
        if "argument" in str(error) and type(error) is TypeError:
            why = f"expected arguments that index notation has: {error}"
            raise refusal(name, why) from error
        raise


def _applied(name: str, op: str, *operands: Any) -> Any:
    made = applied(op, *operands)
    if made is NotImplemented:
        kinds = ", ".join(type(x).__name__ for x in operands)
        raise refusal(name, f"expected arrays and numbers, got {kinds}")
    return made


def _lazy(name: str, value: Any) -> LazyArray:
    view = as_view(value)
    if isinstance(view, View):
        return LazyArray(view)
    if view is None:
        raise refusal(name, f"expected an array, got {type(value).__name__}")
    return lazy(np.asarray(value))


def _method(name: str) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_lazy(f"np.{name}", a), name)(*args, **kwargs)

    return call


def einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> LazyArray:
    """Compute an einsum string; see `np.einsum`."""
    if not isinstance(subscripts, str):
        raise refusal("einsum", f"expected a string, got {subscripts!r}")
    views = [_lazy("einsum", x)._view for x in operands]
    return LazyArray(operations.einsum(subscripts, views))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose between arrays; see `np.where`."""
    if x is None or y is None:
        raise refusal("where", "expected a condition and two arrays")
    return _applied("where", "where", _lazy("where", condition)._truth(), x, y)


def swapaxes(a: Any, axis1: int, axis2: int) -> LazyArray:
    """Exchange two axes."""
    made = _lazy("np.swapaxes", a)
    order = list(range(made.ndim))
    first, second = made._axis(axis1), made._axis(axis2)
    order[first], order[second] = order[second], order[first]
    return made.transpose(*order) if order else made


def _moveaxis(a: Any, source: Any, destination: Any) -> LazyArray:
    made = _lazy("np.moveaxis", a)
    moved = made._axes(source)
    order = [n for n in range(made.ndim) if n not in moved]
    for place, axis in sorted(zip(made._axes(destination), moved, strict=True)):
        order.insert(place, axis)
    return made.transpose(*order) if order else made


def expand_dims(a: Any, axis: Any) -> LazyArray:
    """Add dimensions of extent 1."""
    made = _lazy("np.expand_dims", a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = made.ndim + len(given)
    places = [n % ndim for n in given if -ndim <= n < ndim]
    if len(set(places)) < len(given):
        raise ShapeError(f"expand_dims: expected axes of {ndim} dimensions, got {axis}")
    share(made._view)
    return LazyArray(operations.expand(made._view, places))


def _outer(a: Any, b: Any) -> LazyArray:
    first, second = _lazy("np.outer", a), _lazy("np.outer", b)
    if first.ndim != 1 or second.ndim != 1:
        raise refusal("np.outer", "expected vectors")
    return LazyArray(operations.einsum("i,j->ij", [first._view, second._view]))


def _trace(a: Any) -> LazyArray:
    made = _lazy("np.trace", a)
    if made.ndim != 2:
        raise refusal("np.trace", "expected a matrix")
    return LazyArray(operations.einsum("ii->", [made._view]))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> LazyArray:
    first, second = _lazy("np.tensordot", a), _lazy("np.tensordot", b)
    if isinstance(axes, int):
        left = list(range(first.ndim - axes, first.ndim))
        right = list(range(axes))
    else:
        left, right = first._axes(axes[0]), second._axes(axes[1])
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    one = [next(letters) for _ in range(first.ndim)]
    two = [next(letters) for _ in range(second.ndim)]
    if len(left) != len(right):
        raise ShapeError(f"tensordot: expected as many axes of each, got {axes}")
    for n, m in zip(left, right, strict=True):
        two[m] = one[n]
    kept = [x for n, x in enumerate(one) if n not in left]
    kept += [x for n, x in enumerate(two) if n not in right]
    text = f"{''.join(one)},{''.join(two)}->{''.join(kept)}"
    return LazyArray(operations.einsum(text, [first._view, second._view]))


def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Bound each element."""
    made = _lazy("np.clip", a)
    if a_min is not None:
        made = _applied("np.clip", "max", made, a_min)
    return made if a_max is None else _applied("np.clip", "min", made, a_max)


def _round(a: Any, decimals: int = 0) -> Any:
    if decimals != 0:
        raise refusal("np.round", f"expected no decimals, got {decimals}")
    return _applied("np.round", "round", a)


def _operator(op: str) -> Callable[[Any], Any]:
    return lambda a: _applied(op, op, a)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _method("sum"),
    np.prod: _method("prod"),
    np.mean: _method("mean"),
    np.max: _method("max"),
    np.min: _method("min"),
    np.amax: _method("max"),
    np.amin: _method("min"),
    np.any: _method("any"),
    np.all: _method("all"),
    np.transpose: _method("transpose"),
    np.squeeze: _method("squeeze"),
    np.dot: _method("dot"),
    np.einsum: einsum,
    np.where: where,
    np.swapaxes: swapaxes,
    np.moveaxis: _moveaxis,
    np.expand_dims: expand_dims,
    np.outer: _outer,
    np.trace: _trace,
    np.tensordot: _tensordot,
    np.clip: clip,
    np.round: _round,
    np.around: _round,
    np.real: _operator("real"),
    np.imag: _operator("imag"),
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.size,
}
_SPARRAY: dict[str, Callable[..., Any]] = {
    "einsum": einsum,
    "sum": _method("sum"),
    "where": where,
}
