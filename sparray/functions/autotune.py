"""Measure the best few schedules on real operands, and remember the winner."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from sparray._kernels.tuned import remember
from sparray.compiler.index_notation.semiring import Semiring
from sparray.dispatch import forget_plans, joined_runner
from sparray.errors import SettingError, UnsupportedError
from sparray.evaluation.expression import Expression
from sparray.evaluation.planning import tuning_key
from sparray.evaluation.program_texts import is_program
from sparray.evaluation.programs import check_shapes, group_runners
from sparray.evaluation.readings import Given
from sparray.formats.format import Format
from sparray.functions.contest import Contest
from sparray.functions.operands import stated
from sparray.functions.program_arguments import StatedProgram, stated_program
from sparray.functions.race import race
from sparray.records import dataclass

__all__ = ["Candidate", "ProgramTuning", "Tuning", "autotune"]

_WORTH_IT = 0.97
"""Share of the scheduler's time below which another way replaces it: less is noise."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One schedule that was measured.

    Attributes
    ----------
    way : str
        What distinguishes it, in the scheduler's words.
    schedule : str
        The commands, a line per kernel.
    estimate : float
        The cost model's, in multiply-adds.
    measured_s : float
        Median seconds of one call.
    """

    way: str
    schedule: str
    estimate: float
    measured_s: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `autotune` found; printed, a table.

    Attributes
    ----------
    expression : str
        What was computed.
    candidates : tuple of Candidate
        In the order of their estimates; the first is the scheduler's own choice.
    winner : Candidate
        What is used from now on.
    considered : int
        How many ways there are in all.
    """

    expression: str
    candidates: tuple[Candidate, ...]
    winner: Candidate
    considered: int

    @property
    def speedup(self) -> float:
        """The time of the scheduler's choice divided by the winner's."""
        return self.candidates[0].measured_s / self.winner.measured_s

    def __str__(self) -> str:
        lines = [
            f"{self.expression}: {len(self.candidates)} of {self.considered} ways "
            f"measured, {self.speedup:.2f} times as fast as the scheduler's choice",
            f"   {'estimate':>10} {'measured':>12}  way",
        ]
        for candidate in self.candidates:
            mark = "->" if candidate is self.winner else "  "
            measured = f"{1e6 * candidate.measured_s:,.1f} µs"
            lines.append(
                f"{mark} {candidate.estimate:>10.3g} {measured:>12}  {candidate.way}"
            )
            lines += [f"{'':>28}{line}" for line in candidate.schedule.splitlines()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ProgramTuning:
    """What `autotune` found for several statements; printed, a table for each.

    Attributes
    ----------
    expression : str
        The statements.
    parts : tuple of Tuning
        Of each statement that is computed by itself.
    joined : tuple of str
        What statements assign that are computed in one kernel, which has no other
        schedule.
    """

    expression: str
    parts: tuple[Tuning, ...]
    joined: tuple[str, ...]

    def __str__(self) -> str:
        lines = [str(part) for part in self.parts]
        if self.joined:
            lines.append(f"in one kernel: {' '.join(self.joined)}")
        return "\n".join(lines)


def autotune(
    expression: str,
    *operands: Any,
    format: str | Format | None = None,
    missing: Literal["zero", "fill"] = "zero",
    semiring: Semiring | str | None = None,
    mask: Any = None,
    complement: bool = False,
    outputs: Sequence[str] | None = None,
    candidates: int = 8,
    seconds: float = 2.0,
    **named: Any,
) -> "Tuning | ProgramTuning":
    """Measure the most promising schedules; use the fastest one from now on.

    Parameters
    ----------
    expression : str
        An einsum string with ``operands``, or an assignment with ``named`` ones; or
        several, of which each that is computed by itself is tuned.
    *operands : SparseArray, ndarray, SciPy or torch sparse array
        As for `einsum`; the schedules are timed on these.
    format : str or Format, optional
        Of the result.
    missing : {"zero", "fill"}
        As for `einsum`.
    semiring : str or Semiring, optional
        As for `einsum`.
    mask, complement
        As for `einsum`.
    outputs : sequence of str, optional
        As for `compute`.
    candidates : int
        How many schedules to measure, the best by the cost model's estimate.
    seconds : float
        How long to measure each statement. Compiling comes on top, on every core.
    **named
        As for `compute`.

    Returns
    -------
    Tuning or ProgramTuning
        Print it for a table of what was measured.

    Raises
    ------
    SettingError
        If ``candidates`` is less than 1 or ``seconds`` is not positive.
    UnsupportedError
        If the expression has so many indices that it is computed as another one, or no
        statement of several is computed by itself.

    Notes
    -----
    The winner is kept on disk beside the compiled kernels, for the same expression,
    formats, dtypes, options and classes of sizes (powers of 4, as plans are kept), on
    this CPU with this number of threads. Every process uses it when it next plans such
    a problem; a warm call is not slower. It is forgotten when sparray's compiler
    changes. ``python -m sparray cache tuned`` lists what is known.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> found = sp.autotune("ij,j->i", A, [1.0, 1.0], candidates=2, seconds=0.1)
    >>> print(found)  # doctest: +ELLIPSIS
    ij,j->i: 2 of ... ways measured, ... times as fast as the scheduler's choice
    ...
    """
    if not isinstance(candidates, int | np.integer) or candidates < 1:
        raise SettingError(f"candidates: expected 1 or more, got {candidates!r}")
    if not isinstance(seconds, int | float | np.number) or not seconds > 0:
        raise SettingError(f"seconds: expected a positive number, got {seconds!r}")
    if outputs is not None or is_program(expression):
        program = stated_program(
            expression,
            named,
            outputs=outputs,
            format=format,
            missing=missing,
            semiring=semiring,
            mask=mask,
            complement=complement,
        )
        return _tune_program(program, candidates, seconds)
    parsed, given, wanted = stated(
        expression, operands, named, format, missing, None, semiring, mask, complement
    )
    if joined_runner(parsed, given, wanted, False) is not None:
        raise UnsupportedError(
            f"{parsed.text}: expected an expression whose indices each have a loop; "
            "this one is computed as one of fewer indices"
        )
    return _tune(parsed, given, wanted, candidates, seconds)


def _tune_program(
    stated: StatedProgram, candidates: int, seconds: float
) -> ProgramTuning:
    """Tune each statement that is computed by itself, of what the others make."""
    program, arrays, formats = stated.program, dict(stated.arrays), stated.formats
    check_shapes(program, arrays)
    tuned: list[Tuning] = []
    joined: list[str] = []
    for runner in group_runners(program, arrays, formats, stated.options):
        group = runner.group
        step = group.steps[-1]
        if group.kernel is not None:
            joined += [step.target for step in group.steps]
        else:
            expression, wanted = step.expression, formats.get(step.target)
            given = [arrays[name] for name in expression.tensors]
            if joined_runner(expression, given, wanted, False) is None:
                tuned.append(_tune(expression, given, wanted, candidates, seconds))
        runner.run(arrays, formats)
    if not tuned:
        raise UnsupportedError(
            "expected a statement that is computed by itself, whose schedule can be "
            f"chosen, got none in\n{program.text}"
        )
    return ProgramTuning(program.text, tuple(tuned), tuple(joined))


def _tune(
    parsed: Expression,
    given: Sequence[Given],
    wanted: Format | None,
    candidates: int,
    seconds: float,
) -> Tuning:
    contest = Contest(parsed, given, wanted)
    measured = _measure(contest, candidates, seconds)
    fastest = min(measured, key=lambda candidate: candidate.measured_s)
    usual = measured[0]
    winner = fastest if fastest.measured_s < _WORTH_IT * usual.measured_s else usual
    _keep(parsed, contest, measured, winner)
    return Tuning(parsed.text, tuple(measured), winner, len(contest.ways))


def _measure(contest: Contest, most: int, seconds: float) -> list[Candidate]:
    contenders = contest.contenders(contest.shortlist(most))
    times = race([contender.run for contender in contenders], seconds)
    return [
        Candidate(str(one.way), one.schedule, one.way.cost, time)
        for one, time in zip(contenders, times, strict=True)
    ]


def _keep(
    parsed: Expression,
    contest: Contest,
    measured: Sequence[Candidate],
    winner: Candidate,
) -> None:
    record = {
        "expression": parsed.text,
        "formats": [str(spec.format) for _, spec in contest.problem.operands],
        "measured_s": winner.measured_s,
        "usual_s": measured[0].measured_s,
    }
    remember(winner.way, record, *tuning_key(contest.problem, contest.operands))
    forget_plans()
