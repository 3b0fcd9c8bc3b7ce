"""Sparse tensors in PyTorch: any format, compiled operators, gradients.

import sparray.torch as spt

W = spt.tensor(x, format="csr", requires_grad=True)
y = torch.nn.functional.linear(x, W, b)
y.sum().backward()
W.grad, W.values(), W.format
"""

try:
    import torch as _torch  # noqa: F401 - to say what is missing, if it is
except ImportError as error:
    from sparray.errors import MissingExtraError

    raise MissingExtraError(
        "sparray.torch: expected PyTorch to be installed, got none "
        f"({error}); pip install 'sparray-levels[torch]' installs it"
    ) from error

from sparray.formats.naming import register_format
from sparray.torch import operators
from sparray.torch.creation import as_tensor, from_buffers, tensor
from sparray.torch.dispatch import explain, strict
from sparray.torch.expressions import compute
from sparray.torch.parameters import leaves
from sparray.torch.pattern import Pattern
from sparray.torch.plain import from_plain, to_plain
from sparray.torch.plan import Sparse
from sparray.torch.registry import register_backward, register_op
from sparray.torch.schedules import Cubic, LayerWise, OneShot, Periodic, Schedule
from sparray.torch.sparsifiers import (
    NM,
    SET,
    Fisher,
    GroupedNM,
    HardConcrete,
    KeepAll,
    KeepNonzero,
    Magnitude,
    Movement,
    Needs,
    Observed,
    PerBlock,
    RandomFraction,
    RigL,
    SparseGPT,
    Sparsifier,
    Threshold,
    Wanda,
    WholeBlocks,
)
from sparray.torch.sparsifiers.registering import register_sparsifier
from sparray.torch.sparsify import densify, densify_, sparsify, sparsify_
from sparray.torch.summary import summary
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor
from sparray.torch.torch_sparse import from_torch_sparse, to_torch_sparse
from sparray.torch.unwrapping import unwrap_, wrap_

__all__ = [
    "Sparse",
    "Cubic",
    "LayerWise",
    "OneShot",
    "Periodic",
    "Schedule",
    "densify",
    "densify_",
    "sparsify",
    "sparsify_",
    "summary",
    "register_backward",
    "register_format",
    "register_op",
    "register_sparsifier",
    "Observed",
    "NM",
    "SET",
    "Fisher",
    "GroupedNM",
    "HardConcrete",
    "KeepAll",
    "KeepNonzero",
    "Magnitude",
    "Movement",
    "Needs",
    "PerBlock",
    "RandomFraction",
    "RigL",
    "SparseGPT",
    "Sparsifier",
    "Threshold",
    "Wanda",
    "WholeBlocks",
    "Pattern",
    "SparseTensor",
    "as_tensor",
    "compute",
    "explain",
    "from_buffers",
    "from_plain",
    "from_torch_sparse",
    "implements",
    "leaves",
    "operators",
    "strict",
    "tensor",
    "to_plain",
    "to_torch_sparse",
    "unwrap_",
    "wrap_",
]
