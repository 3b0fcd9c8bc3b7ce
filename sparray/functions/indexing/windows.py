"""Integers and slices of large arrays, by kernels that the compiler makes.

``A[2:10, ::3]`` is ``C[i,j] = A[i in 2:10,j in ::3]``. A kernel depends on the format,
the dtype and the steps alone: the bounds are its arguments.
"""

from collections.abc import Sequence

from sparray.compiler.index_notation.canonical import index_name
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, PatternError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.format import Format
from sparray.functions.indexing.selectors import Every, Selector, Window

__all__ = ["compiled_window"]

_MOST_DIMENSIONS = 8
"""Past this many loops a kernel takes longer to compile than it is worth."""
_WORTH_COMPILING = 2**15
"""Values from which on a kernel is worth the time that it takes to compile."""


def compiled_window(
    operand: Operand, selectors: Sequence[Selector], format: Format
) -> Stored | None:
    """Compute a window of an array by a kernel.

    Parameters
    ----------
    operand : SparseArray or Stored
        Any format.
    selectors : sequence of Selector
        One for each dimension.
    format : Format
        Of the result, whose dimensions are those without a point, in order.

    Returns
    -------
    Stored or None
        None where it is NumPy's task: few values, arrays of integers, no compiler, many
        dimensions, a format whose padding would have to be written.
    """
    if len(operand.values) < _WORTH_COMPILING or len(selectors) > _MOST_DIMENSIONS:
        return None
    if format.is_full or format.pads or operand.format.pads or not format.unique:
        return None
    target, read = [], []
    for dimension, selector in enumerate(selectors):
        index = index_name(dimension)
        if isinstance(selector, Window) and selector.point:
            read.append(str(selector.start))
            continue
        if isinstance(selector, Window):
            if selector.length == 0:
                return None
            read.append(f"{index} in {_slice_text(selector)}")
        elif isinstance(selector, Every):
            read.append(index)
        else:
            return None
        target.append(index)
    if not target:
        return None
    text = f"C[{','.join(target)}] = A[{','.join(read)}]"
    try:
        return try_compiled(assignment_expression(text), [operand], format)
    except (UnsupportedError, DTypeError, PatternError):
        return None


def _slice_text(selector: Window) -> str:
    """Return the slice of a window as index notation writes it."""
    stop = selector.start + selector.step * selector.length
    if stop < 0:
        # A slice that goes on to the first coordinate, backwards.
        return f"{selector.start}::{selector.step}"
    return f"{selector.start}:{stop}:{selector.step}"
