"""Assignment: every kind of index and of value in every format against NumPy."""

import numpy as np
import pytest
import scipy.sparse

import sparray as sp
from sparray.errors import DTypeError, PatternError, ShapeError, WouldDensifyError

FORMATS = {
    2: [
        *("dense", "csr", "csc", "coo", "dcsr", "dcsc", "csf", "ell", "dia", "bitmap"),
        *("bcsr(2, 2)", "bcsc(2, 3)"),
    ],
    3: ["csr", "coo", "csf", "batched_csr", "batched_bcsr(2, 2)"],
}
SHAPES = {2: (5, 7), 3: (3, 4, 4)}
ALL = slice(None)
MASK = np.arange(35).reshape(5, 7) % 3 == 1

INDICES = {
    2: [
        *(3, (3, 4), (ALL, -2), (slice(1, 4), slice(2, 6)), (ALL, slice(6, 1, -2))),
        *([4, 0, 0, 2], ([1, 2, 1], [0, 5, 0]), np.ix_([3, 0, 3], [5, 1]), MASK),
        *((ALL, None, [1, 1]), Ellipsis, slice(2, 2), (np.array([[1], [0]]), [2, 3])),
    ],
    3: [(1, 2, 3), (ALL, 1), ([0, 2], ALL, [1, 3]), (0, ALL, [1, 1]), (Ellipsis, 0)],
}


def elements(rng, shape, fill, dtype):
    dense = rng.integers(1, 9, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.6, np.asarray(fill, dtype), dense)


def values(rng, selected, fill):
    """Numbers, dense and sparse values of what is selected, and some to broadcast."""
    block = elements(rng, selected.shape, fill, selected.dtype)
    yield from (5, fill, block, block[np.newaxis])
    yield sp.array(block, format="coo", fill_value=fill)
    yield sp.array(block, fill_value=fill + 1)
    if block.ndim and len(block):
        yield sp.array(block[:1], fill_value=fill)
        yield block[0]
        yield sp.array(block[0], fill_value=fill)


@pytest.mark.parametrize(("fill", "dtype"), [(0, "int32"), (7, "float64")])
@pytest.mark.parametrize(
    ("ndim", "form"), [(n, form) for n, forms in FORMATS.items() for form in forms]
)
def test_every_index_and_value(ndim, form, fill, dtype):
    rng = np.random.default_rng(0)
    dense = elements(rng, SHAPES[ndim], fill, dtype)
    for index in INDICES[ndim]:
        for value in values(rng, dense[index], fill):
            numpy_value = (
                value.todense() if isinstance(value, sp.SparseArray) else value
            )
            expected = dense.copy()
            try:
                expected[index] = numpy_value
            except (TypeError, ValueError):
                # A part of a block need not broadcast to it, and NumPy has its own rule
                # for masks.
                continue
            array = sp.array(dense, format=form, fill_value=fill)
            turned = array.T
            array[index] = value
            np.testing.assert_array_equal(array.todense(), expected)
            assert array.format == sp.Format.parse(form, ndim)
            sp.from_buffers(
                array.format, array.shape, array._levels, array.values, fill
            )
            if form != "dense":
                np.testing.assert_array_equal(turned.todense(), dense.T)


def test_what_becomes_fill_is_not_stored():
    array = sp.array([[1, 2, 3], [4, 5, 6]], format="csr")
    array[0, 1:] = [0, 9]
    assert (array.nnz, array.todense().tolist()) == (5, [[1, 0, 9], [4, 5, 6]])
    array[1] = 0
    assert array.nnz == 2


def test_a_sparse_value_keeps_the_zeros_that_it_stores():
    array = sp.array([[1, 2], [3, 4]], format="csr")
    array[0] = sp.from_coords([[0]], [0], (2,))
    assert (array.nnz, array.todense().tolist()) == (3, [[0, 0], [3, 4]])


def test_sparse_masks_and_scipy_values():
    array = sp.array([[1.0, -2.0, 0.0], [0.0, -3.0, 4.0]], format="csr")
    array[array < 0] = np.nan
    np.testing.assert_array_equal(array.todense(), [[1, np.nan, 0], [0, np.nan, 4]])
    array[:, 1:] = scipy.sparse.eye_array(2, format="csc")
    assert array.todense().tolist() == [[1, 1, 0], [0, 0, 1]]


def test_results_that_were_computed_before_stay():
    array = sp.array([[1.0, 0.0], [0.0, 2.0]], format="csr")
    before = array @ np.ones(2)
    array[0, 1] = 5.0
    np.testing.assert_array_equal(array @ np.ones(2), [6.0, 2.0])
    np.testing.assert_array_equal(before, [1.0, 2.0])
    assert array.index_dtype == np.int32


def test_dense_arrays_are_written_in_place():
    array = sp.array([[1, 0], [0, 2]], format="dense")
    view = np.asarray(array)
    array[0] = [7, 8]
    assert view.tolist() == [[7, 8], [0, 2]]


def test_many_dimensions():
    array = sp.from_coords([[1, 0]] * 64, [1.0, 2.0], (2,) * 64, "coo")
    array[(1,) * 64] = 3.0
    array[(0,) * 63 + (1,)] = 4.0
    assert array.nnz == 3
    assert array[(1,) * 64] == 3.0


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, [1, 2, 3], ShapeError, r"broadcasts to \(2,\).*got \(3,\)"),
        (0, [[1], [2, 3]], ShapeError, "equal lengths"),
        (9, 1, IndexError, "axis 0"),
        (0, 1j, DTypeError, "complex"),
        (0, "a", DTypeError, "numbers"),
    ],
)
@pytest.mark.parametrize("form", ["csr", "dense"])
def test_errors_leave_the_array_as_it_was(form, index, value, error, message):
    array = sp.array([[1.0, 0.0], [0.0, 2.0]], format=form)
    with pytest.raises(error, match=message):
        array[index] = value
    assert array.todense().tolist() == [[1, 0], [0, 2]]


def test_a_format_without_room_refuses():
    array = sp.array(np.eye(4), format="nm(1, 4)")
    with pytest.raises(PatternError):
        array[0, 3] = 2.0
    np.testing.assert_array_equal(array.todense(), np.eye(4))


def test_elements_that_no_memory_has_are_refused():
    array = sp.from_coords([[1], [1]], [1.0], (2**40, 2**40), "coo")
    with pytest.raises(WouldDensifyError, match="stored each"):
        array[...] = 1.0
    array[...] = sp.zeros((1, 2**40), format="coo")
    assert array.nnz == 0


@pytest.mark.parametrize("index", [(), ...])
def test_the_element_of_an_array_without_dimensions(index):
    for format in ("dense", "coo"):
        array = sp.array(2.0, format)
        array[index] = 5.0
        assert float(array) == 5.0
