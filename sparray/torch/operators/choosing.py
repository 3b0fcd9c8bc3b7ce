"""Where one condition holds one tensor, else another; with broadcasting."""

from typing import Any

import torch
from torch import Tensor

from sparray.torch.operators.elementwise import broadcast
from sparray.torch.operators.pointwise import on_values
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []


@implements([torch.where])
def _where(condition: Any, *others: Any, **named: Any) -> Any:
    given = (
        *others,
        *(named[name] for name in ("input", "self", "other") if name in named),
    )
    if len(given) != 2 or not isinstance(condition, Tensor):
        return NotImplemented
    return _chosen(condition, *given)


@implements([Tensor.where])
def _where_of(self: Any, condition: Tensor, other: Any) -> Any:
    return _chosen(condition, self, other)


@implements([torch.masked_fill, Tensor.masked_fill])
def _masked_fill(input: SparseTensor, mask: Tensor, value: Any) -> Any:
    made = _chosen(mask, value, input)
    if made is NotImplemented or made.dtype == input.dtype:
        return made
    return made.to(input.dtype)


def _chosen(condition: Tensor, first: Any, second: Any) -> Any:
    made = on_values(torch.where, (condition, first, second), {})
    if made is not NotImplemented:
        return made
    dtype = torch.result_type(_sample(first), _sample(second))
    operands: list[Tensor] = [condition.to(torch.bool)]
    names = ["{0}"]
    for one in (first, second):
        if not isinstance(one, Tensor) and one == 0:
            # What is 0 where nothing is stored needs no dense result.
            names.append("0")
            continue
        tensor = (
            one.to(dtype) if isinstance(one, Tensor) else torch.tensor(one, dtype=dtype)
        )
        names.append(f"{{{len(operands)}}}")
        operands.append(tensor)
    return broadcast(f"where({', '.join(names)})", operands)


def _sample(one: Any) -> Any:
    """Return what promotes dtypes as a tensor does."""
    if isinstance(one, Tensor):
        return torch.empty([0] * one.dim(), dtype=one.dtype)
    return one
