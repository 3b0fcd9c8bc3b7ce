"""Keep what is as large as a number."""

from typing import ClassVar

from torch import Tensor

from sparray.errors import ScoreError
from sparray.records import dataclass
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["Threshold"]


@dataclass(frozen=True, slots=True)
class Threshold(Sparsifier):
    """Keep every element whose absolute value is at least a number.

    Attributes
    ----------
    limit : float
        Not negative.

    Raises
    ------
    ScoreError
        If the limit is negative or NaN.
    """

    needs: ClassVar[Needs] = Needs.STREAMING

    limit: float

    def __post_init__(self) -> None:
        if not self.limit >= 0:
            raise ScoreError(
                f"Threshold: expected a limit that is not negative, got {self.limit}"
            )

    def keep(self, x: Tensor) -> Tensor:
        """Return true for each element that is large enough; NaN is kept."""
        return ~(x.abs() < self.limit)
