"""Reductions in every format, with any fill value, against NumPy."""

import itertools

import numpy as np
import pytest
import scipy.sparse

import sparray as sp
from sparray.errors import DTypeError, KernelMemoryError, ShapeError, UnsupportedError

FORMATS = {
    1: ["coo", "dense", "bitmap"],
    2: [
        *("dense", "csr", "csc", "coo", "dcsr", "csf", "ell", "dia", "bitmap"),
        "bcsr(2, 2)",
    ],
    3: ["dense", "csr", "coo", "csf", "batched_csr"],
}
SHAPES = {1: [(6,), (0,)], 2: [(4, 5), (0, 3)], 3: [(2, 3, 4)]}
FOLDS = ["sum", "prod", "min", "max", "any", "all", "count_nonzero"]
MOMENTS = ["mean", "var", "std"]
POSITIONS = ["argmin", "argmax"]


def elements(shape, fill, dtype):
    rng = np.random.default_rng(len(shape))
    dense = rng.integers(-4, 5, shape).astype(dtype)
    dense[rng.random(shape) < 0.6] = fill
    if dense.size > 7:
        # A fibre without anything that is not stored, and a NaN where there are any.
        dense.flat[:5] = 3
        dense.flat[6] = np.nan if dtype == "float64" else 3
    return dense


def axes_of(ndim):
    several = [
        c for k in range(ndim + 1) for c in itertools.combinations(range(ndim), k)
    ]
    return [None, -1, *several]


def values(found):
    return found.todense() if isinstance(found, sp.SparseArray) else np.asarray(found)


def check(name, array, dense, axis, keepdims):
    try:
        wanted = np.asarray(getattr(np, name)(dense, axis=axis, keepdims=keepdims))
    except ValueError:
        with pytest.raises(ShapeError, match=name):
            getattr(sp, name)(array, axis=axis, keepdims=keepdims)
        return
    found = getattr(sp, name)(array, axis=axis, keepdims=keepdims)
    left = array.ndim - (array.ndim if axis is None else len(np.atleast_1d(axis)))
    if not array.format.is_dense:
        assert isinstance(found, sp.SparseArray) == (left > 1)
    found = values(found)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("fill", "dtype"),
    [(0, "float64"), (2, "int16"), (np.nan, "float64"), (1, "bool"), (3, "complex64")],
)
@pytest.mark.parametrize(
    ("ndim", "form"), [(n, form) for n, forms in FORMATS.items() for form in forms]
)
def test_every_reduction(ndim, form, fill, dtype):
    for shape in SHAPES[ndim]:
        dense = elements(shape, fill, dtype)
        array = sp.array(dense, format=form, fill_value=fill)
        for name, axis in itertools.product(FOLDS + MOMENTS, axes_of(ndim)):
            # With keepdims a sum needs no kernel.
            keepdims = name in ("sum", "max", "var")
            check(name, array, dense, axis, keepdims)
        if dtype != "complex64":
            for name, axis in itertools.product(POSITIONS, [None, *range(ndim)]):
                check(name, array, dense, axis, name == "argmin")


@pytest.mark.parametrize("fill", [0.0, 2.0])
def test_sums_by_kernels_and_by_segments_agree(fill):
    dense = elements((2, 3, 4), fill, "float32")
    array = sp.array(dense, format="csf", fill_value=fill)
    for axis in ((1, 2), 0):
        found = values(array.sum(axis))
        np.testing.assert_array_equal(found, dense.sum(axis))
        np.testing.assert_array_equal(
            values(array.sum(axis, keepdims=True)), dense.sum(axis, keepdims=True)
        )
    assert array.sum(0).nnz <= array.nnz


def test_methods_take_what_numpy_takes():
    dense = elements((4, 5), 0, "float32")
    array = sp.array(dense, format="csr")
    assert array.max() == dense.max()
    np.testing.assert_allclose(array.var(0, ddof=1), dense.var(0, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(
        sp.std(array, axis=1, correction=0.5), dense.std(1, ddof=0.5), rtol=1e-6
    )
    assert array.mean(dtype="float64").dtype == np.float64
    assert array.sum(dtype="complex64", keepdims=True).dtype == np.complex64
    assert array.prod(1, dtype="float64").dtype == np.float64
    assert array.count_nonzero() == np.count_nonzero(dense)
    with pytest.raises(UnsupportedError, match="out"):
        array.max(out=np.zeros(()))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_added_up_in_32_bits(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    array = sp.array(np.ones((1, 3000)), format="csr").astype(dtype)
    for found in (sp.sum(array, keepdims=True), sp.mean(array) * 3000, sp.prod(array)):
        assert found.dtype == array.dtype
        assert float(np.reshape(found, ())) in (3000, 2992, 3008, 1)
    assert sp.max(array) == 1


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_many_entries_are_reduced_by_a_kernel(form):
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((300, 400), density=0.3, rng=rng, format=form)
    matrix.data -= 0.7
    array = sp.array(matrix)
    dense = matrix.toarray()
    for axis in (0, 1):
        np.testing.assert_array_equal(array.max(axis), dense.max(axis))
    np.testing.assert_allclose(array.var(0), dense.var(0))
    np.testing.assert_array_equal(array.argmin(1), dense.argmin(1))


def test_repeated_coordinates_are_one_element():
    form = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    array = sp.from_coords(
        [[0, 1, 1], [0, 1, 1]], [1.0, 2.0, -2.0], (2, 2), form, duplicates="keep"
    )
    assert array.max() == 1.0
    assert array.count_nonzero() == 1


def test_shapes_without_an_end():
    coords = [[5, 2**40, 7], [3, 3, 2**40], [1, 2, 3]]
    array = sp.from_coords(coords, [1.0, -2.0, 3.0], (2**41,) * 3, "coo")
    assert (array.max(), array.min(), array.prod()) == (3.0, -2.0, 0.0)
    assert array.mean() == pytest.approx(2.0 / 2.0**123)
    found = sp.max(array, axis=2)
    assert (found.shape, found.fill_value, found.nnz) == ((2**41,) * 2, 0.0, 3)
    # A stored -2 is smaller than the elements beside it, which are 0.
    assert found[2**40, 3] == 0.0
    assert sp.argmin(array, axis=1)[2**40, 2] == 3
    with pytest.raises(KernelMemoryError, match="csf"):
        array.max((1, 2))
    with pytest.raises(UnsupportedError, match="int64"):
        array.argmax()
    deep = sp.from_coords([[1]] * 64, [3.0], (2,) * 64, "coo")
    assert (deep.max(), deep.prod(), deep.any(), deep.all()) == (3.0, 0.0, True, False)


def test_running_sums():
    dense = elements((4, 5), 0, "int16")
    array = sp.array(dense, format="csr")
    found = sp.cumulative_sum(array, axis=1, include_initial=True)
    wanted = np.cumulative_sum(dense, axis=1, include_initial=True)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(
        sp.cumulative_prod(array, axis=0), np.cumulative_prod(dense, axis=0)
    )
    with pytest.raises(ShapeError, match="got None"):
        sp.cumulative_sum(array)
    np.testing.assert_array_equal(
        np.add.accumulate(array, axis=1), np.cumsum(dense, axis=1)
    )


def test_ufuncs_reduce():
    dense = elements((4, 5), 0, "int64")
    array = sp.array(dense, format="csc")
    np.testing.assert_array_equal(np.maximum.reduce(array), dense.max(0))
    np.testing.assert_array_equal(np.multiply.reduce(array, axis=1), dense.prod(1))


@pytest.mark.parametrize("name", FOLDS + MOMENTS + POSITIONS)
def test_errors(name):
    array = sp.array(np.ones((2, 3)), format="csr")
    for axis in (2, -3, 0.5):
        with pytest.raises(ShapeError, match="axis"):
            getattr(sp, name)(array, axis=axis)
    if name in POSITIONS:
        with pytest.raises(DTypeError, match="real"):
            getattr(sp, name)(array.astype("complex64"))
    else:
        with pytest.raises(ShapeError, match="once"):
            getattr(sp, name)(array, axis=(0, -2))
    if name == "mean":
        with pytest.raises(DTypeError, match="float"):
            sp.mean(array, dtype="int8")
