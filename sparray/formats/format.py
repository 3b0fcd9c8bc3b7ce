"""What a format is: levels, and what each of them stores."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sparray.errors import FormatError
from sparray.formats import remapping
from sparray.formats.chain import broken_link
from sparray.formats.level import Level, Locatable, Sliced
from sparray.formats.level_expression import Dimension, LevelExpression
from sparray.formats.parser import is_name, parse_levels

__all__ = ["Format"]

_LETTERS = "ijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Format:
    """An ordered list of levels, each storing a dimension or a part of one.

    Formats are equal, and hash equal, if their levels are, and what those store; names
    play no part.

    Parameters
    ----------
    levels : sequence of Level
        From the outermost to the innermost.
    order : sequence of int, optional
        The dimension that each level stores; by default level ``n`` stores
        dimension ``n``.
    expressions : sequence of LevelExpression, optional
        What each level stores, where that is not a whole dimension.

    Attributes
    ----------
    levels : tuple of Level
        From the outermost to the innermost.
    expressions : tuple of LevelExpression
        What each level stores.
    order : tuple of int
        The dimension of each level's expression: in ``i // 4`` and in ``i - j`` it
        is ``i``.
    ndim : int
        Number of dimensions, which is not the number of levels where several of
        them store parts of one dimension.
    is_plain : bool
        Every level stores a whole dimension.

    Raises
    ------
    FormatError
        If ``order`` is not a permutation, a dimension cannot be recovered from the
        expressions, or a level cannot stand below the one above it.

    Examples
    --------
    >>> from sparray.formats import Compressed, Dense, Format
    >>> csc = Format([Dense(), Compressed()], order=(1, 0))
    >>> str(csc)
    '(i, j) -> (j: dense, i: compressed)'
    >>> Format.parse(str(csc)) == csc
    True
    >>> csc.name
    'csc'
    """

    levels: tuple[Level, ...]
    order: tuple[int, ...]
    expressions: tuple[LevelExpression, ...]
    ndim: int
    is_plain: bool
    _hash: int

    def __init__(
        self,
        levels: Sequence[Level],
        order: Sequence[int] | None = None,
        expressions: Sequence[LevelExpression] | None = None,
    ) -> None:
        levels = tuple(levels)
        for level in levels:
            if not isinstance(level, Level):
                raise FormatError(
                    f"levels: expected Level objects, got {type(level).__name__}"
                )
        stored = (
            _whole_dimensions(len(levels), order)
            if expressions is None
            else _parts(len(levels), order, expressions)
        )
        broken = broken_link(levels, stored)
        if broken is not None:
            raise FormatError(f"levels[{broken[0]}]: {broken[1]}")
        is_plain = all(isinstance(expression, Dimension) for expression in stored)
        key = tuple((type(level).__qualname__, level) for level in levels)
        parts = tuple((type(part).__qualname__, part) for part in stored)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "expressions", stored)
        object.__setattr__(self, "order", tuple(part.dimension for part in stored))
        object.__setattr__(self, "ndim", _ndim(stored))
        object.__setattr__(self, "is_plain", is_plain)
        # Once: formats are part of the key that every call looks its kernel up by.
        object.__setattr__(self, "_hash", hash((key, parts)))

    @staticmethod
    def parse(text: str, ndim: int | None = None) -> "Format":
        """Read a format string, or the name of a format for ``ndim`` dimensions.

        Raises
        ------
        FormatError
            If the string is not a format; the message shows the place.

        Examples
        --------
        >>> Format.parse("(i, j) -> (i: compressed(nonunique), j: singleton)").name
        'coo'
        >>> str(Format.parse("csf", ndim=3))
        '(i, j, k) -> (i: compressed, j: compressed, k: compressed)'
        """
        return _parse(text, ndim)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def name(self) -> str | None:
        """The name of the named format that this is equal to, if there is one."""
        from sparray.formats.named import format_name  # named.py makes formats

        return format_name(self)

    @property
    def is_full(self) -> bool:
        """Every element of the array has a position."""
        return all(level.full for level in self.levels)

    @property
    def is_dense(self) -> bool:
        """The values are the elements of the array, in the order of its dimensions.

        Blocks of dense levels are full, yet not dense in this sense.
        """
        return self.is_plain and self.is_full

    @property
    def pads(self) -> bool:
        """Elements that were no entries are stored with those that were.

        They are the rest of a block, of a diagonal, or of a row below a sparse level,
        and entries from then on, as in SciPy.
        """
        if not self.levels or self.is_full:
            return False
        return not (self.levels[-1].compact or self.levels[-1].hides)

    @property
    def batch_ndim(self) -> int:
        """Number of outermost levels whose positions are slices with own buffers.

        None where all levels are full: nothing then tells slices from other rows.
        """
        if not (self.levels and isinstance(self.levels[0], Sliced)) or self.is_full:
            return 0
        return sum(isinstance(level, Sliced) for level in self.levels)

    @property
    def hides(self) -> bool:
        """Some values may be never visible, nor entries, though inside the shape."""
        return self.batch_ndim > 0 or any(level.hides for level in self.levels)

    @property
    def is_sorted(self) -> bool:
        """Entries are stored in lexicographic order of their levels' coordinates."""
        return all(level.ordered for level in self.levels)

    @property
    def is_walkable(self) -> bool:
        """Loops can visit each entry once without sorting them first.

        No coordinate is repeated, and those in no order are walked, not searched for.
        """
        return self.unique and all(
            level.ordered or (level.unique and not isinstance(level, Locatable))
            for level in self.levels
        )

    @property
    def dimension_order(self) -> tuple[int, ...]:
        """Each dimension once, in the order in which levels first store it."""
        mentioned = (d for part in self.expressions for d in part.dimensions)
        return tuple(dict.fromkeys(mentioned))

    @property
    def dimension_names(self) -> list[str]:
        """The names of dimensions in the format's string."""
        return _names(self.ndim)

    @property
    def transposed(self) -> "Format":
        """The format that has the same buffers when the dimensions are reversed."""
        return _permute(self, tuple(reversed(range(self.ndim))))

    def permuted(self, dimensions: Sequence[int]) -> "Format":
        """Return the format that has the same buffers after a transposition.

        Parameters
        ----------
        dimensions : sequence of int
            Dimension ``n`` of the transposed array is ``dimensions[n]`` of this one,
            as in `numpy.transpose`.

        Raises
        ------
        FormatError
            If they are not each dimension once.
        """
        return _permute(self, tuple(map(int, dimensions)))

    def level_extents(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the extent of each level of an array of a shape.

        Raises
        ------
        ShapeError
            If there are more diagonals than coordinates can count.
        """
        if self.is_plain:
            return tuple([shape[dimension] for dimension in self.order])
        return remapping.level_extents(self.expressions, shape)

    def level_coordinates(
        self, coords: Any, shape: Sequence[int]
    ) -> list[npt.NDArray[np.int64]]:
        """Return the coordinates in each level of entries inside the shape.

        Parameters
        ----------
        coords : int64[ndim, n]
            Coordinates along each dimension.
        shape : sequence of int
            Extent of each dimension.

        Returns
        -------
        list of int64[n]
            One row per level; that of a whole dimension is not copied.
        """
        return remapping.level_coordinates(self.expressions, coords, shape)

    def dimension_coordinates(
        self, rows: Sequence[npt.NDArray[np.int64]], shape: Sequence[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
        """Return the coordinates along each dimension, from those in each level.

        Parameters
        ----------
        rows : sequence of int64[n]
            One row per level.
        shape : sequence of int
            Extent of each dimension.

        Returns
        -------
        coords : int64[ndim, n]
            A new array.
        inside : bool[n] or None
            Which of them lie inside the shape: the others are the padding of blocks
            that do not divide it, or ends of diagonals. None where all are inside.
        """
        return remapping.dimension_coordinates(self.expressions, rows, shape)

    @property
    def unique(self) -> bool:
        """No two entries have the same coordinates.

        That is the innermost level's property: it speaks of all positions whose
        outer coordinates agree.
        """
        return not self.levels or self.levels[-1].unique

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Format):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.expressions == other.expressions
            and self.levels == other.levels
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        names = self.dimension_names
        levels = (
            f"{expression.text(names)}: {level}"
            for expression, level in zip(self.expressions, self.levels, strict=True)
        )
        return f"({', '.join(names)}) -> ({', '.join(levels)})"

    def __repr__(self) -> str:
        return f"Format.parse({str(self)!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # A hash of strings differs from process to process, so it is not pickled.
        return type(self), (self.levels, None, self.expressions)


def _names(ndim: int) -> list[str]:
    """Return the names of dimensions in format strings."""
    if ndim <= len(_LETTERS):
        return list(_LETTERS[:ndim])
    return [f"i{dimension}" for dimension in range(ndim)]


def _ndim(expressions: Sequence[LevelExpression]) -> int:
    """Return the number of dimensions that expressions speak of."""
    return max((max(part.dimensions) for part in expressions), default=-1) + 1


def _whole_dimensions(
    n_levels: int, order: Sequence[int] | None
) -> tuple[LevelExpression, ...]:
    """Return the expressions of levels that store the dimensions in an order."""
    order = tuple(range(n_levels)) if order is None else tuple(map(int, order))
    if sorted(order) != list(range(n_levels)):
        raise FormatError(
            f"order: expected each of the {n_levels} dimensions once, got {order}"
        )
    return tuple(map(Dimension, order))


def _parts(
    n_levels: int, order: Sequence[int] | None, expressions: Sequence[LevelExpression]
) -> tuple[LevelExpression, ...]:
    """Check expressions that were given."""
    if order is not None:
        raise FormatError("order: expected None beside expressions, got both")
    stored = tuple(expressions)
    for part in stored:
        if not isinstance(part, LevelExpression) or min(part.dimensions) < 0:
            raise FormatError(
                f"expressions: expected LevelExpression objects, got {part!r}"
            )
    if len(stored) != n_levels:
        raise FormatError(
            f"expressions: expected one for each of {n_levels} levels, "
            f"got {len(stored)}"
        )
    problem = remapping.unrecoverable(stored, _names(_ndim(stored)))
    if problem is not None:
        place = "" if problem[0] is None else f"[{problem[0]}]"
        raise FormatError(f"expressions{place}: {problem[1]}")
    return stored


@lru_cache(maxsize=1024)
def _permute(format: Format, dimensions: tuple[int, ...]) -> Format:
    """Permute the dimensions of a format once: later calls return the same object."""
    if sorted(dimensions) != list(range(format.ndim)):
        raise FormatError(
            f"dimensions: expected each of the {format.ndim} dimensions once, "
            f"got {dimensions}"
        )
    numbers = [dimensions.index(dimension) for dimension in range(format.ndim)]
    expressions = [part.renumbered(numbers) for part in format.expressions]
    return Format(format.levels, None, expressions)


@lru_cache(maxsize=1024)
def _parse(text: str, ndim: int | None) -> Format:
    """Parse a string once: later calls return the same object."""
    if not is_name(text):
        levels, expressions = parse_levels(text)
        parsed = Format(levels, None, expressions)
        if ndim is not None and parsed.ndim != ndim:
            raise FormatError(
                f"format: expected {ndim} dimensions, got {parsed.ndim} in {text}"
            )
        return parsed
    from sparray.formats.named import named_format  # named.py makes formats

    if ndim is None:
        raise FormatError(
            "format: expected a number of dimensions (ndim) with the name of a "
            f"format, got {text!r} alone"
        )
    return named_format(text, ndim)
