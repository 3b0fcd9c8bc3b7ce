"""What torch knows about a sparse tensor without looking at its entries."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

_PROPERTIES = (
    "_base shape device ndim names is_cuda is_cpu is_meta is_mps is_xla "
    "is_nested is_quantized is_mkldnn is_sparse is_sparse_csr"
).split()

_METHODS = (
    "size stride _is_view untyped_storage storage_offset dim ndimension numel nelement "
    "get_device __len__ __hash__ __dir__ is_inference"
).split()

_OF_VALUES = (
    "is_floating_point is_complex is_signed is_conj is_neg element_size"
).split()


def _register_metadata(function: Any) -> None:
    @implements([function])
    def metadata(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return function(self, *args, **kwargs)


def _register_of_values(function: Any) -> None:
    @implements([function])
    def of_values(self: SparseTensor) -> Any:
        return function(self.values())


def _functions(names: list[str]) -> Iterator[Any]:
    """Yield the functions and methods of these names that this torch has."""
    for name in names:
        for owner in (torch, Tensor):
            if hasattr(owner, name):
                yield getattr(owner, name)


for _name in _PROPERTIES:
    if hasattr(Tensor, _name):
        _register_metadata(getattr(Tensor, _name).__get__)
for _function in _functions(_METHODS):
    _register_metadata(_function)
for _function in _functions(_OF_VALUES):
    _register_of_values(_function)
for _name in ("itemsize", "_version", "grad_dtype"):
    if hasattr(Tensor, _name):
        _register_of_values(getattr(Tensor, _name).__get__)


@implements([torch.is_tensor])
def _is_tensor(obj: Any) -> bool:
    return True


@implements([Tensor.nbytes.__get__])  # type: ignore[attr-defined]
def _nbytes(self: SparseTensor) -> int:
    return self.to_array().nbytes


@implements([torch.is_same_size, Tensor.is_same_size])
def _is_same_size(input: torch.Tensor, other: torch.Tensor) -> bool:
    return tuple(input.shape) == tuple(other.shape)


@implements([Tensor.is_contiguous])
def _is_contiguous(self: SparseTensor, memory_format: Any = None) -> bool:
    return True


@implements([Tensor.is_coalesced])
def _is_coalesced(self: SparseTensor) -> bool:
    return True


@implements([torch.result_type])
def _result_type(tensor: Any, other: Any) -> torch.dtype:
    # An empty tensor of as many dimensions promotes as the whole does.
    return torch.result_type(_sample(tensor), _sample(other))


@implements([torch.can_cast])
def _can_cast(from_: torch.dtype, to: torch.dtype) -> bool:
    return torch.can_cast(from_, to)


def _sample(operand: Any) -> Any:
    if isinstance(operand, SparseTensor):
        return torch.empty([0] * operand.dim(), dtype=operand.dtype)
    return operand
