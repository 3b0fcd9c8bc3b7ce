"""Tensors that are called like an option are refused with what to do."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ExpressionError

A = sp.array(np.eye(3), format="csr")
OPTIONS = ["format", "missing", "outputs", "schedule", "semiring", "mask", "complement"]


@pytest.mark.parametrize("function", [sp.compute, sp.explain])
@pytest.mark.parametrize("name", OPTIONS)
def test_an_operand_with_the_name_of_an_option(function, name):
    text = f"y[i] = x[j] * {name}[i,j]"
    with pytest.raises(ExpressionError) as error:
        function(text, **{name: A}, x=np.ones(3))
    message = str(error.value)
    assert f"got {name}: {name}= is an option of {function.__name__}" in message
    line, caret = message.splitlines()[-2:]
    assert line[caret.index("^") :].startswith(f"{name}[i,j]")


@pytest.mark.parametrize("name", ["mask", "dtype", "semiring", "index_dtype"])
def test_a_format_with_the_name_of_an_option(name):
    with pytest.raises(ExpressionError, match=f"{name}= is an option of compile"):
        sp.compile(f"y[i] = {name}[i,j]", **{name: "csr"})


def test_names_of_parameters_and_of_what_is_assigned_are_free():
    # `expression` is given by position alone.
    total = sp.compute("y[i] = expression[i,j]", expression=A)
    np.testing.assert_array_equal(total, np.ones(3))
    made = sp.compute("mask[i,j] = A[i,j] * 2; y[i] = mask[i,j]", A=A)
    np.testing.assert_array_equal(made, np.full(3, 2.0))


def test_other_errors_are_what_they_were():
    with pytest.raises(ExpressionError, match="expected the operands A, x"):
        sp.compute("y[i] = A[i,j] * x[j]", A=A)
    with pytest.raises(ExpressionError, match="expected names that are assigned"):
        sp.compute("y[i] = A[i,j]", A=A, outputs=["mask"])
