"""The permuted level: every coordinate has a position, in an order that is stored."""

import sys
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, mul
from sparray.errors import FormatError, InvalidBufferError, KernelMemoryError
from sparray.formats.allotted import PlaceInsertable
from sparray.formats.buffers import check_index_buffer, take_buffers
from sparray.formats.level import (
    Bounds,
    IntArray,
    LevelView,
    Packed,
    Per,
    PositionIterable,
    Unpacked,
)
from sparray.records import dataclass

__all__ = ["Permuted"]


@dataclass(frozen=True, slots=True)
class Permuted(PositionIterable, PlaceInsertable):
    """All ``extent`` coordinates below every parent position, each at a chosen place.

    ======= ================
    buffer  length
    ======= ================
    ``crd`` parents * extent
    ======= ================

    The positions below parent ``q`` are ``q * extent`` up to ``(q + 1) * extent``, and
    ``crd`` holds a permutation of the coordinates for each. The level below may choose
    it; they ascend where it does not.
    """

    name: ClassVar[str] = "permuted"
    roles: ClassVar[tuple[str, ...]] = ("crd",)
    buffer_per: ClassVar[Mapping[str, Per]] = {"crd": Per.POSITION}
    compact: ClassVar[bool] = False

    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.ordered or not self.unique:
            raise FormatError(
                "permuted level: expected unique and unordered to hold, "
                f"got unique={self.unique} and ordered={self.ordered}"
            )

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        return Bounds(mul(parent_begin, view.extent), mul(parent_end, view.extent))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return mul(parent_size, view.extent)

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        return view.load("crd", position)

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
                f"{self.name} level: expected a number of positions below 2**63, "
                f"got {n_parents} * {extent}"
            )
        # Neither of the two factors needs memory where the other one is 0.
        every = np.arange(extent if n_positions else 0, dtype=index_dtype)
        crd = np.tile(every, n_parents if n_positions else 0)
        return Packed({"crd": crd}, parents * extent + coordinates, n_positions)

    def pack_arranged(
        self,
        arrangement: npt.NDArray[np.int64],
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        buffers, places = self.make_arranged(arrangement, index_dtype)
        if not arrangement.size:
            return Packed(buffers, parents, 0)
        positions = places[parents * arrangement.shape[1] + coordinates]
        return Packed(buffers, positions, arrangement.size)

    def make_arranged(
        self, arrangement: npt.NDArray[np.int64], index_dtype: npt.DTypeLike
    ) -> tuple[dict[str, IntArray], npt.NDArray[np.int64]]:
        places = np.empty_like(arrangement)
        numbers = np.arange(arrangement.size).reshape(arrangement.shape)
        np.put_along_axis(places, arrangement, numbers, axis=1)
        crd = arrangement.reshape(-1).astype(index_dtype)
        return {"crd": crd}, places.reshape(-1)

    def slot(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> ir.Expr:
        return add(mul(parent, view.extent), coordinate)

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        crd = buffers["crd"].astype(np.int64)
        parents = np.arange(n_parents if len(crd) else 0, dtype=np.int64)
        return Unpacked(np.repeat(parents, extent if len(crd) else 0), crd)

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        (crd,) = take_buffers(self, buffers)
        check_index_buffer("crd", crd, n_parents * extent)
        if not len(crd):
            return 0
        outside = np.flatnonzero((crd < 0) | (crd >= extent))
        if len(outside):
            at = int(outside[0])
            raise InvalidBufferError(
                f"crd: expected coordinates in [0, {extent}), got crd[{at}] = {crd[at]}"
            )
        # As many coordinates as positions: none is missing unless one occurs twice.
        times = np.zeros((n_parents, extent), dtype=bool)
        table = crd.reshape(n_parents, extent)
        times[np.arange(n_parents)[:, np.newaxis], table] = True
        missing = np.argwhere(~times)
        if len(missing):
            fibre, coordinate = missing[0].tolist()
            raise InvalidBufferError(
                f"crd: expected each coordinate once in a fibre, got no {coordinate} "
                f"in crd[{fibre * extent}:{(fibre + 1) * extent}]"
            )
        return len(crd)

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return n_parents * extent
