"""The array: a format, a shape, the buffers of each level and the values."""

import math
import sys
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sparray.array_methods import ArrayMethods
from sparray.array_names import ArrayNames
from sparray.array_operators import ArrayOperators
from sparray.array_protocols import ArrayProtocols
from sparray.errors import (
    CoordinateError,
    FormatError,
    ShapeError,
    UnsupportedError,
)
from sparray.evaluation.stored import in_shape, index_dtype, operand_key
from sparray.formats.coordinates import as_dtype
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import IntArray
from sparray.formats.packing import (
    LevelBuffers,
    count_entries,
    unpack_coordinates,
)
from sparray.formats.slices import one_slice, slice_format, slice_lengths

if TYPE_CHECKING:
    import scipy.sparse
    import torch

__all__ = ["SparseArray", "read_only"]

Coordinates = npt.NDArray[np.int64]

_NUMPY_NDIM = 64


class SparseArray(ArrayMethods, ArrayNames, ArrayOperators, ArrayProtocols):
    """An array that stores some of its entries, in the way its format says.

    Made by `sparray.array`, `sparray.from_coords` and `sparray.from_buffers`. The
    pattern never changes, and no buffer is ever replaced, but by an assignment to
    elements: generated code holds their addresses, so nothing may compute with an array
    while another thread assigns to it. The elements of `values` may be written to.
    """

    __slots__ = (
        "__weakref__",
        "_cached_addresses",
        "_cached_key",
        "_fill_value",
        "_format",
        "_levels",
        "_shape",
        "_values",
    )

    _format: Format
    _shape: tuple[int, ...]
    _levels: LevelBuffers
    _values: npt.NDArray[Any]
    _fill_value: Any
    _cached_addresses: tuple[int, ...] | None
    _cached_key: Hashable

    def __init__(self) -> None:
        raise UnsupportedError(
            "SparseArray: expected a call of sparray.array, from_coords or "
            "from_buffers, got one of the class"
        )

    @classmethod
    def _from_trusted(
        cls,
        format: Format,
        shape: tuple[int, ...],
        levels: LevelBuffers,
        values: npt.NDArray[Any],
        fill_value: Any,
    ) -> Self:
        """Wrap buffers that are known to be right: nothing is checked or copied."""
        self = cls.__new__(cls)
        self._format = format
        self._shape = shape
        self._levels = levels
        self._values = values
        self._fill_value = fill_value
        self._cached_addresses = None
        self._cached_key = None
        return self

    def _replace_buffers(self, levels: LevelBuffers, values: npt.NDArray[Any]) -> None:
        """Take other buffers of the same format and shape: for assignment alone."""
        self._levels = levels
        self._values = values
        self._cached_addresses = None
        self._cached_key = None

    @property
    def _addresses(self) -> tuple[int, ...]:
        """Addresses of the buffers as kernels take them: by level and role, values.

        Before them stand the lengths of slices, if there are any. They stay valid as
        long as the array.
        """
        addresses = self._cached_addresses
        if addresses is None:
            buffers = [
                buffers[role]
                for level, buffers in zip(self.format.levels, self._levels, strict=True)
                for role in level.roles
            ]
            addresses = (
                *slice_lengths(self.format, self.shape, self._levels, self.values),
                *(
                    buffer.__array_interface__["data"][0]
                    for buffer in (*buffers, self.values)
                ),
            )
            self._cached_addresses = addresses
        return addresses

    @property
    def _key(self) -> Hashable:
        """Everything that a plan for this operand depends on."""
        key = self._cached_key
        if key is None:
            key = self._cached_key = operand_key(
                self.format,
                self.shape,
                self.values.dtype,
                self.index_dtype,
                len(self.values),
                self.fill_value,
                self._levels,
            )
        return key

    @property
    def format(self) -> Format:
        """How entries are stored."""
        return self._format

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._shape

    @property
    def values(self) -> npt.NDArray[Any]:
        """Value of each position of the innermost level: ``dtype[positions]``."""
        return self._values

    @property
    def fill_value(self) -> Any:
        """What every entry is that is not stored, as a NumPy scalar."""
        return self._fill_value

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements, stored or not: a Python integer of any size."""
        return math.prod(self.shape)

    @property
    def nnz(self) -> int:
        """Number of stored entries, explicit zeros included.

        Where every level is dense, the entries are the elements that differ from
        the fill value, which are counted on each call. In blocks and on diagonals
        every stored element inside the shape is an entry, as in SciPy; what pads them
        outside it, and slots without a coordinate, are not.
        """
        return count_entries(
            self.format, self.shape, self._levels, self.values, self.fill_value
        )

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """The dtype of every index buffer; int64 where there is none."""
        return index_dtype(self)

    @property
    def levels(self) -> tuple[Mapping[str, IntArray], ...]:
        """The buffers of each level by role, as read-only views."""
        return tuple(
            {role: read_only(buffer) for role, buffer in buffers.items()}
            for buffers in self._levels
        )

    @property
    def nbytes(self) -> int:
        """Size of the values and of all index buffers in bytes."""
        index_bytes = sum(
            buffer.nbytes for buffers in self._levels for buffer in buffers.values()
        )
        return self.values.nbytes + index_bytes

    @property
    def T(self) -> "SparseArray":  # noqa: N802 - the name that NumPy gave it
        """The array with its dimensions reversed; all buffers are shared.

        A row-compressed array becomes a column-compressed one: only the order of
        the format differs.
        """
        return SparseArray._from_trusted(
            self.format.transposed,
            self.shape[::-1],
            self._levels,
            self.values,
            self.fill_value,
        )

    @property
    def mT(self) -> "SparseArray":  # noqa: N802 - the name that the standard gave it
        """The array with its last two dimensions exchanged; all buffers are shared.

        Raises
        ------
        ShapeError
            If there are fewer than two dimensions.
        """
        if self.ndim < 2:
            raise ShapeError(
                f"mT: expected 2 dimensions or more, got an array of shape {self.shape}"
            )
        axes = [*range(self.ndim - 2), self.ndim - 1, self.ndim - 2]
        return SparseArray._from_trusted(
            self.format.permuted(axes),
            tuple(self.shape[axis] for axis in axes),
            self._levels,
            self.values,
            self.fill_value,
        )

    def batch_slice(self, *numbers: int) -> "SparseArray":
        """Return one slice of a batch, its buffers shared.

        Parameters
        ----------
        *numbers : int
            The coordinate in each batch level, outermost first; negative ones count
            from the end.

        Returns
        -------
        SparseArray
            Of the dimensions and the levels that remain: ``csr`` of ``batched_csr``.

        Raises
        ------
        FormatError
            If the format has no batch levels with sparse ones below.
        CoordinateError
            If there is not one coordinate for each of them, inside its extent.
        """
        format = self.format
        outer = format.level_extents(self.shape)[: format.batch_ndim]
        if not outer:
            raise FormatError(
                f"batch_slice: expected a format with batch levels, got {format}"
            )
        if len(numbers) != len(outer) or any(
            not -extent <= number < extent
            for number, extent in zip(numbers, outer, strict=True)
        ):
            raise CoordinateError(
                f"batch_slice: expected a coordinate inside each of the extents "
                f"{outer}, got {numbers}"
            )
        slot = 0
        for number, extent in zip(numbers, outer, strict=True):
            slot = slot * extent + int(number) % extent
        levels, values = one_slice(format, self.shape, self._levels, self.values, slot)
        batched = format.order[: len(outer)]
        shape = tuple(n for d, n in enumerate(self.shape) if d not in batched)
        return SparseArray._from_trusted(
            slice_format(format), shape, levels, values, self.fill_value
        )

    def to_format(self, format: str | Format) -> "SparseArray":
        """Return the array in another format; the same object if it has it already.

        Parameters
        ----------
        format : str or Format
            A name, a format string or a format.

        Returns
        -------
        SparseArray
            Equal to this one. Repeated coordinates are added up where the new
            format is unique. Padding of dense levels is stored like any entry.

        Raises
        ------
        FormatError
            If the format has another number of dimensions or cannot hold the
            entries.
        """
        from sparray.convert import convert_format  # it makes SparseArrays
        from sparray.formats.named import as_format

        return convert_format(self, as_format(format, self.ndim))

    def todense(self) -> npt.NDArray[Any]:
        """Return all elements as a new NumPy array.

        Raises
        ------
        KernelMemoryError
            If the dense array does not fit in memory.
        UnsupportedError
            If NumPy has no arrays of that many dimensions.
        """
        from sparray.convert import convert_format  # it makes SparseArrays

        order = self.format.dimension_order
        if self.ndim > _NUMPY_NDIM:
            raise UnsupportedError(
                f"todense: expected at most {_NUMPY_NDIM} dimensions, got {self.ndim}"
            )
        # In the order of its own levels: entries that are sorted stay so.
        dense = convert_format(self, Format([Dense()] * self.ndim, order))
        stored = in_shape(dense.values, [self.shape[d] for d in order])
        elements = stored.transpose(np.argsort(order))
        if dense is self or not elements.flags.c_contiguous:
            elements = elements.copy(order="C")
        return elements

    def to_coords(self) -> tuple[Coordinates, npt.NDArray[Any]]:
        """Return the stored entries as new arrays, in the order they are stored in.

        Returns
        -------
        coords : int64[ndim, n]
            Coordinates of each entry.
        values : dtype[n]
            Value of each entry.
        """
        coords, values = unpack_coordinates(
            self.format, self.shape, self._levels, self.values, self.fill_value
        )
        return coords, values.copy() if values is self.values else values

    def to_scipy(self, copy: bool = False) -> "scipy.sparse.sparray":
        """Return a SciPy sparse array: see `sparray.convert.to_scipy`."""
        from sparray.convert import to_scipy  # it makes SparseArrays

        return to_scipy(self, copy=copy)

    def to_torch(self, copy: bool = False) -> "torch.Tensor":
        """Return a torch sparse tensor: see `sparray.convert.to_torch`."""
        from sparray.convert import to_torch  # it makes SparseArrays

        return to_torch(self, copy=copy)

    def astype(self, dtype: npt.DTypeLike) -> "SparseArray":
        """Return an array with values of another dtype, converted as NumPy does.

        The pattern is shared, the values are new.

        Raises
        ------
        DTypeError
            If it is not a dtype that arrays can have.
        """
        known = as_dtype(dtype)
        fill_value = np.asarray(self.fill_value).astype(known)[()]
        return SparseArray._from_trusted(
            self.format, self.shape, self._levels, self.values.astype(known), fill_value
        )

    def copy(self) -> "SparseArray":
        """Return an array that shares no buffer with this one."""
        levels = tuple(
            {role: buffer.copy() for role, buffer in buffers.items()}
            for buffers in self._levels
        )
        return SparseArray._from_trusted(
            self.format, self.shape, levels, self.values.copy(), self.fill_value
        )

    def __reduce__(self) -> tuple[Callable[..., "SparseArray"], tuple[Any, ...]]:
        # Not the cached addresses: they would be those of this array's buffers.
        parts = (
            self._format,
            self._shape,
            self._levels,
            self._values,
            self._fill_value,
        )
        return _unpickled, parts

    def __repr__(self) -> str:
        from sparray.view.summary import summary  # views know SparseArrays

        return summary(self)

    def _repr_html_(self) -> str:
        from sparray.view.html import html  # views know SparseArrays

        return html(self)


def _unpickled(*parts: Any) -> SparseArray:
    """Return an array that was pickled; on a worker of Dask's it may be the first."""
    if "dask.array" in sys.modules:
        from sparray.functions.dask_chunks import register

        register()
    return SparseArray._from_trusted(*parts)


def read_only(buffer: IntArray) -> IntArray:
    """Return a view that cannot be written to."""
    view = buffer.view()
    view.flags.writeable = False
    return view
