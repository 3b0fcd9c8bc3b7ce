"""A plan: what of a model is sparse, and how.

Parameters, their gradients, outputs of modules, and results of functions in them.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from torch import Tensor, nn

from sparray.errors import PlanError
from sparray.formats.format import Format
from sparray.records import dataclass
from sparray.torch.inner_functions import functions_of
from sparray.torch.sparsifiers.magnitude import Magnitude
from sparray.torch.sparsifiers.sparsifier import Sparsifier
from sparray.torch.tensor import SparseTensor

__all__ = ["Place", "Plan", "Planned", "Sparse", "is_sparse", "places_of", "planned"]

_LISTED = 8
_CALL, _INNER, _GRAD = "()", "().", ".grad"


@dataclass(frozen=True, slots=True)
class Sparse:
    """What a parameter, a gradient, or the output of a module or function becomes.

    Attributes
    ----------
    sparsifier : Sparsifier
        Chooses what is kept. One that observes is copied for each parameter.
    format : str or Format, optional
        By default that of the sparsifier.
    together : bool
        Whether the fraction is of all parameters that the key matches, as one set of
        elements, and not of each of them: for `Magnitude` alone.
    grad : str, Format, Sparsifier or Sparse, optional
        Of what becomes sparse, the ``grad_format``: by default its own pattern.
    """

    sparsifier: Sparsifier
    format: str | Format | None = None
    together: bool = False
    grad: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.sparsifier, Sparsifier):
            raise PlanError(
                "Sparse: expected a sparsifier, such as sparray.torch.Magnitude(0.9), "
                f"got {self.sparsifier!r}"
            )
        if self.together and not isinstance(self.sparsifier, Magnitude):
            raise PlanError(
                "Sparse: expected Magnitude to choose from all parameters together, "
                f"got {self.sparsifier!r}"
            )


Plan = Mapping[str, Sparse]
"""Keys are patterns as of a shell: ``*`` stands for any characters, dots included.

- ``encoder.*.weight``: parameters;
- ``encoder.*.weight.grad``: their gradients;
- ``encoder.*()``: outputs of modules;
- ``encoder.*().relu*``: results of functions that modules call themselves: ``relu`` the
  first one of this name, ``relu_1`` the second.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A parameter: every module and attribute that it is found by.

    Attributes
    ----------
    name : str
        The first of its names.
    parameter : Tensor
        What is there: an `nn.Parameter`, of a dense or a sparse tensor.
    owners : tuple
        Modules that have it, each with the attribute's name.
    """

    name: str
    parameter: Tensor
    owners: tuple[tuple[nn.Module, str], ...]

    def put(self, parameter: nn.Parameter) -> None:
        """Replace the parameter wherever it is found."""
        for module, name in self.owners:
            setattr(module, name, parameter)


def places_of(model: nn.Module) -> Iterator[Place]:
    """Yield every parameter of a model once, whatever shares it."""
    found: dict[int, list[tuple[str, nn.Module, str]]] = {}
    for prefix, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            full = f"{prefix}.{name}" if prefix else name
            found.setdefault(id(parameter), []).append((full, module, name))
    for listed in found.values():
        name, module, attribute = listed[0]
        owners = tuple((module, attribute) for _, module, attribute in listed)
        yield Place(name, getattr(module, attribute), owners)


@dataclass(slots=True)
class Planned:
    """What a plan says of a model; each with the key that matches it.

    Attributes
    ----------
    parameters : list of (Place, str)
        What becomes sparse.
    gradients : list of (Place, str)
        Parameters whose gradient becomes so.
    outputs : list of (str, Module, str)
        Modules, and their names.
    functions : list of (str, Module, str, str)
        Modules with their names, and patterns of the functions in each.
    """

    parameters: list[tuple[Place, str]]
    gradients: list[tuple[Place, str]]
    outputs: list[tuple[str, nn.Module, str]]
    functions: list[tuple[str, nn.Module, str, str]]


def planned(model: nn.Module, plan: Plan) -> Planned:
    """Return what a plan says of a model.

    Raises
    ------
    PlanError
        If a key matches nothing, or two keys match the same.
    """
    if not plan:
        raise PlanError("plan: expected names with what they become, got none")
    for key, spec in plan.items():
        if not isinstance(spec, Sparse):
            raise PlanError(f"plan[{key!r}]: expected a Sparse, got {spec!r}")
    places = {place.name: place for place in places_of(model)}
    modules = dict(model.named_modules())
    keys: dict[str, list[str]] = {"": [], _GRAD: [], _CALL: [], _INNER: []}
    for key in plan:
        keys[_kind(key, places)].append(key)
    chosen = _matched(keys[""], list(places), "parameters")
    gradients = _matched(keys[_GRAD], [n + _GRAD for n in places], "gradients")
    outputs = _matched(keys[_CALL], list(modules), "modules")
    _check_gradients(plan, chosen, gradients, places)
    return Planned(
        [(places[n], chosen[n]) for n in places if n in chosen],
        [(places[n], gradients[n + _GRAD]) for n in places if n + _GRAD in gradients],
        [(n, modules[n], outputs[n]) for n in modules if n in outputs],
        _functions(keys[_INNER], modules),
    )


def _kind(key: str, places: Mapping[str, Place]) -> str:
    if _INNER in key:
        return _INNER
    if key.endswith(_CALL):
        return _CALL
    if key.endswith(_GRAD) and not any(fnmatchcase(name, key) for name in places):
        return _GRAD
    return ""


def _matched(keys: list[str], names: list[str], kind: str) -> dict[str, str]:
    matched: dict[str, str] = {}
    for key in keys:
        # The brackets are no part of the pattern.
        pattern = key.removesuffix(_CALL)
        mine = [name for name in names if fnmatchcase(name, pattern)]
        if not mine:
            suffix = _CALL if kind == "modules" else ""
            listed = [name + suffix for name in names]
            raise PlanError(f"plan: {key!r} matches nothing; {_are(kind, listed)}")
        for name in mine:
            if name in matched:
                raise PlanError(
                    f"plan: expected one key for {name}, got {matched[name]!r} and "
                    f"{key!r}; give one of them a narrower pattern"
                )
            matched[name] = key
    return matched


def _check_gradients(
    plan: Plan,
    chosen: Mapping[str, str],
    gradients: Mapping[str, str],
    places: Mapping[str, Place],
) -> None:
    """Raise if a gradient is said to become two things, or what it cannot be."""
    for full, key in gradients.items():
        name = full.removesuffix(_GRAD)
        spec = plan[key]
        if name in chosen and plan[chosen[name]].grad is not None:
            raise PlanError(
                f"plan: expected one key for {full}, got {key!r} and the grad= of "
                f"{chosen[name]!r}"
            )
        if spec.grad is not None or spec.together or spec.sparsifier.observes:
            raise PlanError(
                f"plan[{key!r}]: expected a sparsifier that chooses from the gradient "
                f"alone, without grad= and together=, got {spec!r}"
            )
        dense = name not in chosen and not is_sparse(places[name].parameter)
        if dense and spec.format not in (None, "dense", "coo"):
            raise PlanError(
                f"plan[{key!r}]: expected the format 'dense' or 'coo' for the gradient "
                f"of {name}, which is dense and whose gradient is torch's own, got "
                f"{spec.format!r}"
            )


def is_sparse(x: Tensor) -> bool:
    """Tell whether a tensor is one of sparray's."""
    return isinstance(x, SparseTensor)


def _functions(
    keys: list[str], modules: Mapping[str, nn.Module]
) -> list[tuple[str, nn.Module, str, str]]:
    found: list[tuple[str, nn.Module, str, str]] = []
    taken: dict[str, str] = {}
    for key in keys:
        of_modules, _, of_functions = key.partition(_INNER)
        names = [name for name in modules if fnmatchcase(name, of_modules)]
        if not names:
            listed = [name + _CALL for name in modules]
            raise PlanError(f"plan: {key!r} matches nothing; {_are('modules', listed)}")
        count, listed = len(found), []
        for name in names:
            calls = functions_of(modules[name])
            listed += [f"{name}{_INNER}{call}" for call in calls or ()]
            mine = [c for c in calls or () if fnmatchcase(c, of_functions)]
            if calls is not None and not mine:
                continue
            for call in mine or [of_functions]:
                full = f"{name}{_INNER}{call}"
                if taken.setdefault(full, key) != key:
                    raise PlanError(
                        f"plan: expected one key for {full}, got {taken[full]!r} and "
                        f"{key!r}; give one of them a narrower pattern"
                    )
            found.append((name, modules[name], of_functions, key))
        if len(found) == count:
            raise PlanError(
                f"plan: {key!r} matches nothing; {_are('functions', listed)}"
            )
    return found


def _are(kind: str, names: list[str]) -> str:
    more = "" if len(names) <= _LISTED else f" and {len(names) - _LISTED} more"
    return f"there are the {kind} {', '.join(names[:_LISTED]) or 'none'}{more}"
