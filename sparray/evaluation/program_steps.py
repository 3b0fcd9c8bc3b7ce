"""The steps of a program: its statements, and what is asked of them."""

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from sparray.errors import ExpressionError, ScheduleError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.records import dataclass

if TYPE_CHECKING:
    from sparray.compiler.hand_schedule import Schedule
    from sparray.compiler.index_notation.nodes import Assignment
    from sparray.compiler.index_notation.program import Program
    from sparray.compiler.index_notation.semiring import Semiring
    from sparray.formats.format import Format

__all__ = ["ProgramOptions", "ProgramStep", "check_options", "program_steps"]


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """What is asked of a program's statements.

    Attributes
    ----------
    missing : {"zero", "fill"}
        As for `sparray.einsum`; of every statement.
    semiring : Semiring or None
        What ``+``, ``*`` and sums mean in every statement.
    mask : str or None
        Which coordinates of the only result are computed, as `mask_kind` gives it.
    mask_tensor : str or None
        The array that has the mask: no tensor of the program has that name.
    schedules : tuple of (str, Schedule)
        What is demanded of the kernels of single statements, by target.
    """

    missing: str = "zero"
    semiring: "Semiring | None" = None
    mask: str | None = None
    mask_tensor: str | None = None
    schedules: "tuple[tuple[str, Schedule], ...]" = ()

    def arrays(self, program: "Program") -> tuple[str, ...]:
        """Return the names of all arrays that a program reads, the mask's last."""
        mask = () if self.mask_tensor is None else (self.mask_tensor,)
        return (*program.operands, *mask)


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One statement that is evaluated by itself.

    Attributes
    ----------
    target : str
        The array that it makes.
    statement : Assignment
        The user's, or what is left of it, over the semiring.
    expression : Expression
        What it computes.
    alone : bool
        Whether it is a kernel of its own: it has a mask or a schedule.
    format : Format or None
        What it makes, where neither the user says so nor it is inferred.
    """

    target: str
    statement: "Assignment"
    expression: Expression
    alone: bool = False
    format: "Format | None" = None


def check_options(program: "Program", options: ProgramOptions) -> None:
    """Raise an error unless a program can be computed with options.

    Raises
    ------
    ExpressionError
        If there is a mask and more than one result.
    ScheduleError
        If a schedule is for a name that no statement assigns.
    """
    made = [statement.target.tensor for statement in program.statements]
    if options.mask is not None and len(program.outputs) > 1:
        raise ExpressionError(
            "mask: expected one result, whose coordinates it has, got "
            f"{len(program.outputs)} ({', '.join(program.outputs)})"
        )
    for name, _ in options.schedules:
        if name not in made:
            raise ScheduleError(
                f"schedule: expected names that are assigned ({', '.join(made)}), got "
                f"{name!r}"
            )


@lru_cache(maxsize=1024)
def program_steps(
    program: "Program", kept: tuple[str, ...], options: ProgramOptions
) -> tuple[ProgramStep, ...]:
    """Return the steps that compute a program, in order.

    ``kept`` are temporaries that are to be arrays of their own. So are those that
    statements with a schedule make or read: it is about the statement as it is written.
    """
    from sparray.compiler.index_notation.inline import inline_temporaries

    names = {*kept, *_beside_schedules(program, options)}
    return tuple(
        _step(statement, program, options)
        for statement in inline_temporaries(program, names).statements
    )


def _beside_schedules(program: "Program", options: ProgramOptions) -> Collection[str]:
    from sparray.compiler.index_notation.traversal import accesses

    scheduled = {name for name, _ in options.schedules}
    read = {
        access.tensor
        for statement in program.statements
        if statement.target.tensor in scheduled
        for access in accesses(statement.value)
    }
    return scheduled | read


def _step(
    statement: "Assignment", program: "Program", options: ProgramOptions
) -> ProgramStep:
    from sparray.compiler.index_notation.printer import print_assignment
    from sparray.compiler.index_notation.semiring import over_semiring

    target, text = statement.target.tensor, print_assignment(statement)
    schedule = dict(options.schedules).get(target)
    mask = options.mask if target in program.outputs else None
    expression = assignment_expression(
        text,
        options.missing,
        schedule,
        options.semiring,
        mask,
        None if mask is None else options.mask_tensor,
    )
    if options.semiring is not None:
        statement = over_semiring(statement, options.semiring, text)
    alone = schedule is not None or mask is not None
    return ProgramStep(target, statement, expression, alone)
