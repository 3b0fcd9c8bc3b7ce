"""How operands should lie in memory, so that an expression's kernel is fast.

Nothing here changes what is computed: only the order of entries in memory, of dense
operands and results, and of a sparse operand whose pattern is kept in two orders.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.dispatch import Given
from sparray.evaluation.expression import Expression
from sparray.evaluation.stored import Stored
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.records import dataclass

__all__ = ["WORTH_REORDERING", "Layouts", "as_laid_out", "layouts_of"]

# Stored entries: below, one thread scatters faster than they are gathered.
WORTH_REORDERING = 4096

_BY_COLUMNS = Format([Dense(), Dense()], (1, 0))


@dataclass(frozen=True, slots=True)
class Layouts:
    """What to do with each operand of an expression, and with its result.

    Attributes
    ----------
    innermost : tuple of int or None
        For each dense operand of two dimensions, which one should be contiguous; None
        if that does not matter.
    orders : tuple of Format or None
        For each sparse operand, a format to keep its pattern in as well.
    result : Format or None
        The format of the result, where it is known to be dense.
    """

    innermost: tuple[int | None, ...]
    orders: tuple[Format | None, ...]
    result: Format | None


@lru_cache(maxsize=4096)
def layouts_of(
    expression: Expression, formats: tuple[Format | None, ...], wanted: Format | None
) -> Layouts:
    """Return the layouts for an expression of operands of these formats.

    Parameters
    ----------
    expression : Expression
        Each operand is read by one access.
    formats : tuple of Format or None
        Of each operand; None for a dense one.
    wanted : Format or None
        Of the result, if asked for.

    Notes
    -----
    An index of dense operands alone is the one that a kernel runs through in vectors.
    It should be the innermost one in memory: ``y[r,o] = x[r,i] * W[o,i]`` with 3072 by
    768 weights, a tenth of them stored, and 128 rows is 10 times faster with ``x`` and
    ``y`` by columns, copying ``x`` included.

    In ``C[k,j] = A[i,k] * B[i,j]`` with A by rows, each entry adds to another row of
    C, which one thread must do. With A by columns, each row of C is one thread's. So
    the pattern is converted once and kept, and the values are gathered on each call.
    """
    reads = {number: access.indices for access, number in expression.axes}
    sparse = [number for number, format in enumerate(formats) if format is not None]
    walked = {index for number in sparse for index in reads[number]}
    target = expression.assignment.target.indices
    innermost = tuple(
        _innermost(reads[number], walked) if format is None and sparse else None
        for number, format in enumerate(formats)
    )
    alone = len(sparse) == 1
    orders = tuple(
        None if format is None or not alone else _order(reads[n], format, target)
        for n, format in enumerate(formats)
    )
    result = wanted
    is_default = wanted is None or wanted == named_format("dense", len(target))
    if alone and is_default and _innermost(target, walked) == 0:
        result = _BY_COLUMNS
    return Layouts(innermost, orders, result)


def _innermost(indices: tuple[str, ...], walked: set[str]) -> int | None:
    """Return which of two dimensions has an index that no sparse operand has."""
    if len(indices) != 2:
        return None
    free = [n for n, index in enumerate(indices) if index not in walked]
    return free[0] if len(free) == 1 else None


def _order(
    indices: tuple[str, ...], format: Format, target: tuple[str, ...]
) -> Format | None:
    levels = format.levels
    if len(levels) != 2 or not levels[0].full or levels[1].full or len(target) < 2:
        return None
    outer, inner = (indices[dimension] for dimension in format.order)
    if outer in target or inner not in target:
        return None
    return Format(levels, format.order[::-1])


def as_laid_out(array: npt.NDArray[Any], innermost: int) -> Given:
    """Return a matrix one of whose dimensions is contiguous; copied if it is not.

    A matrix of one row is contiguous either way: what is returned says which is meant.
    """
    if innermost == 1:
        return np.ascontiguousarray(array)
    columns = np.ascontiguousarray(array.T)
    return Stored(_BY_COLUMNS, array.shape, ({}, {}), columns.reshape(-1))
