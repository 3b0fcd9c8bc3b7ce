"""Make a model sparse by a plan, and dense again."""

import copy
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from sparray.errors import PlanError
from sparray.torch.calibration import run
from sparray.torch.following import as_parameter, follow, onto, rechoose
from sparray.torch.plan import Place, Plan, places_of, planned
from sparray.torch.sparse_hooks import (
    gradients_in,
    put_functions,
    put_gradient,
    put_output,
    remove_functions,
    remove_gradients,
    remove_output,
)
from sparray.torch.sparsifiers.magnitude import Magnitude
from sparray.torch.sparsifiers.sparsifier import (
    Sparsifier,
    store,
    subset,
)
from sparray.torch.tensor import SparseTensor, dense_of

__all__ = ["densify", "densify_", "sparsify", "sparsify_"]

Calibrate = Callable[[nn.Module], Any]
Optimizer = torch.optim.Optimizer


def sparsify(
    model: nn.Module, plan: Plan, *, calibrate: Calibrate | None = None
) -> nn.Module:
    """Return a copy of a model with parameters and outputs sparse as a plan says.

    Parameters
    ----------
    model : Module
        It stays as it is.
    plan : mapping of str to Sparse
        Keys are names of parameters with ``*`` for any characters, or names of modules
        followed by ``()``, whose outputs are meant.
    calibrate : callable, optional
        Called with the copy, to run it on data: what sparsifiers that observe need.
        Where they observe gradients, each backward starts from gradients that are zero.

    Returns
    -------
    Module
        Its parameters are of `SparseTensor` where the plan says so: every optimizer
        steps on their values, and what is stored stays the same.

    Raises
    ------
    PlanError
        If a key matches nothing, two match the same, or data are missing.
    PatternError
        If a format cannot hold what is kept.
    ScoreError
        If a sparsifier cannot choose.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    >>> sparse = spt.sparsify(model, {"*.weight": spt.Sparse(spt.Magnitude(0.75))})
    >>> sparse[0].weight.nnz, sparse(torch.ones(2, 8)).shape
    (16, torch.Size([2, 8]))
    """
    return sparsify_(copy.deepcopy(model), plan, calibrate=calibrate)


def sparsify_(
    model: nn.Module,
    plan: Plan,
    *,
    optimizer: Optimizer | None = None,
    calibrate: Calibrate | None = None,
) -> nn.Module:
    """Make parameters and outputs of a model sparse as a plan says, in place.

    Parameters
    ----------
    model, plan
        As for `sparsify`.
    optimizer : Optimizer, optional
        Its state of each parameter follows: what is not stored any longer is dropped.
    calibrate : callable, optional
        As for `sparsify`.

    Returns
    -------
    Module
        The model itself.

    Raises
    ------
    PlanError, PatternError, ScoreError
        As `sparsify`. Then the model is unchanged.

    Notes
    -----
    A parameter that is sparse already gets a new pattern and stays the same object. One
    that several modules share is one parameter afterwards, too.
    """
    found = planned(model, plan)
    own = [(place, _own(plan[key].sparsifier)) for place, key in found.parameters]
    run(model, own, calibrate)
    keys = [key for _, key in found.parameters]
    made = _chosen(own, keys, plan)
    for (_, tensor), key in zip(made, keys, strict=True):
        tensor.grad_format = plan[key].grad
    # All are made before the first is put in its place.
    for place, tensor in made:
        _replace(place, tensor, optimizer)
    for _, module, key in found.outputs:
        put_output(module, plan[key])
    for _, module, names, key in found.functions:
        put_functions(module, {names: plan[key]})
    for place, key in found.gradients:
        module, name = place.owners[0]
        put_gradient(module, name, plan[key])
    return model


def _own(sparsifier: Sparsifier) -> Sparsifier:
    return sparsifier if sparsifier.observes is None else copy.deepcopy(sparsifier)


def _chosen(
    own: Sequence[tuple[Place, Sparsifier]], keys: Sequence[str], plan: Plan
) -> list[tuple[Place, SparseTensor]]:
    joined = {
        key: [n for n, k in enumerate(keys) if k == key]
        for key in dict.fromkeys(keys)
        if plan[key].together
    }
    masks: dict[int, Tensor] = {}
    for key, numbers in joined.items():
        sparsifier = plan[key].sparsifier
        assert isinstance(sparsifier, Magnitude)  # Sparse refuses others
        given = [own[n][0].parameter.detach() for n in numbers]
        masks |= zip(numbers, sparsifier.keep_of_all(given), strict=True)
    made = []
    for n, ((place, sparsifier), key) in enumerate(zip(own, keys, strict=True)):
        format = plan[key].format
        with torch.no_grad():
            if n in masks:
                x = place.parameter
                wanted = format or sparsifier.default_format(x.dim())
                if isinstance(x, SparseTensor):
                    tensor = subset(x, masks[n], wanted)
                else:
                    tensor = store(x, masks[n], wanted)
            else:
                tensor = sparsifier(place.parameter, format)
        made.append((place, tensor))
    return made


def _replace(place: Place, made: SparseTensor, optimizer: Optimizer | None) -> None:
    old = place.parameter
    if isinstance(old, SparseTensor):
        rechoose(old, made)
        follow(optimizer, old, old, lambda x: onto(x, made.pattern))
        return
    new = as_parameter(made, old)
    follow(optimizer, old, new, lambda x: onto(x, made.pattern))
    place.put(new)


def densify(model: nn.Module, names: str = "*") -> nn.Module:
    """Return a copy of a model in which what `sparsify` made sparse is dense.

    Parameters
    ----------
    model : Module
        It stays as it is.
    names : str
        Which parameters, gradients, outputs of modules and functions, as the keys of a
        plan: with ``*`` for any characters.

    Returns
    -------
    Module
        Entries that were not stored are 0.
    """
    return densify_(copy.deepcopy(model), names)


def densify_(
    model: nn.Module, names: str = "*", *, optimizer: Optimizer | None = None
) -> nn.Module:
    """Make dense again what `sparsify_` made sparse, in place.

    Parameters
    ----------
    model, names
        As for `densify`.
    optimizer : Optimizer, optional
        Its state of each parameter follows.

    Returns
    -------
    Module
        The model itself.

    Raises
    ------
    PlanError
        If nothing of these names is sparse.
    """
    found = False
    for place in list(places_of(model)):
        old = place.parameter
        if isinstance(old, SparseTensor) and fnmatchcase(place.name, names):
            found = True
            new = as_parameter(old.to_dense(), old)
            follow(optimizer, old, new, dense_of)
            place.put(new)
    for name, module in model.named_modules():
        found = _remove_hooks(name, module, names) or found
    if not found:
        raise PlanError(f"densify: {names!r} matches nothing that is sparse")
    return model


def _remove_hooks(name: str, module: nn.Module, names: str) -> bool:
    found = False
    if fnmatchcase(name, names.removesuffix("()")):
        found = remove_output(module)
    of_modules, dot, of_functions = names.partition("().")
    if fnmatchcase(name, of_modules) and (dot or names == "*"):
        found = remove_functions(module, of_functions or "*") or found
    for parameter in gradients_in(module):
        full = f"{name}.{parameter}.grad" if name else f"{parameter}.grad"
        if fnmatchcase(full, names):
            found = remove_gradients(module, parameter) or found
    return found
