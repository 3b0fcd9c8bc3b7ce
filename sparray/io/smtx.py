"""The Deep Learning Matrix Collection's ``.smtx`` files: patterns by row.

Source: Gale, Zaharia, Young, Elsen 2020, "Sparse GPU kernels for deep learning",
section on the dataset: a line with rows, columns and entries, separated by commas; a
line of row offsets; a line of column indices. Indices are from 0, and there are no
values.
"""

import os

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import cast_values, convert_format, from_buffers
from sparray.errors import InvalidBufferError, ShapeError
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.io.description import Description
from sparray.io.entries import index_dtype_for
from sparray.io.line_spec import LineSpec
from sparray.io.lines import read_entries
from sparray.io.text_source import TextSource
from sparray.sparse_array import SparseArray

__all__ = ["describe_smtx", "read_smtx"]

_UNSORTED_CSR = Format([Dense(), Compressed(ordered=False)])


def read_smtx(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    values: npt.ArrayLike | None = None,
) -> SparseArray:
    """Read a ``.smtx`` file, compressed by gzip or not.

    Parameters
    ----------
    path : path
        Columns may be in any order within a row.
    format : str or Format, optional
        By default ``csr``.
    dtype : dtype, optional
        By default that of ``values``, or float64.
    values : dtype[nnz], optional
        The values in the order of the file; by default ones.

    Raises
    ------
    FileFormatError
        If offsets or columns are not those of a matrix by row.
    ShapeError
        If there is another number of values.
    """
    with TextSource(path) as source:
        n_rows, n_columns, nnz = _read_header(source)
        source.split_at_blanks()
        spec = LineSpec((2**63 - 1,), "pattern", base=0)
        numbers = read_entries(source, spec, n_rows + 1 + nnz).coords[0]
        made = cast_values(
            np.ones(nnz, np.float64) if values is None else np.asarray(values), dtype
        )
        if made.shape != (nnz,):
            raise ShapeError(
                f"values: expected shape ({nnz},), one for each entry of {path}, "
                f"got {made.shape}"
            )
        index_dtype = index_dtype_for((n_rows, n_columns, nnz))
        if len(numbers) and numbers.max() > np.iinfo(index_dtype).max:
            source.refuse(
                f"expected offsets up to {nnz} and columns below {n_columns}, got "
                f"{numbers.max()}",
                2,
            )
        numbers = numbers.astype(index_dtype)
        rows = {"pos": numbers[: n_rows + 1], "crd": numbers[n_rows + 1 :]}
        try:
            array = from_buffers(
                _UNSORTED_CSR, (n_rows, n_columns), [{}, rows], np.array(made)
            )
        except InvalidBufferError as error:
            source.refuse(f"expected the offsets and columns of a matrix ({error})", 2)
    wanted = as_format("csr" if format is None else format, 2)
    return convert_format(array, wanted)


def describe_smtx(path: str | os.PathLike[str]) -> Description:
    """Return what the first line of a ``.smtx`` file says."""
    with TextSource(path) as source:
        n_rows, n_columns, nnz = _read_header(source)
    return Description("DLMC pattern", (n_rows, n_columns), nnz, "csr", "pattern")


def _read_header(source: TextSource) -> tuple[int, int, int]:
    """Read rows, columns and entries."""
    line = source.read_line() or b""
    source.line = 1
    words = line.replace(b",", b" ").split()
    if len(words) != 3 or not all(w.isdigit() and len(w) <= 18 for w in words):
        source.refuse(f"expected rows, columns and entries, got {repr(line[:60])[1:]}")
    n_rows, n_columns, nnz = map(int, words)
    return n_rows, n_columns, nnz
