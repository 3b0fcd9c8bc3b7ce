"""Text of several statements -> `Program`."""

import re
from collections.abc import Iterator, Sequence

from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.program import Program, verify_program
from sparray.compiler.index_notation.tokenizer import expect_text
from sparray.errors import ExpressionError

__all__ = ["parse_program", "split_statements"]

# What a line that begins a statement begins with; any other line goes on with one.
_HEAD = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*(\[[^\[\]=]*\])?\s*=(?!=)")


def split_statements(text: str) -> tuple[str, ...]:
    """Split a text at ``;`` and at line breaks before the head of a statement.

    Parameters
    ----------
    text : str
        Statements of index notation. A line that does not begin with ``name[...] =``
        goes on with the statement of the line before it.

    Returns
    -------
    tuple of str
        Each statement's text, never an empty one.
    """
    return tuple(_statements(expect_text("expression", text)))


def parse_program(text: str, outputs: Sequence[str] | None = None) -> Program:
    """Parse several statements, and check them as a whole.

    Parameters
    ----------
    text : str
        ``"T[i,k] = A[i,j] * B[j,k]; C[i,l] = T[i,k] * D[k,l]"``.
    outputs : sequence of str, optional
        The results; the last statement's target by default.

    Returns
    -------
    Program
        Verified.

    Raises
    ------
    ExpressionError
        If a statement cannot be read, or they do not fit together (`verify_program`).
    """
    statements = tuple(map(parse_assignment, split_statements(text)))
    if not statements:
        raise ExpressionError(f"expected a statement, got {text!r}")
    if outputs is None:
        outputs = (statements[-1].target.tensor,)
    program = Program(statements, _names(outputs))
    verify_program(program)
    return program


def _statements(text: str) -> Iterator[str]:
    for part in text.split(";"):
        gathered = ""
        for line in part.splitlines():
            if _HEAD.match(line) and gathered.strip():
                yield gathered.strip()
                gathered = ""
            gathered += f"{line}\n"
        if gathered.strip():
            yield gathered.strip()


def _names(outputs: Sequence[str]) -> tuple[str, ...]:
    named = isinstance(outputs, Sequence) and not isinstance(outputs, str)
    if not named or not all(isinstance(x, str) for x in outputs):
        raise ExpressionError(f"outputs: expected a sequence of names, got {outputs!r}")
    return tuple(outputs)
