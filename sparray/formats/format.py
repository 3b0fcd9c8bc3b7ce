"""What a format is: levels in an order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from sparray.errors import FormatError
from sparray.formats.chain import broken_link
from sparray.formats.level import Level
from sparray.formats.parser import parse_levels

__all__ = ["Format"]

_LETTERS = "ijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Format:
    """An ordered list of levels, each storing one dimension.

    Formats are equal, and hash equal, if their levels and their order are; names
    play no part.

    Parameters
    ----------
    levels : sequence of Level
        From the outermost to the innermost.
    order : sequence of int, optional
        The dimension that each level stores; by default level ``n`` stores
        dimension ``n``.

    Raises
    ------
    FormatError
        If ``order`` is not a permutation, or a level cannot stand below the one
        above it.

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
    _hash: int

    def __init__(
        self, levels: Sequence[Level], order: Sequence[int] | None = None
    ) -> None:
        levels = tuple(levels)
        for level in levels:
            if not isinstance(level, Level):
                raise FormatError(
                    f"levels: expected Level objects, got {type(level).__name__}"
                )
        ndim = len(levels)
        order = tuple(range(ndim)) if order is None else tuple(map(int, order))
        if sorted(order) != list(range(ndim)):
            raise FormatError(
                f"order: expected each of the {ndim} dimensions once, got {order}"
            )
        broken = broken_link(levels)
        if broken is not None:
            raise FormatError(f"levels[{broken[0]}]: {broken[1]}")
        key = tuple((type(level).__qualname__, level) for level in levels)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "order", order)
        # Once: formats are part of the key that every call looks its kernel up by.
        object.__setattr__(self, "_hash", hash((key, order)))

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
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.levels)

    @property
    def expressions(self):
        from sparray.formats.level_expression import Dimension

        return tuple(Dimension(d) for d in self.order)

    @property
    def is_plain(self):
        return True

    @property
    def name(self) -> str | None:
        """The name of the named format that this is equal to, if there is one."""
        from sparray.formats.named import format_name  # named.py makes formats

        return format_name(self)

    @property
    def is_dense(self) -> bool:
        """Every element of the array has a position."""
        return all(level.full for level in self.levels)

    @property
    def is_sorted(self) -> bool:
        """Entries are stored in lexicographic order of their coordinates."""
        return all(level.ordered for level in self.levels)

    @property
    def transposed(self) -> "Format":
        """The format that has the same buffers when the dimensions are reversed."""
        return _transpose(self)

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
            and self.order == other.order
            and self.levels == other.levels
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        ndim = self.ndim
        names = (
            list(_LETTERS[:ndim])
            if ndim <= len(_LETTERS)
            else [f"i{dimension}" for dimension in range(ndim)]
        )
        levels = (
            f"{names[dimension]}: {level}"
            for dimension, level in zip(self.order, self.levels, strict=True)
        )
        return f"({', '.join(names)}) -> ({', '.join(levels)})"

    def __repr__(self) -> str:
        return f"Format.parse({str(self)!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # A hash of strings differs from process to process, so it is not pickled.
        return type(self), (self.levels, self.order)


@lru_cache(maxsize=1024)
def _transpose(format: Format) -> Format:
    """Reverse the dimensions of a format once: later calls return the same object."""
    last = format.ndim - 1
    return Format(format.levels, [last - dimension for dimension in format.order])


@lru_cache(maxsize=1024)
def _parse(text: str, ndim: int | None) -> Format:
    """Parse a string once: later calls return the same object."""
    if not text.isidentifier():
        parsed = Format(*parse_levels(text))
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
