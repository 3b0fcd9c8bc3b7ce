"""Arrays to text: MatrixMarket, ``.tns`` and ``.smtx`` files."""

import contextlib
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from sparray._kernels.progress import Progress
from sparray.compiler.loop_ir.dtypes import dtype_kind
from sparray.convert.entries import convert_format
from sparray.convert.scipy_arrays import refuse_fill
from sparray.errors import DTypeError, SettingError, ShapeError, UnsupportedError
from sparray.formats.named import named_format
from sparray.io.atomic import atomic_file
from sparray.sparse_array import SparseArray

__all__ = ["write_mtx", "write_smtx", "write_tns"]

_CHUNK = 2**15
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def write_mtx(
    path: str | os.PathLike[str],
    array: SparseArray,
    *,
    field: str | None = None,
    symmetry: str = "general",
    comment: str = "",
) -> None:
    """Write a MatrixMarket file; compressed where its name ends with ``.gz``.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Two dimensions make a ``matrix``, one a ``vector``, and more a ``tensor``, which
        only TACO and sparray read. A ``dense`` array makes an array file.
    field : {"pattern"}, optional
        By default what the dtype says. Bool becomes integers; numbers are written
        such that they read back the same.
    symmetry : {"general", "symmetric", "skew-symmetric", "hermitian"}
        Of which only the lower triangle is written.
    comment : str
        Put below the banner.

    Raises
    ------
    ShapeError
        If the array has no dimension, or does not have the symmetry.
    UnsupportedError
        If the fill value is not 0.
    """
    refuse_fill(array, "write_mtx")
    word = _field_of(array.dtype) if field is None else field
    if field not in (None, "pattern"):
        raise SettingError(f"field: expected 'pattern' or None, got {field!r}")
    if symmetry not in _SYMMETRIES:
        raise SettingError(
            f"symmetry: expected one of {', '.join(_SYMMETRIES)}, got {symmetry!r}"
        )
    if array.ndim == 0:
        raise ShapeError("write_mtx: expected 1 dimension or more, got 0")
    is_dense = array.format.is_dense and field is None
    kind = {1: "vector", 2: "matrix"}.get(array.ndim, "tensor")
    if symmetry != "general":
        array = _lower_triangle(array, symmetry, field == "pattern")
        is_dense = False
    layout = "array" if is_dense else "coordinate"
    lines = [f"%%MatrixMarket {kind} {layout} {word} {symmetry}"]
    lines += [f"%{line}" for line in comment.splitlines()]
    sizes = [*array.shape]
    with _open(path) as file:
        if is_dense:
            file.write(_encode([*lines, " ".join(map(str, sizes))]))
            elements = array.todense().reshape(-1, order="F")
            _write_entries(file, path, [], elements)
            return
        coords, values = _entries(array)
        sizes.append(len(values))
        file.write(_encode([*lines, " ".join(map(str, sizes))]))
        _write_entries(file, path, coords, None if field else values)


def write_tns(
    path: str | os.PathLike[str],
    array: SparseArray,
    *,
    header: bool = False,
    zero_based: bool = False,
) -> None:
    """Write a FROSTT ``.tns`` file; compressed where its name ends with ``.gz``.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Of 1 to 64 dimensions, and real.
    header : bool
        Whether to begin with ParTI's header. Without one a reader takes the smallest
        shape that holds the entries.
    zero_based : bool
        Whether to call the first index 0.

    Raises
    ------
    UnsupportedError
        If the fill value is not 0.
    DTypeError
        If the values are complex.
    """
    refuse_fill(array, "write_tns")
    if array.ndim == 0:
        raise ShapeError("write_tns: expected 1 dimension or more, got 0")
    if array.dtype.kind == "c":
        raise DTypeError(f"write_tns: expected real values, got {array.dtype}")
    with _open(path) as file:
        if header:
            extents = " ".join(map(str, array.shape))
            file.write(_encode([str(array.ndim), extents]))
        coords, values = _entries(array)
        _write_entries(file, path, coords, values, base=int(not zero_based))


def write_smtx(path: str | os.PathLike[str], array: SparseArray) -> None:
    """Write the pattern as a ``.smtx`` file; the values are not written.

    Parameters
    ----------
    path : path
        Replaced once everything is written; compressed where it ends with ``.gz``.
    array : SparseArray
        Of two dimensions, with values that are all 1.

    Raises
    ------
    UnsupportedError
        If a value would be lost, or the fill value is not 0.
    """
    refuse_fill(array, "write_smtx")
    if array.ndim != 2:
        raise ShapeError(f"write_smtx: expected 2 dimensions, got {array.ndim}")
    rows = convert_format(array, named_format("csr", 2))
    if not np.all(rows.values == 1):
        raise UnsupportedError(
            "write_smtx: expected values that are all 1, which a file of the pattern "
            "says, got others"
        )
    with _open(path) as file:
        file.write(_encode([f"{array.shape[0]}, {array.shape[1]}, {rows.nnz}"]))
        for role in ("pos", "crd"):
            numbers = rows.levels[1][role]
            for begin in range(0, len(numbers), _CHUNK):
                part = map(str, numbers[begin : begin + _CHUNK].tolist())
                file.write(((" " if begin else "") + " ".join(part)).encode())
            file.write(b"\n")


@contextlib.contextmanager
def _open(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write, through gzip where its name says so."""
    with atomic_file(path) as file:
        if Path(path).suffix != ".gz":
            yield file
            return
        # Without name and time: the same array makes the same file.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed:
            yield cast(BinaryIO, compressed)


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _entries(
    array: SparseArray,
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
    """Return coordinates and values, those of ``coo`` as they are."""
    if array.format.name == "coo" and array.ndim:
        return [level["crd"] for level in array.levels], array.values
    coords, values = array.to_coords()
    return list(coords), values


def _write_entries(
    file: BinaryIO,
    path: str | os.PathLike[str],
    coords: list[npt.NDArray[Any]],
    values: npt.NDArray[Any] | None,
    base: int = 1,
) -> None:
    """Write a line for each entry, some thousands at a time."""
    n_entries = len(coords[0]) if values is None else len(values)
    name = Path(path).name
    with Progress(n_entries, f"writing {name}", "entries") as progress:
        for begin in range(0, n_entries, _CHUNK):
            part = slice(begin, begin + _CHUNK)
            columns = [(row[part].astype(np.int64) + base).tolist() for row in coords]
            if values is not None:
                columns += _numbers(values[part])
            text = "".join(
                f"{' '.join(map(repr, c))}\n" for c in zip(*columns, strict=True)
            )
            file.write(text.encode())
            progress.update(min(begin + _CHUNK, n_entries))


def _numbers(values: npt.NDArray[Any]) -> list[list[int] | list[float]]:
    """Return values as Python numbers, whose repr is exact: one or two columns."""
    if values.dtype.kind == "c":
        wide = values.astype(np.complex128)
        return [wide.real.tolist(), wide.imag.tolist()]
    if dtype_kind(values.dtype) == "f":
        return [values.astype(np.float64).tolist()]
    if values.dtype.kind == "b":
        return [values.astype(np.int64).tolist()]
    return [values.tolist()]


def _field_of(dtype: np.dtype[Any]) -> str:
    """Return MatrixMarket's word for a dtype."""
    if dtype == np.uint64:
        return "unsigned-integer"
    return {"f": "real", "c": "complex"}.get(dtype_kind(dtype), "integer")


def _lower_triangle(array: SparseArray, symmetry: str, is_pattern: bool) -> SparseArray:
    """Check that an array has a symmetry, and return its lower triangle."""
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ShapeError(f"symmetry: expected a square matrix, got shape {array.shape}")
    array = convert_format(array, named_format("coo", 2))
    (rows, columns), values = array.to_coords()
    mirrored = np.lexsort((rows, columns))
    other = values[mirrored]
    if symmetry == "skew-symmetric":
        other = np.negative(other)
    elif symmetry == "hermitian":
        other = np.conjugate(other)
    same = values == other
    if dtype_kind(values.dtype) in "fc":
        same |= np.isnan(values) & np.isnan(other)
    if not (
        np.array_equal(rows, columns[mirrored])
        and np.array_equal(columns, rows[mirrored])
        and (is_pattern or np.all(same))
    ):
        raise ShapeError(f"symmetry: expected an array that is {symmetry}, got another")
    kept = rows >= columns
    if symmetry == "skew-symmetric":
        kept = rows > columns
    levels: tuple[dict[str, npt.NDArray[Any]], ...] = (
        {"pos": np.array([0, np.count_nonzero(kept)]), "crd": rows[kept]},
        {"crd": columns[kept]},
    )
    zero = values.dtype.type(0)
    return SparseArray._from_trusted(
        array.format, array.shape, levels, values[kept], zero
    )
