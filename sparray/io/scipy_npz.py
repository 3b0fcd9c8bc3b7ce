"""The files of ``scipy.sparse.save_npz``, without SciPy."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.compressed_parts import CompressedParts, adopt_parts
from sparray.convert.entries import convert_format, from_buffers, from_coords
from sparray.convert.scipy_arrays import interchange_format, refuse_fill
from sparray.errors import FileFormatError, ShapeError, SparrayError
from sparray.formats.compressed import Compressed
from sparray.formats.coordinates import as_shape
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.io.archive import Archive
from sparray.io.entries import array_of_entries, checked_entries
from sparray.sparse_array import SparseArray

__all__ = ["read_scipy", "scipy_format", "scipy_parts", "scipy_shape"]

_LOOSE = Format([Dense(), Compressed(unique=False, ordered=False)])

Buffer = npt.NDArray[Any]


def scipy_parts(array: SparseArray) -> dict[str, Buffer]:
    """Return the members that ``scipy.sparse.load_npz`` reads.

    Raises
    ------
    UnsupportedError
        If the fill value is not 0.
    ShapeError
        If the array has no dimension.
    """
    refuse_fill(array, "save")
    if array.ndim == 0:
        raise ShapeError("save: expected 1 dimension or more for SciPy, got 0")
    array = convert_format(array, interchange_format(array))
    levels = array.levels
    name = str(array.format.name)
    parts: dict[str, Buffer] = {}
    if name in ("csr", "csc"):
        parts = {"indices": levels[1]["crd"], "indptr": levels[1]["pos"]}
    else:
        name = "coo"
        rows = [level["crd"] for level in levels]
        parts = {"coords": np.array(rows)}
        if array.ndim == 2:
            parts = {"row": rows[0], "col": rows[1]}
    return parts | {
        "format": np.array(name.encode()),
        "shape": np.array(array.shape, dtype=np.int64),
        "data": array.values,
        "_is_array": np.array(True),
    }


def scipy_format(archive: Archive) -> str:
    """Return SciPy's word for the format of a file."""
    return archive.read_text("format")


def scipy_shape(archive: Archive, name: str = "shape") -> tuple[int, ...]:
    """Return the shape that a file says.

    Raises
    ------
    FileFormatError
        If it is none.
    """
    shape, dtype = archive.header(name)
    if len(shape) != 1 or shape[0] > 64 or dtype.kind not in "iu":
        raise FileFormatError(
            f"{archive.path}: expected a shape as array {name!r}, got shape {shape} "
            f"of {dtype}"
        )
    try:
        return as_shape(archive.read(name))
    except ShapeError as error:
        raise FileFormatError(f"{archive.path}: {error}") from None


def read_scipy(archive: Archive, word: str, prefix: str = "") -> SparseArray:
    """Read the array of a file; ``bcsr(b, c)`` for bsr, and ``coo`` for dia.

    Parameters
    ----------
    archive : Archive
        With SciPy's members.
    word : str
        SciPy's word for the format.
    prefix : str
        What the names of the members begin with.

    Raises
    ------
    FileFormatError
        If the members are not those of an array.
    """
    readers = {
        "csr": _compressed,
        "csc": _compressed,
        "bsr": _blocks,
        "dia": _diagonals,
    }
    readers["coo"] = _coordinates
    if word not in readers:
        raise FileFormatError(
            f"{archive.path}: expected one of {', '.join(readers)} as SciPy's format, "
            f"got {word[:40]!r}"
        )
    shape = scipy_shape(archive, f"{prefix}shape")
    if len(shape) != 2 and word != "coo":
        raise FileFormatError(
            f"{archive.path}: expected 2 dimensions in format {word}, got {shape}"
        )
    try:
        return readers[word](archive, word, shape, prefix)
    except FileFormatError:
        raise
    except SparrayError as error:
        raise FileFormatError(
            f"{archive.path}: expected the members of a {word} array ({error})"
        ) from error


def _flat(archive: Archive, name: str, ndim: int = 1) -> Buffer:
    """Read an array of a number of dimensions."""
    shape, dtype = archive.header(name)
    if len(shape) != ndim:
        raise FileFormatError(
            f"{archive.path}: expected {ndim} dimensions in array {name!r}, got {shape}"
        )
    if name.endswith(("indices", "indptr", "row", "col", "offsets")) and (
        dtype.kind != "i"
    ):
        raise FileFormatError(
            f"{archive.path}: expected integers in array {name!r}, got {dtype}"
        )
    return archive.read(name)


def _compressed(
    archive: Archive, word: str, shape: tuple[int, ...], prefix: str
) -> SparseArray:
    """Read csr or csc: sorted, and duplicates added up."""
    n_outer = shape[0] if word == "csr" else shape[1]
    pos = _flat(archive, f"{prefix}indptr")
    crd = _flat(archive, f"{prefix}indices")
    if len(pos) != n_outer + 1:
        raise FileFormatError(
            f"{archive.path}: expected {n_outer + 1} elements in array "
            f"'{prefix}indptr', got {len(pos)}"
        )
    values = _flat(archive, f"{prefix}data")
    return adopt_parts(CompressedParts(word == "csr", pos, crd, values), shape)


def _coordinates(
    archive: Archive, word: str, shape: tuple[int, ...], prefix: str
) -> SparseArray:
    """Read coo of any number of dimensions; duplicates are added up."""
    if f"{prefix}coords" in archive.names:
        coords = list(_flat(archive, f"{prefix}coords", 2))
    else:
        coords = [_flat(archive, f"{prefix}{name}") for name in ("row", "col")]
    values = _flat(archive, f"{prefix}data")
    return array_of_entries(checked_entries(coords, values, shape), shape)


def _blocks(
    archive: Archive, word: str, shape: tuple[int, ...], prefix: str
) -> SparseArray:
    """Read bsr; every element of a block is an entry."""
    pos = _flat(archive, f"{prefix}indptr")
    crd = _flat(archive, f"{prefix}indices")
    values = _flat(archive, f"{prefix}data", 3)
    height, width = values.shape[1:]
    if 0 in (height, width) or shape[0] % height or shape[1] % width:
        raise FileFormatError(
            f"{archive.path}: expected blocks that divide {shape}, got "
            f"{height} × {width}"
        )
    index_dtype = np.result_type(pos, crd)
    buffers = {
        "pos": pos.astype(index_dtype),
        "crd": crd[: pos[-1] if len(pos) else 0].astype(index_dtype),
    }
    numbers = np.arange(len(buffers["crd"]))
    grid = (shape[0] // height, shape[1] // width)
    blocks = from_buffers(_LOOSE, grid, [{}, buffers], numbers)
    (block_rows, block_columns), numbers = blocks.to_coords()
    if len(values) < len(numbers):
        raise FileFormatError(
            f"{archive.path}: expected {len(numbers)} blocks, got {len(values)}"
        )
    size = height * width
    inside = np.indices((height, width)).reshape(2, size)
    rows = np.repeat(block_rows * height, size) + np.tile(inside[0], len(numbers))
    columns = np.repeat(block_columns * width, size) + np.tile(inside[1], len(numbers))
    flat = values[numbers].reshape(-1)
    return from_coords([rows, columns], flat, shape, f"bcsr({height}, {width})")


def _diagonals(
    archive: Archive, word: str, shape: tuple[int, ...], prefix: str
) -> SparseArray:
    """Read dia; every element that lies inside the matrix is an entry."""
    offsets = _flat(archive, f"{prefix}offsets")
    values = _flat(archive, f"{prefix}data", 2)
    if len(offsets) != len(values) or len(np.unique(offsets)) != len(offsets):
        raise FileFormatError(
            f"{archive.path}: expected {len(values)} different offsets, got "
            f"{len(offsets)}, {len(np.unique(offsets))} of them different"
        )
    rows, columns, kept = [], [], []
    for offset, diagonal in zip(offsets.tolist(), values, strict=True):
        # Column j of a diagonal is element j, as far as row j - offset exists.
        begin = max(offset, 0)
        end = min(shape[1], shape[0] + offset, len(diagonal))
        across = np.arange(begin, max(begin, end))
        columns.append(across)
        rows.append(across - offset)
        kept.append(diagonal[begin : max(begin, end)])
    no_coords, no_values = np.empty(0, np.int64), values.reshape(-1)[:0]
    coords = [np.concatenate([no_coords, *rows]), np.concatenate([no_coords, *columns])]
    return from_coords(coords, np.concatenate([no_values, *kept]), shape)
