"""Keep n of every m elements, the same ones in g columns at a time."""

from typing import ClassVar

import torch
from torch import Tensor

from sparray.errors import ScoreError, ShapeError
from sparray.formats.combinations import combinations
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.records import dataclass
from sparray.torch.sparsifiers.grouping import group_columns
from sparray.torch.sparsifiers.nm import check_n_of_m
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["GroupedNM"]

_MOST_SCORES = 2**24
"""Held at once: blocks of rows are taken in batches."""


@dataclass(frozen=True, slots=True)
class GroupedNM(Sparsifier):
    """Keep ``n`` of every ``m`` elements, so that ``g`` columns have the same pattern.

    Of every ``C(m, n) * g`` columns of a block of ``m`` rows, each choice of ``n`` of
    the ``m`` rows is that of exactly ``g`` columns. Which column has which choice is
    decided so that the sum of the kept absolute values is large.

    Attributes
    ----------
    n, m : int
        Of ``m`` rows that follow each other ``n`` are kept in each column.
    g : int
        Columns of a chunk that have the same pattern.
    dim : int
        Along which blocks of ``m`` are: 0 for rows, 1 for columns.
    swaps : int
        Rounds in which columns exchange patterns after the first assignment. One keeps
        more than the published greedy choice does; more rounds up to 1 % more.

    Raises
    ------
    ScoreError
        If ``n`` exceeds ``m``, or ``g`` is not positive.
    ShapeError
        If the tensor is no matrix.
    FormatError
        If there are too many choices for a table.

    Notes
    -----
    The same input gives the same output in every run.
    Source: Ivanov et al. 2023, "STen: Productive and efficient sparsity in PyTorch"
    (arXiv 2304.07613), section 5.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.GroupedNM(1, 2, 1)(torch.tensor([[4.0, 5.0], [3.0, 1.0]]))
    >>> W.to_dense()
    tensor([[0., 5.],
            [3., 0.]])
    """

    needs: ClassVar[Needs] = Needs.BLOCKING

    n: int
    m: int
    g: int
    dim: int = 0
    swaps: int = 1

    def __post_init__(self) -> None:
        check_n_of_m("GroupedNM", self.n, self.m)
        if self.g < 1 or self.dim not in (0, 1):
            raise ScoreError(
                "GroupedNM: expected g >= 1 and dim 0 or 1, got "
                f"g = {self.g} and dim = {self.dim}"
            )
        # Refuses tables that are too large.
        named_format(self._name, 2)

    @property
    def _name(self) -> str:
        return f"nmg({self.n}, {self.m}, {self.g})"

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the elements of each column's pattern."""
        self._check(x.dim())
        if self.dim == 1:
            return self._keep_by_rows(x.T).T
        return self._keep_by_rows(x)

    def _keep_by_rows(self, x: Tensor) -> Tensor:
        rows, columns = x.shape
        patterns = torch.tensor(combinations(self.n, self.m))
        members = torch.zeros(len(patterns), self.m)
        members.scatter_(1, patterns, 1)
        chunk = len(patterns) * self.g
        over = (0, -columns % chunk, 0, -rows % self.m)
        sizes = x.abs().to(torch.float32)
        if any(over):
            sizes = torch.nn.functional.pad(sizes, over)
        if sizes.isnan().any():
            raise ScoreError("GroupedNM: expected numbers to compare, got NaN")
        blocks = sizes.reshape(-1, self.m, sizes.shape[1])
        batch = max(1, _MOST_SCORES // max(1, len(patterns) * sizes.shape[1]))
        batches = torch.split(blocks, batch)
        kept = [self._patterns(part, members, chunk) for part in batches]
        if not kept:
            return torch.zeros_like(x, dtype=torch.bool)
        chosen = torch.cat(kept).reshape(-1)
        # Row by row of a block, which are contiguous in the mask.
        of_rows = members.bool().T.contiguous()
        mask = torch.empty(len(blocks), self.m, sizes.shape[1], dtype=torch.bool)
        for row, of_row in enumerate(of_rows):
            mask[:, row] = of_row.index_select(0, chosen).reshape(len(blocks), -1)
        return mask.reshape(sizes.shape)[:rows, :columns]

    def _patterns(self, blocks: Tensor, members: Tensor, chunk: int) -> Tensor:
        """Return the number of each column's pattern in each block of rows."""
        # Patterns outermost: one product, of rows that are long.
        scores = members @ blocks.transpose(0, 1).reshape(self.m, -1)
        by_chunk = scores.reshape(len(members), -1, chunk).permute(1, 2, 0)
        chosen = group_columns(by_chunk, self.g, self.swaps)
        return chosen.reshape(len(blocks), -1)

    def default_format(self, ndim: int) -> Format:
        """Return the format made for it."""
        self._check(ndim)
        format = named_format(self._name, 2)
        return format.permuted((1, 0)) if self.dim == 1 else format

    @staticmethod
    def _check(ndim: int) -> None:
        if ndim != 2:
            raise ShapeError(
                f"GroupedNM: expected a matrix, got a tensor of {ndim} dimensions"
            )
