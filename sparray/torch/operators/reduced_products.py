"""Products of matrices whose sum is another reduction, over what is stored.

``torch.sparse.mm(A, B, "mean" | "amax" | "amin")`` reduces the products of each row's
stored entries; a row that stores nothing is 0. A gradient of the greatest product goes
to equal ones in equal parts, as that of `torch.amax` does.
"""

from typing import Any

import torch
from torch import Tensor

from sparray.errors import DTypeError, FormatError, SettingError, ShapeError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.named import named_format
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.operands import compute, one_dtype
from sparray.torch.operators.products import matmul
from sparray.torch.operators.reductions import total
from sparray.torch.operators.valued import valued
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["REDUCTIONS", "reduced_product"]

REDUCTIONS = ("sum", "mean", "amax", "amin")

# As torch knows them, which PyTorch Geometric uses.
_ALIASES = {"max": "amax", "min": "amin"}

_DENSE = named_format("dense", 2)


def reduced_product(input: SparseTensor, mat2: Tensor, reduce: str) -> Any:
    """Multiply a sparse matrix by a dense one, and reduce each row's products.

    Parameters
    ----------
    input : SparseTensor, shape (n, k)
        With fill value 0.
    mat2 : torch.Tensor, shape (k, m)
        Of the same dtype.
    reduce : {'sum', 'mean', 'amax', 'amin', 'max', 'min'}
        Over the stored entries of a row.

    Returns
    -------
    torch.Tensor, shape (n, m)
        Part of the graph.

    Raises
    ------
    SettingError
        If there is no such reduction.
    DTypeError
        If the values are not floating-point.
    """
    reduce = _ALIASES.get(reduce, reduce)
    if reduce not in REDUCTIONS:
        raise SettingError(
            f"reduce: expected one of {', '.join(REDUCTIONS)}, got {reduce!r}"
        )
    one_dtype("mm", input, mat2)
    if (input.dim(), mat2.dim()) != (2, 2):
        raise ShapeError(
            f"mm: expected two matrices, got shapes {tuple(input.shape)} and "
            f"{tuple(mat2.shape)}"
        )
    if reduce == "sum":
        return matmul(input, mat2)
    if not input.is_floating_point():
        raise DTypeError(
            f"mm: expected floating-point values for {reduce}, got {input.dtype} "
            "(W.float() converts them)"
        )
    refuse_anchored(f"mm of {reduce}", input)
    pattern = input.pattern
    ones = SparseTensor(pattern, pattern.ones)
    counted = SparseTensor(pattern, pattern.ones.to(torch.int64))
    counts = total(counted, {1}).unsqueeze(1)
    if reduce == "mean":
        return matmul(input, mat2) / counts.clamp(min=1)
    # Half of a product's digits are cut off where it is stored in 16 bits: it would not
    # equal the one that was found.
    wide = torch.promote_types(input.dtype, torch.float32)
    operands = {"M": ones, "A": input.to(wide), "x": mat2.to(wide)}
    return _extreme(operands, counts, reduce == "amax").to(input.dtype)


def _extreme(operands: dict[str, Any], counts: Tensor, largest: bool) -> Tensor:
    without_graph = {name: tensor.detach() for name, tensor in operands.items()}
    found = _of(_LARGEST if largest else _SMALLEST, without_graph)
    made = torch.where(counts > 0, found, 0)
    if not torch.is_grad_enabled() or not any(
        tensor.requires_grad for tensor in operands.values()
    ):
        return made
    equal = _of(_COUNT, {**without_graph, "C": found})
    shares = equal.clamp(min=1).reciprocal()
    return valued(_of(_PICKED, {**operands, "C": found, "s": shares}), made)


_LARGEST = assignment_expression(
    "C[i,j] = max(k, where(M[i,k], A[i,k] * x[k,j], -inf))"
)
_SMALLEST = assignment_expression(
    "C[i,j] = min(k, where(M[i,k], A[i,k] * x[k,j], inf))"
)
_COUNT = assignment_expression(
    "N[i,j] = M[i,k] * where(A[i,k] * x[k,j] == C[i,j], 1.0, 0.0)"
)
_PICKED = assignment_expression(
    "y[i,j] = M[i,k] * where(A[i,k] * x[k,j] == C[i,j], A[i,k] * x[k,j], 0) * s[i,j]"
)


def _of(expression: Expression, operands: dict[str, Any]) -> Tensor:
    named = [operands[name] for name in expression.tensors]
    made: Tensor = compute(expression, named, _DENSE)
    return made


@implements([torch.sparse.mm])
def _sparse_mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Any:
    if reduce is None or reduce == "sum":
        return torch.mm(mat1, mat2)
    if not isinstance(mat1, SparseTensor) or isinstance(mat2, SparseTensor):
        raise FormatError(
            f"mm of {reduce}: expected a sparse matrix times a dense one, got "
            f"{type(mat1).__name__} and {type(mat2).__name__}"
        )
    return reduced_product(mat1, mat2, reduce)
