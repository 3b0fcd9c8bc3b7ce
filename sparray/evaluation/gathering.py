"""Add up the repeated coordinates of a list, in a hash table that grows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.memory import empty
from sparray.compiler import names
from sparray.compiler.kernel_facts.gather_spec import REHASH, GatherSpec
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.scheduler.steps import GatherStep
from sparray.evaluation.list_kernels import ListKernel
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.coordinates import combine_duplicates

__all__ = ["GatherCall", "gather_list"]

_WORTH_A_KERNEL = 2**15
"""Entries from which on a kernel is worth being loaded; NumPy sorts fewer in 3 ms."""
_FIRST_ROOM = 2**12
"""Coordinates that the first table has room for: a few pages."""
_GROWTH = 4
"""Times that a table is larger than the one before."""
_SLOTS_PER_ENTRY = 2


def gather_list(source: Operand, step: GatherStep) -> Stored:
    """Add up what has the same coordinates in a list.

    Parameters
    ----------
    source : Operand
        A list of coordinates: one position per entry in every level.
    step : GatherStep
        The format and dtypes of the result, and the kernel.

    Returns
    -------
    Stored
        Each coordinate once, in the order in which they came first, or, of a short
        list, in their own. Values of 16 bits are added up in 32.

    Notes
    -----
    O(n) on average, one pass. Memory for what differs, not for the entries.
    """
    coords = [level["crd"] for level in source._levels]
    call = None
    if len(source.values) >= _WORTH_A_KERNEL:
        call = GatherCall(coords, source.values, step.kernel)
    if call is not None and call.kernel.is_compiled:
        made, values = call.run()
    else:
        made, values = _by_sorting(coords, source.values, step.kernel)
    pos = np.array([0, len(values)], dtype=step.spec.index_dtype)
    levels = [{"crd": crd} for crd in made]
    levels[0] = {"pos": pos, **levels[0]}
    format = step.spec.format
    summed = values.astype(source.values.dtype, copy=False)
    return Stored(format, source.shape, tuple(levels), summed, source.fill_value)


def _by_sorting(
    coords: Sequence[npt.NDArray[Any]], values: npt.NDArray[Any], spec: GatherSpec
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
    """Return what `GatherCall.run` does, in the order of the coordinates, in NumPy."""
    table = np.ascontiguousarray(coords, dtype=np.int64)
    wide = values.astype(numpy_dtype(spec.summed), copy=False)
    summed, combined = combine_duplicates(table, wide, range(len(coords)), "sum")
    return [row.astype(spec.made) for row in summed], combined


class GatherCall:
    """One list whose repeated coordinates the compiled kernels add up.

    Parameters
    ----------
    coords : sequence of int32[n] or int64[n]
        The coordinates, level by level.
    values : dtype[n]
        The values.
    spec : GatherSpec
        The kernels, for coordinates and values of these dtypes.
    """

    def __init__(
        self,
        coords: Sequence[npt.NDArray[Any]],
        values: npt.NDArray[Any],
        spec: GatherSpec,
    ) -> None:
        self.coords, self.values, self.spec = list(coords), values, spec
        self.kernel = ListKernel(spec)

    def run(self) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
        """Return coordinates that differ, and the sum of each one's values."""
        n = len(self.values)
        room = min(n, _FIRST_ROOM)
        state = np.zeros(2, np.int64)
        made, sums = self._arrays(room)
        while True:
            table = np.full(_slots(room), -1, np.int64)
            known = int(state[1])
            if known:
                self.kernel(REHASH, [table, *made], (known, len(table)))
            arrays = [*self.coords, self.values, table, *made, sums, state]
            self.kernel(names.FILL, arrays, (n, len(table), room))
            known = int(state[1])
            if state[0] == n:
                return [crd[:known].copy() for crd in made], sums[:known].copy()
            room = min(n, room * _GROWTH)
            more, more_sums = self._arrays(room)
            for new, old in zip((*more, more_sums), (*made, sums), strict=True):
                new[:known] = old[:known]
            made, sums = more, more_sums

    def _arrays(self, room: int) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
        coords = [empty(room, np.dtype(self.spec.made)) for _ in self.coords]
        return coords, empty(room, numpy_dtype(self.spec.summed))


def _slots(room: int) -> int:
    """Return the slots of a table: a power of two, most of them empty."""
    return 1 << max(1, _SLOTS_PER_ENTRY * room - 1).bit_length()
