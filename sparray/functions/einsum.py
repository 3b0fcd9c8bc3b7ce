"""Expressions in index notation as functions: einsum and compute."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sparray.convert import array, strided_ndarray
from sparray.dispatch import evaluate_expression
from sparray.errors import ShapeError
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    check_missing,
    einsum_expression,
    mask_kind,
)
from sparray.evaluation.program_texts import is_program
from sparray.evaluation.readings import Given, mask_operand, read_operands
from sparray.formats.coordinates import as_dtype
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.option_names import naming_options
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray

if TYPE_CHECKING:
    from sparray.compiler.hand_schedule import Schedule
    from sparray.compiler.index_notation.semiring import Semiring
    from sparray.evaluation.stored import Stored

__all__ = ["as_mask", "as_operand", "compute", "einsum", "operands_by_name"]

Operand = SparseArray | npt.NDArray[Any]


def as_operand(argument: str, value: Any) -> Operand:
    """Return an array as an operand: sparse ones as they are, others dense.

    SciPy sparse arrays and torch's sparse tensors become SparseArrays that share
    their buffers where the layouts allow; torch's dense tensors stay dense.
    """
    if isinstance(value, SparseArray | np.ndarray):
        return value
    module = type(value).__module__.partition(".")[0]
    torch = sys.modules.get("torch")
    if module == "torch" and torch is not None and value.layout is torch.strided:
        # What torch holds dense stays so: nobody asked for entries.
        return strided_ndarray(value)
    if module in ("scipy", "torch") or hasattr(value, "__sparray__"):
        made = array(value, copy=False)
        return made.todense() if made.format.is_dense else made
    try:
        dense = np.asarray(value)
    except ValueError:
        raise ShapeError(
            f"{argument}: expected nested lists of equal lengths, got lists that differ"
        ) from None
    as_dtype(dense.dtype, argument)
    return dense


def einsum(
    subscripts: str,
    *operands: Any,
    format: str | Format | None = None,
    missing: Literal["zero", "fill"] = "zero",
    schedule: "Schedule | str | None" = None,
    semiring: "Semiring | str | None" = None,
    mask: Any = None,
    complement: bool = False,
) -> Operand:
    """Compute an einsum over arrays of any formats as one fused kernel.

    Parameters
    ----------
    subscripts : str
        As in `numpy.einsum`: ``"ik,kj,ij->ij"``, ``"...ij,...jk->...ik"``.
    *operands : SparseArray, ndarray, SciPy or torch sparse array
        One for each term.
    format : str or Format, optional
        Of the result. By default inferred from the operands' formats: dense where
        every coordinate may have a value, else sparse.
    missing : {"zero", "fill"}
        What an entry that is not stored is where the fill value is 0: a zero that ends
        every product, NaN and inf in the other factor included; or the number 0, with
        ``0 * nan`` being NaN, for which every entry of a dense factor is visited.
    schedule : Schedule or str, optional
        Of the kernel, by hand; see `sparray.schedule`.
    semiring : str or Semiring, optional
        What ``+``, ``*`` and sums mean: ``"min_plus"``, ``"max_plus"``, ``"or_and"``,
        ... What sparse operands with fill value 0 do not store is its zero, the
        identity of its addition.
    mask : SparseArray, SciPy or torch sparse array, or array-like, optional
        Computed and stored is what has the coordinates of an entry of the mask,
        whatever its value is; of a dense mask, of an element that is not zero.
    complement : bool
        Whether the coordinates that the mask does not store are meant instead.

    Returns
    -------
    SparseArray or ndarray
        An ndarray if the result's format is dense. The pattern of a sparse result
        follows from the operands' patterns alone: entries that cancel stay stored. Its
        fill value is the expression at the operands' fill values.

    Raises
    ------
    ExpressionError
        If the string cannot be read or does not fit the operands.
    ShapeError
        If extents disagree.
    DTypeError
        If a dtype is not supported.
    ScheduleError
        If the schedule does not fit the expression and the operands' formats.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> sp.einsum("ij,j->i", A, [1.0, 10.0])
    array([20.,  3.])
    """
    for x in operands:
        if hasattr(x, "__sparray_function__"):
            said = {"format": format, "schedule": schedule, "semiring": semiring}
            said |= {"mask": mask}
            options = {name: value for name, value in said.items() if value is not None}
            if missing != "zero":
                options["missing"] = missing
            made: Operand = x.__sparray_function__(
                "einsum", subscripts, *operands, **options
            )
            return made
    check_missing(missing)
    by_hand = None if schedule is None else _schedule(schedule)
    over = None if semiring is None else _semiring(semiring)
    given = [as_operand(f"operands[{n}]", value) for n, value in enumerate(operands)]
    kind = mask_kind(mask, complement)
    expression = einsum_expression(subscripts, given, missing, by_hand, over, kind)
    return _evaluated(expression, with_mask(expression, given, mask), format)


@naming_options
def compute(
    expression: str,
    /,
    *,
    format: str | Format | None = None,
    missing: Literal["zero", "fill"] = "zero",
    outputs: Sequence[str] | None = None,
    schedule: "Schedule | str | Mapping[str, Schedule | str] | None" = None,
    semiring: "Semiring | str | None" = None,
    mask: Any = None,
    complement: bool = False,
    **operands: Any,
) -> Operand | tuple[Operand, ...]:
    """Compute an assignment in index notation as one fused kernel; or several of them.

    Parameters
    ----------
    expression : str
        ``"C[i,j] = A[i,k] * B[k,j] + D[i,j]"``. An index that the left side lacks is
        summed within its own additive term. Several statements are separated by ``;``
        or stand on lines of their own: each may read what the ones before it assign.
    format : str or Format, optional
        Of the result, the only one; inferred by default.
    missing : {"zero", "fill"}
        As for `einsum`.
    outputs : sequence of str, optional
        Which tensors to return; the last statement's by default.
    schedule : Schedule or str, or a mapping of them, optional
        As for `einsum`; of several statements, by the tensors that they assign. A
        statement with a schedule is a kernel of its own.
    semiring : str or Semiring, optional
        As for `einsum`; of every statement.
    mask, complement
        As for `einsum`; of the only result.
    **operands
        Each tensor that is read and not assigned, by name.

    Returns
    -------
    SparseArray or ndarray
        As `einsum`; a tuple of them if ``outputs`` are named.

    Raises
    ------
    ExpressionError
        If the text cannot be read, or an operand is missing or not in it.
    ShapeError, DTypeError
        If the operands do not fit together.
    ScheduleError
        If the schedule does not fit them.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> sp.compute("y[i] = A[i,j] * x[j] + b[i]", A=A, x=[1.0, 10.0], b=[0.5, 0.5])
    array([20.5,  3.5])
    >>> sp.compute("z[i] = A[i,j] * x[j]; s = max(i, z[i])", A=A, x=[1.0, 10.0])
    array(20.)
    """
    check_missing(missing)
    if outputs is not None or is_program(expression):
        return _compute_program(
            expression,
            operands,
            outputs=outputs,
            format=format,
            missing=missing,
            schedule=schedule,
            semiring=semiring,
            mask=mask,
            complement=complement,
        )
    by_hand = None if schedule is None else _only_schedule(schedule, expression)
    over = None if semiring is None else _semiring(semiring)
    kind = mask_kind(mask, complement)
    parsed = assignment_expression(expression, missing, by_hand, over, kind)
    given = [
        as_operand(name, value) for name, value in operands_by_name(parsed, operands)
    ]
    return _evaluated(parsed, with_mask(parsed, given, mask), format)


def with_mask(expression: Expression, given: Sequence[Given], mask: Any) -> list[Given]:
    """Return an expression's operands with its mask in its place.

    Raises
    ------
    ShapeError
        If the mask has no dimensions.
    """
    made = list(given)
    if expression.mask is not None:
        made.insert(expression.tensors.index(expression.mask), as_mask(mask))
    return made


def as_mask(mask: Any) -> "Stored":
    """Return a mask as the operand that expressions read.

    Raises
    ------
    ShapeError
        If it has no dimensions.
    """
    operand = as_operand("mask", mask)
    if not isinstance(operand, np.ndarray) and operand.format.is_dense:
        operand = operand.todense()
    if operand.ndim == 0:
        raise ShapeError("mask: expected an array of the result's shape, got a number")
    if isinstance(operand, np.ndarray):
        operand = array(operand != 0, format="csr" if operand.ndim == 2 else "csf")
    return mask_operand(operand)


def _evaluated(
    expression: Expression, given: Sequence[Given], format: str | Format | None
) -> Operand:
    read = read_operands(expression, given)
    stored = evaluate_expression(expression, read, _format(expression, format))
    return wrap_result(stored, SparseArray)


def _compute_program(
    text: str, named: dict[str, Any], **options: Any
) -> Operand | tuple[Operand, ...]:
    # Imported when there are several statements: `import sparray` is to be quick.
    from sparray.functions.program_arguments import stated_program

    stated = stated_program(text, named, **options)
    # Most expressions are one statement.
    from sparray.evaluation.programs import evaluate_program

    results = evaluate_program(
        stated.program, stated.arrays, stated.formats, stated.options
    )
    made = tuple(wrap_result(result, SparseArray) for result in results)
    return made[0] if options["outputs"] is None else made


def operands_by_name(
    expression: Expression, named: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Return an assignment's operands in its order, each with its name."""
    tensors = [name for name in expression.tensors if name != expression.mask]
    missing = [name for name in tensors if name not in named]
    unknown = [name for name in named if name not in tensors]
    if missing or unknown:
        from sparray.compiler.index_notation.places import operands_expected

        raise operands_expected(expression.text, tensors, named)
    return [(name, named[name]) for name in tensors]


def _schedule(given: "Schedule | str") -> "Schedule | None":
    # Imported when there is one: `import sparray` is to be quick.
    from sparray.functions.schedule import as_schedule

    return as_schedule(given)


def _only_schedule(given: Any, expression: str) -> "Schedule | None":
    from sparray.functions.schedule import as_only_schedule

    return as_only_schedule(given, expression)


def _semiring(given: "Semiring | str") -> "Semiring | None":
    from sparray.compiler.index_notation.semiring import as_semiring

    return as_semiring(given)


def _format(expression: Expression, format: str | Format | None) -> Format | None:
    if format is None:
        return None
    return as_format(format, len(expression.assignment.target.indices))
