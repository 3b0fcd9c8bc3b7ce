"""Which entries a tensor stores: everything about it but the values."""

import uuid
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch.utils._python_dispatch import _disable_current_modes

from sparray._kernels.address import address
from sparray.convert import convert_format
from sparray.convert.torch_memory import as_ndarray, as_strided_tensor
from sparray.errors import FormatError, InvalidBufferError
from sparray.evaluation.stored import operand_key
from sparray.formats.format import Format
from sparray.formats.named import format_text
from sparray.formats.packing import LevelBuffers
from sparray.sparse_array import SparseArray

__all__ = ["Pattern", "as_numpy", "as_tensor_of"]


Places = npt.NDArray[np.int64]


class Pattern:
    """Format, shape and level buffers; immutable, and shared by many tensors.

    Parameters
    ----------
    array : SparseArray
        Its level buffers are shared; its values are not looked at.

    Raises
    ------
    FormatError
        If the format may repeat coordinates, or does not keep them in order: the
        gradient of each stored value would have no place of its own.

    Notes
    -----
    What is derived from a pattern (its transposition, ones at each of its entries,
    another order of its entries) is made once and kept.
    """

    __slots__ = (
        "__weakref__",
        "_kept",
        "_keys",
        "addresses",
        "format",
        "levels",
        "n_values",
        "shape",
        "warm",
    )

    def __init__(self, array: SparseArray) -> None:
        _check_format(array.format)
        self.format = array.format
        self.shape = array.shape
        self.levels: LevelBuffers = array._levels
        self.n_values = len(array.values)
        # Of the level buffers, as kernels take them: see `SparseArray._addresses`.
        self.addresses = array._addresses[:-1]
        self._keys: dict[np.dtype[Any], Hashable] = {}
        self._kept: dict[Hashable, Any] = {}
        # What `sparray.torch.warm_calls` remembers of evaluations.
        self.warm: dict[Hashable, Any] = {}

    def array(self, values: npt.NDArray[Any]) -> SparseArray:
        """Return the array of this pattern and these values, shared if contiguous."""
        if not values.flags.c_contiguous:
            values = np.ascontiguousarray(values)
        made = SparseArray._from_trusted(
            self.format, self.shape, self.levels, values, values.dtype.type(0)
        )
        # A warm call of a tiny kernel is half as long with these known beforehand.
        made._cached_addresses = (*self.addresses, address(values))
        key = self._keys.get(values.dtype)
        if key is None:
            key = self._keys[values.dtype] = operand_key(
                self.format,
                self.shape,
                values.dtype,
                made.index_dtype,
                self.n_values,
                0,
                self.levels,
            )
        made._cached_key = key
        return made

    def check_values(self, values: torch.Tensor) -> None:
        """Raise unless a tensor has one value for each stored entry.

        Raises
        ------
        InvalidBufferError
            If it has another shape.
        """
        if tuple(values.shape) != (self.n_values,):
            raise InvalidBufferError(
                f"values: expected shape ({self.n_values},), one for each stored "
                f"entry, got {tuple(values.shape)}"
            )

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` made when it was first asked for under a key."""
        made = self._kept.get(key)
        if made is None:
            made = self._kept.setdefault(key, make())
        return made

    @property
    def serial(self) -> str:
        """A name that no other pattern has, of this process or another."""
        made: str = self.kept("serial", lambda: uuid.uuid4().hex)
        return made

    @property
    def ones(self) -> torch.Tensor:
        """True for each stored entry: the values of a mask."""
        made: torch.Tensor = self.kept(
            "ones",
            self._ones,
        )
        return made

    def _ones(self) -> torch.Tensor:
        # What is traced would be given a tensor that stands for one.
        with _disable_current_modes(), torch._C._DisableFuncTorch():
            return torch.ones(self.n_values, dtype=torch.bool)

    def permuted(self, dimensions: Sequence[int]) -> "Pattern":
        """Return the pattern of a transposition; all buffers are shared."""
        key = tuple(dimensions)
        made: Pattern = self.kept(key, lambda: self._permuted(key))
        return made

    def _permuted(self, dimensions: tuple[int, ...]) -> "Pattern":
        shape = tuple(self.shape[dimension] for dimension in dimensions)
        made = self._like(self.format.permuted(dimensions), shape)
        inverse = tuple(int(n) for n in np.argsort(dimensions))
        made._kept[inverse] = self
        return made

    def _like(self, format: Format, shape: tuple[int, ...]) -> Self:
        values = np.empty(self.n_values, bool)
        return type(self)(
            SparseArray._from_trusted(format, shape, self.levels, values, False)
        )

    def converted(self, format: Format) -> "tuple[Pattern, Places | None]":
        """Return the pattern in another format, and where its values are found.

        Returns
        -------
        pattern : Pattern
            With the same coordinates.
        places : int64[n] or None
            Entry ``n`` of the new pattern is entry ``places[n]`` of this one, -1 for
            padding; None if they are in the same order.
        """
        made: tuple[Pattern, Places | None] = self.kept(
            ("converted", format), lambda: self._converted(format)
        )
        return made

    def _converted(self, format: Format) -> "tuple[Pattern, Places | None]":
        # Where each entry's number goes, its value goes.
        numbers = np.arange(1, self.n_values + 1)
        array = convert_format(self.array(numbers), format)
        made = Pattern(array)
        if np.array_equal(array.values, numbers):
            return made, None
        return made, array.values - 1

    def numbered(self) -> tuple[Places, Places]:
        """Return entries in the order of rows: their numbers among all elements.

        Returns
        -------
        numbers : int64[n]
            Ascending: ``i * n_columns + j`` of a matrix. Torch counts the elements of
            every tensor in int64.
        places : int64[n]
            Where their values are.

        Notes
        -----
        O(n log n) in the stored entries; not kept.
        """
        given = self.array(np.arange(1, self.n_values + 1))
        coords, values = given.to_coords()
        numbers = np.zeros(len(values), np.int64)
        for extent, coord in zip(self.shape, coords, strict=True):
            numbers = numbers * extent + coord
        order = np.argsort(numbers, kind="stable")
        return numbers[order], values[order] - 1

    def same_as(self, other: "Pattern") -> bool:
        """Tell whether both store the same coordinates in the same way.

        Constant time for shared buffers, else linear in the stored entries.
        """
        if self is other:
            return True
        if (self.format, self.shape, self.n_values) != (
            other.format,
            other.shape,
            other.n_values,
        ):
            return False
        if self.levels is other.levels:
            return True
        return all(
            mine[role] is others[role] or np.array_equal(mine[role], others[role])
            for mine, others in zip(self.levels, other.levels, strict=True)
            for role in mine
        )

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        # What is derived from the pattern is left behind, and addresses are not
        # those of another process.
        from sparray.torch.rebuilding import parts_of_pattern, rebuild_pattern

        return rebuild_pattern, parts_of_pattern(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # It never changes.
        return self

    def __repr__(self) -> str:
        name = format_text(self.format)
        return f"<Pattern {name}, shape {self.shape}: {self.n_values} stored entries>"


def _check_format(format: Format) -> None:
    if format.is_dense:
        raise FormatError(
            f"format: expected one that stores some of the entries, got {format}; a "
            "torch.Tensor is the dense one"
        )
    if not format.is_walkable:
        raise FormatError(
            "format: expected one that is ordered or walked, and repeats no entry, so "
            f"that each stored value has its own gradient, got {format}"
        )


def as_numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """Return a dense CPU tensor as an array that shares its memory, without grad."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return as_ndarray(tensor)


def as_tensor_of(array: npt.NDArray[Any]) -> torch.Tensor:
    """Return a tensor that shares an array's memory; a read-only one is copied.

    Torch has no read-only tensors, and writing through one would change what an
    owner has promised not to.
    """
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    return as_strided_tensor(array)
