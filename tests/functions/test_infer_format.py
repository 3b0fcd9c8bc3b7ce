"""Recommended formats: exact sizes, clear cases, reasons."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import sparray as sp
from sparray.formats import NAMED_FORMATS


def random_entries(shape, n, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    coords = np.array([rng.integers(0, extent, n) for extent in shape])
    return sp.from_coords(coords, np.ones(n, dtype), shape)


def rows_of_few(n_rows):
    """Return a matrix of a million rows of which few have entries."""
    rng = np.random.default_rng(0)
    rows = rng.choice(10**6, n_rows, replace=False).repeat(300)
    return np.stack([rows, rng.integers(0, 10**6, len(rows))])


@settings(deadline=None, max_examples=60)
@given(
    shape=st.lists(st.integers(0, 6), max_size=4),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["bool", "int16", "float64", "complex128"]),
)
def test_sizes_are_those_of_converted_arrays(shape, seed, dtype):
    rng = np.random.default_rng(seed)
    dense = (rng.random(shape) < rng.random()).astype(dtype)
    found = sp.infer_format(dense)
    for name, n_bytes in found.candidates.items():
        assert sp.array(dense, name).nbytes == n_bytes, name
    assert found.name in found.candidates
    assert sp.array(dense, found.format).format.name == found.name


def test_wide_indices_are_counted():
    made = sp.from_coords([[0, 5], [2**40, 7]], [1, 2], (10, 2**41), "csr")
    assert sp.infer_format(made).candidates["csr"] == made.nbytes
    assert made.index_dtype == np.int64


@pytest.mark.parametrize("ndim", [0, 1, 2, 3, 5])
def test_every_candidate_that_fits_is_compared(ndim):
    found = sp.infer_format(np.ones((2,) * ndim))
    compared = {sp.Format.parse(name, ndim) for name in found.candidates}
    for name, named in NAMED_FORMATS.items():
        # A batch takes what its matrices take, and more where they differ.
        if named.fits(ndim) and sp.Format.parse(name, ndim).batch_ndim == 0:
            assert sp.Format.parse(name, ndim) in compared
    assert len(compared) == len(found.candidates)
    assert ("bcsr(4, 4)" in found.candidates) == (ndim == 2)
    assert list(found.candidates.values()) == sorted(found.candidates.values())


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (np.ones((20, 30)), "dense"),
        (np.float64(3), "dense"),
        (scipy.sparse.random(300, 300, 0.05, rng=0), "csr"),
        (scipy.sparse.random(50_000, 40, 0.01, rng=0), "csc"),
        (random_entries((10**6, 10**6), 40), "coo"),
        (random_entries((10**6,), 40), "coo"),
        (sp.from_coords(rows_of_few(9), np.ones(2700), (10**6, 10**6)), "dcsr"),
        (sp.from_coords(rows_of_few(9)[::-1], np.ones(2700), (10**6,) * 2), "dcsc"),
        (random_entries((30, 30, 10**4), 20_000), "csr"),
        (scipy.sparse.diags_array([1.0, 1.0], offsets=[0, 7], shape=(90, 90)), "dia"),
        (np.kron(np.eye(9)[::-1], np.ones((4, 4))), "bcsr(4, 4)"),
        (np.kron(np.eye(9, k=2)[::-1], np.ones((8, 8))), "bcsr(8, 8)"),
        (np.zeros((4, 5)), "csr"),
        (np.zeros((0,)), "coo"),
        (np.zeros((3, 0, 2)), "csf"),
    ],
    ids=str,
)
def test_clear_cases(obj, name):
    found = sp.infer_format(obj)
    assert found.name == found.format.name == name


def test_shared_coordinates_of_more_dimensions_are_a_tree():
    rng = np.random.default_rng(0)
    outer = rng.integers(0, 10**6, (2, 50)).repeat(40, axis=1)
    coords = np.concatenate([outer, rng.integers(0, 10**6, (1, 2000))])
    found = sp.infer_format(sp.from_coords(coords, np.ones(2000), (10**6,) * 3))
    assert found.name == "csf"


def test_entries_that_fit_n_of_m_are_compared():
    rng = np.random.default_rng(0)
    row = np.repeat([[1.0, 0, 0, 2, 0, 3, 4, 0]], 9, axis=0)
    found = sp.infer_format(rng.permuted(row.reshape(9, 2, 4), axis=2).reshape(9, 8))
    assert found.name == found.format.name == "nm(2, 4)"
    assert found.candidates["nm(2, 4)"] == 36 * (1 + 8)
    assert "nm(1, 4)" not in found.candidates
    assert "nm(4, 8)" in found.candidates
    assert "no block of 4 has more than 2 entries" in found.reasons[0]


def test_entries_that_can_be_grouped_are_compared():
    columns = np.eye(10)[np.arange(320) % 10].T
    dense = np.kron([[1.0], [2.0]], columns)
    found = sp.infer_format(dense)
    assert found.candidates["nmg(1, 10, 16)"] == 2 * 320 * (4 + 8)
    assert sp.array(dense, "nmg(1, 10, 16)").nbytes == 2 * 320 * (4 + 8)
    dense[0, 1] = 1
    assert "nmg(1, 10, 16)" not in sp.infer_format(dense).candidates


def test_the_answer_depends_on_the_pattern_only():
    made = random_entries((200, 300), 2_000)
    answers = {str(sp.infer_format(made.to_format(name))) for name in ("csr", "csc")}
    answers.add(str(sp.infer_format(made.to_scipy())))
    answers.add(str(sp.infer_format(made.todense())))
    assert len(answers) == 1


def test_repeated_coordinates_count_once():
    coords = np.array([[0, 1, 1], [2, 0, 0]])
    format = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    kept = sp.from_coords(coords, [1.0] * 3, (4, 4), format, duplicates="keep")
    summed = sp.from_coords(coords, [1.0] * 3, (4, 4))
    assert kept.nnz == 3
    assert sp.infer_format(kept) == sp.infer_format(summed)


def test_a_fill_value_is_not_stored():
    dense = np.full((50, 60), 7.0)
    dense[3, 4] = 0
    found = sp.infer_format(sp.array(dense, "csr", fill_value=7))
    assert "1 of 3,000 elements are stored: density 0.00033" in found.reasons


def test_reasons_tell_rows_diagonals_and_blocks():
    tridiagonal = scipy.sparse.diags_array(
        [1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(90, 90)
    )
    text = str(sp.infer_format(tridiagonal))
    assert "90 of 90 rows have entries: 2.98 in the mean, 3 at most" in text
    assert "all entries lie on 3 diagonals" in text
    assert "blocks" not in text
    blocks = np.kron(np.eye(9) + np.eye(9, k=4), np.ones((4, 4)))
    text = str(sp.infer_format(blocks))
    assert "entries fill 100% of the 14 blocks of 4 × 4 that they lie in" in text
    assert "diagonals" not in text
    assert "nothing is stored to judge by" in str(sp.infer_format(np.zeros((3, 3))))


def test_a_size_beyond_any_float_is_compared():
    made = sp.from_coords(np.ones((64, 1), int), [1.0], (2**40,) * 64)
    found = sp.infer_format(made)
    assert found.name == "coo"
    assert found.candidates["dense"] == 8 * made.size
    assert "dense     over 10^771" in str(found)


def test_the_table_marks_the_recommended_format():
    found = sp.infer_format(np.eye(100))
    lines = str(found).splitlines()
    assert lines[0] == "dia: (i, j) -> (j - i: compressed, i: range)"
    assert [line for line in lines if line.startswith("*")] == [
        "* dia            812  1 ×"
    ]
    assert "  csr          1,604  1.98 ×" in lines
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "csc"
