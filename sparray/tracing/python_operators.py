"""Python's operators on lazy arrays, and what Python asks of values."""

from collections.abc import Callable
from typing import Any

from sparray.tracing.refusal import refusal

__all__ = ["NO_VALUES", "install"]

NO_VALUES = (
    "expected code that does not depend on values, which are not known when it is "
    "traced; call .compute() first, outside of a fused function"
)
_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
_SIGNS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")
_SYMBOLS = dict(zip(_BINARY, _SIGNS, strict=True))
_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY = {
    "neg": "neg",
    "pos": "positive",
    "abs": "abs",
    "invert": "bitwise_invert",
}
_VALUES = ("bool", "float", "int", "complex", "index", "iter", "contains")

Applied = Callable[..., Any]


def install(cls: type, applied: Applied, changed: Applied) -> None:
    """Give a class Python's operators.

    Parameters
    ----------
    cls : type
        Of lazy arrays.
    applied : callable
        Applies a row of the operator table to operands.
    changed : callable
        Returns an array with the elements of another, by an operator.
    """
    for name, op in _BINARY.items():
        setattr(cls, f"__{name}__", _operator(applied, op, False))
        setattr(cls, f"__r{name}__", _operator(applied, op, True))
        symbol = f"{_SYMBOLS[name]}="
        setattr(cls, f"__i{name}__", _in_place(applied, op, symbol, changed))
    for name in _COMPARED:
        setattr(cls, f"__{name}__", _operator(applied, name, False))
    for name, op in _UNARY.items():
        setattr(cls, f"__{name}__", _prefix(applied, op))
    for name in _VALUES:
        setattr(cls, f"__{name}__", _valued(name))


def _operator(applied: Applied, op: str, reflected: bool) -> Applied:
    def method(self: Any, other: Any) -> Any:
        return applied(op, other, self) if reflected else applied(op, self, other)

    return method


def _in_place(applied: Applied, op: str, symbol: str, changed: Applied) -> Applied:
    def method(self: Any, other: Any) -> Any:
        return changed(self, applied(op, self, other), symbol)

    return method


def _prefix(applied: Applied, op: str) -> Applied:
    return lambda self: applied(op, self)


def _valued(name: str) -> Applied:
    def method(self: Any, *args: Any) -> Any:
        raise refusal(f"{name} of a lazy array", NO_VALUES)

    return method
