"""What optimizers may step on that know vectors alone."""

from collections.abc import Iterable

from torch import Tensor

from sparray.torch.tensor import values_of

__all__ = ["leaves"]


def leaves(parameters: Iterable[Tensor]) -> list[Tensor]:
    """Return the stored values of sparse parameters, and others as they are.

    Parameters
    ----------
    parameters : iterable of Tensor
        Such as ``model.parameters()``.

    Returns
    -------
    list of Tensor
        Leaves of the graph, shared with the parameters: one value for each stored
        entry of a sparse one.

    Notes
    -----
    Most optimizers step on sparse parameters as they are. These are for those that
    look at more than one element at a time: ``LBFGS`` has one long vector of all
    parameters, ``Adafactor`` means of rows and of columns, which would be dense. A
    leaf is another one after a sparsifier has chosen again.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.tensor(torch.eye(3), "csr", requires_grad=True)
    >>> optimizer = torch.optim.LBFGS(spt.leaves([W]))
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (W @ torch.ones(3)).sub(2).square().sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> W.values().detach().round(decimals=3)
    tensor([2., 2., 2.])
    """
    return [values_of(parameter) for parameter in parameters]
