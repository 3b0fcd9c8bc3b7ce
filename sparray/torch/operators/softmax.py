"""Softmax over the stored entries along one dimension, as `torch.sparse.softmax`."""

import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sparray.convert import default_format
from sparray.errors import DTypeError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.functions.einsum import einsum
from sparray.sparse_array import SparseArray
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.operands import compute, dimension, simpler
from sparray.torch.pattern import Pattern, as_tensor_of
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

_LETTERS = string.ascii_letters

# What torch asks __torch_function__ by depends on how it was called.
_SOFTMAX = [
    torch.softmax,
    torch.nn.functional.softmax,
    torch.sparse.softmax,
    torch.special.softmax,
    Tensor.softmax,
]
_LOG_SOFTMAX = [
    torch.log_softmax,
    torch.nn.functional.log_softmax,
    torch.sparse.log_softmax,
    torch.special.log_softmax,
    Tensor.log_softmax,
]


@implements(_SOFTMAX)
def _softmax(
    input: SparseTensor,
    dim: int | None = None,
    *more: Any,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> Any:
    return _over_stored(input, dim, dtype, False)


@implements(_LOG_SOFTMAX)
def _log_softmax(
    input: SparseTensor,
    dim: int | None = None,
    *more: Any,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> Any:
    return _over_stored(input, dim, dtype, True)


def _over_stored(
    input: SparseTensor, dim: int | None, dtype: torch.dtype | None, is_log: bool
) -> Any:
    if dim is None or input.fill_value != 0:
        return NotImplemented
    axis = dimension("dim", dim, input.dim())
    given: Any = input if dtype is None else input.to(dtype)
    if not given.is_floating_point():
        raise DTypeError(
            f"softmax: expected floating-point values, got {given.dtype} "
            "(dtype=torch.float32 converts them)"
        )
    refuse_anchored("softmax", given)
    scores: Any = simpler(given)
    if not scores.format.is_sorted:
        scores = scores.to_format(default_format(scores.dim()))
    made = _of_scores(scores, axis, is_log)
    return made if scores is given else made.to_format(given.format)


def _of_scores(scores: SparseTensor, axis: int, is_log: bool) -> SparseTensor:
    """Return the softmax of a tensor in a format that every kernel reads.

    The greatest score of each slice is subtracted first, which changes nothing but
    keeps `exp` in range; so it needs no gradient.
    """
    shifted = scores.values() - _at_entries(scores, _greatest(scores, axis), axis)
    powers = scores.with_values(shifted.exp())
    total = torch.sum(powers, axis)
    if is_log:
        logs = _on_stored(torch.log, total)
        return scores.with_values(shifted - _at_entries(scores, logs, axis))
    shares = _at_entries(scores, _on_stored(torch.reciprocal, total), axis)
    return scores.with_values(powers.values() * shares)


def _greatest(scores: SparseTensor, axis: int) -> Tensor:
    """Return the greatest stored entry of each slice along a dimension."""
    numbers = "".join(_LETTERS[n] for n in range(scores.dim()))
    kept = numbers.replace(_LETTERS[axis], "")
    detached = scores.with_values(scores.values().detach())
    found = einsum(f"{numbers}->{kept}", detached.to_array(), semiring="max_plus")
    if isinstance(found, SparseArray):
        # Slices without an entry are left 0 in place of -inf: nothing reads them.
        return SparseTensor(Pattern(found), as_tensor_of(found.values))
    return torch.as_tensor(found)


def _on_stored(function: Callable[[Tensor], Tensor], sums: Tensor) -> Tensor:
    """Apply a function to sums; what no entry was added to is left 0."""
    if isinstance(sums, SparseTensor):
        return sums.with_values(function(sums.values()))
    # Of one entry at least the greatest power is 1, so only empty sums are 0.
    return function(torch.where(sums == 0, torch.ones_like(sums), sums))


def _at_entries(scores: SparseTensor, slices: Tensor, axis: int) -> Tensor:
    """Return, for each stored entry, the number that belongs to its slice."""
    ones = SparseTensor(scores.pattern, scores.pattern.ones)
    made = compute(
        _spread(scores.dim(), axis, slices.dim()), [ones, slices], scores.format
    )
    # As many entries, in order: the pattern is that of the scores.
    values: Tensor = made.values()
    return values


@lru_cache(maxsize=64)
def _spread(ndim: int, axis: int, n_kept: int) -> Expression:
    names = [f"i{n}" for n in range(ndim)]
    kept = ",".join(name for n, name in enumerate(names) if n != axis)
    indices = ",".join(names)
    slices = f"B[{kept}]" if n_kept else "B"
    return assignment_expression(f"C[{indices}] = A[{indices}] * {slices}")
