"""The padded level: as many slots for every fibre as the longest one needs."""

import sys
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.errors import InvalidBufferError
from sparray.formats.buffers import check_coordinates, check_index_buffer, take_buffers
from sparray.formats.fibres import first_of_runs, ranks
from sparray.formats.level import (
    Bounds,
    IntArray,
    LevelView,
    Located,
    Packed,
    Per,
    PositionIterable,
    Unpacked,
)
from sparray.formats.slotted import Allotted, Slotted
from sparray.records import dataclass

__all__ = ["Padded"]


@dataclass(frozen=True, slots=True)
class Padded(PositionIterable, Slotted):
    """The stored coordinates of every fibre, in ``width`` slots for each.

    ========= ===============
    buffer    length
    ========= ===============
    ``width`` 1
    ``count`` parents
    ``crd``   parents * width
    ========= ===============

    The positions below parent ``q`` are ``q * width`` up to ``q * width + count[q]``.
    The slots behind them have no coordinate: they are never read.
    """

    name: ClassVar[str] = "padded"
    roles: ClassVar[tuple[str, ...]] = ("width", "count", "crd")
    buffer_per: ClassVar[Mapping[str, Per]] = {
        "width": Per.ARRAY,
        "count": Per.PARENT,
        "crd": Per.POSITION,
    }
    optional_properties: ClassVar[tuple[str, ...]] = ("unique", "ordered")
    compact: ClassVar[bool] = False
    hides: ClassVar[bool] = True

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        # One parent: a level that is not compact stands below unique ones only.
        begin = mul(parent_begin, view.load("width", literal(0)))
        return Bounds(begin, add(begin, view.load("count", parent_begin)))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return mul(parent_size, view.load("width", literal(0)))

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        return view.load("crd", position)

    def fill_slot(
        self, view: LevelView, number: ir.Expr, coordinate: ir.Expr
    ) -> Located:
        return Located(number, setup=(view.store("crd", number, coordinate),))

    def allot(
        self, counts: npt.NDArray[np.int64], index_dtype: npt.DTypeLike
    ) -> Allotted:
        width = int(counts.max(initial=0))
        n_positions = len(counts) * width
        if n_positions > sys.maxsize:
            raise MemoryError
        buffers: dict[str, IntArray] = {
            "width": np.array([width], dtype=index_dtype),
            "count": counts.astype(index_dtype),
            "crd": np.zeros(n_positions, dtype=index_dtype),
        }
        counts[:] = np.arange(len(counts), dtype=np.int64)
        counts *= width
        return Allotted(buffers, n_positions)

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        first = first_of_runs(parents, coordinates, merge=self.unique)
        count = np.bincount(parents[first], minlength=n_parents)
        width = int(count.max(initial=0))
        slots = parents[first] * width + ranks(parents[first])
        crd = np.zeros(n_parents * width, dtype=index_dtype)
        crd[slots] = coordinates[first]
        buffers = {
            "width": np.array([width], dtype=index_dtype),
            "count": count.astype(index_dtype),
            "crd": crd,
        }
        return Packed(buffers, slots[np.cumsum(first) - 1], len(crd))

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        width = int(buffers["width"][0])
        parents = np.repeat(np.arange(n_parents, dtype=np.int64), width)
        present = _used(buffers["count"], width)
        return Unpacked(parents, buffers["crd"].astype(np.int64), present)

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        width, count, crd = take_buffers(self, buffers)
        check_index_buffer("width", width, 1)
        check_index_buffer("count", count, n_parents)
        if width[0] < 0:
            raise InvalidBufferError(f"width: expected 0 or more, got {width[0]}")
        check_index_buffer("crd", crd, n_parents * int(width[0]))
        wrong = np.flatnonzero((count < 0) | (count > width[0]))
        if len(wrong):
            at = int(wrong[0])
            raise InvalidBufferError(
                f"count: expected numbers in [0, {width[0]}], the width, "
                f"got count[{at}] = {count[at]}"
            )
        used = _used(count, int(width[0]))
        fibres = np.repeat(np.arange(n_parents, dtype=np.int64), count)
        check_coordinates(self, crd[used], fibres, extent)
        return len(crd)

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        # Of no slices there is no width.
        width = buffers["width"]
        return n_parents * int(width[0]) if len(width) else 0


def _used(count: IntArray, width: int) -> npt.NDArray[np.bool_]:
    """Mark the slots that have a coordinate."""
    if len(count) == 0:
        # Whatever the width is.
        return np.zeros(0, dtype=np.bool_)
    used: npt.NDArray[np.bool_] = np.arange(width) < count[:, np.newaxis]
    return used.reshape(-1)
