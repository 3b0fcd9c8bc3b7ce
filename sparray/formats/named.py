"""Formats that have a name, for any number of dimensions where that makes sense."""

from collections.abc import Callable
from functools import lru_cache

from sparray.errors import FormatError
from sparray.formats.batch import Batch
from sparray.formats.bitmap import Bitmap
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.grouped import Grouped
from sparray.formats.level import Level
from sparray.formats.level_expression import (
    Difference,
    Dimension,
    LevelExpression,
    Quotient,
    Remainder,
)
from sparray.formats.padded import Padded
from sparray.formats.parser import split_name
from sparray.formats.permuted import Permuted
from sparray.formats.range import Range
from sparray.formats.singleton import Singleton
from sparray.formats.structured import Structured
from sparray.records import dataclass

__all__ = [
    "FORMAT_FAMILIES",
    "NAMED_FORMATS",
    "FormatFamily",
    "NamedFormat",
    "as_format",
    "format_name",
    "format_text",
    "named_format",
]

Parameters = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """How a name becomes a format of ``ndim`` dimensions.

    Attributes
    ----------
    make : callable
        ``make(ndim)`` gives the format.
    least : int
        The smallest number of dimensions that the name fits.
    most : int or None
        The largest one; None where there is none.
    """

    make: Callable[..., Format]
    least: int
    most: int | None = None

    def fits(self, ndim: int) -> bool:
        """Whether the name has a meaning for ``ndim`` dimensions."""
        return self.least <= ndim and (self.most is None or ndim <= self.most)


@dataclass(frozen=True, slots=True)
class FormatFamily(NamedFormat):
    """How a name with parameters becomes a format.

    Attributes
    ----------
    make : callable
        ``make(ndim, *parameters)`` gives the format.
    parameters : tuple of str
        What each of them is called.
    read : callable
        Gives the parameters with which `make` might make a format.
    """

    parameters: tuple[str, ...] = ()
    read: Callable[[Format], Parameters] = lambda format: ()


def _coo(ndim: int) -> Format:
    """Return one position per entry: the coordinates of each side by side."""
    if ndim < 2:
        return Format([Compressed()] * ndim)
    middle = [Singleton(unique=False)] * (ndim - 2)
    return Format([Compressed(unique=False), *middle, Singleton()])


def _below_dense(ndim: int, last: Level) -> Format:
    """Return dense levels with another one for the last dimension."""
    return Format([*[Dense()] * (ndim - 1), last])


def _batched(name: str, ndim: int, *parameters: int) -> Format:
    """Return slices, each a matrix of a format: the last two dimensions."""
    matrix = named_format(name + (str(parameters) if parameters else ""), 2)
    n = ndim - 2
    parts = [part.renumbered((n, n + 1)) for part in matrix.expressions]
    batch = [Dimension(dimension) for dimension in range(n)]
    return Format([*[Batch()] * n, *matrix.levels], None, [*batch, *parts])


def _dia() -> Format:
    """Return the stored diagonals of a matrix, with an element for each row."""
    return Format([Compressed(), Range()], None, [Difference(1, 0), Dimension(0)])


def _blocks(ndim: int, rows: int, columns: int, *, by_row: bool) -> Format:
    """Return stored blocks of the last two dimensions, the others dense."""
    i, j = ndim - 2, ndim - 1
    outer = [Quotient(i, rows), Quotient(j, columns)]
    inner = [Remainder(i, rows), Remainder(j, columns)]
    parts: list[LevelExpression] = [Dimension(dimension) for dimension in range(i)]
    parts += [*(outer if by_row else reversed(outer)), *inner]
    levels = [*[Dense()] * (ndim - 1), Compressed(), Dense(), Dense()]
    return Format(levels, None, parts)


def _block_sizes(format: Format) -> Parameters:
    """Return the sizes of blocks, by dimension."""
    parts = [part for part in format.expressions if isinstance(part, Remainder)]
    return tuple(part.block for part in sorted(parts, key=lambda part: part.dimension))


def _n_of_m(ndim: int, n: int, m: int) -> Format:
    """Return n stored entries in each block of m along the last dimension."""
    last = ndim - 1
    parts: list[LevelExpression] = [Dimension(dimension) for dimension in range(last)]
    parts += [Quotient(last, m), Remainder(last, m)]
    return Format([*[Dense()] * ndim, Structured(n, m)], None, parts)


def _structure(format: Format) -> Parameters:
    """Return the numbers of the first structured level."""
    for level in format.levels:
        if isinstance(level, Structured):
            return level.n, level.m
    return ()


def _n_of_m_grouped(ndim: int, n: int, m: int, g: int) -> Format:
    """Return n of m stored along the last dimension but one, patterns in groups."""
    level = Grouped(n, m, g)
    rows, columns = ndim - 2, ndim - 1
    parts: list[LevelExpression] = [Dimension(dimension) for dimension in range(rows)]
    parts += [Quotient(rows, m), Quotient(columns, level.period)]
    parts += [Remainder(columns, level.period), Remainder(rows, m)]
    return Format([*[Dense()] * ndim, Permuted(), level], None, parts)


def _groups(format: Format) -> Parameters:
    """Return the numbers of the first grouped level."""
    for level in format.levels:
        if isinstance(level, Grouped):
            return level.n, level.m, level.g
    return ()


# A name that comes first is the one that `Format.name` gives where two formats of
# that number of dimensions are equal.
NAMED_FORMATS: dict[str, NamedFormat] = {
    "dense": NamedFormat(lambda n: Format([Dense()] * n), 0),
    "csr": NamedFormat(lambda n: _below_dense(n, Compressed()), 2),
    "csc": NamedFormat(lambda n: Format([Dense(), Compressed()], (1, 0)), 2, 2),
    "coo": NamedFormat(_coo, 0),
    "dcsr": NamedFormat(lambda n: Format([Compressed()] * 2), 2, 2),
    "dcsc": NamedFormat(lambda n: Format([Compressed()] * 2, (1, 0)), 2, 2),
    "csf": NamedFormat(lambda n: Format([Compressed()] * n), 0),
    "ell": NamedFormat(lambda n: _below_dense(n, Padded()), 2),
    "dia": NamedFormat(lambda n: _dia(), 2, 2),
    "bitmap": NamedFormat(lambda n: _below_dense(n, Bitmap()), 1),
    "batched_csr": NamedFormat(lambda n: _batched("csr", n), 3),
    "batched_csc": NamedFormat(lambda n: _batched("csc", n), 3),
}
"""Named formats; a new one is one line here."""

FORMAT_FAMILIES: dict[str, FormatFamily] = {
    "bcsr": FormatFamily(
        lambda n, b, c: _blocks(n, b, c, by_row=True), 2, None, ("b", "c"), _block_sizes
    ),
    "bcsc": FormatFamily(
        lambda n, b, c: _blocks(n, b, c, by_row=False), 2, 2, ("b", "c"), _block_sizes
    ),
    "batched_bcsr": FormatFamily(
        lambda n, b, c: _batched("bcsr", n, b, c), 3, None, ("b", "c"), _block_sizes
    ),
    "batched_bcsc": FormatFamily(
        lambda n, b, c: _batched("bcsc", n, b, c), 3, None, ("b", "c"), _block_sizes
    ),
    "nm": FormatFamily(_n_of_m, 1, None, ("n", "m"), _structure),
    "nmg": FormatFamily(_n_of_m_grouped, 2, None, ("n", "m", "g"), _groups),
}
"""Named formats with parameters: ``bcsr(4, 4)``; a new one is one entry here."""


@lru_cache(maxsize=1024)
def named_format(name: str, ndim: int) -> Format:
    """Return the format that a name means for ``ndim`` dimensions.

    Parameters
    ----------
    name : str
        A key of `NAMED_FORMATS`, or one of `FORMAT_FAMILIES` with its parameters.
    ndim : int
        Number of dimensions.

    Raises
    ------
    FormatError
        If there is no such name, it does not fit that number of dimensions, or its
        parameters are wrong.

    Examples
    --------
    >>> str(named_format("csr", 2))
    '(i, j) -> (i: dense, j: compressed)'
    >>> str(named_format("nm(2, 4)", 2))
    '(i, j) -> (i: dense, j // 4: dense, j % 4: structured(2, 4))'
    >>> str(named_format("coo", 3))
    '(i, j, k) -> (i: compressed(nonunique), j: singleton(nonunique), k: singleton)'
    """
    if ndim < 0:
        raise FormatError(f"ndim: expected 0 or more dimensions, got {ndim}")
    key, parameters = split_name(name)
    named = NAMED_FORMATS.get(key) or FORMAT_FAMILIES.get(key)
    if named is None:
        known = ", ".join(_usage(key) for key in (*NAMED_FORMATS, *FORMAT_FAMILIES))
        raise FormatError(f"format: expected a known name ({known}), got {name!r}")
    expected = named.parameters if isinstance(named, FormatFamily) else ()
    if len(parameters) != len(expected):
        raise FormatError(f"format: expected {_usage(key)}, got {name!r}")
    if not named.fits(ndim):
        raise _wrong_ndim(name, named, ndim)
    try:
        return named.make(ndim, *parameters)
    except FormatError as error:
        raise FormatError(f"format {name!r}: {error}") from None


def format_name(format: Format) -> str | None:
    """Return the first name that means this format, or None."""
    for name, named in NAMED_FORMATS.items():
        if named.fits(format.ndim) and named_format(name, format.ndim) == format:
            return name
    if format.is_plain:
        return None
    for name, family in FORMAT_FAMILIES.items():
        parameters = family.read(format)
        if family.fits(format.ndim) and len(parameters) == len(family.parameters):
            text = f"{name}({', '.join(map(str, parameters))})"
            if named_format(text, format.ndim) == format:
                return text
    return None


def format_text(format: Format) -> str:
    """Return the name of a format, or its string where it has none."""
    return format.name or str(format)


def as_format(spec: str | Format, ndim: int) -> Format:
    """Return the format of ``ndim`` dimensions that a user asked for.

    Parameters
    ----------
    spec : str or Format
        A name, a format string or a format.
    ndim : int
        The number of dimensions it must have.

    Raises
    ------
    FormatError
        If ``spec`` is no format, or one of another number of dimensions.
    """
    if isinstance(spec, str):
        return Format.parse(spec.strip(), ndim)
    if not isinstance(spec, Format):
        raise FormatError(
            f"format: expected a name, a format string or a Format, got {spec!r}"
        )
    if spec.ndim != ndim:
        raise FormatError(
            f"format: expected {ndim} dimensions, got {spec.ndim} in {spec}"
        )
    return spec


def _usage(name: str) -> str:
    """Return a name as it is written: with its parameters, if it has any."""
    family = FORMAT_FAMILIES.get(name)
    return name if family is None else f"{name}({', '.join(family.parameters)})"


def _wrong_ndim(name: str, named: NamedFormat, ndim: int) -> FormatError:
    """Return the error of a name that does not fit the number of dimensions."""
    everything: dict[str, NamedFormat] = {**NAMED_FORMATS, **FORMAT_FAMILIES}
    fitting = ", ".join(_usage(key) for key, o in everything.items() if o.fits(ndim))
    wanted = f"{named.least} or more"
    if named.most == named.least:
        wanted = str(named.least)
    return FormatError(
        f"format {name!r}: expected {wanted} dimensions, got {ndim}; "
        f"for {ndim} there are {fitting}"
    )
