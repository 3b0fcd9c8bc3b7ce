"""Memory for results whose entries operands bound, and what is left of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.memory import empty
from sparray.compiler.kernel_facts.entry_bound import EntryBound
from sparray.compiler.problem import TensorSpec
from sparray.evaluation.stored import IndexWidthError, Operand, Stored
from sparray.formats.format import Format

__all__ = ["OnePass", "closed_up"]

Array = npt.NDArray[Any]

_INT32_MAX = 2**31 - 1
_KEPT = 0.75
"""Share of the allotted memory from which on a result keeps all of it: a smaller one is
copied, which costs less than it would take up."""


class OnePass:
    """Where the fibres of a result may begin.

    Parameters
    ----------
    bound : EntryBound
        What has at least as many entries in each fibre.
    operands : sequence of str
        The names of the kernel's operands.
    """

    def __init__(self, bound: EntryBound, operands: Sequence[str]) -> None:
        self.numbers = [operands.index(name) for name in bound.operands]
        self.together = bound.together

    def allocate(
        self, operands: Sequence[Operand], threads: int, output: TensorSpec
    ) -> tuple[Array, Array, Array, Array]:
        """Return ``pos``, ``crd``, the values and the counts: what the kernel takes.

        Returns
        -------
        tuple of arrays
            The counts, int64[fibres + 2 * threads], are the positions at which each
            fibre begins at the latest, and -1 behind them; nothing else is initialised.

        Raises
        ------
        KernelMemoryError
            If it does not fit in memory.
        IndexWidthError
            If there may be more entries than the index dtype can count.
        """
        ends = [operands[number]._levels[1]["pos"] for number in self.numbers]
        if not self.together:
            ends = [min(ends, key=lambda pos: int(pos[-1]))]
        bound = sum(int(pos[-1]) for pos in ends)
        index_dtype = np.dtype(output.index_dtype)
        if index_dtype == np.int32 and bound > _INT32_MAX:
            raise IndexWidthError
        units = len(ends[0]) - 1
        counts = np.empty(units + 2 * threads, np.int64)
        counts[:units] = ends[0][:-1]
        for pos in ends[1:]:
            counts[:units] += pos[:-1]
        counts[units:] = -1
        crd, values = empty(bound, index_dtype), empty(bound, np.dtype(output.dtype))
        return empty(units + 1, index_dtype), crd, values, counts

    def result(
        self,
        made: tuple[Array, Array, Array, Array],
        format: Format,
        shape: tuple[int, ...],
        fill: Any,
    ) -> Stored:
        """Return the result of what the kernel wrote."""
        pos, crd, values, counts = made
        units = len(pos) - 1
        crd, values = closed_up((crd, values), counts[units:])
        pos[0] = 0
        np.cumsum(counts[:units], out=pos[1:])
        return Stored(format, shape, ({}, {"pos": pos, "crd": crd}), values, fill)


def closed_up(
    arrays: Sequence[Array], chunks: npt.NDArray[np.int64]
) -> tuple[Array, ...]:
    """Return arrays without what is between the chunks, and behind the last one.

    Parameters
    ----------
    arrays : sequence of arrays
        Of one length; they are written to.
    chunks : int64[2 * n]
        Where each chunk begins and ends, in order; those without a fibre are -1.
    """
    bounds, total = chunks.tolist(), 0
    for begin, end in zip(bounds[::2], bounds[1::2], strict=True):
        if begin != total and begin < end:
            for array in arrays:
                array[total : total + end - begin] = array[begin:end]
        total += end - begin
    if total == len(arrays[0]):
        return tuple(arrays)
    if total >= _KEPT * len(arrays[0]):
        return tuple(array[:total] for array in arrays)
    return tuple(_copied(array[:total]) for array in arrays)


def _copied(part: Array) -> Array:
    made = empty(len(part), part.dtype)
    made[:] = part
    return made
