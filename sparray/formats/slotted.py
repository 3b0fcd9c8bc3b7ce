"""Levels whose fibres get room once all their entries are counted."""

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.formats.level import IntArray, Level, LevelView, Located
from sparray.records import dataclass

__all__ = ["Allotted", "Slotted"]


@dataclass(frozen=True, slots=True)
class Allotted:
    """A level made from the numbers of entries of its fibres.

    Attributes
    ----------
    buffers : dict of str to ndarray
        The level's buffers; coordinates are yet to be written.
    n_positions : int
        Number of positions of the level, used or not.
    """

    buffers: dict[str, IntArray]
    n_positions: int


class Slotted(Level):
    """A level of an output that gives every fibre slots, by the numbers of entries.

    Other than an appendable one it needs the numbers of all fibres at once, so it
    stands below located levels only.
    """

    __slots__ = ()

    def allot(
        self, counts: npt.NDArray[np.int64], index_dtype: npt.DTypeLike
    ) -> Allotted:
        """Make the level's buffers for fibres of given numbers of entries.

        Parameters
        ----------
        counts : int64[n_parents]
            The number of entries of each fibre; turned, in place, into where each
            begins to count its entries one by one.
        index_dtype : int32 or int64
            Of the buffers that have no dtype of their own.

        Raises
        ------
        PatternError
            If a fibre has no room for so many.
        """
        raise NotImplementedError

    def fill_slot(
        self, view: LevelView, number: ir.Expr, coordinate: ir.Expr
    ) -> Located:
        """Return the position of a fibre's next entry, whose coordinate is written.

        ``number`` is counted up from where the fibre begins; coordinates ascend.
        """
        raise NotImplementedError
