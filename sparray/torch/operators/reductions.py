"""Sums and means over dimensions."""

import math
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.named import named_format
from sparray.torch.gradient_formats import anchor_of
from sparray.torch.operators.operands import compute, dimension
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["Dimensions", "axes_of", "total"]

Dimensions = int | Sequence[int] | None


@implements([torch.sum, Tensor.sum, torch.sparse.sum])
def _sum(
    input: SparseTensor,
    dim: Dimensions = None,
    keepdim: bool = False,
    *more: Any,
    dtype: torch.dtype | None = None,
    axis: Dimensions = None,
    out: Tensor | None = None,
) -> Any:
    if more or out is not None or input.fill_value != 0:
        return NotImplemented
    dim = axis if dim is None else dim
    is_integral = not (input.is_floating_point() or input.is_complex())
    wanted = dtype or (torch.int64 if is_integral else input.dtype)
    operand = input if wanted == input.dtype else input.to(wanted)
    axes = axes_of(dim, input.dim())
    if len(axes) == input.dim() and _is_entries(input) and anchor_of(input) is None:
        # Torch adds the values up pairwise, which keeps more digits.
        total = operand.values().sum()
        return total.reshape([1] * input.dim()) if keepdim else total
    made = compute(_sum_over(input.dim(), axes), [operand])
    for axis_kept in sorted(axes) if keepdim else ():
        made = made.unsqueeze(axis_kept)
    return made


def total(tensor: SparseTensor, axes: Set[int]) -> Tensor:
    """Return the sums over dimensions as a dense tensor."""
    format = named_format("dense", tensor.dim() - len(axes))
    made: Tensor = compute(_sum_over(tensor.dim(), frozenset(axes)), [tensor], format)
    return made


def _is_entries(tensor: SparseTensor) -> bool:
    """Tell whether each value is an entry: no slot without one, no padding."""
    format = tensor.pattern.format
    return format.is_plain and not format.hides


def axes_of(dim: Dimensions, ndim: int) -> frozenset[int]:
    """Return dimensions that are reduced; all of them for None and none given."""
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return frozenset(range(ndim))
    given = [dim] if isinstance(dim, int) else list(dim)
    axes = frozenset(dimension("dim", number, ndim) for number in given)
    if len(axes) < len(given):
        raise ShapeError(f"dim: expected each dimension once, got {tuple(given)}")
    return axes


@lru_cache(maxsize=256)
def _sum_over(ndim: int, axes: frozenset[int]) -> Expression:
    kept = ",".join(f"i{n}" for n in range(ndim) if n not in axes)
    indices = ",".join(f"i{n}" for n in range(ndim))
    return assignment_expression(f"C[{kept}] = A[{indices}]")


@implements([torch.mean, Tensor.mean])
def _mean(
    input: SparseTensor,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: Tensor | None = None,
) -> Any:
    total = _sum(input, dim, keepdim, dtype=dtype, out=out)
    if total is NotImplemented or not (input.is_floating_point() or dtype):
        return NotImplemented
    extents = [input.shape[axis] for axis in axes_of(dim, input.dim())]
    return total / math.prod(extents)
