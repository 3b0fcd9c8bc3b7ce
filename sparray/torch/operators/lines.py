"""Functions of each stored entry and of a number for its line."""

from collections.abc import Set
from functools import lru_cache
from typing import Any

from torch import Tensor

from sparray.evaluation.expression import Expression, assignment_expression
from sparray.torch.operators.operands import compute, on_pattern
from sparray.torch.tensor import SparseTensor

__all__ = ["by_line"]


def by_line(
    template: str, tensor: SparseTensor, line: Tensor, axes: Set[int]
) -> SparseTensor:
    """Compute a function of each stored entry and the number of its line.

    Parameters
    ----------
    template : str
        In index notation: ``{M}`` is 1 at stored entries, ``{A}`` the tensor, ``{s}``
        the number.
    tensor : SparseTensor
        With fill value 0.
    line : torch.Tensor
        Has the dimensions of the tensor without ``axes``.
    axes : set of int
        Along which a line goes.

    Returns
    -------
    SparseTensor
        With the pattern of ``tensor``.
    """
    expression = _expression(template, tensor.dim(), frozenset(axes))
    ones = SparseTensor(tensor.pattern, tensor.pattern.ones)
    named = {"M": ones, "A": tensor, "s": line}
    operands: list[Any] = [named[name] for name in expression.tensors]
    made = compute(expression, operands, tensor.format)
    return SparseTensor(tensor.pattern, on_pattern(made, tensor.pattern))


@lru_cache(maxsize=256)
def _expression(template: str, ndim: int, axes: frozenset[int]) -> Expression:
    every = [f"i{n}" for n in range(ndim)]
    indices = ",".join(every)
    kept = ",".join(index for n, index in enumerate(every) if n not in axes)
    value = template.format(
        M=f"M[{indices}]", A=f"A[{indices}]", s=f"s[{kept}]" if kept else "s"
    )
    return assignment_expression(f"C[{indices}] = {value}")
