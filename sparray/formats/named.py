"""Formats that have a name, for any number of dimensions where that makes sense."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from sparray.errors import FormatError
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import Level
from sparray.formats.singleton import Singleton

__all__ = ["NAMED_FORMATS", "NamedFormat", "as_format", "format_name", "named_format"]


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

    make: Callable[[int], Format]
    least: int
    most: int | None = None

    def fits(self, ndim: int) -> bool:
        """Whether the name has a meaning for ``ndim`` dimensions."""
        return self.least <= ndim and (self.most is None or ndim <= self.most)


def _coo_levels(ndim: int) -> list[Level]:
    """Return one position per entry: the coordinates of each side by side."""
    if ndim < 2:
        return [Compressed()] * ndim
    middle = [Singleton(unique=False)] * (ndim - 2)
    return [Compressed(unique=False), *middle, Singleton()]


# A name that comes first is the one that `Format.name` gives where two formats of
# that number of dimensions are equal.
NAMED_FORMATS: dict[str, NamedFormat] = {
    "dense": NamedFormat(lambda n: Format([Dense()] * n), 0),
    "csr": NamedFormat(lambda n: Format([Dense()] * (n - 1) + [Compressed()]), 2),
    "csc": NamedFormat(lambda n: Format([Dense(), Compressed()], (1, 0)), 2, 2),
    "coo": NamedFormat(lambda n: Format(_coo_levels(n)), 0),
    "dcsr": NamedFormat(lambda n: Format([Compressed()] * 2), 2, 2),
    "dcsc": NamedFormat(lambda n: Format([Compressed()] * 2, (1, 0)), 2, 2),
    "csf": NamedFormat(lambda n: Format([Compressed()] * n), 0),
}
"""Named formats; a new one is one line here."""


@lru_cache(maxsize=1024)
def named_format(name: str, ndim: int) -> Format:
    """Return the format that a name means for ``ndim`` dimensions.

    Raises
    ------
    FormatError
        If there is no such name or it does not fit that number of dimensions.

    Examples
    --------
    >>> str(named_format("csr", 2))
    '(i, j) -> (i: dense, j: compressed)'
    >>> str(named_format("coo", 3))
    '(i, j, k) -> (i: compressed(nonunique), j: singleton(nonunique), k: singleton)'
    """
    if ndim < 0:
        raise FormatError(f"ndim: expected 0 or more dimensions, got {ndim}")
    named = NAMED_FORMATS.get(name)
    if named is None:
        known = ", ".join(NAMED_FORMATS)
        raise FormatError(f"format: expected a known name ({known}), got {name!r}")
    if not named.fits(ndim):
        fitting = ", ".join(
            key for key, other in NAMED_FORMATS.items() if other.fits(ndim)
        )
        wanted = (
            str(named.least)
            if named.most == named.least
            else (f"{named.least} or more")
        )
        raise FormatError(
            f"format {name!r}: expected {wanted} dimensions, got {ndim}; "
            f"for {ndim} there are {fitting}"
        )
    return named.make(ndim)


def format_name(format: Format) -> str | None:
    """Return the first name that means this format, or None."""
    for name, named in NAMED_FORMATS.items():
        if named.fits(format.ndim) and named_format(name, format.ndim) == format:
            return name
    return None


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
