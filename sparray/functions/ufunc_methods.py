"""Methods of ufuncs on sparse arrays: `reduce`, `accumulate` and `outer`."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparray.array_operators import apply_operands
from sparray.errors import UnsupportedError

__all__ = ["METHODS"]

# The functions that are a ufunc's reduction, and its running one.
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_RUNNING = {"add": "cumulative_sum", "multiply": "cumulative_prod"}

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


def _reduce(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    function = _function(ufunc, "reduce", _REDUCTIONS)
    where, initial = options.pop("where", True), options.pop("initial", np._NoValue)
    if where is not True or initial is not np._NoValue:
        raise UnsupportedError(
            f"{ufunc.__name__}.reduce: expected neither where nor initial"
        )
    given = {"axis": options.pop("axis", 0)}
    if options.pop("keepdims", False):
        given["keepdims"] = True
    if options.get("dtype") is not None:
        given["dtype"] = options["dtype"]
    return function(inputs[0], **given)


def _accumulate(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    function = _function(ufunc, "accumulate", _RUNNING)
    given = {name: value for name, value in options.items() if value is not None}
    return function(inputs[0], axis=given.pop("axis", 0), **given)


def _function(
    ufunc: np.ufunc, method: str, table: dict[str, str]
) -> Callable[..., Any]:
    # By name, as users call it: reductions are functions of this layer.
    name = table.get(ufunc.__name__)
    function = getattr(sys.modules["sparray"], name, None) if name else None
    if function is None:
        known = ", ".join(table)
        raise UnsupportedError(
            f"{ufunc.__name__}.{method}: expected one of {known}, got another ufunc"
        )
    return function  # type: ignore[no-any-return]


def _outer(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    text = _OUTER.get(ufunc.__name__)
    if text is None or options:
        raise UnsupportedError(
            f"{ufunc.__name__}.outer: expected one of "
            f"{', '.join(_OUTER)} without keywords"
        )
    return apply_operands(text, inputs, outer=True)


METHODS: dict[str, Callable[[np.ufunc, Sequence[Any], dict[str, Any]], Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
}
