"""Index notation on dense NumPy arrays: what every other stage must agree with."""

from collections.abc import Mapping
from functools import singledispatchmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparray.compiler import names
from sparray.compiler.index_notation.affine import affine
from sparray.compiler.index_notation.apply import apply_operator, is_weak, reduce_axes
from sparray.compiler.index_notation.dtypes import result_dtype, settle_literals
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.traversal import free_indices
from sparray.compiler.index_notation.verify import index_extents, verify
from sparray.compiler.loop_ir.dtypes import is_half, numpy_dtype, widened
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = ["Evaluator", "Labelled", "align", "evaluate"]

Array = NDArray[Any]


def evaluate(
    assignment: Assignment,
    arrays: Mapping[str, Array],
    *,
    shape: tuple[int, ...] | None = None,
    sources: Mapping[str, str] | None = None,
) -> Array:
    """Compute a statement with plain broadcasting.

    Parameters
    ----------
    assignment : Assignment
        What to compute; operators and reductions of the operator table.
    arrays : mapping of str to ndarray
        Each operand by its tensor's name.
    shape : tuple of int, optional
        Shape of the result, needed if the right side lacks one of its indices.
    sources : mapping of str to str, optional
        What coordinates with a parameter were (`symbolize`).

    Returns
    -------
    ndarray
        A new array with the target's indices as axes, in NumPy's promoted dtype
        (`sparray.compiler.index_notation.dtypes`). The reduction of nothing is the
        operator's identity. 16-bit floats are computed in float32 and rounded once.

    Raises
    ------
    ExpressionError, ShapeError, CoordinateError, DTypeError
        If the statement has no meaning for these operands.

    Notes
    -----
    The temporaries have all indices that a subexpression has, so this takes more
    memory than any kernel: it is the oracle, and the answer without a compiler.
    """
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    shapes.pop(assignment.target.tensor, None)
    if shape is not None:
        shapes[assignment.target.tensor] = shape
    verify(assignment, shapes, sources)
    extents = index_extents(assignment, shapes, sources)
    dtypes = {name: array.dtype.name for name, array in arrays.items()}
    value = settle_literals(assignment.value, dtypes)
    result = align(
        Evaluator(arrays, extents).evaluate(value), assignment.target.indices
    )
    dtype = None
    if any(map(is_half, dtypes.values())):
        dtype = numpy_dtype(result_dtype(assignment.value, dtypes))
    full = tuple(extents[i] for i in assignment.target.indices)
    with np.errstate(all="ignore"):
        return np.array(np.broadcast_to(result, full), dtype, order="C")


@dataclass(frozen=True, slots=True)
class Labelled:
    """An array, or a Python scalar, and the index of each of its axes."""

    value: Any
    indices: tuple[str, ...]


def align(labelled: Labelled, indices: tuple[str, ...]) -> Any:
    """Return the value with one axis per index; axes it lacks have length 1."""
    if is_weak(labelled.value):
        return labelled.value
    order = [labelled.indices.index(i) for i in indices if i in labelled.indices]
    shape = [1] * len(indices)
    array = labelled.value.transpose(order)
    kept = [number for number, i in enumerate(indices) if i in labelled.indices]
    for number, extent in zip(kept, array.shape, strict=True):
        shape[number] = extent
    return array.reshape(shape)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluates expressions over given arrays and extents."""

    arrays: Mapping[str, Array]
    extents: Mapping[str, int]

    @singledispatchmethod
    def evaluate(self, expr: Expr) -> Labelled:
        """Return the value of an expression at every value of its free indices."""
        raise InternalError(f"expected an expression, got {expr!r}")

    @evaluate.register
    def _(self, expr: Access) -> Labelled:
        array = widened(self.arrays[expr.tensor])
        indices = free_indices(expr)
        if indices == expr.indices:
            return Labelled(array, indices)
        # A repeated index walks a diagonal: one coordinate array per dimension.
        coordinates = tuple(self._coordinates(i, indices) for i in expr.indices)
        full = tuple(self.extents[i] for i in indices)
        return Labelled(np.broadcast_to(array[coordinates], full), indices)

    def _coordinates(self, coordinate: str, indices: tuple[str, ...]) -> Array:
        """Return the coordinate at every value of the indices."""
        made = affine(coordinate)
        terms = ((coordinate, 1),) if made is None else made.terms
        first = 0 if made is None else self.extents[names.first(coordinate)]
        total: Array = np.full((1,) * len(indices), first)
        for index, step in terms:
            steps = np.arange(self.extents[index]) * step
            total = total + align(Labelled(steps, (index,)), indices)
        return total

    @evaluate.register
    def _(self, expr: Literal) -> Labelled:
        return Labelled(widened(expr.value), ())

    @evaluate.register
    def _(self, expr: Apply) -> Labelled:
        operands = [self.evaluate(child) for child in expr.operands]
        indices = tuple(dict.fromkeys(i for o in operands for i in o.indices))
        values = [align(operand, indices) for operand in operands]
        return Labelled(apply_operator(expr.op, *values), indices)

    @evaluate.register
    def _(self, expr: Reduce) -> Labelled:
        operand = self.evaluate(expr.operand)
        kept = tuple(i for i in operand.indices if i not in expr.indices)
        order = (*expr.indices, *kept)
        aligned = np.asarray(align(operand, order))
        if aligned.ndim == 0:
            aligned = aligned.reshape((1,) * len(order))
        # An index that the operand lacks still repeats it.
        reduced = tuple(self.extents[i] for i in expr.indices)
        full = np.broadcast_to(aligned, reduced + aligned.shape[len(reduced) :])
        axes = tuple(range(len(reduced)))
        return Labelled(reduce_axes(expr.op, full, axes), kept)
