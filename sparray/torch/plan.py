"""A plan: which parameters and outputs of a model are sparse, and how."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from torch import Tensor, nn

from sparray.errors import PlanError
from sparray.formats.format import Format
from sparray.torch.sparsifiers.magnitude import Magnitude
from sparray.torch.sparsifiers.sparsifier import Sparsifier

__all__ = ["Place", "Plan", "Sparse", "places_of", "planned"]

_LISTED = 8
_CALL = "()"


@dataclass(frozen=True, slots=True)
class Sparse:
    """What a parameter, or the output of a module, becomes.

    Attributes
    ----------
    sparsifier : Sparsifier
        Chooses what is kept. One that observes is copied for each parameter.
    format : str or Format, optional
        By default that of the sparsifier.
    together : bool
        Whether the fraction is of all parameters that the key matches, as one set of
        elements, and not of each of them: for `Magnitude` alone.
    """

    sparsifier: Sparsifier
    format: str | Format | None = None
    together: bool = False

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
"""Keys are patterns as of a shell: ``*`` stands for any characters, dots included. One
that ends with ``()`` matches names of modules, and means their outputs; all others
match names of parameters."""


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


def planned(
    model: nn.Module, plan: Plan
) -> tuple[list[tuple[Place, str]], list[tuple[str, nn.Module, str]]]:
    """Return what a plan says of a model's parameters and of its modules' outputs.

    Returns
    -------
    parameters : list of (Place, str)
        Each with the key that matches it.
    outputs : list of (str, Module, str)
        The name of each module, the module, and the key that matches it.

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
    modules = {name + _CALL: module for name, module in model.named_modules()}
    matched = _matched(plan, [*places, *modules])
    parameters = [(places[name], matched[name]) for name in places if name in matched]
    outputs = [
        (name.removesuffix(_CALL), module, matched[name])
        for name, module in modules.items()
        if name in matched
    ]
    return parameters, outputs


def _matched(plan: Plan, names: list[str]) -> dict[str, str]:
    matched: dict[str, str] = {}
    for key in plan:
        mine = [
            name
            for name in names
            if name.endswith(_CALL) == key.endswith(_CALL) and _matches(name, key)
        ]
        if not mine:
            raise PlanError(f"plan: {key!r} matches nothing; {_there_are(key, names)}")
        for name in mine:
            if name in matched:
                raise PlanError(
                    f"plan: expected one key for {name}, got {matched[name]!r} and "
                    f"{key!r}"
                )
            matched[name] = key
    return matched


def _matches(name: str, key: str) -> bool:
    # The brackets are no part of the pattern.
    return fnmatchcase(name.removesuffix(_CALL), key.removesuffix(_CALL))


def _there_are(key: str, names: list[str]) -> str:
    kind = "modules" if key.endswith(_CALL) else "parameters"
    listed = [name for name in names if name.endswith(_CALL) == key.endswith(_CALL)]
    more = "" if len(listed) <= _LISTED else f" and {len(listed) - _LISTED} more"
    return f"there are the {kind} {', '.join(listed[:_LISTED])}{more}"
