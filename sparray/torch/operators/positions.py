"""Largest and smallest elements along one dimension, with where they are.

Of equal elements it is the first, and its gradient is all of theirs, as torch's is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparray.functions.reductions.positions import argmax, argmin
from sparray.sparse_array import SparseArray
from sparray.torch.operators.conversions import to_dense
from sparray.torch.operators.extremes import extreme, is_ordered
from sparray.torch.operators.operands import dimension
from sparray.torch.operators.structure import moved
from sparray.torch.table import TABLE, implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

_ARGUMENTS = {True: argmax, False: argmin}


def _positions(
    input: SparseTensor, dim: int | None, keepdim: bool, largest: bool
) -> Tensor:
    """Return where the largest or smallest elements are: int64."""
    axis = None if dim is None else dimension("dim", dim, input.dim())
    # What is differentiated is chosen by values alone.
    array = input.detach().to_array()  # type: ignore[attr-defined]
    found = _ARGUMENTS[largest](array, axis=axis, keepdims=keepdim)
    dense = found.todense() if isinstance(found, SparseArray) else found
    return torch.from_numpy(np.array(dense, np.int64))


def _elements(input: SparseTensor, axis: int, positions: Tensor) -> Tensor:
    """Return the elements at positions along an axis, part of the graph."""
    kept = [extent for n, extent in enumerate(input.shape) if n != axis]
    index = list(np.indices(kept, sparse=True))
    index.insert(axis, positions.numpy())
    made = moved(lambda array: array[tuple(index)], input)
    return to_dense(made) if isinstance(made, SparseTensor) else made


def _register_positions(function: Callable[..., Any], largest: bool) -> None:
    @implements([function])
    def positions(
        input: SparseTensor, dim: int | None = None, keepdim: bool = False
    ) -> Any:
        if not is_ordered(input):
            return NotImplemented
        return _positions(input, dim, keepdim, largest)


def _register_both(name: str, function: Callable[..., Any], largest: bool) -> None:
    of_all = TABLE[function]
    of_two = TABLE[getattr(torch, f"{name}imum")]
    pair = getattr(torch.return_types, name)

    @implements([function])
    def extremes(input: Any, *args: Any, **kwargs: Any) -> Any:
        other = args[0] if args else kwargs.get("other")
        if isinstance(other, Tensor):
            return of_two(input, other)
        if not args and "dim" not in kwargs:
            return of_all(input, *args, **kwargs)
        return along(input, *args, **kwargs)

    def along(
        input: SparseTensor, dim: int, keepdim: bool = False, *, out: Any = None
    ) -> Any:
        if out is not None or not is_ordered(input):
            return NotImplemented
        axis = dimension("dim", dim, input.dim())
        found = _positions(input, axis, False, largest)
        if input.dim() == 1:
            values = extreme(input, axis, False, largest)
        else:
            values = _elements(input, axis, found)
        if keepdim:
            values, found = values.unsqueeze(axis), found.unsqueeze(axis)
        return pair((values, found))


_register_positions(torch.argmax, True)
_register_positions(Tensor.argmax, True)
_register_positions(torch.argmin, False)
_register_positions(Tensor.argmin, False)
for _name, _largest in (("max", True), ("min", False)):
    for _owner in (torch, Tensor):
        _register_both(_name, getattr(_owner, _name), _largest)
