"""Attention at the entries of a sparse mask: no score is computed anywhere else."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sparray.convert import default_format, from_coords
from sparray.errors import ShapeError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.conversions import to_format
from sparray.torch.operators.operands import compute, on_pattern, one_dtype
from sparray.torch.pattern import Pattern
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

# The batch is innermost: scores of one pair of positions stand side by side.
_BATCHED = Format([Dense(), *named_format("csr", 2).levels[1:], Dense()])


@implements([functional.scaled_dot_product_attention])
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attend where a mask is True, or where it stores what is added to scores.

    A mask of numbers must have -inf as its fill value: 0 forbids nothing.
    """
    tensors = (query, key, value)
    sparse_mask = isinstance(attn_mask, SparseTensor) and attn_mask.dim() >= 2
    dense = not any(isinstance(tensor, SparseTensor) for tensor in tensors)
    if not (sparse_mask and dense) or is_causal or enable_gqa:
        return NotImplemented
    refuse_anchored("scaled_dot_product_attention", attn_mask)
    one_dtype("scaled_dot_product_attention", *tensors)
    batches = [tensor.shape[:-2] for tensor in (*tensors, attn_mask)]  # type: ignore[union-attr]
    batch = torch.broadcast_shapes(*batches)  # type: ignore[no-untyped-call]
    q, k, v = (
        tensor.expand(*batch, *tensor.shape[-2:]).reshape(-1, *tensor.shape[-2:])
        for tensor in tensors
    )
    scored = (q.shape[1], k.shape[1])
    if tuple(attn_mask.shape[-2:]) != scored:  # type: ignore[union-attr]
        raise ShapeError(
            f"attn_mask: expected {scored} as its last dimensions, got shape "
            f"{tuple(attn_mask.shape)}"  # type: ignore[union-attr]
        )
    q = q * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    of_each = attn_mask.dim() > 2  # type: ignore[union-attr]
    if of_each:
        # An entry for each score: that many are computed.
        whole: Any = attn_mask.expand(*batch, *scored)  # type: ignore[union-attr]
        mask = _allowed(whole.reshape(-1, *scored))
        shares = torch.sparse.softmax(_scores_of_each(q, k, mask), 2)
    else:
        mask = _allowed(attn_mask)  # type: ignore[arg-type]
        shares = torch.sparse.softmax(_scores(q, k, mask), 1)
    shares = functional.dropout(shares, dropout_p, dropout_p > 0)
    weighted = _WEIGHTED_OF_EACH if of_each else _WEIGHTED
    made: Tensor = compute(weighted, [shares, v], named_format("dense", 3))
    return made.reshape(*batch, *made.shape[1:])


def _allowed(mask: SparseTensor) -> SparseTensor:
    """Return a mask of which every stored entry may be attended to, by rows."""
    if mask.dtype != torch.bool:
        if mask.fill_value != -torch.inf:
            raise UnsupportedError(
                "expected a mask of numbers with fill value -inf, got "
                f"{mask.fill_value}"
            )
        return to_format(mask, default_format(mask.dim()))
    if mask.fill_value:
        raise UnsupportedError("expected a mask with fill value False, got True")
    if not bool(mask.values().all()):
        mask = _true_entries(mask)
    return to_format(mask, default_format(mask.dim()))


def _true_entries(mask: SparseTensor) -> SparseTensor:
    coords, values = mask.to_array().to_coords()
    kept = values[values]
    made = from_coords(coords[:, values], kept, tuple(mask.shape))
    return SparseTensor(Pattern(made), torch.ones(len(kept), dtype=torch.bool))


_SCORES = assignment_expression("C[i,j,b] = M[i,j] * q[b,i,d] * r[b,j,d]")
_WEIGHTED = assignment_expression("y[b,i,d] = P[i,j,b] * v[b,j,d]")
_SCORES_OF_EACH = assignment_expression("C[b,i,j] = M[b,i,j] * q[b,i,d] * r[b,j,d]")
_WEIGHTED_OF_EACH = assignment_expression("y[b,i,d] = P[b,i,j] * v[b,j,d]")


def _scores(q: Tensor, k: Tensor, mask: SparseTensor) -> SparseTensor:
    """Return the products of queries and keys that a mask allows, and what it adds."""
    ones = SparseTensor(mask.pattern, mask.pattern.ones)
    made: SparseTensor = compute(_SCORES, [ones, q, k], _BATCHED)
    if mask.dtype == torch.bool:
        return made
    # One value for each entry of the mask and each of the batch.
    values = made.values().reshape(mask.nnz, -1) + mask.values().unsqueeze(1)
    return made.with_values(values.reshape(-1))


def _scores_of_each(q: Tensor, k: Tensor, mask: SparseTensor) -> SparseTensor:
    """Return such products where each of the batch has a mask of its own."""
    ones = SparseTensor(mask.pattern, mask.pattern.ones)
    made: SparseTensor = compute(_SCORES_OF_EACH, [ones, q, k], mask.format)
    values = on_pattern(made, mask.pattern)
    if mask.dtype != torch.bool:
        values = values + mask.values()
    return SparseTensor(mask.pattern, values)
