"""Arrays of entries in any order: as `from_coords` makes them, bit by bit."""

import numpy as np
import pytest
from arrays import same
from hypothesis import given, settings
from hypothesis import strategies as st

import sparray as sp
from sparray.errors import CoordinateError, ShapeError
from sparray.evaluation import list_kernels
from sparray.io import entries
from sparray.io.entries import Entries, array_of_entries, checked_entries, mirror

DTYPES = [
    *("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"),
    *("complex64", "complex128"),
]


def random_entries(seed, shape, n, dtype, spread=None):
    """Return coordinates, many of them more than once, and values."""
    rng = np.random.default_rng(seed)
    coords = [rng.integers(0, min(extent, spread or extent), n) for extent in shape]
    return coords, rng.integers(0, 100, n).astype(dtype)


def agrees(coords, values, shape):
    dtype = entries.index_dtype_for(shape)
    given_entries = Entries([row.astype(dtype) for row in coords], values.copy())
    made = array_of_entries(given_entries, shape)
    assert len(given_entries.coords) == 0
    assert made.format.name == "coo"
    levels = [dict(level) for level in made.levels]
    sp.from_buffers(made.format, made.shape, levels, made.values)
    expected = sp.from_coords(coords, values, shape)
    assert made.dtype == expected.dtype
    return same(expected, made)


@settings(max_examples=150)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from([1, 2, 3, 30, 2**11, 2**31 + 5, 2**63 - 1]), min_size=1),
    st.integers(0, 60),
    st.sampled_from(DTYPES),
)
def test_any_entries(seed, shape, n, dtype):
    coords, values = random_entries(seed, shape[:4], n, dtype)
    assert agrees(coords, values, tuple(shape[:4]))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("spread", [None, 3, 200])
@pytest.mark.parametrize("shape", [(70_000, 90_000), (2**40, 2**20), (500,)])
def test_many_entries(shape, spread, dtype):
    # Buckets of few, of many and of most entries.
    coords, values = random_entries(0, shape, 60_000, dtype, spread)
    assert agrees(coords, values, shape)


def test_repeated_floats_are_added_in_their_order():
    values = np.array([1e16, 1.0, -1e16, 1.0])
    made = array_of_entries(Entries([np.zeros(4, np.int32)], values), (1,))
    assert made.values.tolist() == [((1e16 + 1.0) - 1e16) + 1.0]


def test_entries_in_order_are_taken_as_they_are():
    coords, values = [np.arange(5, dtype=np.int32)], np.ones(5)
    made = array_of_entries(Entries(list(coords), values), (5,))
    assert np.shares_memory(made.values, values)


def test_repeated_entries_can_be_refused():
    with pytest.raises(CoordinateError, match=r"\(1, 2\) twice"):
        array_of_entries(
            Entries([np.array([1, 1]), np.array([2, 2])], np.ones(2)),
            (3, 3),
            duplicates="error",
        )


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(list_kernels, "load_kernel", lambda key, make: None)
    coords, values = random_entries(0, (300, 400), 40_000, "float64")
    assert agrees(coords, values, (300, 400))


def test_entries_from_outside_are_checked():
    rows, values = np.array([0, 3]), np.ones(2)
    assert checked_entries([rows], values, (4,)).coords[0] is rows
    for wrong in (np.array([0, 4]), np.array([-1, 0]), np.array([0.5, 1])):
        with pytest.raises(CoordinateError):
            checked_entries([wrong], values, (4,))
    for coords in ([rows, rows], [np.array([0])], [np.array([[0, 1]])]):
        with pytest.raises(ShapeError):
            checked_entries(coords, values, (4,))


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric", "hermitian"])
def test_mirrored_entries(symmetry):
    rows, columns = np.array([0, 2, 2]), np.array([0, 0, 1])
    values = np.array([0, 1 + 2j, 3 - 4j])
    both = mirror(Entries([rows, columns], values), symmetry)
    dense = array_of_entries(both, (3, 3)).todense()
    other = {"symmetric": dense.T, "skew-symmetric": -dense.T}
    np.testing.assert_array_equal(dense, other.get(symmetry, dense.conj().T))
    assert dense[2, 0] == 1 + 2j
