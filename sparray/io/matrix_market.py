"""MatrixMarket files to arrays."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import cast_values, convert_format
from sparray.formats.coordinates import as_dtype
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.io.assembly import Coords, array_of_entries, mirror
from sparray.io.description import Description
from sparray.io.lines import LineSpec, read_entries
from sparray.io.matrix_market_header import Header, read_header
from sparray.io.text_source import TextSource
from sparray.sparse_array import SparseArray

__all__ = ["describe_mtx", "read_mtx"]


def read_mtx(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    permissive: bool = False,
) -> SparseArray:
    """Read a MatrixMarket file, compressed by gzip or not.

    Parameters
    ----------
    path : path
        Objects ``matrix``, ``vector`` and ``tensor`` (TACO's ``.ttx``).
    format : str or Format, optional
        By default ``coo`` for a coordinate file and ``dense`` for an array file.
    dtype : dtype, optional
        By default float64, complex128, int64 or uint64, as the field says, and float64
        for ``pattern``.
    permissive : bool
        Whether to accept what the specification does not allow and what has one
        meaning only: a banner that begins with one percent sign, comments between
        entries, lines that end with a carriage return, exponents that Fortran wrote
        with a D, the upper triangle of a symmetric matrix in place of the lower one,
        and real numbers past the range of float64, which become infinite.

    Returns
    -------
    SparseArray
        Explicit zeros stay entries; an entry that is listed twice is summed.

    Raises
    ------
    FileFormatError
        If the file breaks the specification; the message names the line.

    Notes
    -----
    Both triangles of a symmetric matrix are made; a symmetric file that lists entries
    on both sides of its diagonal is refused. Structured comments (``%%GraphBLAS
    type``) are comments.
    """
    with TextSource(path, any_line_end=permissive) as source:
        header = read_header(source, permissive)
        spec = LineSpec(
            header.shape if header.layout == "coordinate" else (),
            header.field,
            comment=b"%" if permissive else b"",
            may_overflow=permissive,
            fortran_exponents=permissive,
        )
        coords, values = read_entries(source, spec, header.n_entries)
        if values is None:
            values = np.ones(header.n_entries, np.float64 if dtype is None else as_dtype(dtype))
        if header.layout == "array":
            values = cast_values(values, dtype)
            return _dense(source, header, values, format)
        if header.symmetry != "general":
            coords = _one_triangle(source, header, coords, values, permissive)
            coords, values = mirror(coords, values, header.symmetry)
    return array_of_entries(coords, values, header.shape, format, dtype)


def describe_mtx(path: str | os.PathLike[str]) -> Description:
    """Return what the header of a MatrixMarket file says."""
    with TextSource(path) as source:
        header = read_header(source, permissive=True)
    return Description(
        kind="MatrixMarket",
        shape=header.shape,
        n_entries=header.n_entries,
        format="coo" if header.layout == "coordinate" else "dense",
        dtype=header.field,
        details={
            "object": header.object,
            "layout": header.layout,
            "symmetry": header.symmetry,
        },
    )


def _one_triangle(
    source: TextSource,
    header: Header,
    coords: Coords,
    values: npt.NDArray[Any],
    permissive: bool,
) -> Coords:
    """Check that all entries are in the lower triangle, or turn them over."""
    rows, columns = coords
    upper = np.flatnonzero(rows < columns)
    if len(upper) and not permissive:
        at = int(upper[0])
        source.refuse(
            f"expected the lower triangle of a {header.symmetry} matrix, got entry "
            f"({rows[at] + 1}, {columns[at] + 1}) above the diagonal "
            "(permissive=True reads the upper triangle)"
        )
    if len(upper) and np.any(rows > columns):
        source.refuse(
            f"expected one triangle of a {header.symmetry} matrix, got entries on "
            "both sides of the diagonal"
        )
    wrong = rows == columns
    if header.symmetry == "skew-symmetric":
        wrong &= values != 0
    elif header.symmetry == "hermitian":
        wrong &= values.imag != 0
    else:
        return [columns, rows] if len(upper) else coords
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        source.refuse(
            f"expected a diagonal that can be {header.symmetry}, got {values[at]} at "
            f"({rows[at] + 1}, {columns[at] + 1})"
        )
    if len(upper):
        # What is listed is the mirror image of the lower triangle.
        if header.symmetry == "hermitian":
            np.conjugate(values, out=values)
        else:
            np.negative(values, out=values)
        return [columns, rows]
    return coords


def _dense(
    source: TextSource,
    header: Header,
    values: npt.NDArray[Any],
    format: str | Format | None,
) -> SparseArray:
    """Make an array of all elements, the first dimension fastest."""
    ndim = len(header.shape)
    if header.symmetry != "general":
        values = _unfold(source, header, values)
    by_column = Format([Dense()] * ndim, range(ndim)[::-1])
    zero = values.dtype.type(0)
    made = SparseArray._from_trusted(
        by_column, header.shape, ({},) * ndim, values, zero
    )
    wanted = named_format("dense", ndim) if format is None else as_format(format, ndim)
    return convert_format(made, wanted)


def _unfold(
    source: TextSource, header: Header, values: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Return all elements by column from those of the lower triangle by column."""
    n = header.shape[0]
    full = np.zeros((n, n), dtype=values.dtype)
    is_skew = header.symmetry == "skew-symmetric"
    begin = 0
    for column in range(n):
        first = column + is_skew
        part = values[begin : begin + n - first]
        begin += n - first
        # Row of the transposed array: columns are contiguous.
        full[column, first:] = part
        if is_skew:
            full[first:, column] = -part
        else:
            full[first:, column] = part
            if header.symmetry == "hermitian":
                full[first:, column] = part.conj()
                full[column, column] = part[0]
    if header.symmetry == "hermitian" and np.any(np.diagonal(full).imag != 0):
        source.refuse("expected a real diagonal of a hermitian matrix, got another one")
    return full.reshape(-1)
