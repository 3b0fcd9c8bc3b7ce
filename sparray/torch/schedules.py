"""When a model's parameters become sparse, and how far: schedules that step."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from sparray.errors import PlanError
from sparray.torch.plan import Plan, planned
from sparray.torch.sparsifiers.regrow import Regrow
from sparray.torch.sparsify import sparsify_

__all__ = ["Cubic", "LayerWise", "OneShot", "Periodic", "Schedule"]


@dataclass(frozen=True, slots=True)
class OneShot:
    """Everything at one step.

    Attributes
    ----------
    at : int
        The step, counted from 0.
    """

    at: int = 0


@dataclass(frozen=True, slots=True)
class Cubic:
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
class Periodic:
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
class LayerWise:
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


class Schedule:
    """Makes a model sparse while it is trained.

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
        when: OneShot | Cubic | Periodic | LayerWise,
        optimizer: torch.optim.Optimizer | None = None,
        calibrate: Callable[[nn.Module], Any] | None = None,
    ) -> None:
        parameters, _ = planned(model, plan)
        self.model, self.plan, self.when = model, dict(plan), when
        self.optimizer, self.calibrate = optimizer, calibrate
        self.steps = 0
        self._names = [place.name for place, _ in parameters]
        self._keys = dict(zip(self._names, (key for _, key in parameters), strict=True))
        if isinstance(when, Cubic | Periodic):
            self._check_fractions()

    def _check_fractions(self) -> None:
        exchanges = isinstance(self.when, Periodic)
        for key, spec in self.plan.items():
            given = spec.sparsifier
            if isinstance(given, Regrow) != exchanges or not hasattr(given, "fraction"):
                kind = (
                    "exchanged, as of RigL" if exchanges else "dropped, as of Magnitude"
                )
                raise PlanError(
                    f"plan[{key!r}]: expected a sparsifier with a fraction that is "
                    f"{kind}, for {self.when}, got {given!r}"
                )

    def step(self) -> bool:
        """Go one step on, after the optimizer's; tell whether something changed."""
        now, self.steps = self.steps, self.steps + 1
        plan = self._plan_at(now)
        if not plan:
            return False
        sparsify_(self.model, plan, optimizer=self.optimizer, calibrate=self.calibrate)
        return True

    def _plan_at(self, step: int) -> Plan:
        when = self.when
        if isinstance(when, LayerWise):
            number, rest = divmod(step - when.begin, when.every)
            if rest or not 0 <= number < len(self._names):
                return {}
            name = self._names[number]
            return {name: self.plan[self._keys[name]]}
        if isinstance(when, OneShot):
            return self.plan if step == when.at else {}
        changed: dict[str, Any] = {}
        for key, spec in self.plan.items():
            fraction = when.fraction(step, _fraction(spec.sparsifier))
            if fraction is not None:
                changed[key] = replace(spec, sparsifier=_at(spec.sparsifier, fraction))
        return changed

    def state_dict(self) -> dict[str, int]:
        """Return how far it is: what `load_state_dict` takes."""
        return {"steps": self.steps}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from where another one was."""
        self.steps = int(state["steps"])


def _fraction(sparsifier: Any) -> float:
    return float(sparsifier.fraction)


def _at(sparsifier: Any, fraction: float) -> Any:
    """Return a sparsifier with another fraction; what it observed is shared."""
    made = copy.copy(sparsifier)
    made.fraction = fraction
    return made
