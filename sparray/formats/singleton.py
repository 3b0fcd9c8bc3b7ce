"""The singleton level: one coordinate below every parent position."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.errors import FormatError
from sparray.formats.buffers import check_coordinates, check_index_buffer, take_buffers
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

__all__ = ["Singleton"]


@dataclass(frozen=True, slots=True)
class Singleton(PositionIterable, Searchable, Appendable):
    """One coordinate for each position of the parent.

    ======= =========
    buffer  length
    ======= =========
    ``crd`` parents
    ======= =========

    The position below parent ``q`` is ``q``. A fibre is the run of parents with the
    same coordinates: the properties speak of that run.
    """

    name: ClassVar[str] = "singleton"
    roles: ClassVar[tuple[str, ...]] = ("crd",)
    buffer_per: ClassVar[Mapping[str, Per]] = {"crd": Per.POSITION}
    optional_properties: ClassVar[tuple[str, ...]] = ("unique", "ordered")
    branchless: ClassVar[bool] = True

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        return Bounds(parent_begin, parent_end)

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return parent_size

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
        return ()

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        counts = np.bincount(parents, minlength=n_parents)
        wrong = np.flatnonzero(counts != 1)
        if len(wrong):
            raise FormatError(
                "singleton level: expected exactly one entry per parent position, "
                f"got {counts[wrong[0]]} at position {wrong[0]}"
            )
        return Packed({"crd": coordinates.astype(index_dtype)}, parents, n_parents)

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        return Unpacked(
            np.arange(n_parents, dtype=np.int64), buffers["crd"].astype(np.int64)
        )

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        (crd,) = take_buffers(self, buffers)
        check_index_buffer("crd", crd, n_parents)
        parents = np.arange(n_parents, dtype=np.int64) if groups is None else groups
        check_coordinates(self, crd, parents, extent)
        return n_parents

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return n_parents
