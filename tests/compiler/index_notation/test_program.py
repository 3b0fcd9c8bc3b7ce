"""Programs: reading several statements, and what is refused of them."""

import pytest

from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.program import (
    Program,
    live_statements,
    verify_program,
)
from sparray.compiler.index_notation.program_text import parse_program, split_statements
from sparray.errors import ExpressionError, ShapeError

CHAIN = "T[i,k] = A[i,j] * B[j,k]; C[i,l] = T[i,k] * D[k,l]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b; c = a", ("a = b", "c = a")),
        ("a = b\nc = a\n", ("a = b", "c = a")),
        ("y[i] = A[i,j]\n  * x[j]", ("y[i] = A[i,j]\n  * x[j]",)),
        ("y[i] = x[i]\n == z[i];;", ("y[i] = x[i]\n == z[i]",)),
        ("y[i] = x[i] +\n(a == b)\n", ("y[i] = x[i] +\n(a == b)",)),
        (" ;\n; ", ()),
    ],
)
def test_statements_end_at_semicolons_and_before_heads(text, expected):
    assert split_statements(text) == expected


def test_a_program_prints_what_it_is_parsed_from():
    program = parse_program(CHAIN)
    assert program.operands == ("A", "B", "D")
    assert program.outputs == ("C",)
    assert parse_program(program.text) == program
    # Nodes take 1 and 1.0 for equal.
    assert parse_program("a = b + 1") != parse_program("a = b + 1.0")


def test_statements_that_no_output_needs_are_dropped():
    program = parse_program("U = a * b; T = a; V = U + 1; C = T + b; W = V")
    targets = [s.target.tensor for s in live_statements(program)]
    assert targets == ["U", "V", "W"]


@pytest.mark.parametrize(
    ("text", "outputs", "message"),
    [
        ("C[i] = T[i]; T[i] = A[i]", None, "'T' is read before it is assigned"),
        ("T[i] = A[i]; T[i] = B[i]", None, "'T' is assigned already"),
        ("T[i] = A[i]; C[i] = T[i,j]", None, "expected 1 indices, as T"),
        ("T[i] = T[i]; C[i] = T[i]", None, "the result 'T' is read on the right"),
        ("T[i] = A[i]; C[i] = ", None, "expected an operand, got the end"),
        ("T[i] = A[i]; C[j] = T[i]", None, "output index 'j' is absent"),
        ("T[i] = A[i]", ("A",), "expected names that are assigned"),
        ("T[i] = A[i]", ("T", "T"), "expected distinct results"),
        ("T[i] = A[i]", (), "expected distinct results"),
        ("T[i] = A[i]", "T", "expected a sequence of names"),
        (" ; ", None, "expected a statement"),
    ],
)
def test_a_program_without_one_meaning_is_refused(text, outputs, message):
    with pytest.raises(ExpressionError, match=message):
        parse_program(text, outputs)


def test_an_error_shows_the_statement_and_marks_the_place():
    with pytest.raises(ExpressionError) as caught:
        parse_program("T[i] = A[i] + U[i]; U[i] = T[i]")
    message, statement, mark = str(caught.value).splitlines()
    assert message.startswith("statement 1: 'U' is read")
    assert statement == "  T[i] = A[i] + U[i]"
    assert statement[mark.index("^")] == "U"


def test_extents_are_followed_through_temporaries():
    program = parse_program(CHAIN)
    verify_program(program, {"A": (2, 3), "B": (3, 4), "D": (4, 5)})
    with pytest.raises(ShapeError, match="index 'k' has extent 4 in T"):
        verify_program(program, {"A": (2, 3), "B": (3, 4), "D": (5, 5)})
    with pytest.raises(ShapeError, match="'D' has no operand"):
        verify_program(program, {"A": (2, 3), "B": (3, 4)})


def test_a_program_needs_statements():
    with pytest.raises(ExpressionError, match="expected a statement, got none"):
        verify_program(Program((), ("C",)))
    verify_program(Program((parse_assignment("C = a"),), ("C",)))
