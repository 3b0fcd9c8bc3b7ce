"""The kinds of files, and which one a file is."""

import errno
import inspect
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sparray.errors import FileFormatError, MissingFileError, SettingError
from sparray.formats.format import Format
from sparray.io.description import Description
from sparray.io.hdf5 import describe_hdf5, read_hdf5, write_hdf5
from sparray.io.matrix_market import describe_mtx, read_mtx
from sparray.io.npz import (
    describe_npz,
    read_npz,
    write_binsparse_npz,
    write_npz,
    write_scipy_npz,
)
from sparray.io.safetensors_file import (
    describe_safetensors,
    read_safetensors,
    write_safetensors,
)
from sparray.io.smtx import describe_smtx, read_smtx
from sparray.io.text_source import is_gzip
from sparray.io.text_writing import write_mtx, write_smtx, write_tns
from sparray.io.tns import describe_tns, read_tns
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = ["KINDS", "FileKind", "describe", "load", "save"]

_HEAD_BYTES = 512


@dataclass(frozen=True, slots=True)
class FileKind:
    """How one kind of file is read and written.

    Attributes
    ----------
    suffixes : tuple of str
        What the names of such files end with; of several kinds the longest counts.
    read, write, describe : callable
        ``read(path, format, dtype=..., ...)``, ``write(path, array, ...)`` and
        ``describe(path)``.
    can_compress : bool
        Whether ``.gz`` may follow the suffix.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., SparseArray]
    write: Callable[..., None]
    describe: Callable[[str | os.PathLike[str]], Description]
    can_compress: bool = False


KINDS: Mapping[str, FileKind] = {
    "mtx": FileKind((".mtx", ".mm", ".ttx"), read_mtx, write_mtx, describe_mtx, True),
    "tns": FileKind((".tns",), read_tns, write_tns, describe_tns, True),
    "smtx": FileKind((".smtx",), read_smtx, write_smtx, describe_smtx, True),
    "npz": FileKind((".npz",), read_npz, write_npz, describe_npz),
    "scipy": FileKind((".scipy.npz",), read_npz, write_scipy_npz, describe_npz),
    "binsparse-npz": FileKind(
        (".bsp.npz",), read_npz, write_binsparse_npz, describe_npz
    ),
    "binsparse": FileKind(
        (".bsp.h5", ".bsp.hdf5", ".h5", ".hdf5", ".bsp"),
        read_hdf5,
        write_hdf5,
        describe_hdf5,
    ),
    "safetensors": FileKind(
        (".safetensors",), read_safetensors, write_safetensors, describe_safetensors
    ),
}
"""Kinds of files by name; a new one is one line here."""


def load(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    kind: str | None = None,
    **options: Any,
) -> SparseArray:
    """Read an array from a file.

    Parameters
    ----------
    path : path
        What it is, its suffix says, or else its first bytes.
    format : str or Format, optional
        By default the file's own, and ``coo`` for a list of entries.
    dtype : dtype, optional
        By default that of the file.
    kind : str, optional
        A key of ``sparray.io.KINDS``, where neither name nor content says it.
    **options
        Those of the kind's reader: ``permissive`` of `sparray.io.read_mtx`,
        ``zero_based`` and ``shape`` of `sparray.io.read_tns`, ``values`` of
        `sparray.io.read_smtx`, ``name`` of `sparray.io.read_npz`, ``group`` of
        `sparray.io.read_hdf5`.

    Returns
    -------
    SparseArray
        Its buffers were checked.

    Raises
    ------
    FileFormatError
        If the file is damaged, hostile or of no known kind.
    SettingError
        If the kind, or an option, is unknown.
    MissingExtraError
        If a package is not installed that the kind needs.
    MissingFileError
        If there is none of the name.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> import sparray as sp
    >>> A = sp.array([[0, 0, 3], [4, 0, 0]], format="csc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "A.npz")
    ...     sp.save(path, A)
    ...     B = sp.load(path)
    >>> B.format.name
    'csc'
    """
    with _file_named(path):
        chosen = _kind(kind) if kind is not None else _kind_of_file(path)
        read = KINDS[chosen].read
        _check_options(read, options, chosen)
        return read(path, format, dtype=dtype, **options)


def save(
    path: str | os.PathLike[str],
    array: SparseArray,
    *,
    kind: str | None = None,
    **options: Any,
) -> None:
    """Write an array to a file, whole or not at all.

    Parameters
    ----------
    path : path
        Its suffix says the kind: ``.npz`` keeps any array as it is. An existing file is
        replaced once everything is on the disk.
    array : SparseArray
        What to write.
    kind : str, optional
        A key of ``sparray.io.KINDS``, where the suffix does not say it.
    **options
        Those of the kind's writer: ``field``, ``symmetry`` and ``comment`` of
        `sparray.io.write_mtx`, ``header`` and ``zero_based`` of `sparray.io.write_tns`,
        ``compressed`` of archives and HDF5.

    Raises
    ------
    SettingError
        If the kind, or an option, is unknown.
    UnsupportedError, DTypeError, ShapeError
        If such files cannot hold the array.
    MissingExtraError
        If a package is not installed that the kind needs.
    MissingFileError
        If its folder does not exist.
    OSError
        If the file cannot be written.
    """
    if not isinstance(array, SparseArray):
        raise SettingError(
            f"array: expected a SparseArray, got {type(array).__name__} "
            "(sparray.array makes one)"
        )
    with _file_named(path):
        chosen = _kind(kind) if kind is not None else _kind_of_name(path)
    if chosen is None:
        suffixes = ", ".join(s for one in KINDS.values() for s in one.suffixes)
        raise SettingError(
            f"path: expected a name that ends with one of {suffixes} (or kind=...), "
            f"got {os.fspath(path)!r}"
        )
    write = KINDS[chosen].write
    _check_options(write, options, chosen)
    with _file_named(path, "an existing folder"):
        write(path, array, **options)


def describe(path: str | os.PathLike[str], *, kind: str | None = None) -> Description:
    """Return what a file says about itself, without reading its entries.

    Parameters
    ----------
    path : path
        As for `load`.
    kind : str, optional
        As for `load`.

    Raises
    ------
    FileFormatError
        If its header is damaged, or it is of no known kind.
    """
    with _file_named(path):
        chosen = _kind(kind) if kind is not None else _kind_of_file(path)
        return KINDS[chosen].describe(path)


@contextmanager
def _file_named(path: object, expected: str = "a file") -> Iterator[None]:
    """Say what is wrong with a path where the system does."""
    if not isinstance(path, str | os.PathLike):
        raise SettingError(
            f"path: expected a str or an os.PathLike, got {type(path).__name__}"
        )
    name = os.fspath(path)
    try:
        yield
    except FileNotFoundError as error:
        if isinstance(error, MissingFileError):
            raise
        message = f"path: expected {expected}, got none"
        raise MissingFileError(errno.ENOENT, message, name) from error


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise SettingError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    return kind


def _check_options(
    function: Callable[..., Any], options: Mapping[str, Any], kind: str
) -> None:
    """Refuse options that a reader or writer does not have."""
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise SettingError(
                f"options: expected some of {', '.join(known) or 'none'} for a file of "
                f"kind {kind!r}, got {name!r}"
            )


def _kind_of_name(path: str | os.PathLike[str]) -> str | None:
    """Return the kind with the longest suffix that the name has."""
    name = Path(path).name.lower()
    found: list[tuple[int, str]] = []
    for kind, entry in KINDS.items():
        plain = name.removesuffix(".gz") if entry.can_compress else name
        found += [(len(s), kind) for s in entry.suffixes if plain.endswith(s)]
    return max(found)[1] if found else None


def _kind_of_file(path: str | os.PathLike[str]) -> str:
    """Return the kind by the name, or else by the first bytes."""
    by_name = _kind_of_name(path)
    if by_name is not None:
        return by_name
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    if is_gzip(head):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
        except zlib.error:
            head = b""
    signs = {
        b"%%MatrixMarket": "mtx",
        b"%MatrixMarket": "mtx",
        b"PK\x03\x04": "npz",
        b"\x89HDF\r\n\x1a\n": "binsparse",
        b"sptensor": "tns",
    }
    for sign, kind in signs.items():
        if head.startswith(sign):
            return kind
    if head[8:9] == b"{":
        return "safetensors"
    raise FileFormatError(
        f"{path}: expected a file of kind {', '.join(KINDS)}, got one whose name and "
        "first bytes say nothing (kind=... does)"
    )
