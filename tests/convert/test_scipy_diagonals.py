"""SciPy's diagonals in and out, and what is shared."""

import numpy as np
import pytest
import scipy.sparse

from sparray.convert import array, from_buffers, from_scipy, to_scipy
from sparray.errors import InvalidBufferError

BY_COLUMN = "(i, j) -> (i - j: compressed, j: range)"
SHAPES = [(4, 6), (6, 4), (5, 5), (1, 7), (7, 1)]


def dia(shape, offsets, dtype="float64"):
    data = np.arange(1, len(offsets) * shape[1] + 1).reshape(len(offsets), shape[1])
    return scipy.sparse.dia_array((data.astype(dtype), offsets), shape=shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("offsets", [[0], [2, -1, 0], [-3, -2], [3, 1, -2], []])
def test_diagonals_come_and_go(shape, offsets):
    offsets = [n for n in offsets if -shape[0] < n < shape[1]]
    matrix = dia(shape, offsets)
    for format in (None, "dia", BY_COLUMN, "csr", "coo", "bcsr(2, 2)"):
        made = from_scipy(matrix, format)
        assert np.array_equal(made.todense(), matrix.toarray())
        again = from_buffers(made.format, shape, made.levels, made.values)
        assert np.array_equal(to_scipy(again).toarray(), matrix.toarray())
    assert from_scipy(matrix).format.name == "dia"
    assert to_scipy(from_scipy(matrix)).format == "dia"


def test_diagonals_stored_by_column_are_shared_both_ways():
    matrix = dia((4, 6), [3, 0, -2])
    made = from_scipy(matrix, BY_COLUMN, copy=False)
    assert np.shares_memory(made.values, matrix.data)
    again = to_scipy(made)
    assert again.format == "dia"
    assert np.shares_memory(again.data, matrix.data)
    assert again.offsets.tolist() == [3, 0, -2]
    assert not np.shares_memory(from_scipy(matrix, BY_COLUMN).values, matrix.data)
    assert not np.shares_memory(to_scipy(made, copy=True).data, made.values)
    by_row = from_scipy(matrix, copy=False)
    assert not np.shares_memory(by_row.values, matrix.data)


def test_explicit_zeros_of_diagonals_are_entries():
    matrix = dia((3, 3), [0, 1])
    matrix.data[0, 1] = 0
    made = from_scipy(matrix)
    assert made.nnz == matrix.nnz == 5


def test_odd_arrays_of_scipy():
    wide = scipy.sparse.dia_array((np.ones((2, 9)), [0, 7]), shape=(4, 6))
    assert np.array_equal(from_scipy(wide).todense(), np.eye(4, 6))
    narrow = scipy.sparse.dia_array((np.ones((1, 2)), [0]), shape=(4, 6))
    assert np.array_equal(from_scipy(narrow).todense(), narrow.toarray())
    nothing = scipy.sparse.dia_array((0, 3))
    assert from_scipy(nothing).nnz == 0
    assert to_scipy(array(np.zeros((0, 3)), "dia")).shape == (0, 3)
    large = dia((3, 4), [1], "uint8")
    assert from_scipy(large, dtype="float32").dtype == np.float32


def test_malformed_diagonals_are_refused():
    matrix = dia((4, 4), [0, 1])
    matrix.offsets = np.array([1, 1])
    with pytest.raises(InvalidBufferError, match="expected each offset once"):
        from_scipy(matrix)
    matrix.offsets = np.array([1])
    with pytest.raises(InvalidBufferError, match="a row of data for each"):
        from_scipy(matrix)
