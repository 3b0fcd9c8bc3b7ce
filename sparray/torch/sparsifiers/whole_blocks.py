"""Keep or drop blocks as wholes."""

from collections.abc import Sequence

from torch import Tensor

from sparray.formats.format import Format
from sparray.torch.sparsifiers.blocks import block_sizes, in_blocks, out_of_blocks
from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.selection import kept_of, largest

__all__ = ["WholeBlocks"]


class WholeBlocks(Scored):
    """Drop the fraction of the blocks whose sums of squares are smallest.

    Parameters
    ----------
    fraction : float
        Of the blocks, from 0 to 1.
    block : int or sequence of int
        Extents of a block along the last dimensions; it may stand over the tensor's
        edge.

    Raises
    ------
    ScoreError
        If the fraction is none.
    ShapeError
        If the block is none, or has more dimensions than the tensor.
    """

    def __init__(self, fraction: float, block: int | Sequence[int]) -> None:
        super().__init__(fraction)
        self.block = block_sizes(block)

    def scores(self, x: Tensor) -> Tensor:
        """Return the sum of squares of each block."""
        blocks = in_blocks(x.abs(), self.block, 0)
        return blocks.square().sum(-1)

    def keep(self, x: Tensor) -> Tensor:
        """Return true for each element of the blocks that are kept."""
        scores = self.scores(x)
        kept = largest(scores.reshape(-1), kept_of(scores.numel(), self.fraction))
        size = 1
        for extent in self.block:
            size *= extent
        blocks = kept.reshape(*scores.shape, 1).expand(*scores.shape, size)
        return out_of_blocks(blocks, self.block, x.shape)

    def default_format(self, ndim: int) -> str | Format:
        """Return blocks of this size, if the tensor is a matrix."""
        if ndim == len(self.block) == 2:
            return "bcsr({}, {})".format(*self.block)
        return super().default_format(ndim)

    def __repr__(self) -> str:
        return f"WholeBlocks({self.fraction}, block={self.block})"
