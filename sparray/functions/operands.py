"""An expression with its operands, for functions that look at both."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparray.compiler.index_notation.semiring import as_semiring
from sparray.errors import ExpressionError
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    check_missing,
    einsum_expression,
    mask_kind,
)
from sparray.evaluation.readings import Given, read_operands
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import as_operand, operands_by_name, with_mask
from sparray.functions.schedule import as_schedule

__all__ = ["stated"]


def stated(
    expression: str,
    operands: Sequence[Any],
    named: Mapping[str, Any],
    format: str | Format | None = None,
    missing: str = "zero",
    schedule: Any = None,
    semiring: Any = None,
    mask: Any = None,
    complement: bool = False,
) -> tuple[Expression, list[Given], Format | None]:
    """Return what a user states, as `einsum` and `compute` would read it.

    Parameters
    ----------
    expression : str
        An einsum string with ``operands``, or an assignment with ``named`` ones.
    operands : sequence of SparseArray, ndarray, SciPy or torch sparse array
        As for `einsum`.
    named : mapping
        As for `compute`.
    format : str or Format, optional
        Of the result.
    missing : {"zero", "fill"}
        As for `einsum`.
    schedule : Schedule or str, optional
        As for `einsum`.
    semiring : str or Semiring, optional
        As for `einsum`.
    mask, complement
        As for `einsum`.

    Returns
    -------
    tuple of Expression, list of operands, Format or None
        Parsed.
    """
    if not isinstance(expression, str):
        raise ExpressionError(
            f"expression: expected a str, got {type(expression).__name__}"
        )
    check_missing(missing)
    by_hand, over = as_schedule(schedule), as_semiring(semiring)
    kind = mask_kind(mask, complement)
    if "=" in expression:
        parsed = assignment_expression(expression, missing, by_hand, over, kind)
        pairs = operands_by_name(parsed, dict(named))
        given: list[Given] = [as_operand(name, value) for name, value in pairs]
    else:
        given = [as_operand(f"operands[{n}]", x) for n, x in enumerate(operands)]
        parsed = einsum_expression(expression, given, missing, by_hand, over, kind)
    wanted = None
    if format is not None:
        wanted = as_format(format, len(parsed.assignment.target.indices))
    given = with_mask(parsed, given, mask)
    return parsed, list(read_operands(parsed, given)), wanted
