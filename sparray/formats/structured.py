"""The structured level: of every block of m coordinates, n are stored."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, minimum, mul
from sparray.errors import FormatError, InvalidBufferError, PatternError
from sparray.formats.buffers import check_coordinates, check_flat, take_buffers
from sparray.formats.fibres import first_of_runs
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
from sparray.formats.level_expression import LevelExpression, Remainder
from sparray.formats.slotted import Allotted, Slotted
from sparray.records import dataclass

__all__ = ["Structured"]

_MOST_IN_A_BYTE = 256


@dataclass(frozen=True, slots=True)
class Structured(PositionIterable, Slotted):
    """Exactly ``n`` of the ``m`` coordinates of a block, below every parent position.

    ======= ===========
    buffer  length
    ======= ===========
    ``crd`` parents * n
    ======= ===========

    The positions below parent ``q`` are ``q * n`` up to ``(q + 1) * n``. A block of
    fewer entries is made up by entries that are fill, at free coordinates. ``crd`` is
    uint8 where ``m`` allows it, whatever the width of other index buffers.

    Source: the n:m pattern of Mishra et al. 2021, "Accelerating sparse deep neural
    networks".
    """

    name: ClassVar[str] = "structured"
    roles: ClassVar[tuple[str, ...]] = ("crd",)
    buffer_per: ClassVar[Mapping[str, Per]] = {"crd": Per.POSITION}
    compact: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    n: int
    m: int

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.m:
            raise FormatError(
                "structured level: expected n and m with 1 <= n <= m, "
                f"got {self.n} and {self.m}"
            )

    @classmethod
    def from_arguments(cls, arguments: Sequence[str | int]) -> Self:
        if len(arguments) != 2 or not all(isinstance(a, int) for a in arguments):
            raise FormatError(
                "structured level: expected two numbers (n, m), got "
                f"({', '.join(map(str, arguments))})"
            )
        n, m = map(int, arguments)
        return cls(n, m)

    def arguments(self) -> tuple[str | int, ...]:
        return (self.n, self.m)

    def buffer_dtype(self, role: str, index_dtype: npt.DTypeLike) -> np.dtype[Any]:
        return np.dtype(np.uint8 if self.m <= _MOST_IN_A_BYTE else index_dtype)

    def misplaced(
        self, expression: LevelExpression, above: LevelExpression | None
    ) -> str | None:
        if isinstance(expression, Remainder) and expression.block == self.m:
            return None
        return f"{self} stores places in blocks of {self.m}, expected i % {self.m}"

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        n = literal(self.n)
        return Bounds(mul(parent_begin, n), mul(parent_end, n))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return mul(parent_size, literal(self.n))

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        return view.load("crd", position)

    def fill_slot(
        self, view: LevelView, number: ir.Expr, coordinate: ir.Expr
    ) -> Located:
        # The free coordinates below make up what is missing first: where there are
        # enough of them the entry is in the slot that is left, else in its own.
        slot = ir.Var(view.fresh("slot"))
        begin = mul(_quotient(number, self.n), literal(self.n))
        first = minimum(number, add(begin, coordinate))
        setup = (ir.Declare(slot, first), view.store("crd", slot, coordinate))
        return Located(slot, setup=setup)

    def allot(
        self, counts: npt.NDArray[np.int64], index_dtype: npt.DTypeLike
    ) -> Allotted:
        most = int(counts.max(initial=0))
        if most > self.n:
            raise PatternError(self._full(most))
        # What is made up is in the slot of its own number, below all other entries.
        made_up = np.arange(self.n, dtype=self.buffer_dtype("crd", index_dtype))
        crd = np.tile(made_up, len(counts))
        np.subtract(np.arange(self.n, len(crd) + 1, self.n), counts, out=counts)
        return Allotted({"crd": crd}, len(crd))

    def _full(self, count: int) -> str:
        return (
            f"{self} level: expected at most {self.n} entries in each block of "
            f"{self.m}, got {count} (a conversion never drops a value)"
        )

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
        full = np.flatnonzero(count > self.n)
        if len(full):
            raise PatternError(
                self._full(int(count[full[0]])),
                int(np.searchsorted(parents, full[0])),
            )
        if n_parents * self.m > sys.maxsize:
            raise MemoryError
        kept = np.zeros((n_parents, self.m), dtype=bool)
        kept[parents, coordinates] = True
        # The free coordinates with the lowest numbers make up what is missing.
        free_before = np.cumsum(~kept, axis=1, dtype=np.int32)
        kept |= free_before <= (self.n - count)[:, np.newaxis]
        crd = np.nonzero(kept)[1].astype(self.buffer_dtype("crd", index_dtype))
        rank = np.cumsum(kept, axis=1, dtype=np.int32) - 1
        positions = parents * self.n + rank[parents, coordinates]
        return Packed({"crd": crd}, positions, n_parents * self.n)

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        parents = np.repeat(np.arange(n_parents, dtype=np.int64), self.n)
        return Unpacked(parents, buffers["crd"].astype(np.int64))

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        (crd,) = take_buffers(self, buffers)
        check_flat("crd", crd, n_parents * self.n)
        allowed = {self.buffer_dtype("crd", width) for width in ("int32", "int64")}
        if crd.dtype not in allowed:
            expected = " or ".join(sorted(map(str, allowed)))
            raise InvalidBufferError(f"crd: expected dtype {expected}, got {crd.dtype}")
        parents = np.repeat(np.arange(n_parents, dtype=np.int64), self.n)
        check_coordinates(self, crd, parents, self.m)
        return len(crd)

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return n_parents * self.n


def _quotient(number: ir.Expr, n: int) -> ir.Expr:
    return ir.Binary("floordiv", number, literal(n), "int64")
