"""Extents that windows and sums of indices give, and what leaves a dimension."""

import numpy as np
import pytest

from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.verify import index_extents
from sparray.errors import CoordinateError, ShapeError


def extents(text, **shapes):
    found = index_extents(parse_assignment(text), shapes)
    return {name: size for name, size in found.items() if name.isidentifier()}


def test_windows_give_their_length():
    assert extents("y[i] = x[i in 2:10:3]", x=(9,)) == {"i": 3}
    assert extents("y[i] = x[i in 2:100]", x=(9,)) == {"i": 7}
    assert extents("y[i] = x[i in ::-2]", x=(9,)) == {"i": 5}
    assert extents("y[i] = x[i in 5:2]", x=(9,)) == {"i": 0}


def test_sums_give_the_largest_extent_that_fits():
    assert extents("y[i] = x[i + k] * w[k]", x=(10,), w=(3,)) == {"i": 8, "k": 3}
    assert extents("y[i] = x[2*i + k] * w[k]", x=(10,), w=(3,)) == {"i": 4, "k": 3}
    assert extents("y[i] = x[i + 2]", x=(10,)) == {"i": 8}
    assert extents("y[i] = x[7 - i]", x=(10,)) == {"i": 8}
    assert extents("y[i] = x[i + 1] - z[i + 4]", x=(10,), z=(9,)) == {"i": 5}
    assert extents("y[i] = x[i + 2]", x=(1,)) == {"i": 0}
    assert extents("y[i] = x[i+k] * z[k+l] * w[l]", x=(9,), z=(5,), w=(2,)) == {
        "l": 2,
        "k": 4,
        "i": 6,
    }


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("y[i] = x[i+1] - x[i]", {"x": (5,)}, "coordinates 1 to 5 of i+1"),
        ("y[i] = x[i-1] - x[i]", {"x": (5,)}, "coordinates -1 to 3 of i-1"),
        ("y = x[5]", {"x": (5,)}, "extent 5, got coordinate 5"),
        ("y = x[-6]", {"x": (5,)}, "got coordinate -6"),
    ],
)
def test_coordinates_that_leave_a_dimension(text, shapes, message):
    with pytest.raises(CoordinateError) as caught:
        extents(text, **shapes)
    assert message in str(caught.value)
    assert isinstance(caught.value, IndexError)


def test_extents_that_nothing_gives():
    with pytest.raises(ShapeError, match="got none for two of them"):
        extents("y[i] = x[i + k]", x=(5,))
    with pytest.raises(ShapeError, match=r"extent 4 in x\[i in 1:\] and 5 in z\[i\]"):
        extents("y[i] = x[i in 1:] * z[i]", x=(5,), z=(5,))


def test_the_interpreter_reads_windows():
    x, w = np.arange(20.0) ** 2, np.array([1.0, -2.0, 1.0])
    found = evaluate(parse_assignment("y[i] = x[i + k] * w[k]"), {"x": x, "w": w})
    np.testing.assert_array_equal(found, np.convolve(x, w[::-1], "valid"))
    A = np.arange(42.0).reshape(6, 7)
    found = evaluate(parse_assignment("C[i,j] = A[i in 4::-2, j in 1:-1]"), {"A": A})
    np.testing.assert_array_equal(found, A[4::-2, 1:-1])
    found = evaluate(parse_assignment("y[j] = A[-1, j] + A[0, j]"), {"A": A})
    np.testing.assert_array_equal(found, A[-1] + A[0])
