"""Comparisons, and the larger and smaller of two elements, with broadcasting.

Tensors of one pattern are left to `pointwise`: torch compares their values.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sparray.torch.operators.elementwise import broadcast
from sparray.torch.operators.operands import on_pattern
from sparray.torch.operators.pointwise import on_values
from sparray.torch.operators.valued import valued
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

_COMPARISONS = {
    "==": "eq __eq__",
    "!=": "ne __ne__ not_equal",
    "<": "lt __lt__ less",
    "<=": "le __le__ less_equal",
    ">": "gt __gt__ greater",
    ">=": "ge __ge__ greater_equal",
}


def _operands(input: Any, other: Any) -> list[Tensor] | None:
    """Return two tensors of one dtype, or None if they are left to torch."""
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return None
    dtype = torch.promote_types(input.dtype, other.dtype)
    return [input.to(dtype), other.to(dtype)]


def _register_comparison(function: Callable[..., Any], symbol: str) -> None:
    @implements([function])
    def comparison(input: Any, other: Any, *, out: Any = None) -> Any:
        made = on_values(function, (input, other), {})
        given = _operands(input, other)
        if made is not NotImplemented or given is None or out is not None:
            return made
        detached = [tensor.detach() for tensor in given]
        return broadcast(f"{{0}} {symbol} {{1}}", detached)


for _symbol, _names in _COMPARISONS.items():
    for _name in _names.split():
        for _owner in (torch, Tensor):
            if hasattr(_owner, _name):
                _register_comparison(getattr(_owner, _name), _symbol)


def _register_extreme(function: Callable[..., Any], name: str, symbol: str) -> None:
    # Of equal elements each has half of the gradient, as in torch.
    graph = f"where({{0}} {symbol} {{1}}, {{0}}, {_EQUAL})"

    @implements([function])
    def extreme(input: Any, other: Any, *, out: Any = None) -> Any:
        made = on_values(function, (input, other), {})
        given = _operands(input, other)
        if made is not NotImplemented and out is not None:
            return _written(made, out)
        if made is not NotImplemented or given is None or out is not None:
            return made
        detached = [tensor.detach() for tensor in given]
        found = broadcast(f"{name}({{0}}, {{1}})", detached)
        has_graph = any(tensor.requires_grad for tensor in given)
        if not has_graph or not torch.is_grad_enabled():
            return found
        picked = broadcast(graph, given)
        if not isinstance(found, SparseTensor):
            return valued(picked, found)
        values = valued(on_pattern(picked, found.pattern), found.values())
        return found.with_values(values)


def _written(made: SparseTensor, out: Any) -> Any:
    """Write a result where optimizers keep theirs: into a tensor of its pattern."""
    if not isinstance(out, SparseTensor) or not out.pattern.same_as(made.pattern):
        return NotImplemented
    out.values().copy_(made.values())
    out._fill = made.fill_value
    return out


_EQUAL = "where({0} == {1}, 0.5 * ({0} + {1}), {1})"

for _owner in (torch, Tensor):
    _register_extreme(_owner.maximum, "max", ">")
    _register_extreme(_owner.minimum, "min", "<")
