"""float16 and bfloat16 through the whole road, with compiled kernels."""

import ml_dtypes
import numpy as np
import pytest

import sparray as sp
from sparray.dispatch import evaluate
from sparray.formats.packing import unpack_coordinates

DTYPES = [np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)]
ULP = {"float16": 2**-10, "bfloat16": 2**-7}


def matrix(dtype, shape=(30, 41), density=0.3, seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal(shape)
    dense[rng.random(shape) >= density] = 0
    return dense.astype(dtype)


def wide(array):
    return np.asarray(array).astype(np.float32)


def assert_rounded_once(found, exact):
    """Compare with a float32 result: half a unit of the last place, and float32's."""
    assert found.shape == exact.shape
    ulp = ULP[found.dtype.name]
    error = np.abs(wide(found) - exact)
    assert (error <= np.abs(exact) * (ulp * 0.501) + 1e-5).all()


@pytest.fixture(params=DTYPES, ids=str)
def dtype(request):
    return request.param


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bcsr(2, 2)", "dense"])
def test_products_with_dense_operands(dtype, format):
    dense = matrix(dtype)
    a = sp.array(dense, format=format)
    x, b = matrix(dtype, (41,), 1, 1), matrix(dtype, (41, 67), 1, 2)
    for operand in (x, b):
        found = a @ operand
        assert found.dtype == dtype
        assert_rounded_once(found, wide(dense) @ wide(operand))


def test_products_of_two_dtypes(dtype):
    dense, b = matrix(dtype), matrix("float32", (41, 67), 1, 2)
    found = sp.array(dense, format="csr") @ b
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wide(dense) @ b, rtol=1e-4, atol=1e-5)
    found = sp.array(b, format="csr").T @ dense.T.copy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, b.T @ wide(dense).T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
def test_products_of_sparse_matrices(dtype, format):
    a, b = matrix(dtype), matrix(dtype, (41, 20), 0.3, 3)
    found = sp.einsum(
        "ij,jk->ik", sp.array(a, "csr"), sp.array(b, "csr"), format=format
    )
    assert found.dtype == dtype
    assert_rounded_once(found.todense(), wide(a) @ wide(b))


def test_elementwise(dtype):
    a, b = matrix(dtype), matrix(dtype, seed=4)
    found = sp.array(a, "csr") + sp.array(b, "csc")
    assert found.dtype == dtype
    assert np.array_equal(found.todense(), (wide(a) + wide(b)).astype(dtype))
    found = sp.compute("C[i,j] = A[i,j] * B[i,j] * A[i,j]", A=sp.array(a, "csr"), B=b)
    assert np.array_equal(found.todense(), (wide(a) * wide(b) * wide(a)).astype(dtype))
    for number in (2, 0.1):
        scaled = sp.array(a, "csr") * number
        factor = np.float32(dtype.type(number))
        assert scaled.dtype == dtype
        assert np.array_equal(scaled.todense(), (wide(a) * factor).astype(dtype))


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sums_are_kept_in_float32(dtype, format):
    """3000 ones are 2048 in float16, and 256 in bfloat16, if each step is rounded."""
    dense = np.ones((2, 3000), dtype)
    dense[1] = 2**-4
    a = sp.array(dense, format=format)
    expected = np.array([3000, 187.5]).astype(dtype)
    assert np.array_equal(a.sum(axis=1), expected)
    assert np.array_equal(a @ np.ones(3000, dtype), expected)
    assert np.array_equal(a @ np.ones((3000, 5), dtype), np.outer(expected, np.ones(5)))
    assert a.sum() == dtype.type(3187.5)


def test_a_result_that_is_added_up_in_place_is_rounded_once(dtype):
    # Columns outside: each adds to all rows of the result.
    dense = np.ones((3, 3000), dtype)
    columns = sp.array(dense, format="csc")
    assert np.array_equal(evaluate("ij->i", columns).values, np.full(3, 3000, dtype))
    blocks = sp.array(dense, format="bcsr(3, 2)")
    assert np.array_equal(evaluate("ij->i", blocks).values, np.full(3, 3000, dtype))
    outer = sp.einsum(
        "ij,jk->ik", columns, sp.array(dense.T.copy(), "csr"), format="coo"
    )
    assert np.array_equal(outer.todense(), np.full((3, 3), 3000, dtype))


def test_repeated_coordinates_are_added_up_in_float32(dtype):
    coords = np.zeros((2, 3000), int)
    ones = np.ones(3000, dtype)
    assert sp.from_coords(coords, ones, (1, 1)).values == dtype.type(3000)
    format = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    kept = sp.from_coords(coords, ones, (1, 1), format, duplicates="keep")
    assert len(kept.values) == 3000
    assert kept.to_format("csr").values == dtype.type(3000)
    assert (kept @ np.ones(1, dtype))[0] == dtype.type(3000)


def test_intermediate_results_may_pass_the_largest_number():
    a = sp.array(np.array([[60000, 60000, -60000.0]], "float16"), "csr")
    assert a.sum() == np.float16(60000)
    assert sp.compute("y[i] = A[i,j] * 2 / 4", A=a)[0] == np.float16(30000)
    assert np.isposinf((a * 2).values[0]) and np.isneginf((a * 2).values[2])


def test_special_values(dtype):
    tiny = np.uint16(1).view(dtype)
    values = np.array([np.nan, np.inf, -np.inf, tiny, -tiny, -0.0, 1], dtype)
    a = sp.from_coords([np.arange(7)], values, (7,), "csf")
    for found in (evaluate("i->i", a).values, (a * np.ones(7, dtype)).values):
        assert np.array_equal(found, values, equal_nan=True)
        assert np.array_equal(np.signbit(found), np.signbit(values))
    assert np.array_equal(np.isnan((a - a).values), [True] * 3 + [False] * 4)


def test_ties_go_to_even(dtype):
    one = float(dtype.type(1))
    last = ULP[dtype.name]
    a = sp.array(np.array([one, one + last, -one]).astype(dtype), "csf")
    half = np.array([last / 2, last / 2, -last / 2]).astype(dtype)
    found = (a + sp.array(half, "csf")).values
    assert np.array_equal(wide(found), np.float32([one, one + 2 * last, -one]))


def test_copies_keep_the_bits(monkeypatch):
    """A conversion neither rounds nor quiets what it moves."""
    monkeypatch.setattr("sparray.convert.compiled._WORTH_COMPILING", 0)
    bits = np.arange(1, 2**16, dtype=np.uint16)
    for dtype in DTYPES:
        values = bits.view(dtype)
        a = sp.from_coords([bits // 256, bits % 256], values, (256, 256), "csr")
        for name in ("csc", "coo", "dcsr", "csr"):
            a = a.to_format(name)
        _, found = unpack_coordinates(a.format, a.shape, a._levels, a.values)
        assert np.array_equal(found.view(np.uint16), bits)


def test_zeros_of_either_sign_are_not_stored(dtype, monkeypatch):
    monkeypatch.setattr("sparray.convert.compiled._WORTH_COMPILING", 0)
    dense = np.array([[0.0, -0.0, 1.0], [np.nan, 0.0, 2.0]], dtype)
    a = sp.array(dense, "dense").to_format("csr")
    assert a.nnz == 3
    assert np.array_equal(a.todense(), dense, equal_nan=True)


def test_comparisons_see_the_number_that_the_dtype_holds(dtype):
    a = np.array([0.1, 0.2, 0.0], dtype)
    found = sp.compute("Y[i] = A[i] == 0.1", A=a)
    assert found.tolist() == [True, False, False]
    assert sp.compute("Y[i] = A[i] > 0.1", A=a).tolist() == [False, True, False]


def test_fill_values(dtype):
    dense = np.array([[1.5, np.nan], [np.nan, 2.5]], dtype)
    a = sp.array(dense, "csr", fill_value=np.nan)
    assert a.nnz == 2 and a.fill_value.dtype == dtype
    assert np.array_equal(a.to_format("coo").todense(), dense, equal_nan=True)


def test_dtypes_by_name_and_conversions_between_them(dtype):
    a = sp.array([[0, 1.5], [2.25, 0]], format="csr", dtype=dtype.name)
    assert a.dtype == dtype
    assert a.astype("float64").values.tolist() == [1.5, 2.25]
    assert a.astype("bfloat16").astype("int8").values.tolist() == [1, 2]
    assert dtype.name in repr(a)
    kernel = sp.compile("y[i] = A[i,j] * x[j]", A="csr", dtype=dtype.name)
    assert kernel(a, np.ones(2, dtype)).tolist() == [1.5, 2.25]


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "int4"])
def test_other_dtypes_of_ml_dtypes_are_refused(name):
    with pytest.raises(sp.errors.DTypeError, match="expected one of"):
        sp.array(np.ones(3, getattr(ml_dtypes, name)))


def test_sums_of_a_tile_stay_in_vectors_of_float32(dtype):
    kernel = sp.compile(
        "C[i,j] = A[i,k] * B[k,j]", A="csr", dtype=dtype.name, index_dtype="int32"
    )
    assert "tile(j, 64 32" in kernel.schedule
    code = {"float16": "f16", "bfloat16": "bf16"}[dtype.name]
    assert f"sp_f32_of_{code}x" in kernel.source
    assert f"sp_{code}_of_f32x" in kernel.source
