"""Entries at each coordinate, and how often two operands have them at the same."""

import numpy as np
import pytest

import sparray as sp
from sparray.evaluation.entry_counts import coordinate_counts, overlap_factors

N = 600


@pytest.fixture(scope="module")
def hubs():
    """Coordinates of which most are in the first rows, and the first columns."""
    rng = np.random.default_rng(0)
    coords = np.minimum(rng.zipf(1.7, (3, 30_000)) - 1, N - 1)
    return np.unique(coords, axis=1)


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "dcsc", "coo"])
def test_counts_are_those_of_the_coordinates(hubs, format):
    coords = np.unique(hubs[:2], axis=1)
    values = np.ones(coords.shape[1])
    array = sp.from_coords(coords, values, (N, N), format)
    for dimension in range(2):
        expected = np.bincount(coords[dimension], minlength=N)
        found = coordinate_counts(array, dimension)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", ["i j k", "k i j", "j k i"])
def test_counts_of_three_dimensions_in_any_order(hubs, order):
    i, j, k = order.split()
    format = f"(i, j, k) -> ({i}: compressed, {j}: compressed, {k}: compressed)"
    array = sp.from_coords(hubs, np.ones(hubs.shape[1]), (N,) * 3, format)
    for dimension in range(3):
        expected = np.bincount(hubs[dimension], minlength=N)
        np.testing.assert_array_equal(coordinate_counts(array, dimension), expected)


def test_blocks_and_far_too_long_dimensions_are_not_counted():
    blocks = sp.array(np.eye(64), format="bcsr(4, 4)")
    assert coordinate_counts(blocks, 0) is None
    long = sp.from_coords([[1], [1]], [1.0], (10**12, 10**12), "dcsr")
    assert coordinate_counts(long, 1) is None


def test_of_many_positions_some_stand_for_all(monkeypatch, hubs):
    monkeypatch.setattr("sparray.evaluation.entry_counts._SAMPLED", 2**12)
    array = sp.from_coords(hubs, np.ones(hubs.shape[1]), (N,) * 3, "csf")
    exact = np.bincount(hubs[2], minlength=N)
    found = coordinate_counts(array, 2)
    assert found.sum() == pytest.approx(exact.sum(), rel=0.01)
    assert found[0] == pytest.approx(exact[0], rel=0.1)


def test_the_overlap_is_the_share_of_pairs_that_meet():
    drawn = np.random.default_rng(0).zipf(1.4, (2, 30_000)) - 1
    coords = np.unique(np.minimum(drawn, N - 1), axis=1)
    values = np.ones(coords.shape[1])
    A = sp.from_coords(coords, values, (N, N), "csr")
    B = sp.from_coords(coords[::-1], values, (N, N), "csr")
    rows, columns = (np.bincount(row, minlength=N) for row in coords)
    factors = overlap_factors({"A": ("ik", A), "B": ("kj", B)})
    # B is the transpose: its rows are A's columns.
    expected = columns @ columns * N / len(values) ** 2
    assert set(factors) == {("k", frozenset("AB"))}
    assert expected / 1.5 < factors["k", frozenset("AB")] < 1.5 * expected
    assert rows.max() > 20 * rows.mean()


def test_evenly_spread_few_and_dense_operands_have_no_overlaps(hubs):
    drawn = np.random.default_rng(1).random((N, N)) < 0.05
    even = sp.array(drawn * 1.0, format="csr")
    few = sp.from_coords(hubs[:2, :100], np.ones(100), (N, N), "coo", duplicates="sum")
    dense = sp.array(np.ones((N, N)), format="dense")
    assert overlap_factors({"A": ("ik", even), "B": ("kj", even)}) == {}
    assert overlap_factors({"A": ("ik", few), "B": ("kj", few)}) == {}
    assert overlap_factors({"A": ("ik", dense), "B": ("kj", dense)}) == {}


def test_operands_that_never_meet_are_as_far_apart_as_is_counted():
    low, high = np.zeros((200, 200)), np.zeros((200, 200))
    low[:100], high[100:] = 1, 1
    A, B = sp.array(low, format="csr"), sp.array(high, format="csr")
    factors = overlap_factors({"A": ("ij", A), "B": ("ij", B)})
    assert factors["i", frozenset("AB")] == 1 / 16
