"""Sort a coordinate list: by compiled kernels if it is long, else by NumPy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.memory import empty
from sparray._kernels.runtime import (
    num_threads,
)
from sparray.compiler import names
from sparray.compiler.kernel_facts.sort_spec import MOST_DIGIT_BITS, SortSpec
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.steps import SortStep
from sparray.evaluation.list_kernels import ListKernel
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.coordinates import sort_order
from sparray.records import dataclass

__all__ = ["SortCall", "sort_entries", "sort_list"]

_WORTH_A_KERNEL = 2**15
"""Entries from which on a kernel is worth being loaded; NumPy sorts fewer in 3 ms."""
_MOST_LEVELS = 8
"""With more of them a kernel takes longer to compile than it is worth."""
_ENTRIES_PER_BUCKET = 2**13
"""What a bucket is to hold at most: with its scratch and the counters of a digit it
stays near a first-level cache. Smaller buckets would be more than a translation buffer
has pages."""
_MOST_BUCKET_BITS = 12
"""More buckets than that are too many places to write to at once."""
_TASKS_PER_THREAD = 8
_ENTRIES_PER_SCRATCH = 16
"""What the entries are to be of the scratch, at least, if there are many buckets."""

IndexArray = npt.NDArray[np.int64]


def sort_list(source: Operand, step: SortStep) -> Stored:
    """Sort the entries of a coordinate list; equal coordinates stay in order.

    Parameters
    ----------
    source : Operand
        A list of coordinates: one position per entry in every level.
    step : SortStep
        The format and the index dtype of the sorted list, and the kernel.

    Returns
    -------
    Stored
        New buffers, or the source's own if its entries are in order already.

    Notes
    -----
    O(n) for a long list: a partition by leading bits, then digits within the parts.
    Takes the memory of the result, and scratch for the longest part of each task.
    """
    coords = [level["crd"] for level in source._levels]
    return _listed(sort_entries(coords, source.values, step.kernel), source, step.spec)


def sort_entries(
    coords: Sequence[npt.NDArray[Any]], values: npt.NDArray[Any], spec: SortSpec
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
    """Sort entries by their coordinates, as `sort_list` does.

    Parameters
    ----------
    coords : sequence of int32[n] or int64[n]
        The coordinates that decide first come first.
    values : dtype[n]
        Moved along.
    spec : SortSpec
        The kernels for them.

    Returns
    -------
    coords, values
        New arrays, or the given ones if they are in order already.
    """
    if len(values) >= _WORTH_A_KERNEL and len(coords) <= _MOST_LEVELS:
        call = SortCall(coords, values, spec)
        if call.kernel.is_compiled:
            return call.run()
    order = sort_order(coords)
    if order is None:
        return list(coords), values
    return [crd[order] for crd in coords], values[order]


def _listed(
    sorted_: tuple[Sequence[npt.NDArray[Any]], npt.NDArray[Any]],
    source: Operand,
    wanted: TensorSpec,
) -> Stored:
    coords, values = sorted_
    levels = []
    for level, crd in zip(source._levels, coords, strict=True):
        buffers = {"crd": crd.astype(wanted.index_dtype, copy=False)}
        if "pos" in level:
            pos = level["pos"].astype(wanted.index_dtype, copy=False)
            buffers = {"pos": pos, **buffers}
        levels.append(buffers)
    return Stored(wanted.format, source.shape, tuple(levels), values, source.fill_value)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the bits of the coordinates are divided between buckets and digits.

    ``low``, ``place``, ``high`` and ``base`` are of each level: how many bits the
    bucket leaves; where the others are in the bucket, and their mask; where what is
    left is in a ``joined`` number. ``digits : int64[passes, levels, 3]`` has shift,
    mask and place of what each pass takes from each level, or from the joined number; a
    digit has ``digit_bits``.
    """

    low: list[int]
    place: list[int]
    high: list[int]
    base: list[int]
    joined: bool
    bucket_bits: int
    digits: IndexArray
    digit_bits: int


def _layout(bits: Sequence[int], n_entries: int, most_joined: int) -> _Layout:
    """Give the leading bits to the buckets, as many as the entries ask for.

    Or more, so that what they leave can be joined to ``most_joined`` bits.
    """
    wanted = (n_entries // _ENTRIES_PER_BUCKET).bit_length()
    wanted = max(wanted, sum(bits) - most_joined)
    bucket_bits = left = min(wanted, _MOST_BUCKET_BITS, sum(bits))
    low, place, high = [], [], []
    for n in bits:
        taken = min(n, left)
        left -= taken
        low.append(n - taken)
        place.append(left)
        high.append(2**taken - 1)
    joined = sum(low) <= most_joined
    base = [sum(low[depth + 1 :]) for depth in range(len(low))]
    passes = -(-sum(low) // MOST_DIGIT_BITS)
    width = -(-sum(low) // max(1, passes))
    keys = [sum(low)] if joined else low
    digits = [_digit(keys, first * width, width) for first in range(passes)]
    table = np.array(digits, np.int64).reshape(passes, len(keys), 3)
    return _Layout(low, place, high, base, joined, bucket_bits, table, width)


def _digit(low: Sequence[int], first: int, width: int) -> list[tuple[int, int, int]]:
    """Return shift, mask and place, by level, of ``width`` bits from the ``first`` on.

    The bits of all levels stand side by side, those of the last level lowest.
    """
    parts, base = [], 0
    for n in reversed(low):
        begin, end = max(first, base), min(first + width, base + n)
        kept = max(0, end - begin)
        parts.append((begin - base, 2**kept - 1, begin - first) if kept else (0, 0, 0))
        base += n
    return parts[::-1]


class SortCall:
    """One list that the compiled kernels sort, step by step.

    Parameters
    ----------
    coords : sequence of int32[n] or int64[n]
        The coordinates, the level that decides first first.
    values : dtype[n]
        The values, moved along.
    spec : SortSpec
        The kernels, for coordinates and values of these dtypes.
    """

    def __init__(
        self,
        coords: Sequence[npt.NDArray[Any]],
        values: npt.NDArray[Any],
        spec: SortSpec,
    ) -> None:
        self.coords, self.values = list(coords), values
        bits = [int(crd.max(initial=0)).bit_length() for crd in self.coords]
        # A coordinate's dtype is signed, and so is the joined number.
        most_joined = np.iinfo(spec.made).bits - 1
        self.layout = _layout(bits, len(values), most_joined)
        self.spec = replace(spec, joined=self.layout.joined)
        self.kernel = ListKernel(self.spec)

    def run(self) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
        """Return sorted coordinates and values; the given ones if they are sorted."""
        n, chunks, layout = len(self.values), num_threads(), self.layout
        buckets = 2**layout.bucket_bits
        offsets = np.zeros((chunks, buckets), np.int64)
        descents = np.zeros(chunks, np.int64)
        sizes = (n, chunks, buckets, *layout.low, *layout.place)
        self.kernel(names.COUNT, [*self.coords, offsets, descents], sizes)
        if not descents.any():
            return self.coords, self.values
        starts = _to_offsets(offsets)
        shares, scratch, total = _tasks(starts, _most_tasks(starts, chunks))
        # Coordinates that are joined have no scratch but that of the first level.
        made = [
            empty(n if depth and layout.joined else total, self.spec.made)
            for depth in range(len(self.coords))
        ]
        values = self.values.view(self.spec.values("A").dtype)
        moved = empty(total, values.dtype)
        keys = made[:1] if layout.joined else made
        bases = layout.base if layout.joined else []
        given = [*self.coords, values, *keys, moved, offsets]
        self.kernel("scatter", given, (*sizes, *bases))
        del keys, given
        parts = [*layout.low, *layout.place, *layout.high] if layout.joined else []
        sizes = (len(scratch), len(layout.digits), 2**layout.digit_bits, *parts, *bases)
        digits = (starts, shares, scratch, layout.digits)
        self.kernel(names.FILL, [*made, moved, *digits], sizes)
        # One after the other, so that there is never a second list of all entries.
        for depth, crd in enumerate(made):
            made[depth] = _without_scratch(crd, n)
        return made, _without_scratch(moved, n).view(self.values.dtype)


def _without_scratch(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Return the first elements: a view, unless that would keep much memory alive."""
    return array[:n] if len(array) <= n + n // 8 else array[:n].copy()


def _most_tasks(starts: IndexArray, chunks: int) -> int:
    """Return as many tasks as balance well, or fewer, so that scratch is small."""
    largest = max(1, int(np.diff(starts).max()))
    fitting = int(starts[-1]) // (_ENTRIES_PER_SCRATCH * largest)
    return max(chunks, min(chunks * _TASKS_PER_THREAD, fitting))


def _to_offsets(counts: IndexArray) -> IndexArray:
    """Turn counts per chunk and bucket into offsets; return where buckets start."""
    starts = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    before = np.cumsum(counts, axis=0) - counts
    counts[:] = starts[:-1] + before
    return starts


def _tasks(starts: IndexArray, most: int) -> tuple[IndexArray, IndexArray, int]:
    """Divide the buckets into tasks of about equal entries.

    Returns
    -------
    shares : int64[n + 1]
        The buckets of each task.
    scratch : int64[n]
        Where each task's scratch begins, behind all entries.
    total : int
        Entries and scratch together, at most twice the entries.
    """
    targets = np.arange(1, most) * int(starts[-1]) // most
    cuts = np.searchsorted(starts, targets)
    shares = np.unique(np.concatenate([[0], cuts, [len(starts) - 1]])).astype(np.int64)
    largest = np.maximum.reduceat(np.diff(starts), shares[:-1])
    scratch = np.zeros(len(largest), np.int64)
    np.cumsum(largest[:-1], out=scratch[1:])
    scratch += starts[-1]
    return shares, scratch, int(starts[-1] + largest.sum())
