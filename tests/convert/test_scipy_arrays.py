"""SciPy sparse arrays in and out."""

import numpy as np
import pytest
import scipy.sparse

from sparray.convert import array, from_scipy, to_scipy
from sparray.errors import (
    CoordinateError,
    DTypeError,
    InvalidBufferError,
    SettingError,
    UnsupportedError,
)
from sparray.formats import NAMED_FORMATS

rng = np.random.default_rng(1)
DENSE = rng.integers(1, 9, (4, 6)) * (rng.random((4, 6)) < 0.4) * 1.0
SCIPY_FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name in SCIPY_FORMATS
        for shape in [(4, 6), (0, 6), (4, 0), (1, 1)]
        # SciPy has no empty bsr arrays
        if not (name == "bsr" and 0 in shape)
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_every_scipy_format(name, make, shape):
    dense = DENSE[: shape[0], : shape[1]]
    matrix = make(dense).asformat(name)
    for target in [None, "csr", "csc", "coo", "dense", "dcsr"]:
        made = from_scipy(matrix, target)
        assert made.dtype == matrix.dtype
        assert np.array_equal(made.todense(), dense)
        assert np.array_equal(to_scipy(made).toarray(), dense)


@pytest.mark.parametrize("width", ["int32", "int64"])
@pytest.mark.parametrize("name", ["csr", "csc"])
def test_canonical_buffers_can_be_shared(name, width):
    matrix = scipy.sparse.csr_array(DENSE).asformat(name)
    matrix.indices = matrix.indices.astype(width)
    matrix.indptr = matrix.indptr.astype(width)
    shared = from_scipy(matrix, copy=False)
    assert shared.index_dtype == width
    assert np.shares_memory(shared.values, matrix.data)
    assert np.shares_memory(shared.levels[1]["crd"], matrix.indices)
    copied = from_scipy(matrix)
    assert not np.shares_memory(copied.values, matrix.data)
    assert not np.shares_memory(copied.levels[1]["pos"], matrix.indptr)


@pytest.mark.parametrize("name", ["csr", "csc"])
@pytest.mark.parametrize("has_lying_flags", [False, True])
def test_unsorted_and_repeated_entries_are_mended_in_a_copy(name, has_lying_flags):
    indices = np.array([2, 0, 2, 1], "int32")
    data = np.array([1.0, 2.0, 4.0, 8.0])
    make = scipy.sparse.csr_array if name == "csr" else scipy.sparse.csc_array
    matrix = make((data, indices, np.array([0, 3, 4], "int32")))
    expected = matrix.toarray()
    if has_lying_flags:
        matrix.has_sorted_indices = matrix.has_canonical_format = True
    for copy in (True, False):
        made = from_scipy(matrix, copy=copy)
        assert made.levels[1]["crd"].tolist() == [0, 2, 1]
        assert made.values.tolist() == [2.0, 5.0, 8.0]
        assert np.array_equal(made.todense(), expected)
    assert indices.tolist() == [2, 0, 2, 1]
    assert data.tolist() == [1.0, 2.0, 4.0, 8.0]


def test_values_are_converted_before_they_are_added():
    coords = (np.array([0, 0]), np.array([1, 1]))
    for name in ("coo", "csr"):
        data = np.array([200, 100], "uint8")
        if name == "coo":
            matrix = scipy.sparse.coo_array((data, coords), shape=(2, 2))
        else:
            matrix = scipy.sparse.csr_array((data, [1, 1], [0, 2, 2]), shape=(2, 2))
        assert from_scipy(matrix, dtype="uint16").todense()[0, 1] == 300
        assert from_scipy(matrix).todense()[0, 1] == 44
        assert matrix.nnz == 2


def test_buffers_that_are_longer_than_needed():
    indices, data = np.array([1, 0, 7, 7]), np.array([1.0, 2.0, 9.0, 9.0])
    matrix = scipy.sparse.csr_array((2, 2))
    matrix.indptr, matrix.indices, matrix.data = np.array([0, 1, 2]), indices, data
    assert from_scipy(matrix).todense().tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize(
    ("attribute", "buffer"),
    [
        ("indptr", [0, 2, 1]),
        ("indptr", [1, 1, 2]),
        ("indptr", [0, 1, 9]),
        ("indptr", [0, 1, -1]),
        ("indptr", []),
        ("indptr", [0, 2]),
        ("indices", [0, 2]),
        ("indices", [-1, 0]),
        ("data", [1.0]),
    ],
)
@pytest.mark.parametrize("name", ["csr", "csc"])
def test_malformed_compressed_arrays_are_refused(name, attribute, buffer):
    matrix = scipy.sparse.csr_array(np.eye(2)).asformat(name)
    dtype = matrix.data.dtype if attribute == "data" else "int32"
    setattr(matrix, attribute, np.array(buffer, dtype))
    with pytest.raises(InvalidBufferError):
        from_scipy(matrix)


def test_malformed_coordinates_are_refused():
    matrix = scipy.sparse.coo_array(np.eye(2))
    matrix.coords[0][:] = 5
    with pytest.raises(CoordinateError, match="got 5"):
        from_scipy(matrix)


@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_to_scipy_shares(name):
    made = array(DENSE, name)
    matrix = to_scipy(made)
    assert matrix.format == name
    assert np.shares_memory(matrix.data, made.values)
    indices = matrix.coords[1] if name == "coo" else matrix.indices
    assert indices.dtype == np.int32
    assert np.shares_memory(indices, made.levels[1]["crd"])
    with pytest.raises(ValueError, match="read-only"):
        indices[0] = 1
    assert np.array_equal((matrix @ matrix.T).toarray(), DENSE @ DENSE.T)
    copied = made.to_scipy(copy=True)
    assert not np.shares_memory(copied.data, made.values)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("dcsr", "csr"),
        ("dcsc", "csc"),
        ("dense", "csr"),
        ("(i, j) -> (j: compressed, i: dense)", "csc"),
        ("(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))", "csr"),
    ],
)
def test_other_formats_are_converted(name, result):
    matrix = to_scipy(array(DENSE, name))
    assert matrix.format == result
    assert matrix.has_canonical_format
    assert np.array_equal(matrix.toarray(), DENSE)


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (2, 1, 3, 2)], ids=str)
def test_other_numbers_of_dimensions(shape):
    dense = rng.integers(0, 3, shape)
    for name, named in NAMED_FORMATS.items():
        if named.fits(len(shape)):
            matrix = to_scipy(array(dense, name))
            assert matrix.format == "coo"
            assert np.array_equal(matrix.toarray(), dense)
            assert np.array_equal(from_scipy(matrix).todense(), dense)
    one = scipy.sparse.csr_array(np.array([0, 1, 2]))
    assert from_scipy(one).todense().tolist() == [0, 1, 2]


def test_what_scipy_cannot_hold_is_refused():
    with pytest.raises(UnsupportedError, match=r"expected fill value 0, got 1\.0"):
        to_scipy(array(DENSE, fill_value=1))
    with pytest.raises(UnsupportedError, match="expected fill value 0, got nan"):
        to_scipy(array(DENSE, fill_value=np.nan))
    for dtype in ("float16", "bfloat16"):
        with pytest.raises(DTypeError, match=f"got {dtype}"):
            to_scipy(array(DENSE, dtype=dtype))
    with pytest.raises(UnsupportedError, match="1 dimension or more"):
        to_scipy(array(3.0))


def test_another_object_is_named():
    with pytest.raises(SettingError, match="expected a SciPy sparse array, got"):
        from_scipy(np.ones((2, 2)))
