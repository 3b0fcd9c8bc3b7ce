"""Lists of coordinates and points of large arrays: expressions, here interpreted."""

import numpy as np
import pytest

import sparray as sp
from sparray.dispatch import evaluate_expression
from sparray.functions.indexing import gathers


@pytest.fixture
def computed(monkeypatch):
    """Select by expressions however few entries there are; collect their texts."""
    found = []

    def evaluate(expression, operands, format):
        found.append(expression.text)
        return evaluate_expression(expression, operands, format)

    monkeypatch.setattr(gathers, "_WORTH_COMPILING", 0)
    monkeypatch.setattr(gathers, "_WORTH_LISTING", 0)
    monkeypatch.setattr(gathers, "try_compiled", evaluate)
    monkeypatch.setattr("sparray.dispatch._calls", {})
    monkeypatch.setattr(
        "sparray.evaluation.execution.load_kernel", lambda key, make: None
    )
    return found


def elements(shape, fill, dtype, share=0.5):
    rng = np.random.default_rng(len(shape))
    dense = rng.integers(-3, 4, shape).astype(dtype)
    dense[rng.random(shape) >= share] = fill
    return dense


def check(array, dense, index):
    found = array[index]
    np.testing.assert_array_equal(found.todense(), dense[index])
    fill, wanted = np.asarray(found.fill_value), np.asarray(array.fill_value)
    np.testing.assert_array_equal(fill, wanted)
    # Buffers that are given are checked: that coordinates ascend, and occur once.
    made = sp.from_buffers(
        found.format, found.shape, list(found.levels), found.values, fill_value=fill
    )
    assert made.nnz == found.nnz


@pytest.mark.parametrize(
    ("dtype", "fill"), [("float64", np.nan), ("int16", 3), ("bool", False)]
)
@pytest.mark.parametrize(
    ("shape", "format"), [((5, 4), "csr"), ((4, 5), "csc"), ((3, 4, 2), "csf")]
)
def test_lists_and_points(computed, shape, format, dtype, fill):
    dense = elements(shape, fill, dtype)
    array = sp.array(dense, format=format, fill_value=fill)
    rng = np.random.default_rng(0)
    ends = [0, len(shape) - 1]
    for axis in ends:
        for chosen in ([1, 0, 1], [0, 1], [], [0, 1, 1]):
            # Of the dimensions between, NumPy takes the entries.
            check(array, dense, (slice(None),) * axis + (np.array(chosen, int),))
    assert len(computed) == len(ends) * 4
    for points in (5, (2, 3)):
        check(array, dense, tuple(rng.integers(0, n, points) for n in shape))
    assert len(computed) == len(ends) * 4 + 2


def test_bits_stay_as_they_are(computed):
    dense = np.array([[0.0, 1.0], [2.0, 3.0]])
    array = sp.array(dense, format="csr")
    array.values[:] = [-0.0, np.nan, -np.inf]
    found = array[[0, 1, 0]]
    assert found.values.tobytes() == array.values[[0, 1, 2, 0]].tobytes()
    assert computed


def test_few_entries_and_other_formats_are_for_numpy(computed, monkeypatch):
    dense = elements((4, 4), 0, "float64")
    for format in ("ell", "dia", "bitmap", "bcsr(2, 2)"):
        check(sp.array(dense, format=format), dense, np.array([2, 0]))
    check(sp.array(dense * 1j, format="csr"), dense * 1j, np.array([2, 0]))
    monkeypatch.setattr(gathers, "_WORTH_COMPILING", 2**15)
    check(sp.array(dense, format="csr"), dense, np.array([2, 0]))
    assert not computed


def test_lists_of_few_rows_are_slices_of_the_buffers(computed, monkeypatch):
    dense = elements((5, 4), 0.0, "float64")
    array = sp.array(dense, format="csr")
    monkeypatch.setattr(gathers, "_WORTH_LISTING", array.nnz + 1)
    check(array, dense, [3, 1, 3])
    assert not computed
    # Columns are no slices, whatever the number of entries.
    check(array, dense, (slice(None), [3, 1, 3]))
    assert len(computed) == 1
    monkeypatch.setattr(gathers, "_WORTH_LISTING", array.nnz)
    check(array, dense, [3, 1, 3])
    assert len(computed) == 2
