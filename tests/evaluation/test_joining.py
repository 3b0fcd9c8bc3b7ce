"""Indices that occur together, computed as one."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_check import check_dispatch, interpreted, refusal
from oracle_problems import random_question

import sparray as sp
from sparray import dispatch
from sparray.compiler.problem import TensorSpec
from sparray.errors import KernelMemoryError
from sparray.evaluation import joining
from sparray.evaluation.expression import assignment_expression
from sparray.formats import Compressed, Format, Hashed, Singleton, named_format

NDIM = 64


def many(n=30, seed=0, ndim=NDIM, format="coo"):
    rng = np.random.default_rng(seed)
    coords = rng.integers(0, 2, (ndim, n))
    return sp.from_coords(coords, np.arange(1.0, n + 1), (3,) * ndim, format)


def entries(*arrays):
    """The sum of arrays as a dictionary."""
    total = {}
    for array in arrays:
        coords, values = array.to_coords()
        for place, value in zip(map(tuple, coords.T.tolist()), values, strict=True):
            total[place] = total.get(place, 0) + value
    return total


def formats():
    unordered = [Singleton(unique=False, ordered=False)] * (NDIM - 2)
    yield named_format("csf", NDIM)
    yield Format([Compressed()] * NDIM, tuple(reversed(range(NDIM))))
    yield Format([Hashed()] * NDIM)
    yield Format([Compressed()] * (NDIM - 1) + [Hashed()])
    yield Format(
        [
            Compressed(unique=False, ordered=False),
            *unordered,
            Singleton(ordered=False),
        ]
    )


@pytest.mark.parametrize("format", list(formats()), ids=lambda f: str(f)[-30:])
def test_arrays_of_64_dimensions_convert_and_add(format):
    left, right = many(), many(seed=1)
    made = left.to_format(format)
    assert entries(made) == entries(left)
    assert entries(made.to_format("coo")) == entries(left)
    total = made + right.to_format(format)
    assert entries(total) == entries(left, right)
    assert entries(made + right) == entries(left, right)
    assert (left - made).nnz == left.nnz
    assert entries(left * 2.0) == entries(left, left)
    assert (left + right).format == left.format
    assert float(left.sum()) == left.values.sum()


BLOCKED = "(i, j) -> (i // 2: compressed, i % 2: dense, j: compressed)"


@pytest.mark.parametrize(
    "name",
    [
        "csf",
        "dcsc",
        "(i, j) -> (i: hashed, j: hashed)",
        "(i, j) -> (i: compressed, j: hashed)",
        "(i, j) -> (i: compressed, j: padded)",
    ],
)
def test_shapes_whose_product_passes_int64(name):
    made = very_wide()
    other = made.to_format(name)
    assert entries(other.to_format("coo")) == entries(made)
    assert entries(other + made) == entries(made, made)
    assert entries(other * other).keys() == entries(made).keys()


def test_shapes_of_which_not_all_positions_fit_in_memory():
    made = very_wide()
    blocked = made.to_format(BLOCKED)
    assert entries(blocked.to_format("coo")) == entries(made)
    for name in ("csr", "dia", "bitmap"):
        with pytest.raises(KernelMemoryError):
            made.to_format(name)


def very_wide():
    coords = [[0, 2**62 - 1, 5], [2**62 - 1, 0, 7]]
    return sp.from_coords(coords, [1.0, 2.0, 3.0], (2**62, 2**62), "coo")


def test_products_keep_what_both_have():
    left, right = many(), many(seed=1)
    both = left + right
    assert entries(left * both) == {
        place: value * entries(both)[place] for place, value in entries(left).items()
    }


def test_other_indices_stay_what_they_are():
    left, right = many(ndim=12), many(seed=1, ndim=12)
    x = np.array([1.0, 10.0, 100.0])
    indices = ",".join("ijklmnopqrst")
    text = f"y[i] = (A[{indices}] + B[{indices}]) * x[i]"
    expected = np.zeros(3)
    for place, value in entries(left, right).items():
        expected[place[0]] += value * x[place[0]]
    assert np.allclose(sp.compute(text, A=left, B=right, x=x), expected)
    text = f"C[{indices}] = (A[{indices}] + B[{indices}]) * x[t]"
    scaled = sp.compute(text, A=left, B=right, x=x)
    assert entries(scaled) == {
        place: value * x[place[-1]] for place, value in entries(left, right).items()
    }
    reverse = ",".join(reversed("ijklmnopqrst"))
    text = f"C[{indices}] = A[{indices}] + A[{reverse}]"
    mirrored = sp.compute(text, A=left)
    turned = {place[::-1]: value for place, value in entries(left).items()}
    both = entries(left)
    for place, value in turned.items():
        both[place] = both.get(place, 0) + value
    assert entries(mirrored) == both


def test_what_is_fused():
    sparse, dense = named_format("csf", 3), named_format("dense", 3)

    def groups(text, **given):
        expression = assignment_expression(text)
        specs = {
            n: TensorSpec(given[expression.tensors[k]], "float64")
            for n, k in expression.operands
        }
        with mock.patch.object(joining, "_MOST_MERGED", 0):
            found = joining.join_indices(expression, specs)
        return None if found is None else list(found.groups.values())

    text = "C[i,j,k] = A[i,j,k] + B[i,j,k]"
    assert groups(text, A=sparse, B=sparse) == [("i", "j", "k")]
    assert groups(text, A=sparse, B=dense) is None
    # One is stored everywhere.
    text = "C[i,j,k] = A[i,j,k] * B[i,j,k] + 1"
    assert groups(text, A=sparse, B=sparse) is None
    text = "C[i] = A[i,j,k] * B[i,j,k]"
    assert groups(text, A=sparse, B=sparse) == [("j", "k")]
    text = "C[i,j] = A[i,j,k] * B[k,i,j]"
    assert groups(text, A=sparse, B=sparse) == [("i", "j")]


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_problems_with_as_few_indices_as_possible(seed):
    with (
        interpreted(),
        mock.patch.object(joining, "_MOST_MERGED", 0),
        mock.patch.object(joining, "_MOST_LOOPS", 0),
        mock.patch.object(dispatch, "_FEW_INDICES", 0),
    ):
        refusal(random_question(seed), check_dispatch)
