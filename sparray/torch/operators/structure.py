"""Entries in other places: slices, shapes, joined tensors.

What moves is the number of each entry, by the function of `sparray` that moves entries.
Values follow by one gather, which torch differentiates as often as it is asked to; so
all formats and all indices that arrays know are served, and nothing is made dense.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparray.convert import from_coords
from sparray.errors import ShapeError, UnsupportedError
from sparray.functions.manipulation.dimensions import flip, roll
from sparray.functions.manipulation.joining import concat, stack
from sparray.functions.manipulation.shapes import broadcast_to, reshape
from sparray.functions.triangles import tril, triu
from sparray.sparse_array import SparseArray
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.operands import dimension
from sparray.torch.operators.transpositions import permuted
from sparray.torch.pattern import Pattern
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["moved", "reshaped"]


def moved(function: Callable[..., Any], *tensors: SparseTensor) -> Any:
    """Move entries of tensors to where a function of arrays moves them.

    Parameters
    ----------
    function : callable
        Takes an array of integers for each tensor, and returns an array of some of
        them, or one of them.
    *tensors : SparseTensor
        With one fill value.

    Returns
    -------
    SparseTensor or torch.Tensor
        Part of the graph; dense where the function gives a number.

    Raises
    ------
    UnsupportedError
        If fill values differ.
    """
    refuse_anchored("entries in other places", *tensors)
    fill = tensors[0].fill_value
    for tensor in tensors[1:]:
        if tensor.fill_value != fill and not (
            fill != fill and tensor.fill_value != tensor.fill_value
        ):
            raise UnsupportedError(
                f"expected tensors of one fill value, got {fill} and "
                f"{tensor.fill_value}"
            )
    first, arrays = 1, []
    for tensor in tensors:
        pattern = tensor.pattern
        numbers = np.arange(first, first + pattern.n_values, dtype=np.int64)
        arrays.append(pattern.array(numbers))
        first += pattern.n_values
    made = function(*arrays)
    values = _joined([tensor.values() for tensor in tensors])
    if not isinstance(made, SparseArray):
        return _gathered(values, np.asarray(made), fill)
    if made.ndim == 0:
        return _gathered(values, made.todense(), fill)
    return SparseTensor(Pattern(made), _gathered(values, made.values, fill), fill)


def _joined(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else torch.cat(values)


def _gathered(values: Tensor, numbers: Any, fill: Any) -> Tensor:
    """Return the values of these numbers; 0 is what is not stored."""
    if len(numbers.reshape(-1)) == len(values) and np.array_equal(
        numbers.reshape(-1), np.arange(1, len(values) + 1)
    ):
        # A view of a leaf is none itself, as of any tensor in torch.
        return values.view(numbers.shape)
    if len(numbers.reshape(-1)) == 0 or numbers.min() > 0:
        return values[torch.from_numpy(np.array(numbers - 1))]
    values = torch.cat([values.new_full((1,), fill), values])
    return values[torch.from_numpy(np.array(numbers))]


def reshaped(tensor: SparseTensor, shape: Sequence[int]) -> Any:
    """Return the elements in another shape of as many elements."""
    wanted = tuple(shape)
    return moved(lambda array: reshape(array, wanted), tensor)


# Functions of which the shape is all that they change.
_RESHAPES = (
    "reshape view reshape_as view_as flatten unflatten ravel squeeze unsqueeze"
).split()


def _register_reshape(function: Callable[..., Any]) -> None:
    @implements([function])
    def reshape(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, torch.dtype) for arg in (*args, *kwargs.values())):
            return NotImplemented
        like = torch.empty(input.shape, device="meta")
        others = [_meta(arg) for arg in args]
        shape = function(like, *others, **kwargs).shape
        return reshaped(input, shape)


def _meta(arg: Any) -> Any:
    return torch.empty(arg.shape, device="meta") if isinstance(arg, Tensor) else arg


for _name in _RESHAPES:
    for _owner in (torch, Tensor):
        if hasattr(_owner, _name):
            _register_reshape(getattr(_owner, _name))


@implements([Tensor.__getitem__])
def _getitem(self: SparseTensor, index: Any) -> Any:
    """Return what NumPy's rules for an index give; a copy, not a view."""
    if not isinstance(self, SparseTensor):
        return NotImplemented
    given = index if isinstance(index, tuple) else (index,)
    wanted = tuple(_index(one) for one in given)
    return moved(lambda array: array[wanted], self)


def _index(one: Any) -> Any:
    if isinstance(one, SparseTensor):
        raise UnsupportedError("expected a dense index, got a sparse one")
    if isinstance(one, Tensor):
        return one.item() if one.dim() == 0 else one.detach().numpy()
    return one


def _part(input: SparseTensor, dim: int, wanted: Any) -> Any:
    axis = dimension("dim", dim, input.dim())
    index = (slice(None),) * axis + (wanted,)
    return moved(lambda array: array[index], input)


@implements([torch.index_select, Tensor.index_select])
def _index_select(
    input: SparseTensor, dim: int, index: Tensor, *, out: Any = None
) -> Any:
    if out is not None or not isinstance(input, SparseTensor):
        return NotImplemented
    return _part(input, dim, np.atleast_1d(index.detach().numpy()))


@implements([torch.select, Tensor.select])
def _select(input: SparseTensor, dim: int, index: int) -> Any:
    return _part(input, dim, int(index))


@implements([torch.narrow, Tensor.narrow])
def _narrow(input: SparseTensor, dim: int, start: Any, length: int) -> Any:
    axis = dimension("dim", dim, input.dim())
    extent, first = input.shape[axis], int(start)
    first += extent if first < 0 else 0
    if length < 0 or not 0 <= first <= extent - length:
        raise ShapeError(
            f"narrow: expected a part of a dimension of extent {extent}, got start "
            f"{int(start)} and length {length}"
        )
    return _part(input, dim, slice(first, first + length))


def _register_parts(function: Callable[..., Any]) -> None:
    """Register a function that cuts a tensor into slices along a dimension."""

    @implements([function])
    def parts(input: SparseTensor, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else 0)
        like = torch.empty(input.shape, device="meta")
        made, start = [], 0
        for part in function(like, *args, **kwargs):
            length = part.shape[dim]
            made.append(_part(input, dim, slice(start, start + length)))
            start += length
        return tuple(made)


for _name in ("split", "chunk", "tensor_split"):
    for _owner in (torch, Tensor):
        _register_parts(getattr(_owner, _name))


@implements([torch.unbind, Tensor.unbind])
def _unbind(input: SparseTensor, dim: int = 0) -> tuple[Any, ...]:
    axis = dimension("dim", dim, input.dim())
    return tuple(_part(input, dim, n) for n in range(input.shape[axis]))


@implements([torch.flip, Tensor.flip])
def _flip(input: SparseTensor, *dims: Any, **named: Any) -> Any:
    axes = _integers(named.get("dims", dims))
    return moved(lambda array: flip(array, axis=axes), input)


@implements([torch.roll, Tensor.roll])
def _roll(input: SparseTensor, shifts: Any, dims: Any = None) -> Any:
    axes = None if dims is None or dims == () else dims
    return moved(lambda array: roll(array, shifts, axis=axes), input)


@implements([torch.tril, Tensor.tril])
def _tril(input: SparseTensor, diagonal: int = 0) -> Any:
    return moved(lambda array: tril(array, k=diagonal), input)


@implements([torch.triu, Tensor.triu])
def _triu(input: SparseTensor, diagonal: int = 0) -> Any:
    return moved(lambda array: triu(array, k=diagonal), input)


@implements([torch.diagonal, Tensor.diagonal])
def _diagonal(
    input: SparseTensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    return moved(lambda array: array.diagonal(offset, dim1, dim2), input)


@implements([torch.broadcast_to, Tensor.broadcast_to, Tensor.expand])
def _expand(input: SparseTensor, *size: Any, **named: Any) -> Any:
    """Store each entry as often as it is repeated."""
    wanted = _integers(named.get("size", size))
    shape = tuple(torch.empty(input.shape, device="meta").expand(wanted).shape)
    return moved(lambda array: broadcast_to(array, shape), input)


def _integers(given: Any) -> tuple[int, ...]:
    if len(given) == 1 and not isinstance(given[0], int):
        given = given[0]
    return tuple(int(n) for n in given)


@implements([torch.movedim, Tensor.movedim, torch.moveaxis, Tensor.moveaxis])
def _movedim(input: SparseTensor, source: Any, destination: Any) -> SparseTensor:
    # Extents that say which dimension they are: torch's rules, in Python.
    like = torch.empty(tuple(range(input.dim())), device="meta")
    return permuted(input, tuple(torch.movedim(like, source, destination).shape))


@implements([torch.cat, torch.concat, torch.concatenate])
def _cat(
    tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, axis: Any = None
) -> Any:
    along = dim if axis is None else axis
    return _together(concat, tensors, along, out, 0)


@implements([torch.stack])
def _stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Any:
    return _together(stack, tensors, dim, out, 1)


@implements([torch.vstack])
def _vstack(tensors: Sequence[Tensor], *, out: Any = None) -> Any:
    matrices = all(tensor.dim() > 1 for tensor in tensors)
    return _together(concat, tensors, 0, out, 0) if matrices else NotImplemented


@implements([torch.hstack])
def _hstack(tensors: Sequence[Tensor], *, out: Any = None) -> Any:
    matrices = all(tensor.dim() > 1 for tensor in tensors)
    return _together(concat, tensors, 1, out, 0) if matrices else NotImplemented


def _together(
    function: Callable[..., Any], tensors: Any, dim: int, out: Any, more: int
) -> Any:
    """Join tensors; of a dense one every element is stored."""
    if out is not None:
        return NotImplemented
    tensors = [t if isinstance(t, SparseTensor) else _stored(t) for t in tensors]
    axis = dimension("dim", dim, tensors[0].dim() + more)
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return moved(
        lambda *arrays: function(arrays, axis=axis), *(t.to(dtype) for t in tensors)
    )


def _stored(tensor: Tensor) -> SparseTensor:
    """Return a dense tensor with every element stored, zeros too: part of its graph."""
    shape = tuple(tensor.shape)
    coords = np.indices(shape).reshape(len(shape), -1)
    array = from_coords(coords, np.ones(tensor.numel(), np.bool_), shape)
    return SparseTensor(Pattern(array), tensor.reshape(-1))
