"""What a level is: buffers, properties, and level functions grouped as capabilities.

A level stores one dimension, or a part of one. It maps *positions* of its parent level
to positions of its own, each with a *coordinate*; a fibre is the run of positions below
one parent position. The compiler never asks which class a level is: it asks for a
capability (``isinstance(level, PositionIterable)``) and calls its functions, which
return loop IR.

Source: Chou, Kjolstad, Amarasinghe 2018, "Format abstraction for sparse tensor
algebra compilers", sections 3 and 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, sub
from sparray.errors import FormatError
from sparray.formats.level_expression import LevelExpression
from sparray.records import dataclass

__all__ = [
    "Appendable",
    "Arrangeable",
    "Arranging",
    "Bounds",
    "CoordinateIterable",
    "Insertable",
    "IntArray",
    "Level",
    "LevelView",
    "Locatable",
    "Located",
    "Packed",
    "Per",
    "PositionIterable",
    "Preparable",
    "Prepared",
    "Searchable",
    "Sliced",
    "Unpacked",
]

IntArray = npt.NDArray[np.integer[Any] | np.bool_]


class Per(Enum):
    """What a buffer of a level has one element for."""

    ARRAY = "the whole level"
    PARENT = "each parent position"
    EDGE = "each parent position, and one before all: where positions below it end"
    POSITION = "each position"


_NEGATIONS = {"unique": "nonunique", "ordered": "unordered"}


@dataclass(frozen=True, slots=True)
class LevelView:
    """One level of one array as generated code sees it.

    Attributes
    ----------
    extent : ir.Expr
        Number of coordinates along the level, int64.
    buffers : mapping of str to ir.Buffer
        The level's buffers by role (``"pos"``, ``"crd"``).
    fresh : callable
        ``fresh("p")`` gives a variable name that is unused in the function.
    above : ir.Expr or None
        The coordinate in the level above, for levels that derive their own from it.
    above_extent : ir.Expr or None
        The extent of the level above.
    begins : mapping of str to ir.Expr
        Where element 0 of a buffer is, for those that hold several slices.
    """

    extent: ir.Expr
    buffers: Mapping[str, ir.Buffer]
    fresh: Callable[[str], str]
    above: ir.Expr | None = None
    above_extent: ir.Expr | None = None
    begins: Mapping[str, ir.Expr] = field(default_factory=dict)

    def read(self, role: str, index: ir.Expr) -> ir.Expr:
        """Return element ``index`` of a buffer in the buffer's own dtype."""
        return ir.Load(self.buffers[role], self._at(role, index))

    def load(self, role: str, index: ir.Expr) -> ir.Expr:
        """Return element ``index`` of a buffer, widened to int64."""
        value = self.read(role, index)
        return value if value.dtype == "int64" else ir.Cast(value, "int64")

    def store(self, role: str, index: ir.Expr, value: ir.Expr) -> ir.Stmt:
        """Write element ``index`` of a buffer, narrowed to the buffer's dtype."""
        buffer = self.buffers[role]
        if value.dtype != buffer.dtype:
            value = ir.Cast(value, buffer.dtype)
        return ir.Store(buffer, self._at(role, index), value)

    def search(
        self, role: str, begin: ir.Expr, end: ir.Expr, value: ir.Expr
    ) -> ir.Expr:
        """Return the first index in a range from which on elements are not smaller."""
        searched = ir.Search(
            self.buffers[role], self._at(role, begin), self._at(role, end), value
        )
        first = self.begins.get(role)
        return searched if first is None else sub(searched, first)

    def _at(self, role: str, index: ir.Expr) -> ir.Expr:
        begin = self.begins.get(role)
        return index if begin is None else add(begin, index)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A half-open range, and the statements to run before it is read."""

    begin: ir.Expr
    end: ir.Expr
    setup: tuple[ir.Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class Located:
    """Where a coordinate is stored; ``found`` is None where it always is."""

    position: ir.Expr
    found: ir.Expr | None = None
    setup: tuple[ir.Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """A level made from coordinates.

    Attributes
    ----------
    buffers : dict of str to ndarray
        The level's buffers.
    positions : int64[n]
        The position in this level of each of the n entries.
    n_positions : int
        Number of positions of the level, padding included.
    """

    buffers: dict[str, IntArray]
    positions: npt.NDArray[np.int64]
    n_positions: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A level made before its entries are known.

    Attributes
    ----------
    buffers : dict of str to ndarray
        The level's buffers.
    n_positions : int
        Number of positions of the level, used or not.
    """

    buffers: dict[str, IntArray]
    n_positions: int


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Every position of a level with its parent position and its coordinate.

    ``present : bool[n]`` says which positions have a coordinate; None where all have.
    """

    parents: npt.NDArray[np.int64]
    coordinates: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """Base of level types; subclasses are frozen dataclasses of their properties."""

    name: ClassVar[str]
    """The word that format strings use."""
    roles: ClassVar[tuple[str, ...]] = ()
    """Names of the buffers, in the order in which kernels receive them."""
    buffer_per: ClassVar[Mapping[str, Per]] = {}
    """What each buffer has one element for; a level that says so can be sliced."""
    optional_properties: ClassVar[tuple[str, ...]] = ()
    """Properties that a format may take away; the others always hold."""
    full: ClassVar[bool] = False
    """Every coordinate of the extent has a position."""
    branchless: ClassVar[bool] = False
    """Each parent position has exactly one position."""
    compact: ClassVar[bool] = True
    """Positions are made for entries only: fibres stand side by side, without gaps."""
    hides: ClassVar[bool] = False
    """Some positions have no coordinate, and what is stored there is never visible."""
    slots_per_entry: ClassVar[int] = 1
    """How many positions `pack` makes for an entry at most, if extents do not tell."""
    bounded: ClassVar[bool] = False
    """A fibre holds a fixed number of entries, made up by some that are fill."""

    unique: bool = field(default=True, kw_only=True)
    """No coordinate occurs twice in a fibre."""
    ordered: bool = field(default=True, kw_only=True)
    """Coordinates ascend in a fibre."""

    def __post_init__(self) -> None:
        for word in ("unique", "ordered"):
            if not getattr(self, word) and word not in self.optional_properties:
                raise FormatError(
                    f"{self.name} level: expected {word} to hold, got {word}=False"
                )

    def __str__(self) -> str:
        words = self.arguments()
        return f"{self.name}({', '.join(map(str, words))})" if words else self.name

    @classmethod
    def from_arguments(cls, arguments: Sequence[str | int]) -> Self:
        """Make the level that ``name(arguments)`` means in a format string.

        Raises
        ------
        FormatError
            If the level type does not have an argument.
        """
        taken = {_NEGATIONS[word]: word for word in cls.optional_properties}
        for argument in arguments:
            if argument not in taken:
                known = ", ".join(taken) if taken else "no arguments"
                raise FormatError(f"{cls.name} level: expected {known}, got {argument}")
        return cls(**{taken[str(word)]: False for word in arguments})

    def arguments(self) -> tuple[str | int, ...]:
        """Return what `from_arguments` makes an equal level of."""
        return tuple(
            _NEGATIONS[word]
            for word in self.optional_properties
            if not getattr(self, word)
        )

    def buffer_dtype(self, role: str, index_dtype: npt.DTypeLike) -> np.dtype[Any]:
        """Return the dtype of a buffer where index buffers have ``index_dtype``."""
        return np.dtype(index_dtype)

    def misplaced(
        self, expression: LevelExpression, above: LevelExpression | None
    ) -> str | None:
        """Return why the level cannot store an expression; None where it can.

        Parameters
        ----------
        expression : LevelExpression
            What it is to store.
        above : LevelExpression or None
            What the level above stores; None for the outermost level.
        """
        return None

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        """Return the number of positions below the first ``parent_size`` parents."""
        raise NotImplementedError

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        """Make the level's buffers from entries sorted by (parent, coordinate)."""
        raise NotImplementedError

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        """List every position of the level, in order."""
        raise NotImplementedError

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        """Check raw buffers and return the number of positions they describe.

        ``groups : int64[n_parents]`` numbers the parents where several of them are
        one coordinate, as below a level that is not unique; their fibres are one.

        Raises
        ------
        InvalidBufferError
            If an invariant of the level does not hold.
        """
        raise NotImplementedError

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        """Return the number of positions, trusting the buffers."""
        raise NotImplementedError


class PositionIterable(Level):
    """A level whose positions are walked, each giving its coordinate."""

    __slots__ = ()

    def positions(
        self, view: LevelView, parent_begin: ir.Expr, parent_end: ir.Expr
    ) -> Bounds:
        """Return the positions below the parent positions of a range.

        The range has one position where the parent is unique; below a parent that
        is not, it spans all positions with the same coordinate.
        """
        raise NotImplementedError

    def coordinate(self, view: LevelView, position: ir.Expr) -> ir.Expr:
        """Return the coordinate at a position, int64."""
        raise NotImplementedError

    def present(self, view: LevelView, position: ir.Expr) -> ir.Expr | None:
        """Return whether a walked position has a coordinate; None where all have."""
        return None


class Arrangeable(Level):
    """A level that takes the coordinates of a fibre in any order it is given."""

    __slots__ = ()

    def pack_arranged(
        self,
        arrangement: npt.NDArray[np.int64],
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        """Make the level's buffers as `pack` does, in the order of an arrangement.

        ``arrangement : int64[n_parents, extent]`` has each coordinate once in a row.
        """
        raise NotImplementedError


class Arranging(Level):
    """A level that has room for entries only where the level above puts its parents.

    It stands below an `Arrangeable` level, and decides the order of that one.
    """

    __slots__ = ()

    def arrange(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        below: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
    ) -> npt.NDArray[np.int64]:
        """Return the order of coordinates in the level above.

        Parameters
        ----------
        parents, coordinates : int64[n]
            Of each entry in the level above, as `pack` gets them there.
        below : int64[n]
            Its coordinate in this level; entries are sorted by all three.
        n_parents, extent : int
            Of the level above.

        Returns
        -------
        int64[n_parents, extent]
            The coordinate at each place of each fibre.

        Raises
        ------
        PatternError
            If no order has room for all entries.
        """
        raise NotImplementedError


class CoordinateIterable(Level):
    """A level whose coordinates are walked, each then located."""

    __slots__ = ()

    def coordinates(self, view: LevelView, parent: ir.Expr) -> Bounds:
        """Return the range of coordinates below a parent position."""
        raise NotImplementedError


class Locatable(Level):
    """A level that finds the position of a coordinate without a search loop."""

    __slots__ = ()

    def locate(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        """Return the position of a coordinate below a parent position."""
        raise NotImplementedError


class Searchable(Level):
    """A level whose ordered positions can be searched for a coordinate."""

    __slots__ = ()

    def search(
        self, view: LevelView, begin: ir.Expr, end: ir.Expr, coordinate: ir.Expr
    ) -> Located:
        """Return the first position of a coordinate in a range of positions.

        The setup searches in a time that grows with the logarithm of the range.
        """
        raise NotImplementedError


class Insertable(Level):
    """A level of an output that is written at located positions, in any order."""

    __slots__ = ()

    def insert(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        """Return the position at which to write a coordinate, made if there is none.

        ``found`` is None: after the setup statements the coordinate is stored.
        """
        raise NotImplementedError


class Preparable(Insertable):
    """A level that has room for every entry before any of them is known."""

    __slots__ = ()

    def prepare(
        self, n_parents: int, extent: int, index_dtype: npt.DTypeLike
    ) -> Prepared:
        """Make the level's buffers with nothing stored.

        Raises
        ------
        MemoryError
            If the level has more positions than can be counted.
        """
        raise NotImplementedError


class Sliced(Level):
    """A level whose positions are slices, each with its own part of every buffer below.

    The parts have equal lengths and stand one after the other; positions of the levels
    below count within a slice. Such levels are the outermost ones.
    """

    __slots__ = ()


class Appendable(Level):
    """A level of an output whose positions are made one after the other."""

    __slots__ = ()

    def append_coordinate(
        self, view: LevelView, position: ir.Expr, coordinate: ir.Expr
    ) -> tuple[ir.Stmt, ...]:
        """Write the coordinate of a new position."""
        raise NotImplementedError

    def append_edges(
        self, view: LevelView, parent: ir.Expr, end: ir.Expr
    ) -> tuple[ir.Stmt, ...]:
        """Say that the fibre below a parent position ends before ``end``.

        Fibres are finished in the order of their parents.
        """
        raise NotImplementedError
