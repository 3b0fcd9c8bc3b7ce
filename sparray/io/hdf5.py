"""Binsparse in HDF5 files, by h5py."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import FileFormatError, MissingExtraError
from sparray.formats.format import Format
from sparray.io.archive import check_expansion, refusing
from sparray.io.atomic import atomic_path
from sparray.io.binsparse import binsparse_parts, describe_binsparse, read_binsparse
from sparray.io.description import Description, naming
from sparray.io.entries import as_asked
from sparray.io.parts import parse_json
from sparray.sparse_array import SparseArray

__all__ = ["describe_hdf5", "read_hdf5", "write_hdf5"]

_HEADER = "binsparse"


def read_hdf5(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    group: str = "/",
) -> SparseArray:
    """Read a Binsparse array from an HDF5 file.

    Parameters
    ----------
    path : path
        With a JSON descriptor as the attribute ``binsparse`` of the group.
    format : str or Format, optional
        By default that of the file.
    dtype : dtype, optional
        By default that of the file.
    group : str
        Where in the file the array is.

    Raises
    ------
    FileFormatError
        If the file is damaged, or holds no array there.
    MissingExtraError
        If h5py is not installed.

    Notes
    -----
    Links to other files, and data outside of the file, are refused. The HDF5 library
    itself is not made for hostile files: read those of strangers in a process of
    their own.
    """
    with _opened(path, group) as reader:
        made = read_binsparse(reader.descriptor(), reader.read)
    return as_asked(made, format, dtype)


def write_hdf5(
    path: str | os.PathLike[str], array: SparseArray, *, compressed: bool = False
) -> None:
    """Write a Binsparse array to a new HDF5 file.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Of dense, compressed and singleton levels.
    compressed : bool
        Whether to deflate.

    Raises
    ------
    MissingExtraError
        If h5py is not installed.
    """
    h5py = _h5py()
    descriptor, arrays = binsparse_parts(array)
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as file:
        file.attrs[_HEADER] = json.dumps({"binsparse": descriptor})
        for name, buffer in arrays.items():
            method = "gzip" if compressed and len(buffer) else None
            file.create_dataset(name, data=buffer, compression=method)


def describe_hdf5(path: str | os.PathLike[str]) -> Description:
    """Return what the descriptor of an HDF5 file says."""
    with _opened(path, "/") as reader:
        return describe_binsparse(reader.descriptor(), "Binsparse in HDF5")


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise MissingExtraError(
            "HDF5 files: expected h5py, got an ImportError "
            "(pip install 'sparray-levels[io]')"
        ) from None
    return h5py


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], group: str) -> Iterator["_Reader"]:
    """Open a file to read one of its groups."""
    h5py = _h5py()
    path = Path(path)
    path.stat()  # what is not there is the system's error, not a damaged file
    with contextlib.ExitStack() as stack:
        with _damage(path, "an HDF5 file"):
            file = stack.enter_context(h5py.File(path, "r"))
        with _damage(path, f"a group {group!r}"):
            found = file[group]
        with naming(path):
            yield _Reader(path, found)


@contextlib.contextmanager
def _damage(path: Path, what: str) -> Iterator[None]:
    """Turn what h5py raises for a damaged file into an error of sparray."""
    try:
        with refusing(path, what):
            yield
    except OSError as error:
        raise FileFormatError(f"{path}: expected {what} ({error})") from None


class _Reader:
    """The arrays of one group."""

    def __init__(self, path: Path, group: Any) -> None:
        self._path = path
        self._group = group
        self._file_bytes = path.stat().st_size
        self._n_bytes = 0

    def descriptor(self) -> Any:
        """Return the descriptor."""
        with _damage(self._path, f"an attribute {_HEADER!r}"):
            text = self._group.attrs[_HEADER]
            text = text.decode("utf-8") if isinstance(text, bytes) else str(text)
        return parse_json(self._path, text)

    def read(self, name: str) -> npt.NDArray[Any]:
        """Read an array, once its size is known to be plausible."""
        h5py = _h5py()
        with _damage(self._path, f"a dataset {name!r}"):
            link = self._group.get(name, getlink=True)
            data = self._group[name] if isinstance(link, h5py.HardLink) else None
            if not isinstance(data, h5py.Dataset):
                raise FileFormatError(
                    f"expected a dataset {name!r}, got {type(link or data).__name__}"
                )
            if data.is_virtual or data.external or data.dtype.kind not in "iufb":
                raise FileFormatError(
                    f"expected numbers in this file as {name!r}, got {data.dtype}"
                )
            self._n_bytes += int(data.nbytes)
            check_expansion(self._path, self._n_bytes, self._file_bytes)
            stored: npt.NDArray[Any] = np.asarray(data[()])
        return stored.astype(stored.dtype.newbyteorder("="), copy=False)
