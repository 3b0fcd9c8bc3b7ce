"""Index pointers, indices and values of compressed layouts: SciPy's and torch's.

They are the buffers of csr, csc, bcsr and bcsc arrays, or of batches of these, but may
be unsorted and repeat coordinates.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import convert_format, from_coords
from sparray.errors import InvalidBufferError
from sparray.formats.batch import Batch
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.packing import check_buffers, unpack_coordinates
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = [
    "CompressedParts",
    "adopt_parts",
    "compressed_parts",
    "entries_of_parts",
    "spread_blocks",
]

Entries = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class CompressedParts:
    """The arrays of a compressed layout.

    Attributes
    ----------
    by_row : bool
        Whether rows are compressed, or columns.
    pos : int[batch..., n + 1]
        Where each row's blocks end, within its slice.
    crd : int[batch..., k]
        Column of each block.
    values : dtype[batch..., k] or dtype[batch..., k, b, c]
        Each block's elements by row; without blocks, each entry.
    """

    by_row: bool
    pos: npt.NDArray[Any]
    crd: npt.NDArray[Any]
    values: npt.NDArray[Any]

    @property
    def batch_ndim(self) -> int:
        """Number of dimensions before the matrices."""
        return self.pos.ndim - 1

    @property
    def block(self) -> tuple[int, ...]:
        """Rows and columns of a block; empty without blocks."""
        return self.values.shape[self.crd.ndim :]

    @property
    def format(self) -> Format:
        """The format of the arrays, sorted and without repetitions."""
        name = "csr" if self.by_row else "csc"
        if self.block:
            name = f"b{name}{self.block}"
        if self.batch_ndim:
            name = f"batched_{name}"
        return named_format(name, self.batch_ndim + 2)


def compressed_parts(array: SparseArray) -> CompressedParts | None:
    """Return views of an array's buffers as those of a compressed layout.

    None where its format is another one, where blocks do not divide the shape, or
    where slices have not the same number of entries.
    """
    format, shape = array.format, array.shape
    n = array.ndim - 2
    name = (format.name or "").removeprefix("batched_")
    kind = name.partition("(")[0]
    if kind not in ("csr", "csc", "bcsr", "bcsc") or format.batch_ndim != n:
        return None
    block = tuple(part.extent(shape) for part in format.expressions[n + 2 :])
    if any(extent % size for extent, size in zip(shape[n:], block, strict=False)):
        return None
    buffers = array._levels[n + 1]
    batch = shape[:n]
    outer = format.level_extents(shape)[n]
    pos = buffers["pos"].reshape(*batch, outer + 1)
    crd = buffers["crd"].reshape(*batch, _each(len(buffers["crd"]), batch))
    if n and np.any(pos[..., -1] != crd.shape[-1]):
        return None
    values = array.values.reshape(*crd.shape, *block)
    return CompressedParts(kind.endswith("csr"), pos, crd, values)


def adopt_parts(parts: CompressedParts, shape: tuple[int, ...]) -> SparseArray:
    """Make an array of parts whose blocks divide the shape.

    Buffers are shared where they are sorted and repeat nothing, and are longer than
    ``pos`` says where their owner kept some space.

    Raises
    ------
    InvalidBufferError
        If they are malformed in any other way.
    """
    levels, values = _flat_parts(parts, shape)
    flat = np.ascontiguousarray(values).reshape(-1)
    full = (*levels, *({} for _ in parts.block))
    zero = flat.dtype.type(0)
    try:
        check_buffers(parts.format, shape, full, flat)
    except InvalidBufferError:
        return _listed(parts, shape, levels, values)
    return SparseArray._from_trusted(parts.format, shape, full, flat, zero)


def entries_of_parts(parts: CompressedParts, shape: tuple[int, ...]) -> Entries:
    """Return coordinates and values of all elements of parts, in their order.

    Raises
    ------
    InvalidBufferError
        If they are malformed otherwise than by being unsorted or repeated.
    """
    return _block_entries(parts, shape, *_flat_parts(parts, shape))


def _flat_parts(
    parts: CompressedParts, shape: tuple[int, ...]
) -> tuple[list[dict[str, Any]], npt.NDArray[Any]]:
    """Return the levels down to the compressed one, and the values of its positions."""
    _check_blocks(parts, shape)
    width = np.result_type(parts.pos, parts.crd)
    pos = np.ascontiguousarray(parts.pos, dtype=width).reshape(-1)
    crd, values = parts.crd, parts.values
    if not parts.batch_ndim and pos.size:
        end = max(int(pos[-1]), 0)
        crd, values = crd[:end], values[:end]
    crd = np.ascontiguousarray(crd, dtype=width)
    levels: list[dict[str, Any]] = [{} for _ in range(parts.batch_ndim + 1)]
    levels.append({"pos": pos, "crd": crd.reshape(-1)})
    return levels, values


def _check_blocks(parts: CompressedParts, shape: tuple[int, ...]) -> None:
    """Check what the format of the parts is made of."""
    n, block = parts.batch_ndim, parts.block
    if len(block) not in (0, 2) or parts.pos.shape[:-1] != shape[:n]:
        raise InvalidBufferError(
            f"expected index pointers of {shape[:n]} matrices and values that are "
            f"matrices, or single, got shapes {parts.pos.shape} and "
            f"{parts.values.shape}"
        )
    if any(
        size < 1 or extent % size
        for extent, size in zip(shape[n:], block, strict=False)
    ):
        raise InvalidBufferError(
            f"expected blocks that divide {shape[n:]}, got blocks of {block}"
        )


def _listed(
    parts: CompressedParts,
    shape: tuple[int, ...],
    levels: Sequence[dict[str, Any]],
    values: npt.NDArray[Any],
) -> SparseArray:
    """Make an array of entries or blocks that are not sorted, or repeated."""
    if parts.block:
        coords, flat = _block_entries(parts, shape, levels, values)
        return from_coords(coords, flat, shape, parts.format)
    format, flat = _loose_format(parts), np.ascontiguousarray(values).reshape(-1)
    check_buffers(format, shape, levels, flat)
    zero = flat.dtype.type(0)
    unsorted = SparseArray._from_trusted(format, shape, tuple(levels), flat, zero)
    return convert_format(unsorted, parts.format)


def _block_entries(
    parts: CompressedParts,
    shape: tuple[int, ...],
    levels: Sequence[dict[str, Any]],
    values: npt.NDArray[Any],
) -> Entries:
    """List the elements of blocks; ``values`` are of those that ``levels`` have.

    Raises
    ------
    InvalidBufferError
        If buffers are malformed otherwise than by being unsorted or repeated.
    """
    n = parts.batch_ndim
    block = parts.block or (1, 1)
    format = _loose_format(parts)
    grid = (*shape[:n], shape[n] // block[0], shape[n + 1] // block[1])
    numbers = np.arange(len(levels[-1]["crd"]))
    check_buffers(format, grid, levels, numbers)
    coords, numbers = unpack_coordinates(format, grid, levels, numbers)
    blocks = values.reshape(-1, *block)
    if len(blocks) != len(levels[-1]["crd"]):
        raise InvalidBufferError(
            f"values: expected {len(levels[-1]['crd'])} blocks, got {len(blocks)}"
        )
    table, flat = spread_blocks(coords, blocks[numbers])
    return _join_blocks(table, n, block), flat


def _loose_format(parts: CompressedParts) -> Format:
    """Return the format of the entries, or blocks, whatever their order is."""
    n = parts.batch_ndim
    order = (*range(n), *((n, n + 1) if parts.by_row else (n + 1, n)))
    loose = Compressed(unique=False, ordered=False)
    return Format([*[Batch()] * n, Dense(), loose], order)


def spread_blocks(coords: npt.NDArray[Any], values: npt.NDArray[Any]) -> Entries:
    """Turn values that are blocks into one entry for each of their elements.

    ``coords`` gets a row for every dimension of the blocks.
    """
    block = values.shape[1:]
    if not block:
        return coords, values
    inner = np.indices(block).reshape(len(block), -1)
    table = [
        np.repeat(coords, inner.shape[1], axis=1),
        np.tile(inner, len(values)),
    ]
    return np.concatenate(table), values.reshape(-1)


def _join_blocks(
    table: npt.NDArray[Any], batch_ndim: int, block: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Turn block row, block column, row in block, column in block into two rows."""
    at = batch_ndim
    row = table[at] * block[0] + table[at + 2]
    column = table[at + 1] * block[1] + table[at + 3]
    return np.concatenate([table[:at], [row, column], table[at + 4 :]])


def _each(length: int, batch: Sequence[int]) -> int:
    """Return the length of a slice's part of a buffer."""
    return length // max(1, int(np.prod(batch, dtype=object)))
