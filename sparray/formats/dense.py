"""The dense level: every coordinate has a position, so nothing is stored."""

from dataclasses import dataclass
from typing import ClassVar

from sparray.formats.grid import Grid

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
