"""Largest and smallest elements: reductions by what is not a sum.

A gradient goes to equal elements in equal parts, as torch's does. Elements that are not
stored take their part of it, and do not keep it.
"""

import math
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.named import named_format
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.lines import by_line
from sparray.torch.operators.operands import compute
from sparray.torch.operators.reductions import Dimensions, axes_of, total
from sparray.torch.operators.valued import valued
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["extreme", "is_ordered"]


def extreme(
    tensor: SparseTensor, dim: Dimensions, keepdim: bool, largest: bool
) -> Tensor:
    """Return the largest or smallest elements over dimensions, part of the graph."""
    axes = axes_of(dim, tensor.dim())
    expression = _over("max" if largest else "min", tensor.dim(), axes)
    format = named_format("dense", tensor.dim() - len(axes))
    made: Tensor = compute(expression, [tensor.detach()], format)
    if tensor.requires_grad and torch.is_grad_enabled():
        refuse_anchored("an extreme", tensor)
        made = valued(_with_gradient(tensor, made, axes), made)
    for axis in sorted(axes) if keepdim else ():
        made = made.unsqueeze(axis)
    return made


@lru_cache(maxsize=256)
def _over(reduction: str, ndim: int, axes: frozenset[int]) -> Expression:
    every = [f"i{n}" for n in range(ndim)]
    kept = ",".join(index for n, index in enumerate(every) if n not in axes)
    gone = ", ".join(every[axis] for axis in sorted(axes))
    text = f"{reduction}(({gone}), A[{','.join(every)}])"
    return assignment_expression(f"C[{kept}] = {text}" if kept else f"C = {text}")


def _with_gradient(tensor: SparseTensor, found: Tensor, axes: frozenset[int]) -> Tensor:
    """Return a weighted sum of the elements that were found: it has their gradient."""
    with torch.no_grad():
        values = tensor.values().detach()
        here = by_line("{M} * {s}", SparseTensor(tensor.pattern, values), found, axes)
        equal = (values == here.values()).to(values.dtype)
        ones = SparseTensor(tensor.pattern, torch.ones_like(values))
        extent = math.prod(tensor.shape[axis] for axis in axes)
        absent = torch.where(found == 0, extent - total(ones, axes), 0)
        count = total(SparseTensor(tensor.pattern, equal), axes) + absent
        shares = by_line("{A} / {s}", SparseTensor(tensor.pattern, equal), count, axes)
    return total(SparseTensor(tensor.pattern, shares.values() * tensor.values()), axes)


def is_ordered(tensor: Any) -> bool:
    """Tell whether it is a sparse tensor of numbers that compare, with fill value 0."""
    return (
        isinstance(tensor, SparseTensor)
        and tensor.fill_value == 0
        and not tensor.is_complex()
        and tensor.dtype != torch.bool
    )


def _register(functions: Any, largest: bool) -> None:
    @implements(functions)
    def reduction(
        input: SparseTensor,
        dim: Dimensions = None,
        keepdim: bool = False,
        *,
        out: Any = None,
    ) -> Any:
        if out is not None or not is_ordered(input):
            return NotImplemented
        return extreme(input, dim, keepdim, largest)


def _register_of_all(functions: Any, largest: bool) -> None:
    @implements(functions)
    def reduction(input: SparseTensor, *more: Any, **options: Any) -> Any:
        # With a dimension it also says where, and with a tensor it is element-wise.
        if more or options or not is_ordered(input):
            return NotImplemented
        return extreme(input, None, False, largest)


_register([torch.amax, Tensor.amax], True)
_register([torch.amin, Tensor.amin], False)
_register_of_all([torch.max, Tensor.max], True)
_register_of_all([torch.min, Tensor.min], False)
