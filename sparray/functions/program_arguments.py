"""What users state of a program, as the functions that compute it take it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparray.compiler.hand_schedule import Schedule
from sparray.compiler.index_notation.masks import mask_name
from sparray.compiler.index_notation.program import Program
from sparray.compiler.index_notation.semiring import as_semiring
from sparray.dispatch import Given
from sparray.errors import ExpressionError, ScheduleError
from sparray.evaluation.expression import mask_kind
from sparray.evaluation.program_steps import ProgramOptions, check_options
from sparray.evaluation.programs import check_names, output_formats, parsed_program
from sparray.evaluation.readings import over_semiring
from sparray.formats.format import Format
from sparray.functions.einsum import as_mask, as_operand
from sparray.functions.schedule import as_schedule
from sparray.records import dataclass

__all__ = ["StatedProgram", "program_options", "stated_program"]


@dataclass(frozen=True, slots=True)
class StatedProgram:
    """A program with its operands.

    Attributes
    ----------
    program : Program
        Verified.
    arrays : dict of str to SparseArray, Stored or ndarray
        Its operands as its statements read them; and the mask.
    formats : dict of str to Format
        Of its result, if one is asked for.
    options : ProgramOptions
        What is asked of its statements.
    """

    program: Program
    arrays: dict[str, Given]
    formats: dict[str, Format]
    options: ProgramOptions


def stated_program(
    text: str,
    named: Mapping[str, Any],
    *,
    outputs: Sequence[str] | None = None,
    format: str | Format | None = None,
    missing: str = "zero",
    schedule: Any = None,
    semiring: Any = None,
    mask: Any = None,
    complement: bool = False,
) -> StatedProgram:
    """Return a program and its operands from the arguments of `compute`.

    Raises
    ------
    ExpressionError, ScheduleError
        If the arguments do not fit the program.
    """
    program = parsed_program(text, outputs)
    options = program_options(program, missing, schedule, semiring, mask, complement)
    arrays: dict[str, Given] = {
        name: as_operand(name, value) for name, value in named.items()
    }
    check_names(program, arrays)
    if options.semiring is not None:
        read = over_semiring(
            program.text, options.semiring, list(arrays), list(arrays.values())
        )
        arrays = dict(zip(arrays, read, strict=True))
    if options.mask_tensor is not None:
        arrays[options.mask_tensor] = as_mask(mask)
    return StatedProgram(program, arrays, output_formats(program, format), options)


def program_options(
    program: Program,
    missing: str = "zero",
    schedule: Any = None,
    semiring: Any = None,
    mask: Any = None,
    complement: bool = False,
) -> ProgramOptions:
    """Return what arguments of `compute` ask of a program's statements.

    Raises
    ------
    ExpressionError, ScheduleError
        If they do not fit the program.
    """
    kind = mask_kind(mask, complement)
    over = as_semiring(semiring)
    if over is not None and missing != "zero":
        raise ExpressionError(
            "missing: expected 'zero' over a semiring, whose zero is what is not "
            f"stored, got {missing!r}"
        )
    options = ProgramOptions(
        missing,
        over,
        kind,
        None if kind is None else mask_name(program.statements),
        _schedules(program, schedule),
    )
    check_options(program, options)
    return options


def _schedules(program: Program, given: Any) -> tuple[tuple[str, Schedule], ...]:
    """Return the schedule of each statement that has one."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        if len(program.statements) > 1:
            names = ", ".join(repr(s.target.tensor) for s in program.statements)
            raise ScheduleError(
                "schedule: expected a mapping from what statements assign to the "
                f"schedules of their kernels, as there are several ({names}), got "
                f"{as_schedule(given)}"
            )
        given = {program.statements[0].target.tensor: given}
    made = {name: as_schedule(value) for name, value in given.items()}
    return tuple((name, one) for name, one in made.items() if one is not None)
