"""Models whose sparse parameters are plain tensors to everything but their modules."""

from torch import Tensor, nn
from torch.nn.utils import parametrize

from sparray.torch.pattern import Pattern
from sparray.torch.tensor import SparseTensor

__all__ = ["unwrap_", "wrap_"]


class _OfValues(nn.Module):
    """A parametrization: the sparse tensor that a pattern makes of values."""

    def __init__(self, pattern: Pattern) -> None:
        super().__init__()
        self.pattern = pattern

    def forward(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self.pattern, values)

    def right_inverse(self, tensor: SparseTensor) -> tuple[Tensor]:
        # A tuple, as one tensor would be put into the wrapper.
        return (tensor.values(),)


def unwrap_(module: nn.Module) -> nn.Module:
    """Make a plain parameter of the values of each sparse one.

    Parameters
    ----------
    module : nn.Module
        Changed in place. What was ``layer.weight`` is a vector of values by the name
        ``layer.parametrizations.weight.original0``; ``layer.weight`` still is the
        sparse tensor, made of it when it is asked for.

    Returns
    -------
    nn.Module
        The module. An optimizer is to be given its parameters again.

    Notes
    -----
    For what handles parameters below torch's functions: DistributedDataParallel, which
    joins them in buckets, and `torch.export`, which makes inputs of them. Patterns stay
    as they are until `wrap_`.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> layer.weight = torch.nn.Parameter(spt.tensor(torch.eye(2), "csr"))
    >>> [(name, tuple(p.shape)) for name, p in spt.unwrap_(layer).named_parameters()]
    [('parametrizations.weight.original0', (2,))]
    >>> spt.wrap_(layer).weight.format.name
    'csr'
    """
    for owner in list(module.modules()):
        for name, parameter in list(owner.named_parameters(recurse=False)):
            if isinstance(parameter, SparseTensor):
                made = _OfValues(parameter.pattern)
                parametrize.register_parametrization(owner, name, made, unsafe=True)
    return module


def wrap_(module: nn.Module) -> nn.Module:
    """Make sparse parameters again of what `unwrap_` made plain ones of.

    Parameters
    ----------
    module : nn.Module
        Changed in place.

    Returns
    -------
    nn.Module
        The module. An optimizer is to be given its parameters again.
    """
    for owner in list(module.modules()):
        if not parametrize.is_parametrized(owner):
            continue
        lists = owner.parametrizations
        for name, listed in list(lists.items()):  # type: ignore[operator, union-attr]
            if isinstance(listed[0], _OfValues):
                values = listed.original0
                made = SparseTensor(listed[0].pattern, values.detach())
                grad = values.grad
                parametrize.remove_parametrizations(owner, name)
                parameter = nn.Parameter(made, values.requires_grad)
                if grad is not None:
                    parameter.grad = made.with_values(grad)
                setattr(owner, name, parameter)
    return module
