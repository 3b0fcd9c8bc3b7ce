"""The bitmap level: a slot for every coordinate, and a mark where one is stored."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.errors import InvalidBufferError
from sparray.formats.buffers import check_flat, take_buffers
from sparray.formats.grid import Grid
from sparray.formats.level import (
    IntArray,
    LevelView,
    Located,
    Packed,
    Per,
    Prepared,
    Unpacked,
)
from sparray.records import dataclass

__all__ = ["Bitmap"]


@dataclass(frozen=True, slots=True)
class Bitmap(Grid):
    """A slot for each of ``extent`` coordinates below every parent position.

    ======== ================
    buffer   length
    ======== ================
    ``mask`` parents * extent
    ======== ================

    Position ``p`` of parent ``q`` and coordinate ``i`` is ``q * extent + i``; it is
    stored if ``mask[p]``, a bool whatever the width of index buffers.
    """

    name: ClassVar[str] = "bitmap"
    roles: ClassVar[tuple[str, ...]] = ("mask",)
    buffer_per: ClassVar[Mapping[str, Per]] = {"mask": Per.POSITION}
    compact: ClassVar[bool] = False
    hides: ClassVar[bool] = True

    def buffer_dtype(self, role: str, index_dtype: npt.DTypeLike) -> np.dtype[Any]:
        return np.dtype(np.bool_)

    def locate(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        position = add(mul(parent, view.extent), coordinate)
        return Located(position, view.read("mask", position))

    def insert(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        position = ir.Var(view.fresh("slot"))
        setup = (
            ir.Declare(position, add(mul(parent, view.extent), coordinate)),
            view.store("mask", position, literal(True)),
        )
        return Located(position, setup=setup)

    def prepare(
        self, n_parents: int, extent: int, index_dtype: npt.DTypeLike
    ) -> Prepared:
        # Named, not super(): a slotted dataclass is another class than its body's.
        n_positions = Grid.prepare(self, n_parents, extent, index_dtype).n_positions
        return Prepared({"mask": np.zeros(n_positions, dtype=np.bool_)}, n_positions)

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        grid = Grid.pack(self, parents, coordinates, n_parents, extent, index_dtype)
        mask = np.zeros(grid.n_positions, dtype=np.bool_)
        mask[grid.positions] = True
        return Packed({"mask": mask}, grid.positions, grid.n_positions)

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        grid = Grid.unpack(self, {}, n_parents, extent)
        return Unpacked(grid.parents, grid.coordinates, buffers["mask"].view(np.bool_))

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        (mask,) = take_buffers(self, buffers)
        check_flat("mask", mask, n_parents * extent)
        if mask.dtype != np.bool_:
            raise InvalidBufferError(f"mask: expected dtype bool, got {mask.dtype}")
        if np.any(mask.view(np.uint8) > 1):
            raise InvalidBufferError("mask: expected bytes 0 and 1, got another one")
        return n_parents * extent
