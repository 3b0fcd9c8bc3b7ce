"""Values from another tensor into a pattern: `copy_`, by which states are loaded."""

from functools import lru_cache

import torch
from torch import Tensor

from sparray.convert import default_format
from sparray.errors import PatternError, ShapeError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.named import format_text
from sparray.torch.autograd import evaluate, on_rows
from sparray.torch.following import onto
from sparray.torch.operators.conversions import to_format
from sparray.torch.pattern import Pattern
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["values_on"]


@implements([Tensor.copy_])
def _copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not isinstance(self, SparseTensor):
        return self.copy_(src.to_dense())
    if tuple(src.shape) != tuple(self.shape):
        raise ShapeError(
            f"copy_: expected a source of shape {tuple(self.shape)}, got "
            f"{tuple(src.shape)}"
        )
    self.values().copy_(values_on(self.pattern, src))
    if isinstance(src, SparseTensor):
        self._fill = src.fill_value
    return self


def values_on(pattern: Pattern, source: Tensor) -> Tensor:
    """Return the values that a tensor has at a pattern's entries; no other may be lost.

    Parameters
    ----------
    pattern : Pattern
        What is stored of it.
    source : Tensor
        Dense, or sparse in any format, of the pattern's shape.

    Raises
    ------
    PatternError
        If the source has an entry that the pattern does not store; of a dense one, an
        element that is not 0.
    """
    if not isinstance(source, SparseTensor):
        return _of_dense(pattern, source)
    if pattern.same_as(source.pattern):
        return source.values()
    if source.fill_value != 0:
        raise PatternError(
            f"copy_: expected a source with the pattern of {pattern}, got "
            f"{source.pattern} whose fill value is {source.fill_value}"
        )
    rows = default_format(source.dim())
    entries = to_format(source, rows)
    there, _ = pattern.converted(rows)
    found, kept = evaluate(
        _common(source.dim()),
        [there.ones, entries.values()],
        [there, entries.pattern],
        rows,
    )
    if kept is None or kept.n_values != entries.nnz:
        number = 0 if kept is None else kept.n_values
        raise PatternError(_difference(pattern, source.pattern, entries.nnz, number))
    return on_rows(found, kept, pattern)


def _of_dense(pattern: Pattern, source: Tensor) -> Tensor:
    values = onto(source, pattern).values()
    number, there = int(torch.count_nonzero(source)), int(torch.count_nonzero(values))
    # A NaN counts on both sides.
    if number != there:
        raise PatternError(
            f"copy_: expected a source whose elements are 0 outside of {pattern}, got "
            f"a dense tensor with {number - there} others there; "
            f"sparray.torch.tensor(source) takes its pattern too"
        )
    return values


@lru_cache(maxsize=64)
def _common(ndim: int) -> Expression:
    indices = ",".join(f"i{n}" for n in range(ndim))
    return assignment_expression(f"C[{indices}] = A[{indices}] * B[{indices}]")


def _difference(wanted: Pattern, given: Pattern, total: int, common: int) -> str:
    """Say in what two patterns differ."""
    parts = []
    if wanted.format != given.format:
        formats = format_text(wanted.format), format_text(given.format)
        parts.append(f"format {formats[0]} against {formats[1]}")
    parts.append(f"{total - common} of the source's {total} entries are not stored")
    return (
        f"copy_: expected a source whose entries {wanted} stores, got {given}: "
        f"{', '.join(parts)}; load_state_dict(..., assign=True) takes the pattern too"
    )
