"""When a model's parameters become sparse, and how far: schedules that step."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import nn

from sparray.errors import PlanError
from sparray.records import dataclass
from sparray.torch.gradient_formats import unwatch, watch
from sparray.torch.plan import Plan, Sparse, planned
from sparray.torch.sparsifiers.regrow import Regrow
from sparray.torch.sparsifiers.sparsifier import Observed
from sparray.torch.sparsify import sparsify_
from sparray.torch.tensor import SparseTensor

__all__ = ["Cubic", "LayerWise", "OneShot", "Periodic", "Schedule"]


class When(ABC):
    """At which steps of training something of a plan is due, and how far."""

    @abstractmethod
    def due(self, step: int, plan: Plan, keys: Mapping[str, str]) -> Plan:
        """Return what is to be carried out after a step, counted from 0.

        Parameters
        ----------
        step : int
            Counted from 0.
        plan : mapping of str to Sparse
            Where it ends.
        keys : mapping of str to str
            The plan's key for each parameter, in the model's order.
        """


class Fractions(When):
    """Changes the fraction of each sparsifier from step to step."""

    exchanges: ClassVar[bool] = False

    @abstractmethod
    def fraction(self, step: int, final: float) -> float | None:
        """Return the fraction after a step, or None for no change."""

    def due(self, step: int, plan: Plan, keys: Mapping[str, str]) -> Plan:
        """Return the plan with the fractions of a step, where it has one."""
        found: dict[str, Sparse] = {}
        for key, spec in plan.items():
            # What was observed is shared by the copies.
            sparsifier: Any = copy.copy(spec.sparsifier)
            fraction = self.fraction(step, sparsifier.fraction)
            if fraction is not None:
                sparsifier.fraction = fraction
                found[key] = replace(spec, sparsifier=sparsifier)
        return found

    def check(self, plan: Plan) -> None:
        """Raise if a sparsifier has no fraction of the kind that is changed.

        Raises
        ------
        PlanError
            If there is one.
        """
        for key, spec in plan.items():
            given = spec.sparsifier
            right_kind = isinstance(given, Regrow) == self.exchanges
            if not right_kind or not hasattr(given, "fraction"):
                kind = "dropped, as of Magnitude"
                if self.exchanges:
                    kind = "exchanged, as of RigL"
                raise PlanError(
                    f"plan[{key!r}]: expected a sparsifier with a fraction that is "
                    f"{kind}, for {self}, got {given!r}"
                )


@dataclass(frozen=True, slots=True)
class OneShot(When):
    """Everything at one step.

    Attributes
    ----------
    at : int
        The step, counted from 0.
    """

    at: int = 0

    def due(self, step: int, plan: Plan, keys: Mapping[str, str]) -> Plan:
        """Return all of the plan at the one step."""
        return plan if step == self.at else {}


@dataclass(frozen=True, slots=True)
class Cubic(Fractions):
    """More and more, fast at first.

    Attributes
    ----------
    begin, end : int
        The steps of the first and of the last change, counted from 0.
    every : int
        Steps from one change to the next.
    initial : float
        The fraction that is dropped at the first one.

    Notes
    -----
    ``final + (initial - final) * (1 - t) ** 3`` as ``t`` goes from 0 to 1. Source: Zhu,
    Gupta 2017, "To prune, or not to prune" (arXiv 1710.01878).
    """

    begin: int
    end: int
    every: int = 1
    initial: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.begin <= self.end or self.every < 1:
            raise PlanError(
                "Cubic: expected 0 <= begin <= end and every >= 1, got "
                f"{self.begin}, {self.end} and {self.every}"
            )

    def fraction(self, step: int, final: float) -> float | None:
        """Return the fraction to drop after a step, or None for no change."""
        if not self.begin <= step <= self.end:
            return None
        if step != self.end and (step - self.begin) % self.every:
            return None
        span = max(self.end - self.begin, 1)
        left = 1 - (step - self.begin) / span if self.end > self.begin else 0.0
        made: float = final + (self.initial - final) * left**3
        return made


@dataclass(frozen=True, slots=True)
class Periodic(Fractions):
    """Again and again: for sparsifiers that drop and regrow.

    Attributes
    ----------
    every : int
        Steps from one change to the next.
    end : int
        No change at this step and later.
    decay : bool
        Whether the fraction falls to 0 at the end, by half a cosine, as in RigL.
    """

    exchanges: ClassVar[bool] = True

    every: int
    end: int
    decay: bool = True

    def __post_init__(self) -> None:
        if self.every < 1 or self.end < 1:
            raise PlanError(
                "Periodic: expected every >= 1 and end >= 1, got "
                f"{self.every} and {self.end}"
            )

    def fraction(self, step: int, final: float) -> float | None:
        """Return the fraction to exchange after a step, or None for no change."""
        if step == 0 or step >= self.end or step % self.every:
            return None
        if not self.decay:
            return final
        angle = torch.pi * step / self.end
        return float(final / 2 * (1 + torch.cos(torch.tensor(angle))))


@dataclass(frozen=True, slots=True)
class LayerWise(When):
    """One parameter after the other, in the model's order.

    Attributes
    ----------
    every : int
        Steps from one parameter to the next.
    begin : int
        The step of the first one, counted from 0.
    """

    every: int
    begin: int = 0

    def __post_init__(self) -> None:
        if self.every < 1 or self.begin < 0:
            raise PlanError(
                "LayerWise: expected every >= 1 and begin >= 0, got "
                f"{self.every} and {self.begin}"
            )

    def due(self, step: int, plan: Plan, keys: Mapping[str, str]) -> Plan:
        """Return the part of the plan for the one parameter that is next."""
        number, rest = divmod(step - self.begin, self.every)
        if rest or not 0 <= number < len(keys):
            return {}
        name = list(keys)[number]
        return {name: plan[keys[name]]}


class Schedule:
    """Makes a model sparse while it is trained.

    What `RigL` needs, the gradient of every element, is computed by the backward of the
    steps at which it is due, and by no other.

    Parameters
    ----------
    model : Module
        Changed in place.
    plan : mapping of str to Sparse
        As for `sparsify_`: where it ends.
    when : OneShot, Cubic, Periodic or LayerWise
        At which steps something changes, and how far.
    optimizer : Optimizer, optional
        Its state follows.
    calibrate : callable, optional
        As for `sparsify`.

    Raises
    ------
    PlanError
        If a key of the plan matches nothing, two match the same, or a sparsifier has no
        fraction that ``when`` could change.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> model = torch.nn.Linear(10, 10)
    >>> optimizer = torch.optim.AdamW(model.parameters())
    >>> plan = {"weight": spt.Sparse(spt.Magnitude(0.9))}
    >>> schedule = spt.Schedule(model, plan, spt.Cubic(0, 20, every=5), optimizer)
    >>> for _ in range(30):
    ...     optimizer.zero_grad()
    ...     model(torch.ones(2, 10)).sum().backward()
    ...     optimizer.step()
    ...     changed = schedule.step()
    >>> model.weight.nnz
    10
    """

    def __init__(
        self,
        model: nn.Module,
        plan: Plan,
        when: When,
        optimizer: torch.optim.Optimizer | None = None,
        calibrate: Callable[[nn.Module], Any] | None = None,
    ) -> None:
        parameters = planned(model, plan).parameters
        self.model, self.plan, self.when = model, dict(plan), when
        self.optimizer, self.calibrate = optimizer, calibrate
        self.steps = 0
        self._growing: list[SparseTensor] = []
        self._keys = {place.name: key for place, key in parameters}
        if isinstance(when, Fractions):
            when.check(self.plan)
        self._look_ahead()

    def step(self) -> bool:
        """Go one step on, after the optimizer's; tell whether something changed."""
        now, self.steps = self.steps, self.steps + 1
        plan = self.when.due(now, self.plan, self._keys)
        if not plan:
            self._look_ahead()
            return False
        try:
            sparsify_(
                self.model, plan, optimizer=self.optimizer, calibrate=self.calibrate
            )
        finally:
            self._look_ahead()
        return True

    def _look_ahead(self) -> None:
        """Let the next backward compute dense gradients where they will be needed.

        What exchanges entries by the gradient of every element is due after a step: the
        backward of that step computes it, and no other one.
        """
        plan = self.when.due(self.steps, self.plan, self._keys)
        for parameter in self._growing:
            unwatch(parameter)
        growing = {
            key: spec
            for key, spec in plan.items()
            if spec.sparsifier.observes is Observed.GROWTH
        }
        places = planned(self.model, growing).parameters if growing else []
        found = [place.parameter for place, _ in places]
        self._growing = [p for p in found if isinstance(p, SparseTensor)]
        for parameter in self._growing:
            watch(parameter)

    def state_dict(self) -> dict[str, int]:
        """Return how far it is: what `load_state_dict` takes."""
        return {"steps": self.steps}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from where another one was."""
        self.steps = int(state["steps"])
        self._look_ahead()
