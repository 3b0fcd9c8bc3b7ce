"""The batch level: every slice has buffers of its own."""

from typing import ClassVar

from sparray.formats.grid import Grid
from sparray.formats.level import Sliced
from sparray.formats.level_expression import Dimension, LevelExpression
from sparray.records import dataclass

__all__ = ["Batch"]


@dataclass(frozen=True, slots=True)
class Batch(Grid, Sliced):
    """All ``extent`` coordinates, each a slice with its own part of every buffer below.

    ====== ======
    buffer length
    ====== ======
    none
    ====== ======

    Only batch levels stand above it. With ``n`` slices in all, a buffer of a level
    below, or the values, of length ``n * k`` holds ``k`` elements for each of them, one
    slice after the other. Positions, and what ``pos`` holds, count within the slice:
    ``pos`` starts at 0 in each. A slice of fewer entries than the longest one does not
    use the end of its part.

    Where all levels below are full, nothing tells it from a dense level.

    Source: the batch dimensions of ``torch.sparse_csr_tensor``.
    """

    name: ClassVar[str] = "batch"
    full: ClassVar[bool] = True
    compact: ClassVar[bool] = False

    def misplaced(
        self, expression: LevelExpression, above: LevelExpression | None
    ) -> str | None:
        if isinstance(expression, Dimension):
            return None
        return "a batch level stores a whole dimension, expected one, got a part"
