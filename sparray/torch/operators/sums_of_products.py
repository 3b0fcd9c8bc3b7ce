"""Products that are added to something, sampled, or summed over several dimensions."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.operands import compute, dimension, on_pattern, one_dtype
from sparray.torch.operators.products import matmul
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []


def _register_added(
    functions: Sequence[Any], name: str, ndims: tuple[int, int]
) -> None:
    @implements(functions)
    def added(
        input: Tensor,
        first: Tensor,
        second: Tensor,
        *,
        beta: float = 1,
        alpha: float = 1,
        out: Tensor | None = None,
    ) -> Any:
        """Add a product, times ``alpha``, to a tensor, times ``beta``."""
        if (first.dim(), second.dim()) != ndims:
            raise ShapeError(
                f"{name}: expected factors of {ndims[0]} and {ndims[1]} dimensions, "
                f"got shapes {tuple(first.shape)} and {tuple(second.shape)}"
            )
        product = matmul(first, second, out=out)
        if product is NotImplemented:
            return NotImplemented
        product = product if alpha == 1 else product * alpha
        return product if beta == 0 else input * beta + product


_register_added([torch.addmm, Tensor.addmm, torch.sparse.addmm], "addmm", (2, 2))
_register_added([torch.addmv, Tensor.addmv], "addmv", (2, 1))
_register_added([torch.baddbmm, Tensor.baddbmm], "baddbmm", (3, 3))

_SAMPLED = assignment_expression("C[i,j] = M[i,j] * A[i,k] * B[k,j]")


@implements([torch.sparse.sampled_addmm])
def _sampled_addmm(
    input: SparseTensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Any:
    """Compute a product where a sparse matrix stores entries, and add these."""
    dense = not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor)
    if out is not None or not isinstance(input, SparseTensor) or not dense:
        return NotImplemented
    one_dtype("sampled_addmm", input, mat1, mat2)
    if input.fill_value != 0:
        raise UnsupportedError(f"expected fill value 0, got {input.fill_value}")
    refuse_anchored("sampled_addmm", input)
    pattern = input.pattern
    ones = SparseTensor(pattern, pattern.ones)
    product = compute(_SAMPLED, [ones, mat1, mat2], input.format)
    values = on_pattern(product, pattern)
    values = values if alpha == 1 else values * alpha
    if beta != 0:
        values = values + input.values() * beta
    return SparseTensor(pattern, values)


@implements([torch.tensordot])
def _tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Any:
    """Sum over pairs of dimensions, as an einsum."""
    if out is not None:
        return NotImplemented
    pairs = _pairs(a, b, dims)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in range(a.dim())]
    shared = {second: left[first] for first, second in pairs}
    right = [shared.get(n) or next(letters) for n in range(b.dim())]
    kept = [x for x in left if x not in shared.values()]
    kept += [x for n, x in enumerate(right) if n not in shared]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(kept)}"
    return torch.einsum(equation, a, b)


def _pairs(a: Tensor, b: Tensor, dims: Any) -> list[tuple[int, int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        most = min(a.dim(), b.dim())
        if not 0 <= dims <= most:
            raise ShapeError(f"tensordot: expected 0 to {most} dims, got {dims}")
        dims = list(range(a.dim() - dims, a.dim())), list(range(dims))
    first, second = ([n] if isinstance(n, int) else list(n) for n in dims)
    pairs = [
        (dimension("dims", x, a.dim()), dimension("dims", y, b.dim()))
        for x, y in zip(first, second, strict=True)
    ]
    for x, y in pairs:
        if a.shape[x] != b.shape[y]:
            raise ShapeError(
                f"tensordot: expected equal extents, got {a.shape[x]} along dimension "
                f"{x} and {b.shape[y]} along dimension {y}"
            )
    return pairs
