"""Element-wise functions of one pattern: applied to the values and the fill value.

What a function makes of the fill value is what it makes of every entry that is not
stored. So the result has the same pattern, and is exact whatever the function is.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sparray.errors import UnsupportedError
from sparray.torch.following import onto
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.pattern import Pattern
from sparray.torch.table import TABLE, implements
from sparray.torch.tensor import SparseTensor, values_of

__all__ = ["on_values"]

_UNARY = (
    "abs absolute neg negative positive relu square sqrt exp exp2 expm1 log1p sin cos "
    "tan sinh cosh tanh asin atan asinh sigmoid sign sgn trunc ceil floor round frac "
    "erf reciprocal rsqrt nan_to_num clamp clamp_min clamp_max pow logical_not "
    "isnan isinf isfinite real imag conj conj_physical angle deg2rad rad2deg "
    "eq ne lt le gt ge not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_xor"
).split()

_IN_PLACE = (
    "add_ sub_ mul_ div_ neg_ abs_ sqrt_ square_ zero_ lerp_ addcmul_ addcdiv_ clamp_ "
    "clamp_min_ relu_ sign_ pow_ reciprocal_ __iadd__ __isub__ __imul__ __itruediv__ "
    "__idiv__"
).split()

_SEVERAL = "lerp addcmul addcdiv maximum minimum".split()

_ACTIVATIONS = (
    "relu relu6 leaky_relu elu selu celu gelu silu mish hardtanh hardswish "
    "hardsigmoid softplus softsign tanhshrink hardshrink softshrink tanh sigmoid "
    "logsigmoid"
).split()


def on_values(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Apply a function to the values and the fill value of tensors of one pattern.

    Returns
    -------
    SparseTensor or NotImplemented
        NotImplemented if a tensor is dense or patterns differ.
    """
    pattern = _pattern(args, kwargs)
    if pattern is None:
        return NotImplemented
    refuse_anchored(function.__name__, *args, *kwargs.values())
    values = function(*map(values_of, args), **_mapped(values_of, kwargs))
    with torch.no_grad():
        fill = function(*map(_fill, args), **_mapped(_fill, kwargs)).item()
    return SparseTensor(pattern, values, fill)


def _in_place(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Change the values of the first tensor; its fill value follows."""
    target = args[0]
    if isinstance(target, SparseTensor) and target._rule is not None:
        args = (target, *(_projected(target, arg) for arg in args[1:]))
        kwargs = _mapped(lambda value: _projected(target, value), kwargs)
    pattern = _pattern(args, kwargs)
    if pattern is None or not isinstance(target, SparseTensor):
        return NotImplemented
    with torch.no_grad():
        fill = function(*map(_fill, args), **_mapped(_fill, kwargs)).item()
    if function is Tensor.addcdiv_ and target.requires_grad and _fill(args[1]) == 0:
        # What a parameter does not store has no update, though that be 0 / 0 there.
        fill = target._fill
    if fill != 0 and target.requires_grad:
        raise UnsupportedError(
            f"{function.__name__}: expected what keeps unstored entries 0, got {fill} "
            "for them"
        )
    function(*map(values_of, args), **_mapped(values_of, kwargs))
    target._fill = fill
    return target


def _projected(target: SparseTensor, operand: Any) -> Any:
    """Return the part of an operand that the target stores.

    Its gradients have another pattern, since a ``grad_format`` was asked for: a step of
    an optimizer takes from them what it can hold.
    """
    if not isinstance(operand, Tensor) or operand.shape != target.shape:
        return operand
    return onto(operand, target.pattern) if operand.dim() else operand


def _mapped(of: Callable[[Any], Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: of(value) for name, value in kwargs.items()}


def _pattern(args: Any, kwargs: Any) -> Pattern | None:
    """Return the pattern that all tensors share; numbers and 0-d tensors have any."""
    found: Pattern | None = None
    for value in (*args, *kwargs.values()):
        if isinstance(value, SparseTensor):
            if found is not None and not found.same_as(value.pattern):
                return None
            found = value.pattern
        elif isinstance(value, Tensor) and value.dim() > 0:
            return None
    return found


def _fill(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return torch.tensor(value.fill_value, dtype=value.dtype)
    return value.detach() if isinstance(value, Tensor) else value


def _register(function: Callable[..., Any], apply: Callable[..., Any]) -> None:
    @implements([function])
    def pointwise(*args: Any, **kwargs: Any) -> Any:
        return apply(function, args, kwargs)


def _register_keeping(function: Callable[..., Any]) -> None:
    """Register a function that keeps 0 whatever its other arguments are."""

    @implements([function])
    def keeping(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        if input.fill_value != 0:
            return on_values(function, (input, *args), kwargs)
        refuse_anchored(function.__name__, input)
        return SparseTensor(input.pattern, function(input.values(), *args, **kwargs))


for _name in (*_UNARY, *_SEVERAL):
    for _owner in (torch, Tensor):
        if hasattr(_owner, _name):
            _register(getattr(_owner, _name), on_values)
_OPERATORS = "neg abs pow pos eq ne lt le gt ge and or xor invert".split()

for _name in (f"__{name}__" for name in _OPERATORS):
    _register(getattr(Tensor, _name), on_values)
for _name in _IN_PLACE:
    if hasattr(Tensor, _name):
        _register(getattr(Tensor, _name), _in_place)
for _name in _ACTIVATIONS:
    if getattr(functional, _name) not in TABLE:
        _register(getattr(functional, _name), on_values)
# Dropout draws numbers: it may be called but once.
for _function in (torch.relu, Tensor.relu, functional.relu, functional.dropout):
    _register_keeping(_function)
