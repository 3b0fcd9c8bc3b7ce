"""The wrapper's own place in torch's graph, for what calls torch below its functions.

Autograd knows the values of a sparse tensor; the wrapper has no part in the graph, as
every function finds the values through it. But a graph that ``torch.compile`` made
takes the wrapper itself. So it is linked to its values when torch first asks what it is
made of, which guards do on each call.
"""

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from sparray.torch.tensor import SparseTensor

__all__ = ["link", "unlink"]


def link(tensor: "SparseTensor") -> None:
    """Let a gradient of the wrapper be one of its values.

    The link is made anew where the values are other ones.
    """
    values = tensor._stored
    if tensor._linked is values or type(values) not in (
        torch.Tensor,
        torch.nn.Parameter,
    ):
        return
    unlink(tensor)
    if values.requires_grad and not torch.is_inference_mode_enabled():
        with torch.enable_grad(), torch._C.DisableTorchFunctionSubclass():
            _Link.apply(tensor, values)  # type: ignore[no-untyped-call]
        tensor._linked = values


def unlink(tensor: "SparseTensor") -> None:
    """Take the wrapper out of the graph."""
    if tensor._linked is not None:
        with torch._C.DisableTorchFunctionSubclass():
            torch.Tensor.detach_(tensor)
        tensor._linked = None


class _Link(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: "SparseTensor", values: torch.Tensor) -> Any:
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[None, torch.Tensor]:
        (grad,) = grads
        return None, grad.values()
