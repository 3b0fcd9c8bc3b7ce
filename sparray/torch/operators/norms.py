"""Norms of elements over dimensions."""

import math
from typing import Any

import torch
from torch import Tensor

from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.extremes import extreme
from sparray.torch.operators.reductions import Dimensions, axes_of, total
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []


@implements([torch.norm, Tensor.norm])
def _norm(
    input: SparseTensor,
    p: Any = "fro",
    dim: Dimensions = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: torch.dtype | None = None,
) -> Any:
    order = 2 if p is None or p == "fro" else p
    return _vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


@implements([torch.linalg.vector_norm])
def _vector_norm(
    x: SparseTensor,
    ord: Any = 2,
    dim: Dimensions = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: Any = None,
) -> Any:
    values = x.values() if dtype is None else x.values().to(dtype)
    known = not isinstance(ord, str) and (ord == 0 or abs(ord) >= 1)
    is_number = values.is_floating_point() or values.is_complex()
    if out is not None or x.fill_value != 0 or not is_number or not known:
        return NotImplemented
    refuse_anchored("norm", x)
    axes = axes_of(dim, x.dim())
    sizes = SparseTensor(x.pattern, values.abs())
    if math.isinf(ord):
        return extreme(sizes, tuple(axes), keepdim, ord > 0)
    if ord < 0:
        return NotImplemented
    made = _root_of_sums(sizes, ord, axes)
    for axis in sorted(axes) if keepdim else ():
        made = made.unsqueeze(axis)
    return made


def _root_of_sums(sizes: SparseTensor, ord: Any, axes: frozenset[int]) -> Tensor:
    values = sizes.values()
    if ord == 0:
        stored = (values != 0).to(values.dtype)
        return total(SparseTensor(sizes.pattern, stored), axes)
    sums = total(SparseTensor(sizes.pattern, values**ord), axes)
    if ord == 1:
        return sums
    # A root has no derivative at 0; torch takes 0, and so does this.
    root = torch.where(sums == 0, 1, sums) ** (1 / ord)
    return torch.where(sums == 0, 0, root)


@implements([torch.linalg.norm])
def _linalg_norm(
    A: SparseTensor,
    ord: Any = None,
    dim: Dimensions = None,
    keepdim: bool = False,
    **options: Any,
) -> Any:
    is_vector = isinstance(dim, int) or (dim is None and A.dim() == 1)
    if not is_vector and ord not in (None, "fro"):
        return NotImplemented
    order = ord if is_vector and ord is not None else 2
    return _vector_norm(A, order, dim, keepdim, **options)


@implements([torch.linalg.matrix_norm])
def _matrix_norm(
    A: SparseTensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    **options: Any,
) -> Any:
    if ord != "fro":
        return NotImplemented
    return _vector_norm(A, 2, dim, keepdim, **options)
