"""What levels share that have a position for every coordinate of every parent."""

import sys
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.errors import KernelMemoryError
from sparray.formats.buffers import take_buffers
from sparray.formats.level import (
    Bounds,
    CoordinateIterable,
    IntArray,
    LevelView,
    Locatable,
    Located,
    Packed,
    Preparable,
    Prepared,
    Unpacked,
)

__all__ = ["Grid"]


class Grid(CoordinateIterable, Locatable, Preparable):
    """A level whose position for parent ``q`` and coordinate ``i`` is arithmetic.

    It is ``q * extent + i``, whether anything is stored there or not.
    """

    __slots__ = ()

    def coordinates(self, view: LevelView, parent: ir.Expr) -> Bounds:
        return Bounds(literal(0), view.extent)

    def locate(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        return Located(add(mul(parent, view.extent), coordinate))

    def insert(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        return Located(add(mul(parent, view.extent), coordinate))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return mul(parent_size, view.extent)

    def prepare(
        self, n_parents: int, extent: int, index_dtype: npt.DTypeLike
    ) -> Prepared:
        return Prepared({}, self._n_positions(n_parents, extent))

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        n_positions = self._n_positions(n_parents, extent)
        return Packed({}, parents * extent + coordinates, n_positions)

    def _n_positions(self, n_parents: int, extent: int) -> int:
        n_positions = n_parents * extent
        if n_positions > sys.maxsize:
            raise KernelMemoryError(
                f"{self.name} level: expected a number of positions below 2**63, "
                f"got {n_parents} * {extent}"
            )
        return n_positions

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        parents = np.repeat(np.arange(n_parents, dtype=np.int64), extent)
        coordinates = np.tile(np.arange(extent, dtype=np.int64), n_parents)
        return Unpacked(parents, coordinates)

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        take_buffers(self, buffers)
        return n_parents * extent

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return n_parents * extent
