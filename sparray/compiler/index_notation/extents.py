"""Extents of indices, and where windows begin, from the shapes of the operands."""

from collections.abc import Mapping, Sequence

from sparray.compiler import names
from sparray.compiler.index_notation.affine import Affine, affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.places import access_place
from sparray.compiler.index_notation.printer import print_access
from sparray.compiler.index_notation.tokenizer import marked
from sparray.errors import CoordinateError, InternalError, ShapeError

__all__ = ["Read", "sizes_of"]

Read = tuple[Access, tuple[int, ...]]
"""An access and the shape of what it reads."""

_Dimension = tuple[Access, str, Affine, int]


def sizes_of(
    read: Sequence[Read],
    sources: Mapping[str, str],
    text: str | None = None,
) -> dict[str, int]:
    """Return the extent of every index, and of what coordinates are made of.

    Parameters
    ----------
    read : sequence of (Access, tuple of int)
        Every access with as many extents as it has coordinates.
    sources : mapping of str to str
        What coordinates with a parameter were (`symbolize`).
    text : str, optional
        The assignment, in which errors mark the place.

    Returns
    -------
    dict of str to int
        Of each index its extent; of each affine coordinate the extent of the dimension
        that it stands for, and by `names.first` its first coordinate.

    Raises
    ------
    ShapeError
        If two extents of an index disagree, or nothing says what one is.
    CoordinateError
        If a constant, or a sum of indices, leaves its dimension.

    Notes
    -----
    A slice is cut off at the end of its dimension, as in Python, and gives its index
    the number of its values. A sum of indices is checked; where a single index of it
    has no extent from elsewhere, that is the largest one for which every sum with the
    index stays inside.
    """
    sizes: dict[str, int] = {}
    owners: dict[str, Access] = {}
    dimensions: list[_Dimension] = []

    def give(index: str, extent: int, access: Access) -> None:
        known = sizes.setdefault(index, extent)
        owner = owners.setdefault(index, access)
        if known != extent:
            message = (
                f"index {index!r} has extent {known} in {print_access(owner)} and "
                f"{extent} in {print_access(access)}"
            )
            raise ShapeError(_marked(text, access, index, message))

    for access, shape in read:
        for coordinate, extent in zip(access.indices, shape, strict=True):
            made = affine(coordinate)
            if made is None:
                give(coordinate, extent, access)
                continue
            source = _source(coordinate, sources)
            dimensions.append((access, coordinate, source, extent))
            sizes[coordinate] = extent
            first = source.first
            if source.window is not None:
                values = range(*slice(*source.window).indices(extent))
                first = values.start
                give(source.terms[0][0], len(values), access)
            elif not source.terms and first < 0:
                first += extent
            sizes[names.first(coordinate)] = first
    _derive(dimensions, sizes, text)
    for dimension in dimensions:
        _check(dimension, sizes, text)
    return sizes


def _source(coordinate: str, sources: Mapping[str, str]) -> Affine:
    found = affine(sources.get(coordinate, coordinate))
    if found is None or found.symbol:
        raise InternalError(f"expected a coordinate with its numbers, got {coordinate}")
    return found


def _marked(text: str | None, access: Access, coordinate: str, message: str) -> str:
    """Return a message with the place of a coordinate in the assignment."""
    if text is None:
        return message
    axis = None
    if coordinate in access.indices:
        axis = access.indices.index(coordinate)
    return marked(text, access_place(text, access, axis), message)


def _derive(
    dimensions: Sequence[_Dimension], sizes: dict[str, int], text: str | None
) -> None:
    """Give each index that only sums have the largest extent that fits."""
    while True:
        unknown: dict[str, list[int]] = {}
        left: _Dimension | None = None
        for dimension in dimensions:
            access, coordinate, source, extent = dimension
            missing = [(i, step) for i, step in source.terms if i not in sizes]
            if not missing:
                continue
            left = dimension
            if len(missing) == 1:
                ((index, step),) = missing
                low, high = _reach(coordinate, source, sizes)
                room = extent - 1 - high if step > 0 else low
                fits = max(0, room // abs(step) + 1) if room >= 0 else 0
                unknown.setdefault(index, []).append(fits)
        for index, found in unknown.items():
            sizes[index] = min(found)
        if left is None:
            return
        if not unknown:
            access, coordinate, _, _ = left
            message = (
                f"expected an extent for every index but one of {coordinate} in "
                f"{print_access(access)}, got none for two of them: another "
                "operand has to have one"
            )
            raise ShapeError(_marked(text, access, coordinate, message))


def _reach(
    coordinate: str, source: Affine, sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Return the smallest and the largest coordinate, unknown indices being 0."""
    low = high = sizes[names.first(coordinate)]
    for index, step in source.terms:
        last = step * (max(1, sizes.get(index, 1)) - 1)
        low, high = low + min(0, last), high + max(0, last)
    return low, high


def _check(dimension: _Dimension, sizes: Mapping[str, int], text: str | None) -> None:
    access, coordinate, source, extent = dimension
    if any(sizes[index] == 0 for index, _ in source.terms):
        return
    low, high = _reach(coordinate, source, sizes)
    if low >= 0 and high < extent:
        return
    what = f"coordinate {source.first}"
    if source.terms:
        what = f"coordinates {low} to {high} of {coordinate}"
    message = (
        f"{print_access(access)}: expected coordinates of a dimension of extent "
        f"{extent}, got {what}"
    )
    raise CoordinateError(_marked(text, access, coordinate, message))
