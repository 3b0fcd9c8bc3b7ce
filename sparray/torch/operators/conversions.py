"""Other formats, layouts, dtypes; copies and what is left of the graph."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparray.errors import DeviceError, UnsupportedError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.torch.autograd import check_operand, record_conversion
from sparray.torch.gradient_formats import carry, refuse_anchored
from sparray.torch.operators.operands import compute
from sparray.torch.pattern import as_tensor_of
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["to_dense", "to_format"]


@lru_cache(maxsize=64)
def _copy(ndim: int) -> Expression:
    indices = ",".join(f"i{n}" for n in range(ndim))
    return assignment_expression(f"C[{indices}] = A[{indices}]")


def to_dense(tensor: SparseTensor) -> Tensor:
    """Return every element as a strided tensor, part of the graph."""
    copy = _copy(tensor.dim())
    format = named_format("dense", tensor.dim())
    fill = tensor.fill_value
    plain = carry(tensor, SparseTensor(tensor.pattern, tensor.values()))
    made: Tensor = compute(copy, [plain], format)
    if fill == 0:
        return made
    # Not by arithmetic, which a fill value of NaN or inf would spoil.
    ones = SparseTensor(tensor.pattern, tensor.pattern.ones)
    return torch.where(compute(copy, [ones], format), made, fill)


def to_format(tensor: SparseTensor, format: str | Format) -> SparseTensor:
    """Return a tensor in another format, part of the graph."""
    wanted = as_format(format, tensor.dim())
    if wanted == tensor.format:
        return tensor
    record_conversion(tensor.format, wanted)
    pattern, places = tensor.pattern.converted(wanted)
    values = tensor.values()
    if places is not None:
        if len(places) and places.min() < 0:
            # -1 is the last one: what a format pads with.
            padding = values.new_full((1,), tensor.fill_value)
            values = torch.cat([values, padding])
            places = np.where(places < 0, len(values) - 1, places)
        values = values.index_select(0, torch.from_numpy(places))
    return carry(tensor, SparseTensor(pattern, values, tensor.fill_value))


def _without_fill(tensor: SparseTensor, what: str) -> SparseTensor:
    refuse_anchored(what, tensor)
    if tensor.fill_value != 0:
        raise UnsupportedError(
            f"{what}: expected a tensor with fill value 0, got {tensor.fill_value}"
        )
    return tensor


@implements([Tensor.to_sparse_csr])
def to_sparse_csr(self: SparseTensor, dense_dim: int | None = None) -> Tensor:
    """Return a torch.sparse CSR tensor that shares all buffers with a csr one."""
    made = to_format(_without_fill(self, "to_sparse_csr"), "csr")
    return _compressed(torch.sparse_csr_tensor, made)


@implements([Tensor.to_sparse_csc])
def to_sparse_csc(self: SparseTensor, dense_dim: int | None = None) -> Tensor:
    """Return a torch.sparse CSC tensor that shares all buffers with a csc one."""
    made = to_format(_without_fill(self, "to_sparse_csc"), "csc")
    return _compressed(torch.sparse_csc_tensor, made)


def _compressed(make: Any, tensor: SparseTensor) -> Tensor:
    level = tensor.pattern.levels[1]
    pos, crd = as_tensor_of(level["pos"]), as_tensor_of(level["crd"])
    made: Tensor = make(
        pos, crd, tensor.values(), tuple(tensor.shape), check_invariants=False
    )
    return made


@implements([torch.Tensor.to_sparse_coo])
def to_sparse_coo(self: SparseTensor) -> Tensor:
    """Return a torch.sparse COO tensor; it shares the values of a coo one."""
    made = to_format(_without_fill(self, "to_sparse_coo"), "coo")
    indices = np.array([level["crd"] for level in made.pattern.levels], np.int64)
    return torch.sparse_coo_tensor(
        torch.from_numpy(indices),
        made.values(),
        tuple(made.shape),
        is_coalesced=True,
        check_invariants=False,
    )


_LAYOUTS = {
    torch.sparse_coo: to_sparse_coo,
    torch.sparse_csr: to_sparse_csr,
    torch.sparse_csc: to_sparse_csc,
}


@implements([Tensor.to_sparse])
def _to_sparse(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
    layout = kwargs.pop("layout", None) or torch.sparse_coo
    if args or kwargs or layout not in _LAYOUTS:
        return NotImplemented
    return _LAYOUTS[layout](self)


@implements([Tensor.to])
def _to(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    copy = kwargs.pop("copy", False)
    device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
    if device is not None and device.type != "cpu":
        raise DeviceError(
            f"device: expected cpu, the only one that kernels are compiled for, got "
            f"{device}"
        )
    return _cast(self, dtype or self.dtype, copy)


def _cast(tensor: SparseTensor, dtype: torch.dtype, copy: bool = False) -> SparseTensor:
    if dtype == tensor.dtype and not copy:
        return tensor
    values = tensor.values().to(dtype, copy=copy)
    check_operand("values", values)
    fill = tensor.fill_value
    if fill != 0:
        fill = torch.tensor(fill).to(dtype).item()
    made = SparseTensor(tensor.pattern, values, fill)
    return carry(tensor, made, lambda anchor: anchor.to(dtype))


def _register_cast(function: Any, dtype: torch.dtype) -> None:
    @implements([function])
    def cast(self: SparseTensor) -> SparseTensor:
        return _cast(self, dtype)


for _function, _dtype in (
    (Tensor.float, torch.float32),
    (Tensor.double, torch.float64),
    (Tensor.half, torch.float16),
    (Tensor.bfloat16, torch.bfloat16),
    (Tensor.int, torch.int32),
    (Tensor.long, torch.int64),
    (Tensor.bool, torch.bool),
    (Tensor.cfloat, torch.complex64),  # type: ignore[attr-defined]
    (Tensor.cdouble, torch.complex128),  # type: ignore[attr-defined]
):
    _register_cast(_function, _dtype)


@implements([Tensor.type_as])
def _type_as(self: SparseTensor, other: Tensor) -> SparseTensor:
    return _cast(self, other.dtype)


@implements([Tensor.cpu, Tensor.contiguous])
def _same(self: SparseTensor, memory_format: Any = None) -> SparseTensor:
    return self


@implements([torch.clone, Tensor.clone])
def _clone(input: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    made = SparseTensor(input.pattern, input.values().clone(), input.fill_value)
    return carry(input, made)


@implements([torch.detach, Tensor.detach])
def _detach(self: SparseTensor) -> SparseTensor:
    made = SparseTensor(self.pattern, self.values().detach(), self.fill_value)
    return carry(self, made)


@implements([torch.detach_, Tensor.detach_])
def _detach_(self: SparseTensor) -> SparseTensor:
    self.values().detach_()
    return self


@implements([torch.zeros_like, torch.empty_like])
def _zeros_like(input: SparseTensor, **options: Any) -> Any:
    return _full_like(input, 0, **options)


@implements([torch.ones_like])
def _ones_like(input: SparseTensor, **options: Any) -> Any:
    return _full_like(input, 1, **options)


@implements([torch.full_like])
def _full_like(
    input: SparseTensor,
    fill_value: Any,
    *,
    dtype: torch.dtype | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> SparseTensor:
    """Return one value everywhere: stored entries and the fill value alike."""
    values = torch.full_like(
        input.values(), fill_value, dtype=dtype, requires_grad=requires_grad
    )
    fill = torch.full((), fill_value, dtype=values.dtype).item()
    # The state of an optimizer is changed by gradients, too.
    return carry(input, SparseTensor(input.pattern, values, fill))
