"""The dense level: every coordinate has a position, so nothing is stored."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.errors import KernelMemoryError
from sparray.formats.buffers import take_buffers
from sparray.formats.level import (
    Bounds,
    CoordinateIterable,
    Insertable,
    IntArray,
    LevelView,
    Locatable,
    Located,
    Packed,
    Unpacked,
)

__all__ = ["Dense"]


@dataclass(frozen=True, slots=True)
class Dense(CoordinateIterable, Locatable, Insertable):
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

    def coordinates(self, view: LevelView, parent: ir.Expr) -> Bounds:
        return Bounds(literal(0), view.extent)

    def locate(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        return Located(add(mul(parent, view.extent), coordinate))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return mul(parent_size, view.extent)

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        n_positions = n_parents * extent
        if n_positions > sys.maxsize:
            raise KernelMemoryError(
                "dense level: expected a number of positions below 2**63, "
                f"got {n_parents} * {extent}"
            )
        return Packed({}, parents * extent + coordinates, n_positions)

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
