"""Names for formats that users add."""

import re
from collections.abc import Callable

from sparray.errors import FormatError
from sparray.formats.format import Format
from sparray.formats.named import (
    FORMAT_FAMILIES,
    NAMED_FORMATS,
    NamedFormat,
    named_format,
)

__all__ = ["register_format"]

Make = Callable[[int], str | Format]

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def register_format(
    name: str, least: int = 2, most: int | None = 2
) -> Callable[[Make], Make]:
    """Register the decorated function as what a name means.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and underscores.
    least, most : int
        The numbers of dimensions that it fits; no largest one if ``most`` is None.

    Returns
    -------
    callable
        The decorator. The function takes a number of dimensions, and returns a format
        or a format string.

    Raises
    ------
    FormatError
        If the name is taken or is none, or what the function returns is no format.

    Examples
    --------
    >>> import sparray as sp
    >>> from sparray.formats.naming import register_format
    >>> @register_format("rows_of_blocks")
    ... def rows_of_blocks(ndim):
    ...     return "(i, j) -> (i // 2: compressed, i % 2: dense, j: compressed)"
    >>> sp.array([[0, 1], [0, 0]], format="rows_of_blocks").format.name
    'rows_of_blocks'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FormatError(
            f"name: expected lower-case letters, digits and underscores, got {name!r}"
        )
    if name in NAMED_FORMATS or name in FORMAT_FAMILIES:
        raise FormatError(f"name: expected one that is free, got {name!r}")
    if most is not None and not 0 <= least <= most:
        raise FormatError(
            f"least, most: expected 0 <= least <= most, got {least}, {most}"
        )

    def register(make: Make) -> Make:
        def checked(ndim: int) -> Format:
            made = make(ndim)
            format = Format.parse(made, ndim) if isinstance(made, str) else made
            if not isinstance(format, Format) or format.ndim != ndim:
                raise FormatError(
                    f"format {name!r}: expected one of {ndim} dimensions, got {made!r}"
                )
            return format

        checked(least)
        NAMED_FORMATS[name] = NamedFormat(checked, least, most)
        named_format.cache_clear()
        return make

    return register
