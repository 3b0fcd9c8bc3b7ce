"""Keep every element."""

from typing import ClassVar

import torch
from torch import Tensor

from sparray.records import dataclass
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["KeepAll"]


@dataclass(frozen=True, slots=True)
class KeepAll(Sparsifier):
    """Keep every element, zeros included.

    What an operator's output needs that is to be stored sparsely and not changed.
    """

    needs: ClassVar[Needs] = Needs.STREAMING

    def keep(self, x: Tensor) -> Tensor:
        """Return true for each element."""
        return torch.ones_like(x, dtype=torch.bool)
