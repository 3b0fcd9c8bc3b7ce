"""Rows of a sparse table: an embedding is a product with a matrix of ones."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from sparray.convert import from_coords
from sparray.errors import CoordinateError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.formats.named import named_format
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.operands import compute
from sparray.torch.pattern import Pattern
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

_ROWS = assignment_expression("y[b,d] = S[b,n] * W[n,d]")


def _summed_rows(
    weight: SparseTensor, bags: Tensor, rows: Tensor, factors: Tensor, n_bags: int
) -> Tensor:
    """Return sums of rows times factors, one for each bag, as a dense tensor."""
    numbers = rows.detach().reshape(-1).to(torch.int64)
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(weight):
        raise CoordinateError(
            f"input: expected rows from 0 to {len(weight) - 1}, got "
            f"{int(numbers.min())} to {int(numbers.max())}"
        )
    pairs = torch.stack([bags.to(torch.int64), numbers])
    unique, places = torch.unique(pairs, dim=1, return_inverse=True)
    shape = (n_bags, len(weight))
    ones = np.ones(unique.shape[1], np.bool_)
    made = from_coords(unique.numpy(), ones, shape, format="csr")
    values = factors.new_zeros(unique.shape[1]).index_add(0, places, factors)
    selection = SparseTensor(Pattern(made), values)
    result: Tensor = compute(_ROWS, [selection, weight], named_format("dense", 2))
    return result


@implements([functional.embedding])
def _embedding(
    input: Tensor,
    weight: SparseTensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return rows of a table as a dense tensor."""
    if max_norm is not None or scale_grad_by_freq or isinstance(input, SparseTensor):
        return NotImplemented
    rows = input.reshape(-1)
    bags = torch.arange(len(rows))
    factors = torch.ones(len(rows), dtype=weight.dtype)
    source = _without_row(weight, padding_idx)
    made = _summed_rows(source, bags, rows, factors, len(rows))
    return made.reshape(*input.shape, weight.shape[1])


def _without_row(weight: SparseTensor, row: int | None) -> SparseTensor:
    """Return a table of which one row gets no gradient."""
    if row is None:
        return weight
    refuse_anchored("embedding with padding_idx", weight)
    row = row + len(weight) if row < 0 else row
    coords, numbers = weight.pattern.array(
        np.arange(1, weight.pattern.n_values + 1)
    ).to_coords()
    constant = torch.zeros(weight.pattern.n_values, dtype=torch.bool)
    constant[torch.from_numpy(numbers[coords[0] == row] - 1)] = True
    values = weight.values()
    return SparseTensor(weight.pattern, torch.where(constant, values.detach(), values))


@implements([functional.embedding_bag])
def _embedding_bag(
    input: Tensor,
    weight: SparseTensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Return sums or means of rows of a table as a dense tensor."""
    plain = max_norm is None and not scale_grad_by_freq and padding_idx is None
    if not plain or mode not in ("sum", "mean") or not isinstance(weight, SparseTensor):
        return NotImplemented
    rows = input.reshape(-1)
    starts = _starts(input, offsets, include_last_offset)
    lengths = torch.diff(starts, append=torch.tensor([len(rows)]))
    if include_last_offset and offsets is not None:
        lengths = torch.diff(offsets)
    bags = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    rows = rows[: len(bags)]
    if per_sample_weights is None:
        factors = torch.ones(len(rows), dtype=weight.dtype)
    elif mode == "sum":
        factors = per_sample_weights.reshape(-1)[: len(rows)]
    else:
        raise UnsupportedError("expected mode 'sum' with per_sample_weights")
    if mode == "mean":
        factors = factors / lengths[bags]
    return _summed_rows(weight, bags, rows, factors, len(lengths))


def _starts(input: Tensor, offsets: Tensor | None, has_last: bool) -> Tensor:
    if input.dim() == 2:
        if offsets is not None:
            raise UnsupportedError("expected no offsets for an input of 2 dimensions")
        return torch.arange(0, input.numel(), input.shape[1])
    if offsets is None:
        raise UnsupportedError("expected offsets for an input of 1 dimension")
    return offsets[:-1] if has_last else offsets
