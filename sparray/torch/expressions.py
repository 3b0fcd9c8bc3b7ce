"""Any expression in index notation of tensors, differentiable."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from sparray.errors import ExpressionError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.evaluation.program_texts import is_program
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import operands_by_name
from sparray.torch.operators.operands import compute as compute_expression
from sparray.torch.operators.operands import compute_inline
from sparray.torch.tensor import SparseTensor

__all__ = ["compute"]


def compute(
    expression: str,
    *,
    format: str | Format | None = None,
    inline: Any = None,
    **operands: torch.Tensor,
) -> torch.Tensor:
    """Compute an assignment in index notation of tensors, with gradients.

    Parameters
    ----------
    expression : str
        One statement, as for `sparray.compute`; windows and constants, as in
        ``"y[i] = x[i + k] * w[k]"``, may be among its coordinates.
    format : str or Format, optional
        Of the result; inferred by default.
    inline : Sparsifier, optional
        A streaming one, such as `Threshold`: it chooses from the result while that is
        computed, in panels, so that there is no dense array of it. The result is
        sparse, and its gradient is computed from the kept entries alone.
    **operands : torch.Tensor or SparseTensor
        Each tensor that is read, by name.

    Returns
    -------
    torch.Tensor or SparseTensor
        By the result's format.

    Raises
    ------
    ExpressionError
        If the text cannot be read, has several statements, or an operand is missing.
    ShapeError, DTypeError, DeviceError
        If the operands do not fit it.
    UnsupportedError
        If there is no kernel; if ``inline`` does not stream, or the result has no index
        of dense operands alone. From ``backward``, if an operand is read along a
        diagonal or below a reduction other than a sum.

    Notes
    -----
    The gradient of a sparse operand has its pattern.

    Examples
    --------
    >>> import torch
    >>> import sparray.torch as spt
    >>> x = torch.arange(4.0, requires_grad=True)
    >>> w = torch.tensor([1.0, -1.0])
    >>> y = spt.compute("y[i] = x[i + k] * w[k]", x=x, w=w)
    >>> y.sum().backward()
    >>> x.grad
    tensor([ 1.,  0.,  0., -1.])
    """
    if is_program(expression):
        raise ExpressionError(
            f"expression: expected a single statement, got several\n  {expression}"
        )
    parsed = assignment_expression(expression)
    for name, tensor in operands_by_name(parsed, operands):
        if not isinstance(tensor, torch.Tensor):
            raise ExpressionError(
                f"{name}: expected a torch.Tensor, got {type(tensor).__name__}"
            )
    given = [operands[parsed.tensors[number]] for _, number in parsed.operands]
    wanted = None
    if format is not None:
        wanted = as_format(format, len(parsed.assignment.target.indices))
    of_accesses = _of_accesses(parsed)
    if inline is not None:
        kept = compute_inline(of_accesses, given, inline)
        return kept if wanted is None else kept.to_format(wanted)
    made: torch.Tensor | SparseTensor = compute_expression(of_accesses, given, wanted)
    return made


@lru_cache(maxsize=1024)
def _of_accesses(expression: Expression) -> Expression:
    """Return an expression with an operand of its own for each access."""
    operands = tuple((name, n) for n, (name, _) in enumerate(expression.operands))
    tensors = tuple(expression.tensors[number] for _, number in expression.operands)
    return replace(expression, tensors=tensors, operands=operands, road=object())
