"""MatrixMarket files to arrays."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import cast_values, convert_format
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.io.description import Description
from sparray.io.entries import Entries, array_of_entries, mirror
from sparray.io.line_spec import LineSpec
from sparray.io.lines import read_entries
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
        values in a ``pattern`` file, which are skipped, and real numbers past the
        range of float64, which become infinite.

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
            lenient=permissive,
            fortran_exponents=permissive,
        )
        entries = read_entries(source, spec, header.n_entries)
        if header.layout == "array":
            values = cast_values(entries.values, dtype)
            return _dense(source, header, values, format)
        if header.symmetry != "general":
            _check_triangle(source, header, entries, permissive)
            entries = mirror(entries, header.symmetry)
    return array_of_entries(entries, header.shape, format, dtype)


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


def _check_triangle(
    source: TextSource, header: Header, entries: Entries, permissive: bool
) -> None:
    """Check that all entries are in the lower triangle, or turn them over."""
    rows, columns = entries.coords
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
    wrong = (rows == columns) & _breaks_diagonal(header.symmetry, entries.values)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        source.refuse(
            f"expected a diagonal that can be {header.symmetry}, got "
            f"{entries.values[at]} at ({rows[at] + 1}, {columns[at] + 1})"
        )
    if len(upper):
        # What is listed is the mirror image of the lower triangle.
        entries.coords = [columns, rows]
        if header.symmetry == "hermitian":
            np.conjugate(entries.values, out=entries.values)
        elif header.symmetry == "skew-symmetric":
            np.negative(entries.values, out=entries.values)


def _breaks_diagonal(symmetry: str, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Mark values that the diagonal cannot have."""
    if symmetry == "skew-symmetric":
        wrong = values
    elif symmetry == "hermitian" and values.dtype.kind == "c":
        wrong = values.imag
    else:
        return np.zeros(len(values), dtype=bool)
    return wrong.astype(bool)  # NaN is true


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
