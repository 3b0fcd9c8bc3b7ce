"""Reductions of many entries: expressions, here interpreted, against NumPy."""

import itertools

import numpy as np
import pytest

import sparray as sp
from sparray.dispatch import evaluate_expression
from sparray.functions.reductions import by_kernel, folds

NAMES = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std"]


@pytest.fixture
def computed(monkeypatch):
    """Reduce by expressions alone, however few entries there are; count them."""
    found = []

    def evaluate(expression, operands, format):
        found.append(expression.text)
        return evaluate_expression(expression, operands, format)

    monkeypatch.setattr(by_kernel, "_WORTH_COMPILING", 0)
    monkeypatch.setattr(by_kernel, "_SPARSE", 2**30)
    monkeypatch.setattr(by_kernel, "try_compiled", evaluate)
    monkeypatch.setattr(folds, "_compiled", lambda *_: None)
    monkeypatch.setattr("sparray.dispatch._calls", {})
    monkeypatch.setattr(
        "sparray.evaluation.execution.load_kernel", lambda key, make: None
    )
    return found


def elements(shape, fill, dtype, share):
    rng = np.random.default_rng(len(shape))
    dense = rng.integers(-4, 5, shape).astype(dtype)
    dense[rng.random(shape) >= share] = fill
    if 0 < share < 1 and len(shape) > 1:
        # A fibre without anything that is not stored.
        dense.reshape(-1, shape[-1])[1] = 3
    if dense.dtype.kind == "f" and share:
        dense.flat[3] = np.nan
    return dense


FILLS = [
    (0, "float64"),
    (np.nan, "float64"),
    (2.5, "float32"),
    (2, "int16"),
    (1, "bool"),
]
SHAPES = [((5,), "coo"), ((4, 3), "csr"), ((3, 4), "csc"), ((2, 3, 4), "csf")]
QUICK = {("coo", 1, 0.4), ("csr", 3, 0.0), ("csr", 1, 0.4), ("csr", 4, 0.4)}
QUICK |= {("csr", 2, 1.0), ("csc", 0, 0.4), ("csf", 0, 0.4)}


def cases():
    for (shape, format), number, share in itertools.product(
        SHAPES, range(len(FILLS)), [0.0, 0.4, 1.0]
    ):
        slow = (format, number, share) not in QUICK
        marks = [pytest.mark.slow] if slow else []
        yield pytest.param(shape, format, *FILLS[number], share, marks=marks)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("shape", "format", "fill", "dtype", "share"), list(cases()))
def test_every_reduction(computed, shape, format, fill, dtype, share):
    dense = elements(shape, fill, dtype, share)
    array = sp.array(dense, format=format, fill_value=fill)
    axes = [
        c
        for k in range(1, len(shape) + 1)
        for c in itertools.combinations(range(len(shape)), k)
    ]
    for name, axis, keepdims in itertools.product(NAMES, axes, [False, True]):
        wanted = getattr(np, name)(dense, axis=axis, keepdims=keepdims)
        found = getattr(sp, name)(array, axis=axis, keepdims=keepdims)
        left = len(shape) - len(axis)
        assert isinstance(found, sp.SparseArray) == (left > 1)
        if left > 1:
            assert keepdims or found.nnz <= array.nnz
            found = found.todense()
        assert (np.shape(found), found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert computed


def test_complex_numbers(computed):
    dense = np.array([[1 + 2j, 0, 3], [0, 0, 1j]])
    array = sp.array(dense, format="csr")
    for name, axis in itertools.product(["sum", "prod", "mean", "var"], [0, 1]):
        wanted = getattr(np, name)(dense, axis=axis)
        np.testing.assert_allclose(getattr(sp, name)(array, axis=axis), wanted)
    assert computed


def test_of_few_entries_nothing_is_computed_by_kernels():
    array = sp.array(np.eye(3), format="csr")
    assert by_kernel.by_kernel(array, (0,), keepdims=False) is None


def test_a_dense_result_far_larger_than_the_entries_is_none_for_kernels(computed):
    array = sp.from_coords([[5], [0]], [1.0], (2**40, 2), "coo")
    assert by_kernel.by_kernel(array, (1,), keepdims=False) is None
    assert by_kernel.by_kernel(array, (0,), keepdims=False) is not None
