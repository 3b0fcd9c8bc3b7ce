"""Keep what is not 0."""

from typing import ClassVar

from torch import Tensor

from sparray.records import dataclass
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["KeepNonzero"]


@dataclass(frozen=True, slots=True)
class KeepNonzero(Sparsifier):
    """Keep every element that is not 0: nothing is changed by it."""

    needs: ClassVar[Needs] = Needs.STREAMING

    def keep(self, x: Tensor) -> Tensor:
        """Return true for each element that is not 0."""
        return x != 0
