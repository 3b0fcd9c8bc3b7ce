"""Matrix products, einsum and linear layers."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    einsum_expression,
)
from sparray.torch.operators.operands import compute, one_dtype
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["matmul"]

_MATRIX = assignment_expression("C[i,j] = A[i,k] * B[k,j]")
_MATRIX_VECTOR = assignment_expression("C[i] = A[i,k] * B[k]")
_VECTOR_MATRIX = assignment_expression("C[j] = A[k] * B[k,j]")
_VECTORS = assignment_expression("C = A[k] * B[k]")
_BY_NDIM = {
    (2, 2): _MATRIX,
    (2, 1): _MATRIX_VECTOR,
    (1, 2): _VECTOR_MATRIX,
    (1, 1): _VECTORS,
}


@implements(
    [
        torch.matmul,
        Tensor.matmul,
        Tensor.__matmul__,
        torch.linalg.matmul,
    ]
)
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Any:
    """Multiply two tensors as `torch.matmul` does; either or both may be sparse."""
    if out is not None:
        return NotImplemented
    one_dtype("matmul", input, other)
    ndims = (input.dim(), other.dim())
    expression = _BY_NDIM.get(ndims)
    if expression is not None:
        return compute(expression, [input, other])
    if 0 in ndims:
        raise ShapeError(
            f"matmul: expected operands of at least 1 dimension, got {ndims[0]} and "
            f"{ndims[1]}"
        )
    if ndims[1] <= 2 and not isinstance(input, SparseTensor):
        rows = input.reshape(-1, input.shape[-1])
        made = compute(_BY_NDIM[2, ndims[1]], [rows, other])
        if isinstance(made, SparseTensor):
            return NotImplemented
        return made.reshape(*input.shape[:-1], *other.shape[1:])
    return _batched(input, other)


def _batched(input: Tensor, other: Tensor) -> Any:
    batches = [tuple(t.shape[:-2]) if t.dim() > 2 else () for t in (input, other)]
    operands = []
    kept: list[tuple[int, ...]] = []
    for tensor, own, opposite in zip(
        (input, other), batches, reversed(batches), strict=True
    ):
        dropped = [
            axis
            for axis, extent in enumerate(own)
            if extent == 1 and opposite[axis - len(own) :][:1] not in ((), (1,))
        ]
        if dropped and isinstance(tensor, SparseTensor):
            return NotImplemented
        operands.append(tensor.squeeze(dropped) if dropped else tensor)
        numbers = (axis - len(own) for axis in range(len(own)) if axis not in dropped)
        kept.append(tuple(numbers))
    expression = _batched_expression(kept[0], kept[1], input.dim() > 1, other.dim() > 1)
    return compute(expression, operands)


@lru_cache(maxsize=256)
def _batched_expression(
    left: tuple[int, ...], right: tuple[int, ...], rows: bool, columns: bool
) -> Expression:
    """Return the product over batch dimensions, numbered from the right: -1, -2."""
    batch = [f"b{-n}" for n in sorted({*left, *right})]
    i, j = ["i"] if rows else [], ["j"] if columns else []
    a = ",".join([*(f"b{-n}" for n in left), *i, "k"])
    b = ",".join([*(f"b{-n}" for n in right), "k", *j])
    return assignment_expression(f"C[{','.join([*batch, *i, *j])}] = A[{a}] * B[{b}]")


@implements([Tensor.__rmatmul__])
def _reflected_matmul(self: Tensor, other: Tensor) -> Any:
    return matmul(other, self)


def _register_product(
    functions: Sequence[Any], name: str, ndims: Sequence[int]
) -> None:
    @implements(functions)
    def product(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Any:
        if (input.dim(), mat2.dim()) != tuple(ndims):
            raise ShapeError(
                f"{name}: expected operands of {ndims[0]} and {ndims[1]} dimensions, "
                f"got shapes {tuple(input.shape)} and {tuple(mat2.shape)}"
            )
        return matmul(input, mat2, out=out)


_register_product([torch.mm, Tensor.mm], "mm", (2, 2))
_register_product([torch.bmm, Tensor.bmm], "bmm", (3, 3))
_register_product([torch.mv, Tensor.mv], "mv", (2, 1))
_register_product([torch.dot, Tensor.dot], "dot", (1, 1))


@implements([torch.einsum])
def _einsum(equation: Any, *operands: Any) -> Any:
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        return NotImplemented
    one_dtype("einsum", *operands)
    expression = einsum_expression(equation, operands)
    has_diagonal = any(
        len(set(access.indices)) < len(access.indices)
        and (operands[n].requires_grad or isinstance(operands[n], SparseTensor))
        for access, n in expression.axes
    )
    return NotImplemented if has_diagonal else compute(expression, operands)


_LINEAR = assignment_expression("y[r,o] = x[r,i] * W[o,i]")
_LINEAR_BIAS = assignment_expression("y[r,o] = x[r,i] * W[o,i] + b[o]")


@implements([torch.nn.functional.linear])
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    given = [input, weight] if bias is None else [input, weight, bias]
    one_dtype("linear", *given)
    if weight.dim() != 2 or input.dim() < 1:
        return NotImplemented
    if isinstance(input, SparseTensor):
        product = matmul(input, weight.t())
        return product if bias is None else product + bias
    rows = input.reshape(-1, input.shape[-1])
    expression = _LINEAR if bias is None else _LINEAR_BIAS
    made = compute(expression, [rows, *given[1:]])
    if isinstance(made, SparseTensor):
        return NotImplemented
    return made.reshape(*input.shape[:-1], weight.shape[0])
