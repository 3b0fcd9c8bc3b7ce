"""From a program and its operands to its results: the road of several statements.

A program's temporaries are put where they are read if that computes nothing twice; what
is left are statements that are evaluated one after the other, each as `dispatch` does,
and kept no longer than they are needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sparray.dispatch import Given, evaluate_expression
from sparray.errors import ExpressionError
from sparray.expression import Expression, assignment_expression
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.stored import Stored

if TYPE_CHECKING:
    from sparray.compiler.index_notation.program import Program

__all__ = [
    "ProgramStep",
    "check_names",
    "evaluate_program",
    "is_program",
    "output_formats",
    "parsed_program",
    "program_steps",
]


def is_program(text: str) -> bool:
    """Tell whether a text has more than one statement."""
    if not isinstance(text, str) or (";" not in text and "\n" not in text):
        return False
    return _has_statements(text)


@lru_cache(maxsize=1024)
def _has_statements(text: str) -> bool:
    from sparray.compiler.index_notation.program_text import split_statements

    return ";" in text or len(split_statements(text)) > 1


def parsed_program(text: str, outputs: Sequence[str] | None = None) -> "Program":
    """Return the program of a text, parsed once."""
    if outputs is None or isinstance(outputs, str):
        return _parsed(text, outputs)
    return _parsed(text, tuple(map(str, outputs)))


@lru_cache(maxsize=1024)
def _parsed(text: str, outputs: Sequence[str] | None) -> "Program":
    from sparray.compiler.index_notation.program_text import parse_program

    return parse_program(text, outputs)


def output_formats(
    program: "Program", format: str | Format | None
) -> dict[str, Format]:
    """Return the format that is asked for of a program's only result, by name."""
    if format is None:
        return {}
    if len(program.outputs) > 1:
        raise ExpressionError(
            "format: expected one result to have it, got "
            f"{len(program.outputs)} ({', '.join(program.outputs)})"
        )
    (name,) = program.outputs
    target = next(s.target for s in program.statements if s.target.tensor == name)
    return {name: as_format(format, len(target.indices))}


def evaluate_program(
    program: "Program",
    operands: Mapping[str, Given],
    formats: Mapping[str, Format] | None = None,
    *,
    missing: str = "zero",
) -> tuple[Stored, ...]:
    """Compute a program.

    Parameters
    ----------
    program : Program
        What to compute; it need not be verified.
    operands : mapping of str to SparseArray, Stored or ndarray
        Each of ``program.operands``, by name.
    formats : mapping of str to Format, optional
        Of results, and of temporaries that are to be arrays of their own; the others
        are inferred.
    missing : {"zero", "fill"}
        As for `sparray.einsum`.

    Returns
    -------
    tuple of Stored
        The results in the order of ``program.outputs``.

    Raises
    ------
    ExpressionError, ShapeError
        If the program has no meaning, or the operands do not fit it.
    """
    wanted = {} if formats is None else formats
    check_names(program, operands)
    shapes = tuple((name, operands[name].shape) for name in program.operands)
    _check(program, shapes)
    arrays: dict[str, Given] = {name: operands[name] for name in program.operands}
    for step in program_steps(program, tuple(wanted), missing):
        given = [arrays[name] for name in step.expression.tensors]
        arrays[step.target] = evaluate_expression(
            step.expression, given, wanted.get(step.target)
        )
        for name in step.last:
            del arrays[name]
    results = [arrays[name] for name in program.outputs]
    return tuple(result for result in results if isinstance(result, Stored))


def check_names(program: "Program", given: Mapping[str, object]) -> None:
    """Raise an error unless exactly the operands are given."""
    made = [s.target.tensor for s in program.statements if s.target.tensor in given]
    if made:
        raise ExpressionError(
            f"expected an operand, got {made[0]!r}, which the program assigns"
        )
    if set(given) != set(program.operands):
        raise ExpressionError(
            f"expected the operands {', '.join(program.operands)}, got "
            f"{', '.join(given) or 'none'}, in\n{program.text}"
        )


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One statement that is evaluated by itself.

    Attributes
    ----------
    target : str
        The array that it makes.
    expression : Expression
        What it computes.
    last : tuple of str
        Arrays that no later step reads.
    """

    target: str
    expression: Expression
    last: tuple[str, ...]


@lru_cache(maxsize=1024)
def program_steps(
    program: "Program", kept: tuple[str, ...], missing: str
) -> tuple[ProgramStep, ...]:
    """Return the steps that compute a program, in order.

    ``kept`` are temporaries that are to be arrays of their own.
    """
    from sparray.compiler.index_notation.inline import inline_temporaries
    from sparray.compiler.index_notation.printer import print_assignment

    seen = set(program.outputs)
    steps: list[ProgramStep] = []
    for statement in reversed(inline_temporaries(program, kept).statements):
        expression = assignment_expression(print_assignment(statement), missing)
        last = tuple(name for name in expression.tensors if name not in seen)
        seen |= set(last)
        steps.append(ProgramStep(statement.target.tensor, expression, last))
    return tuple(reversed(steps))


@lru_cache(maxsize=1024)
def _check(program: "Program", shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
    from sparray.compiler.index_notation.program import verify_program

    verify_program(program, dict(shapes))
