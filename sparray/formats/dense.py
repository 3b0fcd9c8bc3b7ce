"""The dense level: every coordinate has a position, so nothing is stored."""

from typing import ClassVar

from sparray.formats.grid import Grid
from sparray.records import dataclass

__all__ = ["Dense"]


@dataclass(frozen=True, slots=True)
class Dense(Grid):
    """All ``extent`` coordinates below every parent position.

    ====== ======
    buffer length
    ====== ======
    none
    ====== ======

    Position ``p`` of parent ``q`` and coordinate ``i`` is ``q * extent + i``.
    """

    name: ClassVar[str] = "dense"
    full: ClassVar[bool] = True
    compact: ClassVar[bool] = False
