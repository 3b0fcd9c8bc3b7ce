"""Keep n of every m elements."""

from typing import ClassVar

from torch import Tensor

from sparray.errors import ScoreError
from sparray.formats.format import Format
from sparray.records import dataclass
from sparray.torch.sparsifiers.blocks import in_blocks, out_of_blocks
from sparray.torch.sparsifiers.selection import largest
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["NM", "check_n_of_m"]


def check_n_of_m(name: str, n: int, m: int) -> None:
    """Raise unless n of m elements can be kept.

    Raises
    ------
    ScoreError
        If n exceeds m, or one of them is not positive.
    """
    if not 1 <= n <= m:
        raise ScoreError(f"{name}: expected 1 <= n <= m, got n = {n} and m = {m}")


@dataclass(frozen=True, slots=True)
class NM(Sparsifier):
    """Keep the ``n`` elements of largest absolute value of every ``m``.

    Attributes
    ----------
    n, m : int
        Of ``m`` elements that follow each other along a dimension ``n`` are kept.
    dim : int
        Which dimension that is; the last one by default.

    Raises
    ------
    ScoreError
        If ``n`` exceeds ``m``.
    ShapeError
        If the tensor has no such dimension.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.NM(2, 4)(torch.tensor([[1.0, -4.0, 3.0, 2.0]]))
    >>> W.to_dense(), W.format.name
    (tensor([[ 0., -4.,  3.,  0.]]), 'nm(2, 4)')
    """

    needs: ClassVar[Needs] = Needs.BLOCKING

    n: int
    m: int
    dim: int = -1

    def __post_init__(self) -> None:
        check_n_of_m("NM", self.n, self.m)

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the largest elements of each ``m``."""
        scores = x.abs().movedim(self.dim, -1)
        kept = largest(in_blocks(scores, (self.m,), -1), self.n)
        mask = out_of_blocks(kept, (self.m,), scores.shape)
        return mask.movedim(-1, self.dim)

    def default_format(self, ndim: int) -> str | Format:
        """Return the format made for it, if blocks are along the last dimension."""
        if self.dim in (-1, ndim - 1):
            return f"nm({self.n}, {self.m})"
        return super().default_format(ndim)
