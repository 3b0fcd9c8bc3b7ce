"""Sparsifiers that run while an expression is computed: ``inline=``.

The result is computed in panels along one of its indices, each by the expression's own
kernel. A streaming sparsifier chooses from a panel, and what it keeps is all that is
left of it: there is never a dense array of the whole result. Its gradient is that of a
sparse result, computed from the kept entries alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sparray import convert
from sparray.errors import UnsupportedError
from sparray.evaluation.expression import Expression
from sparray.formats.named import named_format
from sparray.torch.autograd import Evaluation
from sparray.torch.pattern import Pattern, as_numpy

__all__ = ["Streamed", "check_streaming", "streamed"]

# Elements of a panel, which stays in the cache between kernel and sparsifier.
_PANEL = 1 << 16


@dataclass(slots=True)
class Streamed(Evaluation):
    """An evaluation whose result is sparsified panel by panel.

    Attributes
    ----------
    sparsifier : Sparsifier
        Decides on an element alone.
    """

    sparsifier: Any = None

    def run(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Compute the values that are kept; `result` is where they stand.

        Raises
        ------
        UnsupportedError
            If no index of the result is one of dense operands alone.
        """
        shape = self.result_shape(tensors)
        axis, uses = self.panels()
        step = self.step(shape, axis)
        kept = _Kept(len(shape), self.result_dtype(tensors))
        for begin in range(0, shape[axis], step):
            part = self._panel(tensors, uses, begin, min(step, shape[axis] - begin))
            mask = self.sparsifier.keep(part)
            places = np.stack(np.nonzero(as_numpy(mask)))
            places[axis] += begin
            kept.add(places, part[mask])
        return self._joined(kept.coords, kept.values, shape, axis)

    def panels(self) -> tuple[int, list[tuple[int, int]]]:
        """Return along which dimension panels are, and which operands they cut.

        Returns
        -------
        axis : int
            Of the result.
        uses : list of (int, int)
            Numbers of operands, each with the dimension that is cut.
        """
        expression = self.expression
        for axis, index in enumerate(expression.assignment.target.indices):
            uses = [
                (number, dimension)
                for access, number in expression.axes
                for dimension, one in enumerate(access.indices)
                if one == index
            ]
            cuts_sparse = any(self.patterns[number] is not None for number, _ in uses)
            once = len({number for number, _ in uses}) == len(uses)
            if uses and once and not cuts_sparse and not expression.sources:
                return axis, uses
        raise UnsupportedError(
            f"{expression.text}: expected a result with an index of dense operands "
            "alone and without windows, to compute it in panels along it, got none; "
            f"without inline=, {self.sparsifier!r} takes the result"
        )

    def step(self, shape: Sequence[int], axis: int) -> int:
        """Return how far a panel goes along its dimension."""
        across = 1
        for dimension, extent in enumerate(shape):
            across *= extent if dimension != axis else 1
        return max(1, _PANEL // max(1, across))

    def result_shape(self, tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
        """Return the shape of the result."""
        shapes = [self.shape(n, tensors) for n in range(len(self.patterns))]
        extents = {
            index: extent
            for access, number in self.expression.axes
            for index, extent in zip(access.indices, shapes[number], strict=True)
        }
        return tuple(extents[i] for i in self.expression.assignment.target.indices)

    def result_dtype(self, tensors: Sequence[torch.Tensor]) -> torch.dtype:
        """Return the dtype of a result that has no element."""
        made = tensors[0].dtype
        for tensor in tensors[1:]:
            made = torch.promote_types(made, tensor.dtype)
        return made

    def _panel(
        self,
        tensors: Sequence[torch.Tensor],
        uses: Sequence[tuple[int, int]],
        begin: int,
        length: int,
    ) -> torch.Tensor:
        given = [tensor.detach() for tensor in tensors]
        for number, dimension in uses:
            given[number] = given[number].narrow(dimension, begin, length)
        return Evaluation(self.expression, self.patterns, self.format).run(given)

    def _joined(
        self, coords: Any, values: torch.Tensor, shape: tuple[int, ...], axis: int
    ) -> torch.Tensor:
        if axis > 0:
            order = np.lexsort(coords[::-1])
            coords = coords[:, order]
            values = values.index_select(0, torch.from_numpy(order))
        ones = np.ones(len(values), np.bool_)
        rows = convert.default_format(len(shape))
        self.result = Pattern(convert.from_coords(coords, ones, shape, rows))
        return values

    def __str__(self) -> str:
        target = self.expression.assignment.target.indices
        index = dict(self.expression.index_names).get(target[self.panels()[0]], "")
        return (
            f"inline: {self.sparsifier!r} chooses from panels along {index}, of "
            f"{_PANEL} elements; no dense result"
        )


class _Kept:
    """Entries in buffers that grow: panels leave nothing in between them in memory."""

    def __init__(self, ndim: int, dtype: torch.dtype) -> None:
        self._coords = np.empty((ndim, _PANEL), np.int64)
        self._values = torch.empty(_PANEL, dtype=dtype)
        self._count = 0

    @property
    def coords(self) -> npt.NDArray[np.int64]:
        """Coordinates of every entry: ``int64[ndim, n]``."""
        return self._coords[:, : self._count].copy()

    @property
    def values(self) -> torch.Tensor:
        """Values of every entry."""
        return self._values[: self._count].clone()

    def add(self, coords: npt.NDArray[np.int64], values: torch.Tensor) -> None:
        """Add the entries of a panel."""
        end = self._count + len(values)
        if not self._count:
            # What the kernel computes in, which may be wider than the operands.
            self._values = self._values.to(values.dtype)
        if end > len(self._values):
            more = max(end, 2 * len(self._values))
            coordinates = np.empty((len(self._coords), more), np.int64)
            coordinates[:, : self._count] = self._coords[:, : self._count]
            grown = torch.empty(more, dtype=self._values.dtype)
            grown[: self._count] = self._values[: self._count]
            self._coords, self._values = coordinates, grown
        self._coords[:, self._count : end] = coords
        self._values[self._count : end] = values
        self._count = end


def check_streaming(sparsifier: Any) -> None:
    """Raise unless a sparsifier can decide on each element as it is computed.

    Raises
    ------
    UnsupportedError
        If it needs more than the element.
    """
    from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

    if not isinstance(sparsifier, Sparsifier):
        raise UnsupportedError(
            f"inline: expected a sparsifier, such as sparray.torch.Threshold(0.5), got "
            f"{sparsifier!r}"
        )
    if sparsifier.needs is not Needs.STREAMING or not sparsifier.works_on_entries():
        raise UnsupportedError(
            "inline: expected a streaming sparsifier (KeepAll, KeepNonzero, Threshold, "
            "or one of your own with needs = Needs.STREAMING), which decides by the "
            f"element alone, got {sparsifier!r}, which needs {sparsifier.needs.value}; "
            "call it with the result instead"
        )


def streamed(
    expression: Expression, patterns: Sequence[Pattern | None], sparsifier: Any
) -> Streamed:
    """Return the evaluation of an expression with a sparsifier inside."""
    check_streaming(sparsifier)
    dense = named_format("dense", len(expression.assignment.target.indices))
    return Streamed(expression, patterns, dense, sparsifier=sparsifier)
