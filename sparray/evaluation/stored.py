"""What kernels take and make: the buffers of one array."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sparray._kernels.address import address
from sparray.errors import KernelMemoryError
from sparray.formats.buffers import INDEX_DTYPES
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.packing import LevelBuffers
from sparray.formats.repetition import repetition
from sparray.formats.slices import slice_lengths
from sparray.formats.unevenness import unevenness

__all__ = [
    "IndexWidthError",
    "Operand",
    "Stored",
    "stored_operand",
    "buffers",
    "count_class",
    "dense_operand",
    "in_shape",
    "index_dtype",
    "natural_order",
    "rows_aligned",
    "operand_key",
]


class Operand(Protocol):
    """What an operand must have: a SparseArray has it, and so has `Stored`."""

    @property
    def format(self) -> Format:
        """Levels and their order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""

    @property
    def values(self) -> npt.NDArray[Any]:
        """Stored values, one-dimensional."""

    @property
    def fill_value(self) -> Any:
        """What every entry is that is not stored."""

    @property
    def _levels(self) -> LevelBuffers:
        """Buffers of each level by role."""

    @property
    def _addresses(self) -> tuple[int, ...]:
        """What kernels take: lengths of slices, addresses of buffers, in order."""

    @property
    def _key(self) -> Hashable:
        """Everything that a plan depends on, as `operand_key` gives it."""


def operand_key(
    format: Format,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    indices: np.dtype[Any],
    n_values: int,
    fill_value: Any,
    levels: LevelBuffers,
) -> Hashable:
    """Return what a plan for an operand depends on.

    Numbers of values, and the largest extent, are classed by `count_class`, and how
    much the lengths of fibres differ by powers of 8, so that a plan is made for the
    size of its operands, and seldom twice. How often a list repeats coordinates is
    classed by powers of 4.
    """
    size, extent = count_class(n_values), count_class(max(shape, default=0))
    # As bytes NaN is equal to itself, which it is not as a number.
    fill = 0 if fill_value == 0 else np.asarray(fill_value).tobytes()
    spread = unevenness(levels, n_values), repetition(format, levels, n_values)
    return format, dtype, indices, size, extent, fill, spread


def count_class(count: int) -> int:
    """Return the class of a number of values or of an extent.

    That is its power of 64 up to 4096, where little depends on it; its power of 4
    beyond.
    """
    bits = count.bit_length()
    return bits // 6 if bits <= _SMALL_BITS else bits // 2


_SMALL_BITS = 12

_LINE = 64
"""Bytes of a cache line."""


def rows_aligned(array: npt.NDArray[Any]) -> bool:
    """Tell whether each row of a contiguous array begins where a cache line does.

    A vector of a row that begins elsewhere lies in two of them, and takes twice as long
    to read.
    """
    return (
        array.ndim > 1
        and array.strides[-2] % _LINE == 0
        and array.flags.c_contiguous
        and address(array) % _LINE == 0
    )


@cache
def natural_order(ndim: int) -> tuple[int, ...]:
    """Return the order in which level n stores dimension n."""
    return tuple(range(ndim))


class IndexWidthError(Exception):
    """A result has more entries than its index dtype can count."""


@dataclass(slots=True)
class Stored:
    """Buffers of one array: what kernels take and make."""

    format: Format
    shape: tuple[int, ...]
    _levels: LevelBuffers
    values: npt.NDArray[Any]
    fill_value: Any = 0
    _cached: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def _addresses(self) -> tuple[int, ...]:
        if self._cached is None:
            if any(self._levels):
                self._cached = (
                    *slice_lengths(self.format, self.shape, self._levels, self.values),
                    *map(address, buffers(self)),
                )
            else:
                self._cached = (address(self.values),)
        return self._cached

    @property
    def _key(self) -> Hashable:
        return operand_key(
            self.format,
            self.shape,
            self.values.dtype,
            index_dtype(self),
            len(self.values),
            self.fill_value,
            self._levels,
        )

    def as_ndarray(self) -> npt.NDArray[Any]:
        """Return a result whose levels are all dense as an array, without a copy."""
        order = self.format.order
        if len(order) == 1:
            return self.values
        if order == natural_order(len(order)):
            return in_shape(self.values, self.shape)
        array = in_shape(self.values, [self.shape[d] for d in order])
        return array.transpose(np.argsort(order))


def in_shape(values: npt.NDArray[Any], shape: Sequence[int]) -> npt.NDArray[Any]:
    """Return the values of dense levels as an array of that shape, without a copy.

    Raises
    ------
    KernelMemoryError
        If NumPy has no arrays of that shape: without elements, but with other extents
        whose product passes 2**63.
    """
    try:
        return values.reshape(shape)
    except ValueError:
        raise KernelMemoryError(
            f"expected a shape that NumPy has dense arrays of, got {tuple(shape)}"
        ) from None


def buffers(operand: Operand) -> list[npt.NDArray[Any]]:
    """Return an operand's buffers in kernel order: by level and role, then values."""
    levels = [
        given[role]
        for level, given in zip(operand.format.levels, operand._levels, strict=True)
        for role in level.roles
    ]
    return [*levels, operand.values]


def index_dtype(operand: Operand) -> np.dtype[Any]:
    """Return the dtype of an operand's index buffers; int64 where there is none.

    Buffers that have a dtype of their level's own, as a mask has, do not count.
    """
    for level in operand._levels:
        for buffer in level.values():
            if buffer.dtype in INDEX_DTYPES:
                return buffer.dtype
    return np.dtype(np.int64)


def dense_operand(array: npt.NDArray[Any]) -> Stored:
    """Return a NumPy array as an operand; copied only if it is not contiguous."""
    if array.flags.c_contiguous:
        format, flat = _row_major(array.ndim), array.reshape(-1)
    elif array.flags.f_contiguous:
        format, flat = _column_major(array.ndim), array.T.reshape(-1)
    else:
        format = _row_major(array.ndim)
        flat = np.ascontiguousarray(array).reshape(-1)
    if not flat.dtype.isnative or not flat.flags.aligned:
        flat = flat.astype(flat.dtype.newbyteorder("="), copy=True)
    return Stored(format, array.shape, ({},) * array.ndim, flat)


def stored_operand(given: Operand | npt.NDArray[Any]) -> Operand:
    """Return a NumPy array as an operand, and an operand as it is."""
    return dense_operand(given) if isinstance(given, np.ndarray) else given


@lru_cache(maxsize=128)
def _row_major(ndim: int) -> Format:
    return named_format("dense", ndim)


@lru_cache(maxsize=128)
def _column_major(ndim: int) -> Format:
    return Format(named_format("dense", ndim).levels, tuple(reversed(range(ndim))))
