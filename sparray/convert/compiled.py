"""Convert between formats by a compiled assignment."""

from functools import lru_cache

from sparray.compiler.index_notation.canonical import index_name
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, UnsupportedError
from sparray.expression import Expression, assignment_expression
from sparray.formats.format import Format
from sparray.stored import Operand, Stored

__all__ = ["assign_compiled"]

_MOST_DIMENSIONS = 8
"""Past this many loops a kernel takes longer to compile than it is worth."""
_WORTH_COMPILING = 2**15
"""Values from which on a kernel is worth the half second that it takes to compile;
NumPy converts fewer than that in less than 10 ms."""


def assign_compiled(
    operand: Operand, format: Format, *, zero_fill: bool
) -> Stored | None:
    """Compute ``B[i,j,...] = A[i,j,...]`` into another format.

    Parameters
    ----------
    operand : Operand
        Any format. Of a dense one, elements that are zero are not stored.
    format : Format
        What to make.
    zero_fill : bool
        Whether the operand's fill value is zero.

    Returns
    -------
    Stored or None
        None where the conversion is NumPy's task: few values, no compiler, many
        dimensions, levels that store parts of dimensions, a dtype without kernels, a
        fill value to be written, or duplicates to be kept.
    """
    if not (format.is_plain and operand.format.is_plain):
        return None
    ndim = format.ndim
    if not 1 <= ndim <= _MOST_DIMENSIONS or not format.unique:
        return None
    if not zero_fill and (format.is_dense or operand.format.is_dense):
        return None
    if len(operand.values) < _WORTH_COMPILING:
        return None
    try:
        return try_compiled(
            _copy(ndim), [operand], format, prune=operand.format.is_dense
        )
    except (UnsupportedError, DTypeError):
        # Levels that a result cannot be appended to, or 16-bit values.
        return None


@lru_cache(maxsize=16)
def _copy(ndim: int) -> Expression:
    indices = ",".join(map(index_name, range(ndim)))
    return assignment_expression(f"B[{indices}] = A[{indices}]")
