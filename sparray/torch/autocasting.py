"""Operands of products in the lower precision that `torch.autocast` asks for.

Torch casts below ``__torch_function__``, where no sparse tensor arrives.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import tree_map_only

__all__ = ["cast_operands"]

# What torch computes in the lower precision on the CPU.
_LOWER = frozenset(
    {
        torch.matmul,
        Tensor.matmul,
        Tensor.__matmul__,
        Tensor.__rmatmul__,
        torch.linalg.matmul,
        torch.mm,
        Tensor.mm,
        torch.bmm,
        Tensor.bmm,
        torch.mv,
        Tensor.mv,
        torch.dot,
        Tensor.dot,
        torch.addmm,
        Tensor.addmm,
        torch.baddbmm,
        Tensor.baddbmm,
        torch.sparse.mm,
        torch.sparse.addmm,
        torch.sparse.sampled_addmm,
        torch.einsum,
        torch.tensordot,
        functional.linear,
        functional.conv1d,
        functional.conv2d,
        functional.conv3d,
        functional.scaled_dot_product_attention,
    }
)


def cast_operands(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a function as autocast wants them.

    Notes
    -----
    Floats of double precision stay as they are, as in torch. The casts are part of the
    graph: gradients come back in each operand's own dtype.
    """
    if function not in _LOWER:
        return args, kwargs
    dtype = torch.get_autocast_dtype("cpu")

    def cast(tensor: Tensor) -> Tensor:
        if tensor.is_floating_point() and tensor.dtype != torch.float64:
            return tensor.to(dtype)
        return tensor

    made: tuple[tuple[Any, ...], dict[str, Any]]
    made = tree_map_only(Tensor, cast, (args, kwargs))
    return made
