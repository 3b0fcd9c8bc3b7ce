"""What cannot be computed is refused before compiling, and the place is marked."""

import numpy as np
import pytest

import sparray as sp
from sparray import dispatch
from sparray.errors import (
    CoordinateError,
    ExpressionError,
    KernelMemoryError,
    ScheduleError,
    ShapeError,
)
from sparray.evaluation import execution


@pytest.fixture(autouse=True)
def _compiles_nothing(monkeypatch):
    def refused(*_):
        raise AssertionError("compiled something")

    monkeypatch.setattr(execution, "load_kernel", refused)
    dispatch.forget_plans()
    yield
    dispatch.forget_plans()


SQUARE = sp.array(np.eye(4), format="csr")
WIDE = sp.array(np.ones((4, 5)), format="csr")
VECTOR = np.ones(4)
NO_IDENTITY = sp.Semiring(sp.Monoid("x * y / (x + y)"), "times")


def place(text, marked):
    """Return the line with the caret under the last character of a beginning."""
    return [f"  {text}", f"  {' ' * (len(marked) - 1)}^"]


ASSIGNMENTS = [
    ("y[i] = sum(k, A[i,j])", "y[i] = sum(k", ExpressionError, "no tensor has"),
    ("y[i,k] = sum(j, A[i,j])", "y[i,k", ExpressionError, "'k' is absent on the right"),
    ("y[i,i] = A[i,i]", "y[i,i", ExpressionError, "'i' is repeated"),
    ("A[i] = sum(j, A[i,j])", "A[i] = sum(j, A", ExpressionError, "read on the right"),
    ("y[i] = sum(i, A[i,i])", "y[i] = sum(i", ExpressionError, "already has a value"),
    ("y[i] = A[i,j] * W[i,j]", "y[i] = A[i,j] * W[i,j", ShapeError, "one extent"),
    ("y[i] = A[i,j] * A[j,i] * W[j,k] * x[k]", "y[i] = A[i,j] * A[j,i] * W[j,k] * x[k"),
    ("y[i] = A[i,j] * W[i]", "y[i] = A[i,j] * W", ExpressionError, "1 dimensions"),
    ("y[i] = x[i] * W[0, i]", "y[i] = x[i] * W[0, i", ShapeError, "extent 4 in x[i]"),
    (
        "y[i] = x[i] * x[i + 5]",
        "y[i] = x[i] * x[i",
        CoordinateError,
        "of extent 4, got",
    ),
    ("y[i] = A[i, 9]", "y[i] = A[i, 9", CoordinateError, "of extent 4, got"),
    ("y[i+1] = x[i]", "y[i+", ExpressionError, "expected ',' or ']'"),
]


@pytest.mark.parametrize("case", ASSIGNMENTS, ids=lambda case: case[0])
def test_the_place_in_an_assignment(case):
    text, marked, *expected = case
    error, said = expected or (ShapeError, "one extent")
    operands = {"A": SQUARE, "W": WIDE, "x": VECTOR}
    used = {name: value for name, value in operands.items() if f"{name}[" in text}
    with pytest.raises(error) as raised:
        sp.compute(text, **used)
    first, *shown = str(raised.value).splitlines()
    assert said in first
    assert shown == place(text, marked)


SUBSCRIPTS = [
    ("ij,jk->il", "ij,jk->il", ExpressionError, "'l' is in no operand"),
    ("ij,jk->ii", "ij,jk->ii", ExpressionError, "'i' twice"),
    ("ij, kj -> ik", "ij, kj", ShapeError, "got 4 in axis 1 of A (shape (4, 4)), 5"),
    ("ij,j->i", "ij,j", ExpressionError, "1 dimensions for B, got shape (4, 5)"),
    ("ij,2j->i", "ij,2", ExpressionError, "expected a letter"),
]


@pytest.mark.parametrize(("text", "marked", "error", "said"), SUBSCRIPTS)
def test_the_place_in_subscripts(text, marked, error, said):
    with pytest.raises(error) as raised:
        sp.einsum(text, SQUARE, WIDE)
    first, *shown = str(raised.value).splitlines()
    assert said in first
    assert shown == place(text, marked)


PROGRAMS = [
    ("T[i] = sum(j, A[i,j])\nu[i] = T[i] * W[i,i]", "u[i] = T[i] * W[i", "extent 4 in"),
    ("T[i] = sum(j, A[i,j])\nu[l] = T[i]", "u[l", "'l' is absent"),
    ("T[i] = sum(j, A[i,j])\nu[i] = T[i,i]", "u[i] = T", "1 indices, as T[i]"),
]


@pytest.mark.parametrize(("text", "marked", "said"), PROGRAMS)
def test_the_place_in_a_program(text, marked, said):
    named = {"A": SQUARE, "W": WIDE}
    used = {name: value for name, value in named.items() if f"{name}[" in text}
    with pytest.raises((ExpressionError, ShapeError)) as raised:
        sp.compute(text, **used)
    first, shown, caret = str(raised.value).splitlines()
    assert said in first
    assert shown.startswith(f"  {marked}")
    assert caret.index("^") - 2 == len(marked) - 1


def test_a_semiring_without_the_identity_that_a_union_needs():
    with pytest.raises(ExpressionError) as raised:
        sp.compute("C[i,j] = A[i,j] + B[i,j]", A=SQUARE, B=SQUARE, semiring=NO_IDENTITY)
    first, *shown = str(raised.value).splitlines()
    assert "expected a semiring whose addition has an identity" in first
    assert shown == place("C[i,j] = A[i,j] + B[i,j]", "C[i,j] = A[i,j] +")
    with pytest.raises(ExpressionError, match="identity, which a reduction over 'j'"):
        sp.einsum("ij->i", np.ones((2, 2)), semiring=NO_IDENTITY)


def test_what_is_compiled_over_a_semiring_without_an_identity():
    # There are formats only, and the kernel would compute with what is no number.
    with pytest.raises(ExpressionError) as raised:
        sp.compile("C[i,j] = A[i,j] + B[i,j]", A="csr", B="csr", semiring=NO_IDENTITY)
    assert str(raised.value).splitlines()[1:] == place(
        "C[i,j] = A[i,j] + B[i,j]", "C[i,j] = A[i,j] +"
    )
    text = "T[i,j] = A[i,j] * x[i]\nC[i,j] = T[i,j] + A[i,j]"
    with pytest.raises(ExpressionError) as raised:
        sp.compile(text, A="csr", semiring=NO_IDENTITY)
    _, first, second, caret = str(raised.value).splitlines()
    assert (first, second) == tuple(f"  {line}" for line in text.splitlines())
    assert caret == place(second, "C[i,j] = T[i,j] +")[1]


@pytest.mark.parametrize("dense", ["dense", "(i, j) -> (i: dense, j: dense)"])
def test_dense_operands_need_no_identity(monkeypatch, dense):
    monkeypatch.undo()
    kernel = sp.compile("C[i,j] = A[i,j] + A[j,i]", A=dense, semiring=NO_IDENTITY)
    made = kernel(np.array([[2.0, 6.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(made, [[1.0, 2.0], [2.0, 2.0]])


OPERANDS = [
    ("y[i] = A[i,j] * z[j]", "y[i] = A[i,j] * z", "A"),
    ("y[i] = A[i,j]", "y", "Ax"),
    ("A2[i] = A[i,j]", "A2[i] = A", ""),
]


@pytest.mark.parametrize(("text", "marked", "given"), OPERANDS)
def test_operands_that_are_missing_or_too_many(text, marked, given):
    operands = {"A": SQUARE, "x": VECTOR}
    with pytest.raises(ExpressionError, match="expected the operands A") as raised:
        sp.compute(text, **{name: operands[name] for name in given})
    assert str(raised.value).splitlines()[1:] == place(text, marked)


def test_an_operand_that_a_program_misses():
    with pytest.raises(ExpressionError, match="operands A, z, got A") as raised:
        sp.compute("T[i] = A[i,j]\ny[i] = T[i] * z[i]", A=SQUARE)
    _, *shown = str(raised.value).splitlines()
    assert shown == [
        "  T[i] = sum(j, A[i,j])",
        *place("y[i] = T[i] * z[i]", "y[i] = T[i] * z"),
    ]


def test_a_mask_of_other_dimensions():
    with pytest.raises(ExpressionError, match="2 dimensions for mask") as raised:
        sp.einsum("ij,jk->ik", SQUARE, WIDE, mask=VECTOR > 0)
    assert str(raised.value).splitlines()[1:] == place("ij,jk->ik", "ij,jk->i")


def test_a_workspace_that_is_larger_than_memory():
    many = np.ones(2**21)
    A = sp.from_coords([[1], [1]], [1.0], (2**21, 2**21), "csr")
    text = "y[j] = A[i,j] * exp(x[i] * z[j])"
    with pytest.raises(KernelMemoryError, match="dense workspace over i j") as raised:
        part = sp.schedule().precompute("exp(x[i] * z[j])", "i")
        sp.compute(text, A=A, x=many, z=many, schedule=part)
    assert str(raised.value).splitlines()[1:] == place(text, "y[j")


def test_a_schedule_that_would_change_the_result():
    with pytest.raises(ScheduleError) as raised:
        sp.einsum("ij,jk->ik", SQUARE, WIDE, schedule="reorder(j i k).parallelize(j)")
    assert "expression: ij,jk->ik" in str(raised.value)
    assert "at fault:   reorder(j i k)" in str(raised.value)
    with pytest.raises(ScheduleError, match=r"at fault: +parallelize\(j\)"):
        sp.einsum("ij,j->i", np.ones((4, 4)), VECTOR, schedule="parallelize(j)")


def test_what_is_larger_than_memory():
    with pytest.raises(KernelMemoryError) as raised:
        sp.einsum("ij->j", sp.from_coords([[1], [1]], [1.0], (2, 2**50), "csr"))
    assert str(raised.value).splitlines()[1:] == place("ij->j", "ij->j")


def test_text_that_is_no_expression_does_not_reach_the_source():
    for text in ("y = A[i,j]; import os", 'y[i] = A[i,j] # "', "y[i] = A[i,`j`]"):
        with pytest.raises(ExpressionError):
            sp.compute(text, A=SQUARE)
