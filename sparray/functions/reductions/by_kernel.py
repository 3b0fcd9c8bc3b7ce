"""Entries that kernels reduce to elements, in the place of sorted segments.

What is stored is reduced by an expression whose operand has the operator's identity as
its fill value, so that only entries are looked at. How many there were says how often
the fill value itself takes part.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, PatternError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.formats.named import named_format
from sparray.functions.indexing.walk import is_walkable
from sparray.sparse_array import SparseArray

__all__ = ["COMPILE_ERRORS", "ByKernel", "by_kernel"]

Elements = npt.NDArray[Any]

_WORTH_COMPILING = 2**15
"""Values from which on a kernel is worth the time that it takes to compile."""
_MOST_DIMENSIONS = 8
_COUNTED = 2**62
COMPILE_ERRORS = (UnsupportedError, DTypeError, PatternError)
"""What says that kernels are not the way to compute something."""
_SPARSE = 64
"""Elements of a dense result for each entry from which on most have none."""


@dataclass(slots=True)
class ByKernel:
    """The entries of an array by the elements that they are reduced to.

    Attributes
    ----------
    array : SparseArray
        Whose entries they are; each coordinate is stored once.
    axes : tuple of int
        Those that are reduced, in order.
    keepdims : bool
        Whether they stay, with extent 1.
    """

    array: SparseArray
    axes: tuple[int, ...]
    keepdims: bool
    _levels: Any = field(default=None, repr=False)
    _counts: Any = field(default=None, repr=False)

    @property
    def kept(self) -> list[int]:
        """The dimensions that stay."""
        return [d for d in range(self.array.ndim) if d not in self.axes]

    @property
    def n_terms(self) -> int:
        """How many elements are reduced to one."""
        return math.prod(self.array.shape[axis] for axis in self.axes)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of entries of each element."""
        if self._counts is None:
            ones = np.ones(len(self.array.values), np.int64)
            self._counts = self.fold("sum", ones, 0)
        made: npt.NDArray[np.int64] = self._counts
        return made

    def fold(self, name: str, values: Elements, identity: Any) -> Elements:
        """Reduce the stored entries: to the identity where there are none.

        Parameters
        ----------
        name : str
            Of a reduction in index notation.
        values : dtype[entries]
            In place of the array's.
        identity : scalar
            Of the reduction.
        """
        names = [f"i{d}" for d in range(self.array.ndim)]
        read = f"A[{','.join(names)}]"
        over = ",".join(names[d] for d in self.axes)
        return self.compute(f"{name}(({over}), {read})", [self.over(values, identity)])

    def over(self, values: Elements, fill: Any) -> SparseArray:
        """Return an array of other values at the same coordinates."""
        array = self.array
        return SparseArray._from_trusted(
            array.format, array.shape, array._levels, values, values.dtype.type(fill)
        )

    def compute(self, text: str, operands: list[Any]) -> Elements:
        """Compute an expression of the dimensions ``i0``, ``i1``, ... that stay.

        Raises
        ------
        UnsupportedError
            If no kernel can be compiled for it.
        """
        kept = self.kept
        target = f"C[{','.join(f'i{d}' for d in kept)}]" if kept else "C"
        format = named_format("csf" if len(kept) > 1 else "dense", len(kept))
        made = try_compiled(
            assignment_expression(f"{target} = {text}"), operands, format
        )
        if made is None:
            raise UnsupportedError(f"expected a compiler for {text}, got none")
        if len(kept) > 1:
            self._levels = made._levels
        return made.values

    def result(self, elements: Elements, fill: Any) -> Any:
        """Return the reduced array; ``fill`` is what no entry is reduced to."""
        kept, shape = self.kept, self.array.shape
        left = tuple(shape[d] for d in kept)
        if len(kept) > 1:
            format = named_format("csf", len(kept))
            made = elements.dtype.type(fill)
            return SparseArray._from_trusted(format, left, self._levels, elements, made)
        if self.keepdims:
            left = tuple(1 if d in self.axes else n for d, n in enumerate(shape))
        reduced = elements.reshape(left)
        return reduced[()] if left == () else reduced


def by_kernel(
    array: SparseArray, axes: tuple[int, ...], *, keepdims: bool
) -> ByKernel | None:
    """Return the entries of an array for kernels to reduce; None for few of them.

    Nor are there any for formats whose values are not the entries alone, for halves,
    which are added up in a wider dtype, and where a dense result has far more elements
    than there are entries.
    """
    kept = [d for d in range(array.ndim) if d not in axes]
    entries = len(array.values)
    if entries < _WORTH_COMPILING or not axes or array.ndim > _MOST_DIMENSIONS:
        return None
    if not is_walkable(array.format) or array.format.is_full or is_half(array.dtype):
        return None
    if len(kept) > 1 and keepdims:
        return None
    if len(kept) == 1 and array.shape[kept[0]] > _SPARSE * entries:
        return None
    if math.prod(array.shape[axis] for axis in axes) >= _COUNTED:
        return None
    return ByKernel(array, axes, keepdims)
