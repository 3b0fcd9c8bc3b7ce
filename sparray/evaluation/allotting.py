"""Make a result level by level: each gets room for what a round has counted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.memory import zeros
from sparray.compiler import names
from sparray.compiler.problem import TensorSpec
from sparray.errors import InternalError, KernelMemoryError
from sparray.evaluation.stored import IndexWidthError
from sparray.formats.allotted import Allottable, MarkArranging, PlaceInsertable
from sparray.formats.level import IntArray, Preparable, Prepared
from sparray.formats.packing import LevelBuffers

__all__ = ["Allotting"]

_INT32_MAX = 2**31 - 1
_SLACK = 2
"""How many times the positions that it needs a level may have. One that was given room
for entries of which many turn out to have the same coordinates is made once more."""

Call = Callable[[str, Sequence[npt.NDArray[Any]]], None]
Allocate = Callable[[int], npt.NDArray[Any]]


class Allotting:
    """One result in the making.

    Parameters
    ----------
    spec : TensorSpec
        What is made.
    shape : tuple of int
        Its shape.
    call : callable
        ``call(name, arrays)`` runs a function of the kernel on the result's arrays.
    allocate : callable
        ``allocate(size)`` gives values as they are where nothing is stored.

    Attributes
    ----------
    levels : list of dict of str to ndarray
        Buffers of the levels that are made.
    values : dtype[positions]
        Once everything is made.
    """

    def __init__(
        self, spec: TensorSpec, shape: tuple[int, ...], call: Call, allocate: Allocate
    ) -> None:
        self.spec, self.shape, self.call, self.allocate = spec, shape, call, allocate
        self.extents = spec.format.level_extents(shape)
        self.levels: list[dict[str, IntArray]] = []
        self.places: dict[int, npt.NDArray[np.int64]] = {}
        self.positions = [1]
        self.values = np.empty(0, spec.dtype)

    def run(self) -> tuple[LevelBuffers, npt.NDArray[Any]]:
        """Make all levels, then the values; return both.

        Raises
        ------
        IndexWidthError
            If a level may need more positions than its index dtype can count.
        KernelMemoryError
            If a level does not fit in memory.
        PatternError
            If there is no room for an entry.
        """
        n_levels = self.spec.format.n_levels
        while len(self.levels) < n_levels:
            try:
                self._make_next()
            except MemoryError:
                raise KernelMemoryError(
                    f"format {self.spec.format}: expected levels that fit in memory, "
                    f"got shape {self.shape}"
                ) from None
            if len(self.levels) == n_levels:
                self.values = self.allocate(self.positions[-1])
                self.call(names.FILL, [*self._made(), self.values])
                self._tighten()
        return tuple(self.levels), self.values

    def _made(self) -> list[npt.NDArray[Any]]:
        """Return the arrays of the levels that are made, as functions take them."""
        arrays: list[npt.NDArray[Any]] = []
        for depth, buffers in enumerate(self.levels):
            level = self.spec.format.levels[depth]
            arrays += [buffers[role] for role in level.roles]
            if depth in self.places:
                arrays.append(self.places[depth])
        return arrays

    def _make_next(self) -> None:
        depth = len(self.levels)
        level, extent = self.spec.format.levels[depth], self.extents[depth]
        parents, index_dtype = self.positions[-1], self.spec.index_dtype
        if isinstance(level, Preparable):
            self._add(level.prepare(parents, extent, index_dtype))
        elif isinstance(level, Allottable):
            counts = zeros(parents, np.int64)
            self.call(names.round_of(depth), [*self._made(), counts])
            if self._tighten():
                return
            room = np.minimum(counts, extent).sum() * level.slots_per_entry
            if index_dtype == "int32" and max(room, *self.shape) > _INT32_MAX:
                raise IndexWidthError
            self._add(level.allot(counts, extent, index_dtype))
        elif isinstance(level, PlaceInsertable):
            self._arrange(level, depth)
        else:
            self._add(Prepared({}, level.count({}, parents, extent)))

    def _arrange(self, level: PlaceInsertable, depth: int) -> None:
        """Put the coordinates of a level in the order that the one below asks for."""
        below = self.spec.format.levels[depth + 1]
        if not isinstance(below, MarkArranging):
            raise InternalError(f"expected a level that arranges, got {below.name}")
        table = (self.positions[-1], *self.extents[depth : depth + 2])
        size = int(np.prod(table, dtype=object))
        marks = zeros(size, np.bool_)
        self.call(names.round_of(depth), [*self._made(), marks])
        if self._tighten():
            return
        order = below.arrange_marks(marks.reshape(table))
        buffers, self.places[depth] = level.make_arranged(order, self.spec.index_dtype)
        self._add(Prepared(buffers, order.size))

    def _add(self, made: Prepared) -> None:
        self.levels.append(made.buffers)
        self.positions.append(made.n_positions)

    def _tighten(self) -> bool:
        """Make the last level that has far too much room once more, and none below.

        What has been inserted is inserted again: then it is known how much that is.
        """
        for depth in reversed(range(len(self.levels))):
            level, parents = self.spec.format.levels[depth], self.positions[depth]
            if not isinstance(level, Allottable):
                continue
            stored = level.occupied(self.levels[depth], parents)
            needed = int(stored.sum()) * level.slots_per_entry
            if self.positions[depth + 1] <= _SLACK * needed:
                return False
            extent, index_dtype = self.extents[depth], self.spec.index_dtype
            if not needed and not self.positions[depth + 1]:
                return False
            del self.levels[depth:], self.positions[depth + 1 :]
            self.places = {n: p for n, p in self.places.items() if n < depth}
            self._add(level.allot(stored, extent, index_dtype))
            return True
        return False
