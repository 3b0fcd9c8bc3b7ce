"""The grouped level: coordinates that follow from positions, as parents are grouped."""

import sys
from collections.abc import Mapping, Sequence
from math import comb
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.errors import FormatError, KernelMemoryError, PatternError
from sparray.formats.allotted import MarkArranging
from sparray.formats.buffers import take_buffers
from sparray.formats.combinations import combinations, ranks_of_combinations
from sparray.formats.fibres import first_of_runs
from sparray.formats.level import (
    Bounds,
    IntArray,
    LevelView,
    Located,
    Packed,
    PositionIterable,
    Unpacked,
)
from sparray.formats.level_expression import LevelExpression, Remainder
from sparray.formats.matching import UnmatchedError, match_columns
from sparray.records import dataclass

__all__ = ["Grouped"]

Numbers = npt.NDArray[np.int64]

_LONGEST_TABLE = 2**14
"""Numbers in the table of patterns, which is part of every kernel."""


@dataclass(frozen=True, slots=True)
class Grouped(PositionIterable, MarkArranging):
    """``n`` of ``m`` coordinates below every parent position, the same for ``g``.

    ====== ======
    buffer length
    ====== ======
    none
    ====== ======

    The positions below parent ``q`` are ``q * n`` up to ``(q + 1) * n``. Of every
    ``C(m, n) * g`` parents the first ``g`` have the first pattern, the next ``g`` the
    second one, and so on through all choices of ``n`` of ``m`` coordinates, in an order
    in which neighbours share all but one: no coordinate is stored. The level above is
    arranged for that. A parent of fewer entries is made up by entries that are fill.

    Source: the grouped n:m layout of Ivanov et al. 2023, "STen: Productive and
    efficient sparsity in PyTorch" (arXiv 2304.07613), section 5.
    """

    name: ClassVar[str] = "grouped"
    compact: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    n: int
    m: int
    g: int

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.m or self.g < 1:
            raise FormatError(
                "grouped level: expected n, m and g with 1 <= n <= m and 1 <= g, "
                f"got {self.n}, {self.m} and {self.g}"
            )
        # m first: it is a lower bound, and the binomial of large numbers is long.
        most = _LONGEST_TABLE
        if self.m > most or comb(self.m, self.n) * self.n > most:
            raise FormatError(
                f"grouped level: expected patterns of {most} coordinates in all at "
                f"most, got every choice of {self.n} of {self.m}"
            )
        if self.period > sys.maxsize // self.n:
            raise FormatError(
                f"grouped level: expected C(m, n) * g * n up to {sys.maxsize}, "
                f"got n = {self.n}, m = {self.m} and g = {self.g}"
            )

    @classmethod
    def from_arguments(cls, arguments: Sequence[str | int]) -> Self:
        if len(arguments) != 3 or not all(isinstance(a, int) for a in arguments):
            raise FormatError(
                "grouped level: expected three numbers (n, m, g), got "
                f"({', '.join(map(str, arguments))})"
            )
        n, m, g = map(int, arguments)
        return cls(n, m, g)

    def arguments(self) -> tuple[str | int, ...]:
        return (self.n, self.m, self.g)

    @property
    def patterns(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of each pattern, in the order in which they are stored."""
        return combinations(self.n, self.m)

    @property
    def period(self) -> int:
        """The number of parents after which patterns come again."""
        return comb(self.m, self.n) * self.g

    def misplaced(
        self, expression: LevelExpression, above: LevelExpression | None
    ) -> str | None:
        if not isinstance(expression, Remainder) or expression.block != self.m:
            return f"{self} stores places in blocks of {self.m}, expected i % {self.m}"
        if not isinstance(above, Remainder) or above.block != self.period:
            return (
                f"{self} stands below groups of {self.g} for each of its "
                f"{comb(self.m, self.n)} patterns, expected j % {self.period} above it"
            )
        return None

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        n = literal(self.n)
        return Bounds(mul(parent_begin, n), mul(parent_end, n))

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return mul(parent_size, literal(self.n))

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        table = tuple(c for pattern in self.patterns for c in pattern)
        place = _binary("mod", position, self.period * self.n)
        pattern = _binary("floordiv", place, self.g * self.n)
        if self.n == 1:
            return ir.Lookup(table, pattern)
        first = mul(pattern, literal(self.n))
        return ir.Lookup(table, add(first, _binary("mod", place, self.n)))

    def insert(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        if self.n == 1:
            return Located(parent)
        # The parent's pattern has the coordinate: the level above is arranged for it.
        position = ir.Var(view.fresh("slot"))
        other = ir.Binary("ne", self.coordinate(view, position), coordinate, "bool")
        step = ir.Assign(position, add(position, literal(1)))
        setup = (
            ir.Declare(position, mul(parent, literal(self.n))),
            ir.While(other, ir.Block((step,))),
        )
        return Located(position, setup=setup)

    def arrange(
        self,
        parents: Numbers,
        coordinates: Numbers,
        below: Numbers,
        n_parents: int,
        extent: int,
    ) -> Numbers:
        n_columns = self._n_columns(n_parents, extent)
        if not n_columns:
            return np.empty((n_parents, extent), dtype=np.int64)
        columns = parents * extent + coordinates
        distinct = np.flatnonzero(first_of_runs(columns, below, merge=True))
        starts = np.flatnonzero(np.diff(columns[distinct], prepend=-1))
        sizes = np.diff(starts, append=len(distinct))
        table = np.zeros((len(starts), self.m), dtype=bool)
        table[np.repeat(np.arange(len(starts)), sizes), below[distinct]] = True
        at = distinct[starts]
        return self._arrange(columns[at], table, at, n_parents, extent)

    def arrange_marks(self, marks: npt.NDArray[np.bool_]) -> Numbers:
        n_parents, extent, _ = marks.shape
        if not self._n_columns(n_parents, extent):
            return np.empty((n_parents, extent), dtype=np.int64)
        table = marks.reshape(-1, self.m)
        columns = np.flatnonzero(table.any(axis=1))
        if len(columns) < len(table):
            table = table[columns]
        return self._arrange(columns, table, None, n_parents, extent)

    def _n_columns(self, n_parents: int, extent: int) -> int:
        n_columns = n_parents * extent
        if n_columns > sys.maxsize // self.n:
            raise KernelMemoryError(
                f"{self.name} level: expected a number of positions below 2**63, "
                f"got {n_parents} * {extent} * {self.n}"
            )
        return n_columns

    def _arrange(
        self,
        columns: Numbers,
        table: npt.NDArray[np.bool_],
        entries: Numbers | None,
        n_parents: int,
        extent: int,
    ) -> Numbers:
        """Return the order of all columns, from those that have entries.

        Parameters
        ----------
        columns : int64[n]
            Their numbers, ascending; those of all parents count through.
        table : bool[n, m]
            Where they have entries.
        entries : int64[n] or None
            The first entry of each, to be named in errors.
        n_parents, extent : int
            How many columns there are.
        """
        parents, sizes = columns // extent, table.sum(axis=1)
        at = np.full(len(columns), -1) if entries is None else entries
        self._refuse_long(at, sizes)
        pattern = np.full(n_parents * extent, -1)
        room = np.full((n_parents, len(self.patterns)), self.g)
        exact = sizes == self.n
        chosen_places = np.nonzero(table[exact])[1].reshape(-1, self.n)
        chosen = ranks_of_combinations(chosen_places, self.m)
        pattern[columns[exact]] = chosen
        np.subtract.at(room, (parents[exact], chosen), 1)
        self._refuse_full(room, parents[exact], chosen, at[exact])
        try:
            pattern[columns[~exact]] = match_columns(
                parents[~exact], table[~exact], room, self._members()
            )
        except UnmatchedError as error:
            raise self._unmatched(
                error.patterns, error.excess, int(at[~exact][error.column])
            ) from None
        # Columns without entries take what is left, in the order of both.
        left = np.repeat(np.tile(np.arange(room.shape[1]), n_parents), room.reshape(-1))
        pattern[pattern < 0] = left
        kind = np.uint16 if len(self.patterns) < 2**16 else np.int64
        by_chunk = pattern.astype(kind).reshape(n_parents, extent)
        return np.argsort(by_chunk, axis=1, kind="stable")

    def _members(self) -> npt.NDArray[np.bool_]:
        """Return which coordinates each pattern has."""
        members = np.zeros((len(self.patterns), self.m), dtype=bool)
        members[np.arange(len(members))[:, np.newaxis], self.patterns] = True
        return members

    def _refuse_long(self, entries: Numbers, sizes: Numbers) -> None:
        """Raise for the first column with too many entries."""
        long = np.flatnonzero(sizes > self.n)
        if len(long):
            raise PatternError(
                f"{self} level: expected at most {self.n} entries in each block of "
                f"{self.m}, got {sizes[long[0]]} (a conversion never drops a value)",
                _named(int(entries[long[0]])),
            )

    def _refuse_full(
        self, room: Numbers, chunks: Numbers, chosen: Numbers, entries: Numbers
    ) -> None:
        """Raise for the first pattern that too many columns need."""
        over = np.argwhere(room < 0)
        if len(over):
            chunk, pattern = over[0]
            at = np.flatnonzero((chunks == chunk) & (chosen == pattern))
            excess = -int(room[chunk, pattern])
            raise self._unmatched(np.array([pattern]), excess, int(entries[at[-1]]))

    def _unmatched(self, patterns: Numbers, excess: int, entry: int) -> PatternError:
        """Return the error of patterns that more columns need than they have."""
        places = len(patterns) * self.g
        named = [str(self.patterns[number]) for number in patterns[:3]]
        listed = ", ".join(named) + (", ..." if len(patterns) > 3 else "")
        return PatternError(
            f"{self} level: expected at most {self.g} columns of a chunk for each "
            f"pattern, got {places + excess} that fit only the {places} places of "
            f"{listed} (a conversion never drops a value)",
            _named(entry),
        )

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        if n_parents > sys.maxsize // self.n:
            raise KernelMemoryError(
                f"{self.name} level: expected a number of positions below 2**63, "
                f"got {n_parents} * {self.n}"
            )
        patterns = np.array(self.patterns, dtype=np.int64)
        places = np.full((len(patterns), self.m), -1)
        places[np.arange(len(patterns))[:, np.newaxis], patterns] = np.arange(self.n)
        place = places[parents % self.period // self.g, coordinates]
        outside = np.flatnonzero(place < 0)
        if len(outside):
            at = int(outside[0])
            raise PatternError(
                f"{self} level: expected coordinates of the parents' patterns, got "
                f"{coordinates[at]} below parent {parents[at]}",
                at,
            )
        return Packed({}, parents * self.n + place, n_parents * self.n)

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        every = np.arange(n_parents, dtype=np.int64)
        patterns = np.array(self.patterns, dtype=np.int64)
        coordinates = patterns[every % self.period // self.g]
        return Unpacked(np.repeat(every, self.n), coordinates.reshape(-1))

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        take_buffers(self, buffers)
        return n_parents * self.n

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return n_parents * self.n


def _named(entry: int) -> int | None:
    """Return the number of an entry; None of one that has none."""
    return None if entry < 0 else entry


def _binary(op: str, value: ir.Expr, divisor: int) -> ir.Expr:
    return ir.Binary(op, value, literal(divisor), "int64")
