"""Arrays from coordinates, raw buffers and dense arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparray.convert import default_format, from_buffers, from_coords, from_dense
from sparray.errors import (
    CoordinateError,
    DTypeError,
    FormatError,
    InvalidBufferError,
    ShapeError,
)
from sparray.formats import NAMED_FORMATS, Format

INT_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
LOOSE = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"


@pytest.mark.parametrize("name", ["dense", "csr", "csc", "coo", "dcsr", "dcsc", LOOSE])
@given(data=st.data())
def test_duplicates_add_up_in_every_format(name, data):
    n = data.draw(st.integers(0, 20))
    rows = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    columns = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    values = np.arange(1, n + 1)
    expected = np.zeros((3, 4), dtype=np.int64)
    np.add.at(expected, (rows, columns), values)
    made = from_coords([rows, columns], values, (3, 4), name)
    assert np.array_equal(made.todense(), expected)
    assert made.nnz == len(set(zip(rows, columns, strict=True)))


@pytest.mark.parametrize("dtype", INT_DTYPES)
def test_coordinates_of_any_integer_dtype(dtype):
    made = from_coords(np.array([[2, 0], [1, 3]], dtype), [1.0, 2.0], (3, 4), "csr")
    assert made.index_dtype == np.int32
    assert made.todense()[2, 1] == 1.0


def test_strided_and_read_only_arguments():
    wide = np.array([[0, 9, 1, 9, 2, 9], [2, 9, 0, 9, 1, 9]])
    values = np.array([2.0, 9, -3.0, 9, 4.0, 9])[::2]
    coords = wide[:, ::2]
    for argument in (wide, values, coords):
        argument.flags.writeable = False
    made = from_coords(coords, values, (3, 3), "csc")
    assert made.todense().tolist() == [[0, 0, 2], [-3, 0, 0], [0, 4, 0]]


@pytest.mark.parametrize("name", ["coo", "csr", "csf", LOOSE])
def test_the_callers_buffers_are_not_kept(name):
    coords, values = np.array([[0, 1], [1, 0]]), np.array([1.0, 2.0])
    made = from_coords(coords, values, (2, 2), name)
    coords[:], values[:] = 0, 9
    assert made.todense().tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize("shape", [np.array([2, 3]), [2, 3], (np.int8(2), 3)])
def test_shapes_of_any_kind(shape):
    made = from_coords([[1], [2]], [4.0], shape)
    assert made.shape == (2, 3)
    assert all(type(extent) is int for extent in made.shape)


def test_the_smallest_shape():
    assert from_coords([[1, 4], [2, 0]], [1, 2]).shape == (5, 3)
    assert from_coords(np.empty((2, 0), int), []).shape == (0, 0)


def test_no_dimensions():
    made = from_coords([], [1.0, 2.0, 4.0], ())
    assert made.todense() == 7.0
    assert from_coords(np.empty((0, 0), int), [], ()).nnz == 0
    with pytest.raises(CoordinateError, match=r"got \(\) twice"):
        from_coords([], [1.0, 2.0], (), duplicates="error")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[-(2**62)]], [1.5], [1]), CoordinateError, r"\[0, 1\) along axis 0, got -4"),
        (([[0, 3, 9]], [1, 2, 3], [4]), CoordinateError, "got 9 at column 2"),
        (([[0], [4]], [1], [4, 4]), CoordinateError, r"\[0, 4\) along axis 1, got 4"),
        (
            (np.array([[2**63]], "uint64"), [1], None),
            CoordinateError,
            "got 9223372036854775808",
        ),
        (([[-1]], [1], None), CoordinateError, "got -1"),
        (([[2**70]], [1], [4]), CoordinateError, "integers that fit int64"),
        (([[0.5]], [1], [4]), CoordinateError, "expected integers"),
        (([[True]], [1], [4]), CoordinateError, "expected integers"),
        (([[0, 1], [0]], [1, 2], [4, 4]), CoordinateError, "rows of equal length"),
        (([[0]], [1], [0]), CoordinateError, r"in \[0, 0\)"),
        (([0, 1], [1, 2], [4]), ShapeError, r"expected shape \(ndim, 2\)"),
        (([[0, 1]], [1, 2, 3], [4]), ShapeError, r"expected shape \(ndim, 3\)"),
        (([[0, 1]], [1, 2], [4, 4]), ShapeError, "expected 2 rows"),
        (([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], [4]), ShapeError, "values: expected 1"),
        (([[0]], 1.0, [4]), ShapeError, "values: expected 1 dimension"),
        (([[0]], [[1], [1, 2]], [4]), ShapeError, "values: expected nested lists"),
        (([[0]], ["a"], [4]), DTypeError, "values: expected one of"),
        (([[0]], [None], [4]), DTypeError, "values: expected one of"),
        (([[0]], [1], [-1]), ShapeError, "extents from 0 to"),
        (([[0]], [1], [2**63]), ShapeError, "extents from 0 to"),
        (([[0]], [1], [4.0]), ShapeError, "expected integers"),
        (([[0]], [1], "4"), ShapeError, "expected integers"),
        (([[0]], [1], [4], "csr"), FormatError, "expected 2 or more dimensions"),
        (([[0]], [1], [4], "coo", "add"), CoordinateError, "expected 'sum', 'error'"),
        (([[0]], [1], [4], "coo", "sum", 0.5), DTypeError, "fill_value: .*int64"),
        (([[0]], [1.0], [4], "coo", "sum", 1j), DTypeError, "fill_value: .*float64"),
        (([[0]], [1.0], [4], "coo", "sum", "x"), DTypeError, "fill_value"),
        (([[0]], [1.0], [4], "coo", "sum", 0, "zzz"), DTypeError, "dtype: expected"),
        (([[0]], [1j], [4], "coo", "sum", 0, "f8"), DTypeError, "expected a complex"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        from_coords(*arguments)


def test_coordinate_errors_are_index_and_value_errors():
    for builtin in (IndexError, ValueError):
        with pytest.raises(builtin):
            from_coords([[4]], [1.0], (4,))


def test_what_duplicates_mean():
    coords, values = [[1, 0, 1], [0, 0, 0]], [1.0, 2.0, 4.0]
    with pytest.raises(CoordinateError, match=r"got \(1, 0\) twice"):
        from_coords(coords, values, duplicates="error")
    with pytest.raises(FormatError, match="or make the level nonunique"):
        from_coords(coords, values, duplicates="keep")
    kept = from_coords(coords, values, format=LOOSE, duplicates="keep")
    assert kept.values.tolist() == [2.0, 1.0, 4.0]
    assert from_coords(coords, values, format=LOOSE).values.tolist() == [2.0, 5.0]


@pytest.mark.parametrize(
    ("values", "dtype", "total"),
    [
        (np.array([200, 60, 40], "uint8"), "uint16", 300),
        (np.array([200, 60, 40], "uint8"), None, 44),
        (np.array([100, 100, 100], "int8"), "int64", 300),
        (np.array([True, True, False]), None, True),
        (np.array([True, True, False]), "int8", 2),
        (np.array([2**53, 1, 1]), None, 2**53 + 2),
        (np.array([1.5, 1j, 2]), "complex64", 3.5 + 1j),
    ],
)
def test_values_are_converted_before_they_are_added(values, dtype, total):
    made = from_coords([[1, 1, 1]], values, (2,), dtype=dtype)
    assert made.dtype == (values.dtype if dtype is None else dtype)
    assert made.todense().tolist() == [0, total]


def test_from_buffers_shares():
    pos, crd = np.array([0, 1, 2]), np.array([2, 0])
    values = np.array([1.0, 2.0])
    for buffer in (pos, crd, values):
        buffer.flags.writeable = False
    made = from_buffers("csr", np.array([2, 3]), ({}, {"pos": pos, "crd": crd}), values)
    assert made.values is values
    assert made._levels[1]["pos"] is pos
    assert made.todense().tolist() == [[0, 0, 1], [2, 0, 0]]


def test_from_buffers_checks():
    pos, crd = np.array([0, 1, 2]), np.array([2, 3])
    levels = [{}, {"pos": pos, "crd": crd}]
    with pytest.raises(InvalidBufferError, match=r"levels\[1\] \(compressed\) of \(i"):
        from_buffers("csr", (2, 3), levels, np.ones(2))
    with pytest.raises(InvalidBufferError, match="levels: expected a sequence"):
        from_buffers("csr", (2, 3), iter(levels), np.ones(2))
    with pytest.raises(DTypeError, match="fill_value"):
        from_buffers("csr", (2, 4), levels, np.ones(2, "int32"), fill_value=0.5)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ndim", range(5))
def test_from_dense(ndim, order):
    shape = (2, 3, 2, 4)[:ndim]
    rng = np.random.default_rng(ndim)
    wide = np.asarray(rng.integers(0, 3, shape), order=order)
    for dense in (wide, wide[..., ::2]) if ndim else (wide,):
        for name, named in NAMED_FORMATS.items():
            if named.fits(ndim):
                made = from_dense(dense, name)
                assert np.array_equal(made.todense(), dense)
                assert not np.shares_memory(made.values, wide)
        assert from_dense(dense).format == default_format(ndim)
        assert np.array_equal(from_dense(dense).todense(), dense)


def test_from_dense_shares_when_asked_to():
    dense = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(from_dense(dense, "dense", copy=False).values, dense)
    columns = "(i, j) -> (j: dense, i: dense)"
    assert not np.shares_memory(from_dense(dense, columns, copy=False).values, dense)
    assert np.shares_memory(from_dense(dense.T, columns, copy=False).values, dense)
    assert np.array_equal(from_dense(dense, columns).todense(), dense)


def test_from_dense_of_other_objects():
    assert from_dense([[0, 3], [4, 0]]).nnz == 2
    assert from_dense(3.5).todense() == 3.5
    assert from_dense([1, 0], dtype="complex64").dtype == np.complex64
    assert from_dense(np.array([1, 0], ">i4")).dtype == np.int32
    assert from_dense(np.array([1, 0], ">i4")).dtype.isnative
    with pytest.raises(ShapeError, match="obj: expected nested lists"):
        from_dense([[1, 2], [3]])
    with pytest.raises(DTypeError, match="values: expected one of"):
        from_dense(["a"])


def test_a_fill_value_that_is_complex_nan_matches_only_itself():
    fill = complex(np.nan, 1)
    made = from_dense([fill, complex(np.nan, 2), 0], fill_value=fill)
    assert made.nnz == 2


def test_big_integers_are_exact():
    dense = np.array([[0, 2**53 + 1], [-(2**63) + 1, 0]])
    made = from_dense(dense, "coo").T.to_format("csr")
    assert made.dtype == np.int64
    assert np.array_equal(made.todense(), dense.T)


def test_a_conversion_that_a_format_cannot_hold_is_refused():
    chain = Format.parse(
        "(i, j, k) -> (i: compressed(nonunique), j: singleton, k: singleton)"
    )
    made = from_dense(np.ones((2, 2, 2)), "coo")
    with pytest.raises(FormatError, match="unique levels can hold"):
        made.to_format(chain)
    assert from_coords([[0], [1], [1]], [5], (2, 2, 2), chain).todense()[0, 1, 1] == 5


@pytest.mark.parametrize("fill", [0, 1, np.inf])
@pytest.mark.parametrize("ndim", [2, 3])
def test_dense_slices_become_one_dense_array(ndim, fill):
    # Many values and few: by a kernel, and by NumPy.
    for extent in (3, 40):
        dense = np.arange(extent**ndim, dtype=np.float64).reshape((extent,) * ndim)
        letters = "ijk"[:ndim]
        levels = ", ".join(f"{letter}: dense" for letter in letters[1:])
        format = f"({', '.join(letters)}) -> ({letters[0]}: batch, {levels})"
        made = from_dense(dense, format, None, fill)
        np.testing.assert_array_equal(made.todense(), dense)
        back = made.to_format("dense")
        assert not np.shares_memory(back.values, made.values)
        np.testing.assert_array_equal(back.to_format(format).values, made.values)
