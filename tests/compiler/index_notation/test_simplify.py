import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.index_notation.simplify import (
    accesses,
    contains_reduce,
    free_indices,
    simplify,
    simplify_typed,
    substitute,
)
from sparray.errors import DTypeError


def value(text):
    return parse_assignment(f"y[i] = {text}").value


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("A[i] + 0", "A[i]"),
        ("0 + A[i]", "A[i]"),
        ("A[i] - 0", "A[i]"),
        ("0 - A[i]", "-A[i]"),
        ("0 - -A[i]", "A[i]"),
        ("A[i] * 1", "A[i]"),
        ("1 * A[i]", "A[i]"),
        ("A[i] * 0", "0"),
        ("0.0 * A[i]", "0.0"),
        ("A[i] * False", "0"),
        ("0 / A[i]", "0"),
        ("A[i] / 0", "A[i] / 0"),
        ("--A[i]", "A[i]"),
        ("~~A[i]", "~~A[i]"),
        ("~~(A[i] < B[i])", "A[i] < B[i]"),
        ("A[i] * (B[i] * 0 + 1)", "A[i]"),
        ("A[i] & True", "A[i] != 0"),
        ("(A[i] < b) & True", "A[i] < b"),
        ("A[i] & 2", "A[i] != 0"),
        ("A[i] & 0", "False"),
        ("A[i] | False", "A[i] != 0"),
        ("A[i] | 3", "True"),
        ("floor_divide(0, A[i])", "0"),
        ("remainder(0, A[i])", "0"),
        ("left_shift(0, A[i])", "0"),
        ("bitwise_and(A[i], 0)", "0"),
        ("bitwise_or(A[i], 0)", "A[i]"),
        ("times(A[i], 0)", "times(A[i], 0)"),
        ("over(0, A[i])", "over(0, A[i])"),
        ("times(0, 3)", "0"),
        ("min(j, inf + A[j] * 0)", "inf"),
        ("max(j, A[j] * 0 - inf)", "-inf"),
        ("relu(-2)", "0"),
        ("exp(0)", "1.0"),
        ("2 ** 3 + 1", "9"),
        ("1 / 2", "0.5"),
        ("2 ** -1", "2 ** -1"),
        ("A[i] * 1.0", "A[i] * 1.0"),
        ("(A[i] < b) + 0", "(A[i] < b) + 0"),
        ("0 - (A[i] < b)", "0 - (A[i] < b)"),
        ("sum(j, A[j] * 0)", "0"),
        ("prod(j, A[j] * 0 + 1)", "1"),
        ("prod(j, A[j] * 0)", "prod(j, 0)"),
        ("max(j, A[j] * 0)", "max(j, 0)"),
        ("A[i] + -B[i] * 1", "A[i] + -B[i]"),
        ("where(A[i], B[i], B[i])", "B[i]"),
        ("where(A[i], nan, nan)", "nan"),
        ("where(A[i], 0, 0)", "0"),
        ("where(A[i] & 0, B[i], 2)", "where(False, B[i], 2)"),
        ("where(A[i] & 0, 2, B[i])", "B[i]"),
        ("where(A[i] & 0, 2.5, B[i])", "where(False, 2.5, B[i])"),
        ("where(A[i] | 1, 0, B[i])", "0"),
        ("where(0.5, 3, 4)", "3"),
    ],
)
def test_rules(text, simple):
    assert print_expression(simplify(value(text))) == simple


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("where(0, F[i], G[i])", "G[i]"),
        ("where(0, D[i], F[i])", "where(0, D[i], F[i])"),
        ("where(0, F[i], D[i])", "D[i]"),
        ("where(0, F[i], 2)", "2.0"),
        ("where(F[i], 1, True)", "1"),
        ("where(F[i], nan, nan)", "nan"),
    ],
)
def test_choices_keep_their_dtype(text, simple):
    dtypes = {"F": "float32", "G": "float32", "D": "float64"}
    made = simplify_typed(value(text), dtypes)
    assert print_expression(made) == simple
    assert result_dtype(made, dtypes) == result_dtype(value(text), dtypes)


@settings(max_examples=300)
@given(data=st.data())
def test_the_value_does_not_change(safe_assignments, extents, data):
    statement = data.draw(safe_assignments)
    rng = np.random.default_rng(0)
    arrays = {
        a.tensor: rng.integers(-3, 4, [extents[i] for i in a.indices]).astype(float)
        for a in accesses(statement.value)
    }
    # An operand that is not simplified away keeps every extent known.
    arrays["E"] = np.zeros(tuple(extents.values()))
    everything = Reduce("min", ("p", "q"), Access("E", tuple(extents)))

    def full(expr):
        # Comparisons of the dtypes' values only: "!= 0" is a bool as "&" was.
        pair = Apply("add", (Apply("mul", (expr, Literal(1.0))), everything))
        return Assignment(statement.target, pair)

    try:
        expected = evaluate(full(statement.value), arrays)
    except DTypeError:
        return
    np.testing.assert_array_equal(
        evaluate(full(simplify(statement.value)), arrays), expected
    )


def test_substitute_replaces_an_access_and_not_a_tensor():
    a, b = Access("A", ("i",)), Access("A", ("j",))
    expr = Apply("mul", (a, Reduce("add", ("j",), b)))
    assert substitute(expr, {b: Literal(0)}) == Apply(
        "mul", (a, Reduce("add", ("j",), Literal(0)))
    )


def test_questions_about_a_tree():
    expr = value("B[i] * sum(j, A[i,j] * B[j]) + B[i] * A[j,k]")
    names = [(a.tensor, *a.indices) for a in accesses(expr)]
    assert names == [("B", "i"), ("A", "i", "j"), ("B", "j"), ("A", "j", "k")]
    assert free_indices(expr) == ("i",)
    assert free_indices(expr.operands[1].operand) == ("i", "j", "k")
    assert contains_reduce(expr)
    assert not contains_reduce(value("A[i] + B[i]"))
