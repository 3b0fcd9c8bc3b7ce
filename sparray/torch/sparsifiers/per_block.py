"""Keep what is largest in each block."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from sparray.torch.sparsifiers.blocks import block_sizes, in_blocks, out_of_blocks
from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.selection import kept_of, largest
from sparray.torch.sparsifiers.sparsifier import Needs

__all__ = ["PerBlock"]

# Below every absolute value: what stands over the edge is kept last.
_OUTSIDE = -1


class PerBlock(Scored):
    """Drop a fraction of each block: the elements whose absolute values are smallest.

    Parameters
    ----------
    fraction : float
        Of the elements of a block, from 0 to 1.
    block : int or sequence of int
        Extents of a block along the last dimensions. A block that stands over the
        tensor's edge keeps as many elements as a whole one, if it has them.

    Raises
    ------
    ScoreError
        If the fraction is none.
    ShapeError
        If the block is none, or has more dimensions than the tensor.
    """

    needs: ClassVar[Needs] = Needs.BLOCKING

    def __init__(self, fraction: float, block: int | Sequence[int]) -> None:
        super().__init__(fraction)
        self.block = block_sizes(block)

    def scores(self, x: Tensor) -> Tensor:
        """Return absolute values."""
        return x.abs()

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the largest elements of each block."""
        scores = in_blocks(self.scores(x), self.block, _OUTSIDE)
        kept = largest(scores, kept_of(scores.shape[-1], self.fraction))
        return out_of_blocks(kept, self.block, x.shape)

    def __repr__(self) -> str:
        return f"PerBlock({self.fraction}, block={self.block})"
