"""``.npz`` archives: sparray's own, SciPy's, Binsparse's, and those of plain arrays."""

import json
import os

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import from_dense
from sparray.errors import FileFormatError
from sparray.formats.format import Format
from sparray.io.archive import Archive, write_archive
from sparray.io.atomic import atomic_file
from sparray.io.binsparse import binsparse_parts, describe_binsparse, read_binsparse
from sparray.io.description import Description, naming
from sparray.io.entries import as_asked
from sparray.io.parts import (
    array_of_parts,
    describe_parts,
    parse_json,
    parts_of_array,
)
from sparray.io.scipy_npz import read_scipy, scipy_format, scipy_parts, scipy_shape
from sparray.sparse_array import SparseArray

__all__ = [
    "describe_npz",
    "read_npz",
    "write_binsparse_npz",
    "write_npz",
    "write_scipy_npz",
]

_HEADER = "sparray"
_BINSPARSE = "binsparse"
_CSR_MEMBERS = ("data", "indices", "indptr", "shape")


def read_npz(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
) -> SparseArray:
    """Read an array from an ``.npz`` archive; never by pickle.

    Parameters
    ----------
    path : path
        Written by `write_npz`, by ``scipy.sparse.save_npz``, or by Binsparse.
    format : str or Format, optional
        By default that of the file: ``bcsr`` for SciPy's bsr, ``coo`` for its dia.
    dtype : dtype, optional
        By default that of the file.
    name : str, optional
        Which array of an archive of many: of a dense one its name, and of a csr one
        what stands before ``_data``, ``_indices``, ``_indptr`` and ``_shape``.

    Raises
    ------
    FileFormatError
        If the archive is damaged, hostile, or holds no array.
    """
    with Archive(path) as archive:
        made = _read(archive, name)
    return as_asked(made, format, dtype)


def write_npz(
    path: str | os.PathLike[str], array: SparseArray, *, compressed: bool = False
) -> None:
    """Write an array of any format, with every buffer as it is.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Any format, dtype and fill value.
    compressed : bool
        Whether to deflate: smaller, and about 20 times slower.
    """
    header, buffers = parts_of_array(array)
    with atomic_file(path) as file:
        write_archive(file, {_HEADER: np.array(header), **buffers}, compressed)


def write_scipy_npz(
    path: str | os.PathLike[str], array: SparseArray, *, compressed: bool = True
) -> None:
    """Write what ``scipy.sparse.load_npz`` reads: csr, csc or coo.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Of fill value 0.
    compressed : bool
        Whether to deflate, as SciPy does by default.
    """
    parts = scipy_parts(array)
    with atomic_file(path) as file:
        write_archive(file, parts, compressed)


def write_binsparse_npz(
    path: str | os.PathLike[str], array: SparseArray, *, compressed: bool = False
) -> None:
    """Write a Binsparse archive, with the descriptor as member ``binsparse``.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Of dense, compressed and singleton levels.
    compressed : bool
        Whether to deflate.
    """
    descriptor, arrays = binsparse_parts(array)
    # Flat, as the reference implementation in Python reads it from archives.
    members = {_BINSPARSE: np.array(json.dumps(descriptor)), **arrays}
    with atomic_file(path) as file:
        write_archive(file, members, compressed)


def describe_npz(path: str | os.PathLike[str]) -> Description:
    """Return what an archive holds; only headers are read."""
    with Archive(path) as archive:
        if _HEADER in archive.names:
            return describe_parts(
                archive.path, archive.read_text(_HEADER), "sparray archive"
            )
        if _BINSPARSE in archive.names:
            descriptor = parse_json(archive.path, archive.read_text(_BINSPARSE))
            with naming(archive.path):
                return describe_binsparse(descriptor, "Binsparse archive")
        if "format" in archive.names:
            (*_, length), dtype = archive.header("data")
            word = scipy_format(archive)
            n_entries = length if word in ("csr", "csc", "coo") else None
            return Description(
                "SciPy archive", scipy_shape(archive), n_entries, word, str(dtype)
            )
        listed = {
            name: f"{shape} of {dtype}"
            for name in archive.names
            for shape, dtype in [archive.header(name)]
        }
    return Description("archive of arrays", details=listed)


def _read(archive: Archive, name: str | None) -> SparseArray:
    """Read the array of an archive of whatever kind."""
    if name is not None:
        return _read_named(archive, name)
    if _HEADER in archive.names:
        return array_of_parts(archive.path, archive.read_text(_HEADER), archive.read)
    if _BINSPARSE in archive.names:
        descriptor = parse_json(archive.path, archive.read_text(_BINSPARSE))
        with naming(archive.path):
            return read_binsparse(descriptor, archive.read)
    if "format" in archive.names:
        return read_scipy(archive, scipy_format(archive))
    if len(archive.names) == 1:
        return _read_named(archive, archive.names[0])
    listed = ", ".join(archive.names[:20]) or "none"
    raise FileFormatError(
        f"{archive.path}: expected one array, or the name of one (name=...), got "
        f"arrays {listed}"
    )


def _read_named(archive: Archive, name: str) -> SparseArray:
    """Read a dense array, or a csr one whose members have a common prefix."""
    if all(f"{name}_{member}" in archive.names for member in _CSR_MEMBERS):
        return read_scipy(archive, "csr", f"{name}_")
    return from_dense(archive.read(name), "dense", copy=False)
