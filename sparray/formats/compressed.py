"""The compressed level: each fibre stores the coordinates that it has."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal
from sparray.formats.buffers import (
    check_coordinates,
    check_index_buffer,
    check_pos,
    take_buffers,
)
from sparray.formats.fibres import first_of_runs
from sparray.formats.level import (
    Appendable,
    Bounds,
    IntArray,
    LevelView,
    Located,
    Packed,
    Per,
    PositionIterable,
    Searchable,
    Unpacked,
)
from sparray.formats.searching import search_coordinates
from sparray.records import dataclass

__all__ = ["Compressed"]


@dataclass(frozen=True, slots=True)
class Compressed(PositionIterable, Searchable, Appendable):
    """The stored coordinates of every fibre, one fibre after the other.

    ======= ================
    buffer  length
    ======= ================
    ``pos`` parents + 1
    ``crd`` positions
    ======= ================

    The positions below parent ``q`` are ``pos[q]`` up to ``pos[q + 1]``.
    """

    name: ClassVar[str] = "compressed"
    roles: ClassVar[tuple[str, ...]] = ("pos", "crd")
    buffer_per: ClassVar[Mapping[str, Per]] = {"pos": Per.EDGE, "crd": Per.POSITION}
    optional_properties: ClassVar[tuple[str, ...]] = ("unique", "ordered")

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        return Bounds(view.load("pos", parent_begin), view.load("pos", parent_end))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return view.load("pos", parent_size)

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        return view.load("crd", position)

    def search(
        self, view: LevelView, begin: ir.Expr, end: ir.Expr, coordinate: ir.Expr
    ) -> Located:
        return search_coordinates(view, begin, end, coordinate)

    def append_coordinate(
        self, view: LevelView, position: ir.Expr, coordinate: ir.Expr
    ) -> tuple[ir.Stmt, ...]:
        return (view.store("crd", position, coordinate),)

    def append_edges(
        self, view: LevelView, parent: ir.Expr, end: ir.Expr
    ) -> tuple[ir.Stmt, ...]:
        return (view.store("pos", add(parent, literal(1)), end),)

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        first = first_of_runs(parents, coordinates, merge=self.unique)
        positions = np.cumsum(first, dtype=np.int64) - 1
        counts = np.bincount(parents[first], minlength=n_parents)
        pos = np.zeros(n_parents + 1, dtype=index_dtype)
        np.cumsum(counts, out=pos[1:])
        crd = coordinates[first].astype(index_dtype)
        return Packed({"pos": pos, "crd": crd}, positions, len(crd))

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        parents = np.repeat(
            np.arange(n_parents, dtype=np.int64), np.diff(buffers["pos"])
        )
        return Unpacked(parents, buffers["crd"].astype(np.int64))

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        pos, crd = take_buffers(self, buffers)
        check_index_buffer("pos", pos, n_parents + 1)
        check_index_buffer("crd", crd)
        check_pos(pos, len(crd))
        parents = np.repeat(np.arange(n_parents, dtype=np.int64), np.diff(pos))
        if groups is not None:
            parents = groups[parents]
        check_coordinates(self, crd, parents, extent)
        return len(crd)

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return len(buffers["crd"])
