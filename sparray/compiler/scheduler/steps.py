"""The steps of a plan: kernels, and what stands between them."""

import numpy as np

from sparray.compiler.kernel_facts.gather_spec import GatherSpec
from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.decision import Decision, Reason
from sparray.compiler.scheduler.options import Option
from sparray.records import dataclass

__all__ = [
    "CutStep",
    "GatherStep",
    "KernelStep",
    "PackStep",
    "Plan",
    "SortStep",
    "Step",
    "Weighed",
    "gather_step",
    "sort_step",
]


@dataclass(frozen=True, slots=True)
class KernelStep:
    """Run one kernel.

    Attributes
    ----------
    decision : Decision
        The scheduled problem.
    operands : tuple of str
        Which arrays of the plan are the problem's operands.
    result : str
        The name of the array it makes; `names.OUTPUT` for the last one.
    """

    decision: Decision
    operands: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class SortStep:
    """Sort the entries of a coordinate list by its levels, outermost first.

    ``spec`` is what the sorted list is, ``kernel`` what sorts a long one.
    """

    source: str
    result: str
    spec: TensorSpec
    kernel: SortSpec


@dataclass(frozen=True, slots=True)
class GatherStep:
    """Add up the entries of a coordinate list that have the same coordinates.

    ``spec`` is what the list is then, in the order in which coordinates came first.
    """

    source: str
    result: str
    spec: TensorSpec
    kernel: GatherSpec


@dataclass(frozen=True, slots=True)
class PackStep:
    """Make the levels of a format that no kernel assembles, or list what none walks."""

    source: str
    result: str
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class CutStep:
    """Give each slice buffers of its own, where they are one buffer for all slices."""

    source: str
    result: str
    spec: TensorSpec


Step = KernelStep | SortStep | GatherStep | PackStep | CutStep


@dataclass(frozen=True, slots=True)
class Weighed:
    """The ways to compute one array of a plan, and the one that was taken.

    Attributes
    ----------
    result : str
        The name of the array.
    problem : Problem
        What it is.
    options : tuple of Option
        By one kernel and conversions around it.
    costs : tuple of float
        Of all the steps of each option.
    split : float or None
        The cost of computing each sum as an array first; None where that cannot be.
    chosen : Option or None
        None if the sums are computed first, or factors multiplied in pairs.
    pairs : float or None
        The cost of multiplying factors in pairs, where that is not what was chosen.
    cost : float
        Of all the steps that were taken.
    """

    result: str
    problem: Problem
    options: tuple[Option, ...]
    costs: tuple[float, ...]
    split: float | None
    chosen: Option | None
    pairs: float | None = None
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that compute a problem, in order, and what was decided.

    ``weighed`` has the other ways to compute each array.
    """

    problem: Problem
    steps: tuple[Step, ...]
    reasons: tuple[Reason, ...]
    weighed: tuple[Weighed, ...] = ()


def sort_step(
    source: str, result: str, spec: TensorSpec, ordered: TensorSpec
) -> SortStep:
    """Return the step that sorts a list, with the kernel for its dtypes."""
    kernel = SortSpec(
        spec.format.n_levels,
        spec.index_dtype,
        ordered.index_dtype,
        np.dtype(spec.dtype).itemsize,
    )
    return SortStep(source, result, ordered, kernel)


def gather_step(
    source: str, result: str, spec: TensorSpec, gathered: TensorSpec
) -> GatherStep:
    """Return the step that adds up what is repeated in a list, with its kernel."""
    kernel = GatherSpec(
        spec.format.n_levels, spec.index_dtype, gathered.index_dtype, spec.dtype
    )
    return GatherStep(source, result, gathered, kernel)
