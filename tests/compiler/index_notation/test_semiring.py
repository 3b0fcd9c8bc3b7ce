"""Monoids and semirings: what they are, what they refuse, what they make of texts."""

import numpy as np
import pytest

import sparray as sp
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment, print_expression
from sparray.compiler.index_notation.semiring import as_semiring, over_semiring
from sparray.compiler.loop_ir.operators import BOTTOM, TOP, operator
from sparray.errors import DTypeError, ExpressionError

EITHER = sp.Monoid("x + y - x * y", identity=0)


def rewritten(text, semiring):
    semiring = as_semiring(semiring)
    return over_semiring(parse_assignment(text), semiring, text)


@pytest.mark.parametrize(
    ("text", "semiring", "printed"),
    [
        ("y[i] = A[i,j] * x[j]", "or_and", "y[i] = any(j, A[i,j] & x[j])"),
        (
            "y[i] = A[i,j] * x[j] + 2 * b[i]",
            "min_plus",
            "y[i] = min(min(j, add_absorbing_top(A[i,j], x[j])), "
            "add_absorbing_top(2, b[i]))",
        ),
        ("y[i] = exp(A[i,j]) / 2", "max_times", "y[i] = max(j, exp(A[i,j]) / 2)"),
        ("y = sum(i, x[i])", "max_min", "y = max(i, x[i])"),
        ("y = prod(i, x[i]) + 1", "max_min", "y = max(prod(i, x[i]), 1)"),
        (
            "y = x[i] * z[i]",
            "min_max",
            "y = min(i, max_absorbing_top(x[i], z[i]))",
        ),
    ],
)
def test_what_texts_mean(text, semiring, printed):
    made = rewritten(text, semiring)
    assert print_assignment(made) == printed
    assert parse_assignment(printed) == made


def test_users_operators_print_and_parse():
    made = rewritten("y[i] = A[i,j] * x[j] + b[i]", sp.Semiring(EITHER, "times"))
    printed = print_assignment(made)
    assert printed.startswith("y[i] = defined_")
    assert parse_assignment(printed) == made
    again = sp.Monoid("x+y - x*y", identity=0)
    assert again.row.name == EITHER.row.name
    assert sp.Monoid("x + y - x * y").row.name != EITHER.row.name


def test_the_ordinary_semiring_changes_nothing():
    assert as_semiring("plus_times") is as_semiring(None) is None
    assert as_semiring(sp.Semiring("add", "mul")) is None


@pytest.mark.parametrize(
    ("name", "zero"),
    [
        ("min_plus", TOP),
        ("max_plus", BOTTOM),
        ("max_times", BOTTOM),
        ("or_and", False),
        ("min_times", TOP),
        ("max_min", BOTTOM),
        ("min_max", TOP),
        ("plus_min", 0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bool"])
def test_the_zero_is_an_identity_and_annihilates(name, zero, dtype):
    semiring = as_semiring(name)
    assert semiring.zero == zero
    values = np.array([0, 1, 3, 100]).astype(dtype)
    if dtype not in ("uint16", "bool"):
        values = np.concatenate([values, -values])
    held = np.full(len(values), semiring.zero_of(dtype))
    with np.errstate(all="ignore"):
        for left, right in ((values, held), (held, values)):
            added = semiring.addition.evaluate(left, right)
            np.testing.assert_array_equal(added, values.astype(added.dtype))
            multiplied = semiring.multiplication.evaluate(left, right)
            np.testing.assert_array_equal(multiplied, held.astype(multiplied.dtype))


def test_the_zero_is_compared_only_where_it_must_be():
    multiply = as_semiring("min_plus").multiplication
    assert print_expression(multiply.definition("float32")) == "x + y"
    text = print_expression(multiply.definition("int8"))
    assert text == "where(x == 127 | y == 127, 127, x + y)"
    assert operator(multiply.name) is multiply


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sp.Monoid("x - y"), "expected a commutative operator"),
        (lambda: sp.Monoid("(x + y) / 2"), "expected an associative operator"),
        (lambda: sp.Monoid("x + y", identity=1), "expected an identity, got 1"),
        (lambda: sp.Monoid("x * y", annihilator=1), "expected an annihilator, got 1"),
        (lambda: sp.Monoid("x + z"), "numbers x and y, got z"),
        (lambda: sp.Monoid("x + y["), "expected the name of an index"),
        (lambda: sp.Monoid("2"), "expected x or y"),
        (lambda: sp.Monoid("sum(k, x[k])"), "without reductions"),
        (lambda: sp.Monoid(3), "expected a str, got int"),
        (lambda: sp.Monoid("min", identity="0"), "expected a number as identity"),
        (lambda: sp.Semiring("sub", "mul"), "expected a monoid as its addition"),
        (lambda: sp.Semiring("x + y", "mul"), "Monoid(...) promises"),
        (lambda: as_semiring("min"), "'min_plus'"),
        (lambda: as_semiring("min_nothing"), "'min_nothing'"),
        (lambda: as_semiring(3), "expected a str or a Semiring, got int"),
    ],
)
def test_what_is_no_monoid_or_semiring(make, message):
    with pytest.raises(ExpressionError) as caught:
        make()
    assert message in str(caught.value)


def caret(error):
    """Return the text that the caret of a message points at."""
    *_, text, mark = str(error.value).splitlines()
    return text[mark.index("^") :]


def test_places_are_marked():
    nothing = sp.Semiring(sp.Monoid("x + y - x * y"), "times")
    a = sp.array(np.eye(2), "csr")
    with pytest.raises(ExpressionError, match="reduction over 'j'") as caught:
        sp.compute("y[i] = A[i,j] * x[j]", A=a, x=[1.0, 2.0], semiring=nothing)
    assert caret(caught) == "j] * x[j]"
    with pytest.raises(ExpressionError, match="reduction over 'k'") as caught:
        sp.einsum("ik,kj->ij", a, a, semiring=nothing)
    assert caret(caught) == "k,kj->ij"
    with pytest.raises(ExpressionError, match="what entries are that A") as caught:
        sp.compute("C[i,j] = A[i,j] + B[i,j]", A=a, B=a, semiring=nothing)
    assert caret(caught) == "+ B[i,j]"
    with pytest.raises(ExpressionError, match="that A does not store") as caught:
        sp.compute("C[i,j] = 2 * A[i,j]", A=a, semiring=nothing)
    assert caret(caught) == "A[i,j]"
    with pytest.raises(ExpressionError, match="no negation") as caught:
        sp.compute("C[i,j] = A[i,j] - A[j,i]", A=a, semiring="min_plus")
    assert caret(caught) == "- A[j,i]"
    with pytest.raises(ExpressionError, match="missing"):
        sp.einsum("ij->i", a, semiring="min_plus", missing="fill")


def test_a_dtype_that_does_not_hold_the_zero_is_refused():
    a = sp.array(np.eye(2, dtype="int8"), "csr")
    largest = sp.Monoid("where(x < y, y, x)", identity=-1000)
    with pytest.raises(DTypeError, match="int8 to hold the zero -1000"):
        sp.einsum("ij->i", a, semiring=sp.Semiring(largest, "plus"))
