"""The hashed level: a table of coordinates for each fibre, in no order."""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, equal, less, less_equal, literal, sub
from sparray.errors import FormatError, InvalidBufferError
from sparray.formats.allotted import Allottable
from sparray.formats.buffers import check_index_buffer, check_pos, take_buffers
from sparray.formats.fibres import first_of_runs
from sparray.formats.level import (
    Bounds,
    IntArray,
    LevelView,
    Locatable,
    Located,
    Packed,
    Per,
    PositionIterable,
    Prepared,
    Unpacked,
)
from sparray.records import dataclass

__all__ = ["Hashed"]

Numbers = npt.NDArray[np.int64]

_PRIME = 2**31 - 1
_FACTOR = 0x9E3779B1
_SHIFT = 2**16
"""A slot is taken from the middle bits of a product that never passes 2**63: its low
bits repeat where coordinates are multiples of a power of two."""


@dataclass(frozen=True, slots=True)
class Hashed(PositionIterable, Locatable, Allottable):
    """The stored coordinates of every fibre, each near the slot of its hash.

    ======= =========
    buffer  length
    ======= =========
    ``pos`` parents + 1
    ``crd`` positions
    ======= =========

    The slots below parent ``q`` are ``pos[q]`` up to ``pos[q + 1]``; an empty one has
    coordinate -1. A coordinate is in the slot of its hash, or in the first one behind
    it, cyclically, that was empty. A table that is not of length 0 has an empty slot,
    so that a search ends.

    ``pack`` makes two slots for each entry: O(1) steps for a search on average, and
    O(length of the fibre) for coordinates chosen to collide.
    """

    name: ClassVar[str] = "hashed"
    roles: ClassVar[tuple[str, ...]] = ("pos", "crd")
    buffer_per: ClassVar[Mapping[str, Per]] = {"pos": Per.EDGE, "crd": Per.POSITION}
    compact: ClassVar[bool] = False
    hides: ClassVar[bool] = True
    slots_per_entry: ClassVar[int] = 2

    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.ordered or not self.unique:
            raise FormatError(
                "hashed level: expected unique and unordered to hold, "
                f"got unique={self.unique} and ordered={self.ordered}"
            )

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        return Bounds(view.load("pos", parent_begin), view.load("pos", parent_end))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return view.load("pos", parent_size)

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        return view.load("crd", position)

    def present(self, view: LevelView, position: ir.Expr) -> ir.Expr | None:
        return less_equal(literal(0), view.load("crd", position))

    def locate(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        slot, found, setup = _search(view, parent, coordinate)
        return Located(slot, found, setup)

    def insert(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        slot, _, setup = _search(view, parent, coordinate)
        return Located(slot, setup=(*setup, view.store("crd", slot, coordinate)))

    def allot(
        self, counts: npt.NDArray[np.int64], extent: int, index_dtype: npt.DTypeLike
    ) -> Prepared:
        pos = np.zeros(len(counts) + 1, dtype=index_dtype)
        ends = np.cumsum(np.minimum(counts, extent) * self.slots_per_entry)
        pos[1:] = ends
        n_positions = int(ends[-1]) if len(ends) else 0
        crd = np.full(n_positions, -1, dtype=index_dtype)
        return Prepared({"pos": pos, "crd": crd}, n_positions)

    def occupied(
        self, buffers: dict[str, IntArray], n_parents: int
    ) -> npt.NDArray[np.int64]:
        pos, crd = buffers["pos"], buffers["crd"]
        # Not reduceat, to which a fibre of length 0 is not empty.
        before = np.zeros(len(crd) + 1, dtype=np.int64)
        np.cumsum(crd >= 0, out=before[1:])
        return np.diff(before[pos])

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        first = first_of_runs(parents, coordinates, merge=True)
        count = np.bincount(parents[first], minlength=n_parents)
        ends = np.cumsum(count * self.slots_per_entry)
        pos = np.zeros(n_parents + 1, dtype=index_dtype)
        pos[1:] = ends
        crd = np.full(int(pos[-1]), -1, dtype=index_dtype)
        slots = _fill(crd, pos.astype(np.int64), parents[first], coordinates[first])
        return Packed({"pos": pos, "crd": crd}, slots[np.cumsum(first) - 1], len(crd))

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        lengths = np.diff(buffers["pos"])
        parents = np.repeat(np.arange(n_parents, dtype=np.int64), lengths)
        crd = buffers["crd"].astype(np.int64)
        return Unpacked(parents, crd, crd >= 0)

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
        outside = np.flatnonzero((crd < -1) | (crd >= extent))
        if len(outside):
            at = int(outside[0])
            raise InvalidBufferError(
                f"crd: expected coordinates in [0, {extent}), or -1, "
                f"got crd[{at}] = {crd[at]}"
            )
        _check_tables(pos.astype(np.int64), crd.astype(np.int64))
        return len(crd)

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return len(buffers["crd"])


def _search(
    view: LevelView, parent: ir.Expr, coordinate: ir.Expr
) -> tuple[ir.Var, ir.Var, tuple[ir.Stmt, ...]]:
    """Return where a search ends, whether that is the coordinate, and the search.

    The slot is an empty one where the coordinate is not stored, or, in a table of
    length 0, no slot at all.
    """
    begin, end, slot, head = (
        ir.Var(view.fresh(hint)) for hint in ("table", "table_end", "slot", "head")
    )
    found = ir.Var(view.fresh("found"), "bool")
    size = sub(end, begin)
    step = (
        ir.Assign(slot, add(slot, literal(1))),
        ir.If(equal(slot, end), ir.Block((ir.Assign(slot, begin),))),
        ir.Assign(head, view.load("crd", slot)),
    )
    other = ir.Binary("ne", head, coordinate, "bool")
    goes_on = ir.Binary("and", other, less_equal(literal(0), head), "bool")
    search = (
        ir.Assign(slot, add(begin, ir.Binary("mod", _hash(coordinate), size, "int64"))),
        ir.Assign(head, view.load("crd", slot)),
        ir.While(goes_on, ir.Block(step)),
        ir.Assign(found, equal(head, coordinate)),
    )
    return (
        slot,
        found,
        (
            ir.Declare(begin, view.load("pos", parent)),
            ir.Declare(end, view.load("pos", add(parent, literal(1)))),
            ir.Declare(slot, begin),
            ir.Declare(head, literal(-1)),
            ir.Declare(found, literal(False)),
            ir.If(less(begin, end), ir.Block(search)),
        ),
    )


def _hash(coordinate: ir.Expr) -> ir.Expr:
    small = ir.Binary("mod", coordinate, literal(_PRIME), "int64")
    product = ir.Binary("mul", small, literal(_FACTOR), "int64")
    return ir.Binary("floordiv", product, literal(_SHIFT), "int64")


def _home(pos: Numbers, parents: Numbers, coordinates: Numbers) -> Numbers:
    """Return the slot of each coordinate's hash; its table is not of length 0."""
    hashes = (coordinates % _PRIME) * _FACTOR // _SHIFT
    begin = pos[parents]
    home: Numbers = begin + hashes % (pos[parents + 1] - begin)
    return home


def _fill(
    crd: IntArray, pos: Numbers, parents: Numbers, coordinates: Numbers
) -> Numbers:
    """Write coordinates into empty tables and return the slot of each.

    In every round each entry that is left tries one slot; the first of those that try
    the same empty one gets it.
    """
    slots = _home(pos, parents, coordinates)
    left = np.arange(len(slots))
    while len(left):
        tried = slots[left]
        free = np.flatnonzero(crd[tried] < 0)
        _, winners = np.unique(tried[free], return_index=True)
        placed = free[winners]
        crd[tried[placed]] = coordinates[left[placed]]
        left = np.delete(left, placed)
        following = slots[left] + 1
        table = parents[left]
        slots[left] = np.where(following == pos[table + 1], pos[table], following)
    return slots


def _check_tables(pos: Numbers, crd: Numbers) -> None:
    """Check that a search ends in every table, and finds every coordinate once."""
    lengths = np.diff(pos)
    tables = np.repeat(np.arange(len(lengths)), lengths)
    is_empty = crd < 0
    full = np.flatnonzero(
        (lengths > 0) & (np.bincount(tables[is_empty], minlength=len(lengths)) == 0)
    )
    if len(full):
        raise InvalidBufferError(
            f"crd: expected an empty slot in every table, got none in table {full[0]}"
        )
    stored = np.flatnonzero(~is_empty)
    by_table = stored[np.lexsort((crd[stored], tables[stored]))]
    ordered, table = crd[by_table], tables[by_table]
    twice = (ordered[1:] == ordered[:-1]) & (table[1:] == table[:-1])
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        raise InvalidBufferError(
            f"crd: expected no coordinate twice in a fibre, got {ordered[at]} twice"
        )
    home = _home(pos, tables[stored], crd[stored])
    distance = (stored - home) % lengths[tables[stored]]
    lost = np.flatnonzero(distance > _occupied_before(pos, tables, is_empty)[stored])
    if len(lost):
        at = int(stored[lost[0]])
        raise InvalidBufferError(
            f"crd: expected no empty slot between a coordinate and the slot of its "
            f"hash, {home[lost[0]]}, got one before crd[{at}] = {crd[at]}"
        )


def _occupied_before(
    pos: Numbers, tables: Numbers, is_empty: npt.NDArray[np.bool_]
) -> Numbers:
    """Return how many slots just before each one, cyclically, hold a coordinate."""
    slots = np.arange(len(tables))
    empty = np.flatnonzero(is_empty)
    begin, end = pos[tables], pos[tables + 1]
    number = np.searchsorted(empty, slots) - 1
    last = np.where(number >= 0, empty[np.maximum(number, 0)], -1)
    # Where no slot of the table before this one is empty, go on from its end.
    last_of_table = empty[np.searchsorted(empty, end) - 1]
    wraps = last < begin
    occupied: Numbers = np.where(
        wraps, (slots - begin) + (end - 1 - last_of_table), slots - 1 - last
    )
    return occupied
