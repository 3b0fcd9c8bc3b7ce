"""Which temporaries are put where they are read, and that results stay the same."""

import numpy as np
import pytest

from sparray.compiler.index_notation.inline import inline_temporaries
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.program_text import parse_program


def run(program, arrays):
    """Evaluate statement after statement."""
    known = dict(arrays)
    for statement in program.statements:
        read = {name: known[name] for name in known if name != statement.target.tensor}
        known[statement.target.tensor] = evaluate(statement, read)
    return [known[name] for name in program.outputs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Read once, at all indices of the place.
        (
            "T[i,k] = A[i,j] * B[j,k]; C[i,j] = T[i,j] * M[i,j]",
            "C[i,j] = sum(i0, A[i,i0] * B[i0,j]) * M[i,j]",
        ),
        # A chain of them; indices are renamed.
        (
            "T[a,b] = A[b,a]; U[i,j] = exp(T[j,i]); C[k,i] = U[k,i] + 1",
            "C[k,i] = exp(A[k,i]) + 1",
        ),
        # The diagonal of a product asks for less than the product.
        (
            "T[i,k] = A[i,j] * B[j,k]; d[i] = T[i,i]",
            "d[i] = sum(i0, A[i,i0] * B[i0,i])",
        ),
        # An elementwise temporary may stand inside a reduction.
        ("T[i,j] = A[i,j] - 1; s = sum((i,j), T[i,j])", "s = sum((i, j), A[i,j] - 1)"),
    ],
)
def test_a_temporary_is_inlined_where_it_costs_nothing(text, expected):
    made = inline_temporaries(parse_program(text))
    assert made.text == expected


@pytest.mark.parametrize(
    "text",
    [
        # Read twice.
        "T[i] = exp(x[i]); y[i] = T[i] * T[i]",
        # Computed once for every j.
        "T[i] = exp(x[i]); C[i,j] = T[i] * A[i,j]",
        "T[i,k] = A[i,j] * B[j,k]; C[i,l] = T[i,k] * D[k,l]",
        # A reduction inside another one.
        "T[i,k] = A[i,j] * B[j,k]; s = sum((i,k), T[i,k] * T2[i,k])",
        # The type of a number alone.
        "t = 3; y[i] = t * x[i]",
    ],
)
def test_a_temporary_stays_where_it_would_be_computed_twice(text):
    program = parse_program(text)
    assert len(inline_temporaries(program).statements) == len(program.statements)


def test_results_and_kept_temporaries_stay():
    text = "T[i] = x[i] + 1; y[i] = T[i] * 2"
    assert len(inline_temporaries(parse_program(text, ("T", "y"))).statements) == 2
    assert len(inline_temporaries(parse_program(text), {"T"}).statements) == 2
    assert len(inline_temporaries(parse_program(text)).statements) == 1


def test_inlining_keeps_what_is_computed():
    random = np.random.default_rng(3)
    arrays = {
        name: random.integers(-3, 4, shape).astype(float)
        for name, shape in {"A": (3, 4), "B": (4, 3), "M": (3, 3)}.items()
    }
    text = """
        T[i,k] = A[i,j] * B[j,k]
        i0[k,i] = T[i,k]
        U[i,j] = i0[j,i] * M[i,j] - M[j,i]
        d[i] = U[i,i]; r[i] = sum(k, M[i,k]); s[i] = d[i] + r[i]
    """
    program = parse_program(text)
    made = inline_temporaries(program)
    assert len(made.statements) == 1
    (expected,), (result,) = run(program, arrays), run(made, arrays)
    np.testing.assert_array_equal(result, expected)


def test_expressions_stay_small_enough_for_every_stage():
    lines = [f"T{n + 1}[i] = T{n}[i] + 1" for n in range(150)]
    made = inline_temporaries(parse_program("\n".join(lines)))
    assert 3 <= len(made.statements) <= 4
