"""FROSTT's ``.tns`` files, and their relatives with a header, to arrays.

Source: "The Formidable Repository of Open Sparse Tensors and Tools", file formats: one
line per entry, indices from 1, then the value. ParTI writes the number of dimensions
and the extents before that; the Tensor Toolbox writes the word ``sptensor``, the number
of dimensions, the extents and the number of entries.
"""

import os
from typing import Any

import numpy.typing as npt

from sparray.errors import ShapeError
from sparray.formats.coordinates import as_shape
from sparray.formats.format import Format
from sparray.io.description import Description
from sparray.io.entries import Entries, array_of_entries
from sparray.io.line_spec import LineSpec
from sparray.io.lines import read_entries
from sparray.io.text_source import TextSource
from sparray.sparse_array import SparseArray

__all__ = ["describe_tns", "read_tns"]

_COMMENT = b"#"
_MOST_DIMENSIONS = 64
_NO_EXTENT = 2**63 - 1


def read_tns(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    shape: Any = None,
    zero_based: bool = False,
) -> SparseArray:
    """Read a ``.tns`` file, compressed by gzip or not.

    Parameters
    ----------
    path : path
        With ParTI's or the Tensor Toolbox's header, or without one.
    format : str or Format, optional
        By default ``coo``.
    dtype : dtype, optional
        By default float64.
    shape : sequence of int, optional
        By default the header's, or the smallest one that holds the entries.
    zero_based : bool
        Whether the first index is called 0.

    Returns
    -------
    SparseArray
        An entry that is listed twice is summed.

    Raises
    ------
    FileFormatError
        If a line has another number of dimensions, or is no entry.
    ShapeError
        If ``shape`` disagrees with the header.
    """
    with TextSource(path) as source:
        declared, n_entries = _read_header(source)
        extents = declared
        if shape is not None:
            extents = as_shape(shape)
            if declared is not None and extents != declared:
                raise ShapeError(
                    f"shape: expected {declared}, which the header of {path} says, "
                    f"got {extents}"
                )
        if extents is None:
            extents = (_NO_EXTENT,) * _count_dimensions(source)
        spec = LineSpec(extents, "real", base=int(not zero_based), comment=_COMMENT)
        entries = read_entries(source, spec, n_entries)
    if declared is None and shape is None:
        extents = _smallest_shape(entries)
    return array_of_entries(entries, extents, format, dtype)


def describe_tns(path: str | os.PathLike[str]) -> Description:
    """Return what the first lines of a ``.tns`` file say."""
    with TextSource(path) as source:
        shape, n_entries = _read_header(source)
        ndim = _count_dimensions(source) if shape is None else len(shape)
    return Description(
        kind="FROSTT tensor",
        shape=shape,
        n_entries=n_entries,
        format="coo",
        dtype="real",
        details={"dimensions": str(ndim)},
    )


def _read_header(source: TextSource) -> tuple[tuple[int, ...] | None, int | None]:
    """Return shape and number of entries, as far as there is a header."""
    words = _peek(source)
    has_word = words == [b"sptensor"]
    if has_word:
        _next(source)
        words = _peek(source)
    if len(words) != 1:
        if has_word:
            source.line += 1
            source.refuse("expected the number of dimensions")
        return None, None
    (ndim,) = _integers(source, 1, "the number of dimensions, or an entry")
    if not 1 <= ndim <= _MOST_DIMENSIONS:
        source.refuse(f"expected 1 to {_MOST_DIMENSIONS} dimensions, got {ndim}")
    shape = _integers(source, ndim, "the extents")
    if not has_word:
        return shape, None
    (n_entries,) = _integers(source, 1, "the number of entries")
    return shape, n_entries


def _count_dimensions(source: TextSource) -> int:
    """Return how many indices the first entry has."""
    ndim = len(_peek(source)) - 1
    source.line += 1
    if ndim < 1:
        source.refuse("expected an entry: indices and a value, got none")
    if ndim > _MOST_DIMENSIONS:
        source.refuse(f"expected at most {_MOST_DIMENSIONS} dimensions, got {ndim}")
    source.line -= 1
    return ndim


def _peek(source: TextSource) -> list[bytes]:
    """Return the words of the next line that is no comment; step over those before."""
    while (line := source.peek_line()) is not None:
        words = line.split()
        if words and not words[0].startswith(_COMMENT):
            return words
        source.read_line()
    return []


def _next(source: TextSource) -> list[bytes]:
    words = _peek(source)
    source.read_line()
    return words


def _integers(source: TextSource, count: int, what: str) -> tuple[int, ...]:
    """Read a header line of so many integers from 0 to 2**63 - 1."""
    words = _next(source)
    are_integers = all(word.isdigit() and len(word) <= 19 for word in words)
    if not are_integers or len(words) != count:
        got = repr(b" ".join(words)[:60])[1:]
        source.refuse(f"expected {what}, got {got}")
    numbers = tuple(map(int, words))
    if max(numbers) > _NO_EXTENT:
        source.refuse(f"expected integers up to 2**63 - 1, got {max(numbers)}")
    return numbers


def _smallest_shape(entries: Entries) -> tuple[int, ...]:
    """Return the smallest shape that holds the entries."""
    if not len(entries.values):
        return (0,) * len(entries.coords)
    return tuple(int(row.max()) + 1 for row in entries.coords)
