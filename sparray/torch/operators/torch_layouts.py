"""Which of torch's sparse layouts a tensor shows, and its buffers by torch's names.

Libraries that take torch's own sparse tensors, as PyTorch Geometric takes adjacency
matrices, look at ``layout`` and then read the buffers of that layout beside ``values``.
So what is shown is what these buffers can say: rows or columns of csr and csc, and
coordinates, one for each value and in the order of the values, of every other format.
``is_sparse`` stays False: optimizers refuse gradients that say otherwise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._guards import TracingContext

from sparray.errors import FormatError
from sparray.formats.named import format_text, named_format
from sparray.torch.pattern import Pattern, as_tensor_of
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["layout_of"]

_COMPRESSED = {
    named_format("csr", 2): torch.sparse_csr,
    named_format("csc", 2): torch.sparse_csc,
}


def layout_of(pattern: Pattern) -> torch.layout:
    """Return the layout whose buffers say where each value of a pattern is."""
    return _COMPRESSED.get(pattern.format, torch.sparse_coo)


@implements([Tensor.layout.__get__])  # type: ignore[attr-defined]
def _layout(self: SparseTensor) -> torch.layout:
    # What traces takes a tensor apart by `__tensor_flatten__`, and asks first whether
    # it is one of torch's own sparse tensors, for which it has another way.
    is_traced = TracingContext.try_get() is not None
    return torch.strided if is_traced else layout_of(self.pattern)


def _register_buffer(
    function: Callable[..., Any], layout: torch.layout, role: str
) -> None:
    @implements([function])
    def buffer(self: SparseTensor) -> Tensor:
        found = layout_of(self.pattern)
        if found != layout:
            wanted = "csr" if layout == torch.sparse_csr else "csc"
            raise FormatError(
                f"{function.__name__}: expected a {wanted} tensor, got "
                f"{format_text(self.format)}; W.to_format({wanted!r}) is one"
            )
        pattern = self.pattern
        # In int64, as torch makes them: PyTorch Geometric's own csr attention has wrong
        # gradients where they are int32 (2.8.1, torch 2.13). A pattern's buffers are
        # read-only, so it is a copy anyway, and kept.
        made: Tensor = pattern.kept(
            ("torch", role), lambda: as_tensor_of(pattern.levels[1][role]).long()
        )
        return made


_register_buffer(Tensor.crow_indices, torch.sparse_csr, "pos")
_register_buffer(Tensor.col_indices, torch.sparse_csr, "crd")
_register_buffer(Tensor.ccol_indices, torch.sparse_csc, "pos")
_register_buffer(Tensor.row_indices, torch.sparse_csc, "crd")


@implements([Tensor.indices, Tensor._indices])
def _indices(self: SparseTensor) -> Tensor:
    """Return the coordinates of each value: ``int64[ndim, n]``."""
    coordinates: Tensor = self.pattern.kept("indices", lambda: _coordinates(self))
    return coordinates


def _coordinates(tensor: SparseTensor) -> Tensor:
    pattern = tensor.pattern
    coords, numbers = pattern.array(np.arange(pattern.n_values)).to_coords()
    if len(numbers) != pattern.n_values:
        raise FormatError(
            f"indices: expected a format each of whose values is an entry, got "
            f"{format_text(pattern.format)}, which pads; W.to_format('csr') is in one"
        )
    ordered = np.empty((len(pattern.shape), pattern.n_values), np.int64)
    ordered[:, numbers] = np.asarray(coords)
    return torch.from_numpy(ordered)


@implements([Tensor._values])
def _values(self: SparseTensor) -> Tensor:
    return self.values()


@implements([Tensor._nnz])
def _nnz(self: SparseTensor) -> int:
    return self.nnz


@implements([Tensor.coalesce, Tensor._coalesced_])
def _coalesce(self: SparseTensor, coalesced: bool = True) -> SparseTensor:
    """Return the tensor: none stores an entry twice."""
    return self
