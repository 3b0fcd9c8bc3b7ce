"""Every way to compute a problem by one kernel: options, each in all its settings."""

from collections.abc import Iterator
from math import inf

from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.candidates import Candidate, candidates
from sparray.compiler.scheduler.knobs import Knobs, knob_settings
from sparray.compiler.scheduler.options import Option, options
from sparray.compiler.scheduler.statistics import Statistics
from sparray.records import dataclass

__all__ = ["Way", "kernel_ways"]


@dataclass(frozen=True, slots=True)
class Way:
    """One legal decision about a problem; its text names it among all the others.

    Attributes
    ----------
    option : Option or None
        Loop order, assembly and conversions; None for each sum as an array of its own.
    knobs : Knobs
        Settings of the kernel beside its loop order.
    cost : float
        The estimate, conversions included.
    """

    option: Option | None
    knobs: Knobs
    cost: float

    def __str__(self) -> str:
        if self.option is None:
            return "each sum for itself"
        candidate, output = self.option.candidate, self.option.problem.output
        said = [
            f"convert {name} to {spec.format}"
            for name, spec in self.option.convert.items()
        ]
        way = "" if candidate.choice.way is None else candidate.choice.way.value
        said.append(f"loops {' '.join(candidate.order) or '(none)'} by {way}")
        if self.option.final is not None:
            sort = ", added up in a table" if self.option.table else ""
            sort += ", sorted" if self.option.sort else ""
            said.append(f"through {output.format}{sort}")
        settings = str(self.knobs)
        return "; ".join([*said, settings] if settings else said)


def kernel_ways(
    problem: Problem, statistics: Statistics, vector_bytes: int, *, alone: bool = False
) -> Iterator[Way]:
    """Yield every way to compute a problem by one kernel and conversions around it.

    Parameters
    ----------
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of its operands.
    vector_bytes : int
        Width of the target's vector registers.
    alone : bool
        Whether the kernel must stand alone, without conversions.
    """
    found = (
        (
            Option(problem, statistics, one, one.cost, {})
            for one in candidates(problem, statistics)
        )
        if alone
        else options(problem, statistics, judge=_every, hopeless=inf)
    )
    for option in found:
        around = option.cost - option.candidate.cost
        for knobs, cost in knob_settings(
            option.candidate, option.problem, option.statistics, vector_bytes
        ):
            yield Way(option, knobs, around + cost)


def _every(
    problem: Problem, statistics: Statistics, most: float
) -> Iterator[Candidate]:
    """Look at every loop order, whatever it costs."""
    return candidates(problem, statistics)
