"""Torch's functions and methods on lazy arrays: those of a table, no others.

They are known by name, so that torch is not imported for them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sparray.compiler.loop_ir.operators import OPERATORS
from sparray.tracing import numpy_functions
from sparray.tracing.lazy_array import LazyArray, applied
from sparray.tracing.refusal import refusal

__all__ = ["call_torch", "torch_method"]

_RENAMED = {
    "sub": "sub",
    "true_divide": "div",
    "divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "absolute": "abs",
    "negative": "neg",
    "maximum": "max",
    "minimum": "min",
}
_NOT_OURS = frozenset({"max", "min", "where", "round", "and", "or", "not", "xor"})
"""Rows of the operator table whose names mean something else in torch."""


def call_torch(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function of torch."""
    name = function.__name__
    handler = _handler(name)
    if handler is None:
        raise refusal(f"torch.{name}", "expected an operation that index notation has")
    given = {
        key: value
        for key, value in kwargs.items()
        # What is usual, torch's functional module says too.
        if key != "_stacklevel" and value is not None and value is not False
    }
    return numpy_functions.call_handler(f"torch.{name}", handler, args, given)


def torch_method(array: LazyArray, name: str) -> Callable[..., Any] | None:
    """Return a method that torch's tensors have; None for one that is not known."""
    handler = _handler(name)
    return None if handler is None else partial(handler, array)


def _handler(name: str) -> Callable[..., Any] | None:
    found = _HANDLERS.get(name)
    if found is not None:
        return found
    op = _RENAMED.get(name, name)
    if op not in OPERATORS or name in _NOT_OURS:
        return None
    return partial(_operator, op)


def _operator(op: str, *operands: Any) -> Any:
    made = applied(op, *operands)
    if made is NotImplemented or len(operands) != OPERATORS[op].arity:
        raise refusal(op, f"expected {OPERATORS[op].arity} arrays or numbers")
    return made


def _method(name: str) -> Callable[..., Any]:
    def call(
        input: LazyArray, dim: Any = None, keepdim: bool = False, **options: Any
    ) -> Any:
        return getattr(input, name)(axis=dim, keepdims=keepdim, **options)

    return call


def _extreme(name: str) -> Callable[..., Any]:
    def call(input: LazyArray) -> Any:
        return getattr(input, name)()

    return call


def _matmul(input: Any, other: Any) -> Any:
    return input @ other


def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    made = input @ weight.T
    return made if bias is None else made + bias


def _swapped(input: LazyArray, dim0: int, dim1: int) -> LazyArray:
    return numpy_functions.swapaxes(input, dim0, dim1)


def _permuted(input: LazyArray, *dims: Any) -> LazyArray:
    return input.transpose(*dims)


def _turned(input: LazyArray) -> LazyArray:
    if input.ndim > 2:
        raise refusal("t", f"expected up to 2 dimensions, got {input.ndim}")
    return input.T


def _unsqueezed(input: LazyArray, dim: int) -> LazyArray:
    return numpy_functions.expand_dims(input, dim)


def _squeezed(input: LazyArray, dim: Any = None) -> LazyArray:
    return input.squeeze(dim)


def _softmax(input: Any, dim: int) -> Any:
    e = _operator("exp", input - input.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


def _log_softmax(input: Any, dim: int) -> Any:
    shifted = input - input.max(axis=dim, keepdims=True)
    total = _operator("exp", shifted).sum(axis=dim, keepdims=True)
    return shifted - _operator("log", total)


def _sigmoid(input: Any) -> Any:
    return 1 / (1 + _operator("exp", -input))


def _clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    return numpy_functions.clip(input, min, max)


def _filled(input: Any, mask: Any, value: Any) -> Any:
    return numpy_functions.where(~mask, input, value)


_HANDLERS: dict[str, Callable[..., Any]] = {
    **{name: _method(name) for name in ("sum", "mean", "prod", "any", "all")},
    **{name: _extreme(name) for name in ("max", "min")},
    "amax": _method("max"),
    "amin": _method("min"),
    **dict.fromkeys(("matmul", "mm", "mv", "bmm"), _matmul),
    "linear": _linear,
    "einsum": numpy_functions.einsum,
    "where": numpy_functions.where,
    "masked_fill": _filled,
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _swapped),
    "permute": _permuted,
    "t": _turned,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "sigmoid": _sigmoid,
    **dict.fromkeys(("clamp", "clip"), _clamp),
}
