"""Levels that are made once it is known how much each of their fibres is to hold."""

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.formats.level import (
    Arrangeable,
    Arranging,
    Insertable,
    IntArray,
    LevelView,
    Prepared,
)

__all__ = ["Allottable", "MarkArranging", "PlaceInsertable"]


class Allottable(Insertable):
    """A level that takes entries in any order once its fibres have been given room."""

    __slots__ = ()

    def allot(
        self, counts: npt.NDArray[np.int64], extent: int, index_dtype: npt.DTypeLike
    ) -> Prepared:
        """Make the level's buffers with nothing stored, and room for so many entries.

        Parameters
        ----------
        counts : int64[n_parents]
            How many entries are to be inserted below each parent, repeated coordinates
            counted as often as they come. No fibre gets room for more coordinates than
            there are.
        extent : int
            Number of coordinates.
        index_dtype : int32 or int64
            Of the buffers that have no dtype of their own.
        """
        raise NotImplementedError

    def occupied(
        self, buffers: dict[str, IntArray], n_parents: int
    ) -> npt.NDArray[np.int64]:
        """Return how many coordinates have been inserted below each parent."""
        raise NotImplementedError


class PlaceInsertable(Arrangeable):
    """An arrangeable level into whose places entries are inserted, in any order."""

    __slots__ = ()

    def make_arranged(
        self, arrangement: npt.NDArray[np.int64], index_dtype: npt.DTypeLike
    ) -> tuple[dict[str, IntArray], npt.NDArray[np.int64]]:
        """Make the level's buffers for an arrangement.

        Parameters
        ----------
        arrangement : int64[n_parents, extent]
            The coordinate at each place of each fibre.
        index_dtype : int32 or int64
            Of the buffers.

        Returns
        -------
        buffers : dict of str to ndarray
            The level's buffers.
        places : int64[n_parents * extent]
            The position of each coordinate of each fibre.
        """
        raise NotImplementedError

    def slot(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> ir.Expr:
        """Return which of ``places`` has the position of a coordinate."""
        raise NotImplementedError


class MarkArranging(Arranging, Insertable):
    """An arranging level that needs to know which of its coordinates come below which.

    Entries are inserted once the level above is arranged.
    """

    __slots__ = ()

    def arrange_marks(self, marks: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the order of coordinates in the level above.

        Parameters
        ----------
        marks : bool[n_parents, extent, own_extent]
            Where there is an entry: by parent and coordinate of the level above, and
            coordinate of this level.

        Returns
        -------
        int64[n_parents, extent]
            The coordinate at each place of each fibre.

        Raises
        ------
        PatternError
            If no order has room for all entries.
        """
        raise NotImplementedError
