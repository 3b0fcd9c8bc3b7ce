"""Arithmetic of two tensors, with broadcasting."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.operands import compute
from sparray.torch.operators.pointwise import on_values
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor, values_of

__all__ = ["broadcast"]


@implements([torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__])
def _add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    return _binary("+", input, other if alpha == 1 else other * alpha)


@implements([torch.sub, Tensor.sub, torch.subtract, Tensor.subtract, Tensor.__sub__])
def _sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    return _binary("-", input, other if alpha == 1 else other * alpha)


@implements([torch.rsub, Tensor.__rsub__])
def _reflected_sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _binary("-", other, input if alpha == 1 else input * alpha)


@implements(
    [
        torch.mul,
        Tensor.mul,
        torch.multiply,
        Tensor.multiply,
        Tensor.__mul__,
        Tensor.__rmul__,
    ]
)
def _mul(input: Any, other: Any, *, out: Any = None) -> Any:
    return NotImplemented if out is not None else _binary("*", input, other)


@implements(
    [
        torch.div,
        Tensor.div,
        torch.divide,
        Tensor.divide,
        torch.true_divide,
        Tensor.true_divide,
        Tensor.__truediv__,
        Tensor.__div__,
    ]
)
def _div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None
) -> Any:
    if rounding_mode is not None or out is not None:
        return NotImplemented
    return _binary("/", input, other)


@implements([Tensor.__rtruediv__, Tensor.__rdiv__])
def _reflected_div(self: Any, other: Any) -> Any:
    return _binary("/", other, self)


_TORCH: dict[str, Callable[..., Any]] = {
    "+": torch.add,
    "-": torch.sub,
    "*": torch.mul,
    "/": torch.div,
}


def _binary(symbol: str, left: Any, right: Any) -> Any:
    is_scalar = [not isinstance(t, Tensor) or t.dim() == 0 for t in (left, right)]
    both_sparse = isinstance(left, SparseTensor) and isinstance(right, SparseTensor)
    if any(is_scalar) or both_sparse:
        made = _of_one_pattern(symbol, left, right, any(is_scalar))
        if made is not NotImplemented or any(is_scalar):
            return made
    if symbol == "/" and isinstance(right, SparseTensor):
        # Where both are absent it would be 0 / 0.
        return NotImplemented
    dtype = torch.promote_types(left.dtype, right.dtype)
    if symbol == "/" and not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    return broadcast(f"{{0}} {symbol} {{1}}", [left.to(dtype), right.to(dtype)])


def _of_one_pattern(symbol: str, left: Any, right: Any, is_scalar: bool) -> Any:
    """Compute a function of numbers and tensors of one pattern.

    A number makes no dense tensor of a sparse one behind a user's back: what it leaves
    of unstored entries must be 0.
    """
    function = _TORCH[symbol]
    has_fill = any(getattr(t, "_fill", 0) != 0 for t in (left, right))
    keeps = (
        (symbol == "*" or (symbol == "/" and isinstance(left, SparseTensor)))
        if is_scalar
        else symbol != "/"
    )
    if has_fill or not keeps:
        return on_values(function, (left, right), {})
    sparse = left if isinstance(left, SparseTensor) else right
    if not is_scalar and not sparse.pattern.same_as(right.pattern):
        return NotImplemented
    refuse_anchored(symbol, left, right)
    values = function(values_of(left), values_of(right))
    return SparseTensor(sparse.pattern, values)


def broadcast(template: str, operands: Sequence[Tensor]) -> Any:
    """Compute a function of the elements of tensors that broadcast together.

    Parameters
    ----------
    template : str
        In index notation, ``{0}`` for the first operand.
    operands : sequence of torch.Tensor
        Of dtypes that fit; dimensions of extent 1 are left out of an access.

    Raises
    ------
    ShapeError
        If their shapes do not broadcast.
    """
    shapes = [tuple(tensor.shape) for tensor in operands]
    try:
        shape = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    except RuntimeError:
        raise ShapeError(
            f"{template}: expected shapes that broadcast together, got "
            + " and ".join(map(str, shapes))
        ) from None
    ndim = len(shape)
    reads, given = [], []
    for tensor in operands:
        missing = ndim - tensor.dim()
        dropped = [
            axis
            for axis, extent in enumerate(tensor.shape)
            if extent == 1 and shape[missing + axis] != 1
        ]
        given.append(_dropped(tensor, dropped))
        reads.append(
            tuple(missing + n for n in range(tensor.dim()) if n not in dropped)
        )
    return compute(_expression(template, ndim, tuple(reads)), given)


def _dropped(tensor: Tensor, axes: list[int]) -> Tensor:
    """Leave dimensions of extent 1 out; to add up one element changes nothing."""
    if not axes:
        return tensor
    if isinstance(tensor, SparseTensor):
        return torch.sum(tensor, axes)
    return tensor.squeeze(axes)


@lru_cache(maxsize=512)
def _expression(
    template: str, ndim: int, reads: tuple[tuple[int, ...], ...]
) -> Expression:
    target = ",".join(f"i{n}" for n in range(ndim))
    accesses = [_access(f"A{n}", numbers) for n, numbers in enumerate(reads)]
    return assignment_expression(f"C[{target}] = {template.format(*accesses)}")


def _access(name: str, numbers: tuple[int, ...]) -> str:
    indices = ",".join(f"i{n}" for n in numbers)
    return f"{name}[{indices}]" if indices else name
