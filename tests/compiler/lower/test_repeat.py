"""Updates by a constant, once for all the coordinates where operands store nothing."""

import numpy as np
import pytest
from oracle_check import Question, interpreted, plan_of

import sparray as sp
from sparray.compiler.loop_ir.printer import print_function

LONG = 2**40


def wide(fill, format="csr", dtype="float64"):
    coords = [[0, 0, 1], [3, LONG - 1, 5]]
    values = np.array([7, 1, -4], dtype)
    return sp.from_coords(coords, values, (3, LONG), format, fill_value=fill)


@pytest.mark.parametrize("format", ["csr", "dcsr", "coo", "ell"])
@pytest.mark.parametrize(
    ("word", "fill", "expected"),
    [
        ("sum", 2.0, [2.0 * (LONG - 2) + 8, 2.0 * (LONG - 1) - 4, 2.0 * LONG]),
        ("sum", np.inf, [np.inf] * 3),
        ("min", 2.0, [1, -4, 2]),
        ("max", 2.0, [7, 2, 2]),
        ("max", np.nan, [np.nan] * 3),
    ],
)
def test_the_time_does_not_depend_on_the_extent(word, fill, expected, format):
    with interpreted():
        found = sp.compute(f"y[i] = {word}(j, A[i,j])", A=wide(fill, format))
        np.testing.assert_array_equal(found, expected)
        found = sp.compute(f"y = {word}((i, j), A[i,j])", A=wide(fill, format))
        total = {"sum": np.sum, "min": np.min, "max": np.max}[word](expected)
        np.testing.assert_array_equal(found, total)


def test_sums_along_the_outer_level_convert_first():
    a = wide(2.0)
    tall = sp.array(np.full((300, 400), 2.0), "csr", fill_value=2.0)
    with interpreted():
        found = sp.compute("y[j] = A[i,j]", A=tall)
        np.testing.assert_array_equal(found, np.full(400, 600.0))
    (column,) = (r for r in sp.explain("ij->j", a).splitlines() if "convert A" in r)
    assert "j: dense" in column or "j: compressed" in column


def test_two_operands_meet():
    a, b = wide(2.0), wide(1.0, "dcsr")
    with interpreted():
        found = sp.compute("y[i] = sum(j, A[i,j] - B[i,j])", A=a, B=b)
        np.testing.assert_array_equal(found, [LONG - 2, LONG - 1, LONG])
        found = sp.compute("y = all((i, j), (A[i,j] + s) > B[i,j])", A=a, B=b, s=1.0)
        assert found


def test_integers_wrap():
    with interpreted():
        found = sp.compute("y[i] = A[i,j]", A=wide(3, dtype="int8"))
    exact = np.array([3 * (LONG - 2) + 8, 3 * (LONG - 1) - 4, 3 * LONG])
    np.testing.assert_array_equal(found, exact.astype("int8"))


def test_complete_rows_have_nothing_to_add():
    full = sp.array(np.ones((2, 3)), "coo", fill_value=0.0)
    inf = sp.from_coords(*full.to_coords(), (2, 3), "csr", fill_value=np.inf)
    with interpreted():
        np.testing.assert_array_equal(sp.compute("y[i] = A[i,j]", A=inf), [3.0, 3.0])


def test_a_product_of_constants_is_a_loop():
    a = sp.array([[1.0, 3.0]], "csr", fill_value=3.0)
    with interpreted():
        assert sp.compute("y[i] = prod(j, A[i,j])", A=a) == 3.0
        question = Question("y[i] = prod(j, A[i,j])", (a,))
        (kernel,) = plan_of(question).kernels
        assert "absent" not in print_function(kernel.functions[-1])
