"""Functions of each element: NumPy's results in every dtype, and fill values."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, interpreted

import sparray as sp
from sparray.compiler.loop_ir.operators import OPERATORS
from sparray.errors import DTypeError, ShapeError
from sparray.functions import elementwise

DTYPES = "bool int8 uint8 int64 uint64 float32 float64 complex128".split()
FORMATS = ("csr", "coo", "bitmap", "bcsr(2, 2)")
UNARY = [n for n, r in OPERATORS.items() if r.arity == 1 and r.of_stored is None]
BINARY = [n for n, row in OPERATORS.items() if row.arity == 2]


def special(dtype: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return values that include the dtype's extremes, zeros, NaN and infinities."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    small = rng.integers(0 if kind == "u" else -3, 4, n)
    if kind in "iu":
        info = np.iinfo(dtype)
        chosen = np.array([*small[:6], info.min, info.max, 8, 64], dtype)
        return rng.choice(chosen, n)
    if kind == "c":
        # NumPy multiplies infinite complex numbers to NaN, by 1 too.
        return rng.choice([*small, 0.5, -0.0, np.nan], n).astype(dtype) + 0.5j
    return rng.choice([*small, 0.5, -0.0, np.nan, np.inf, -np.inf], n).astype(dtype)


def sparse(dtype: str, seed: int, format: str, fill: object) -> sp.SparseArray:
    rng = np.random.default_rng(seed)
    chosen = np.flatnonzero(rng.random(24) < 0.5)
    coords = np.array(np.unravel_index(chosen, (4, 6)))
    values = special(dtype, rng, len(chosen))
    fill = np.asarray(fill).astype(dtype)[()]
    return sp.from_coords(coords, values, (4, 6), format, fill_value=fill)


def check(op: str, dtype: str, fills: tuple[object, ...]) -> None:
    """Compare an operator with NumPy at every stage of the compiler."""
    row = OPERATORS[op]
    seed = sum(map(ord, op + dtype))
    operands = [
        sparse(dtype, seed + n, FORMATS[(seed + n) % 4], fill)
        for n, fill in enumerate(fills)
    ]
    if row.arity == 2 and op in ("pow", "left_shift", "right_shift"):
        if np.dtype(dtype).kind == "i":
            operands[1] = abs_of(operands[1])
    letters = ["P[i,j]", "Q[i,j]"][: row.arity]
    question = Question(f"C[i,j] = {op}({', '.join(letters)})", tuple(operands))
    try:
        with np.errstate(all="ignore"):
            row.evaluate(*[np.ones(1, dtype)] * row.arity)
    except TypeError:
        with pytest.raises(DTypeError, match=op):
            check_stages(question)
    else:
        check_stages(question)


def abs_of(array: sp.SparseArray) -> sp.SparseArray:
    """Return an array of exponents, which must not be negative."""
    values = np.minimum(np.maximum(array.values, 0), 9)
    fill = max(array.fill_value, array.dtype.type(0))
    return sp.SparseArray._from_trusted(
        array.format, array.shape, array._levels, values, fill
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one(op, dtype):
    for fill in (0, 1, -2) if np.dtype(dtype).kind in "fci" else (0, 1):
        check(op, dtype, (fill,))
    if np.dtype(dtype).kind in "fc":
        check(op, dtype, (np.nan,))
        check(op, dtype, (np.inf,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", BINARY)
def test_functions_of_two(op, dtype):
    for fills in ((0, 0), (1, 0), (0, 3), (2, 1)):
        check(op, dtype, fills)


@pytest.mark.parametrize("name", sorted({*elementwise.__all__} - {"relu", "where"}))
def test_names_mean_what_they_mean_in_numpy(name):
    function = getattr(np, name)
    dtype = "int64" if "bitwise" in name else "float64"
    a = np.array([[0, 2, 0], [1, 0, 3]], dtype)
    b = np.array([[1, 0, 0], [2, 1, 0]], dtype)
    given = (a, b)[: getattr(function, "nin", 1)]
    with np.errstate(all="ignore"):
        expected = function(*given)
    if name in ("divide", "floor_divide", "remainder"):
        # What is not stored is 0 whatever divides it, nothing included.
        expected = np.where(a == 0, 0, expected)
    with interpreted():
        found = getattr(sp, name)(*[sp.array(x, "csr") for x in given])
    assert isinstance(found, sp.SparseArray)
    assert found.nnz <= 5
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.todense(), expected, equal_nan=True)
    dense = getattr(sp, name)(*given)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(dense, function(*given))
    assert getattr(sp, name).__name__ == name
    assert "Parameters" in getattr(sp, name).__doc__


def test_relu():
    with interpreted():
        found = sp.relu(sp.array([[0.0, -2.0], [3.0, np.nan]], "csr"))
    np.testing.assert_array_equal(found.todense(), [[0, 0], [3, np.nan]])
    assert found.nnz == 3


def test_numbers_are_weak():
    a = sp.array(np.array([[0, 2], [3, 0]], "int8"), "csr")
    with interpreted():
        assert sp.add(a, 1).dtype == np.int8
        assert sp.multiply(2.5, a).dtype == np.float64
        assert sp.less(a, 300).todense().all()
        with pytest.raises(DTypeError, match="300"):
            sp.add(a, 300)


def test_what_is_refused():
    a = sp.array(np.eye(2), "csr")
    with pytest.raises(DTypeError, match="bitwise_and"):
        sp.bitwise_and(a, a)
    with pytest.raises(DTypeError, match="floor"):
        sp.floor(a.astype("complex64"))
    with pytest.raises(ShapeError):
        sp.add(a, np.ones((3, 2)))
    with pytest.raises(DTypeError):
        sp.exp("text")
    with pytest.raises(DTypeError, match="negative"):
        sp.pow(a.astype("int64"), -1)


def test_where_of_arrays_and_numbers():
    rng = np.random.default_rng(5)
    dense = [rng.integers(-1, 3, (4, 6)).astype("float32") for _ in range(3)]
    dense[1][dense[1] > 1] = np.nan
    condition, a, b = (sp.array(x, f) for x, f in zip(dense, FORMATS, strict=False))
    row = np.arange(6, dtype="int64")
    cases = [
        ((condition, a, b), tuple(dense)),
        ((condition > 0, a, 2.5), (dense[0] > 0, dense[1], np.float32(2.5))),
        ((dense[0], a, b), tuple(dense)),
        ((condition, row, b), (dense[0], row, dense[2])),
        ((condition == 0, 1, 0), (dense[0] == 0, 1, 0)),
        ((True, a, row), (True, dense[1], row)),
    ]
    with interpreted():
        for given, arrays in cases:
            found, expected = sp.where(*given), np.where(*arrays)
            if isinstance(found, sp.SparseArray):
                found = found.todense()
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_what_where_stores():
    a, b = sp.array(np.eye(3), "csr"), sp.array(np.eye(3)[::-1].copy(), "csr")
    with interpreted():
        assert sp.where(a, b, 0).nnz == 1
        assert sp.where(a, 0, b).nnz == 3
        assert sp.where(a == 0, b, a).nnz == 5
        filled = sp.where(a, b, 7)
    assert (filled.fill_value, filled.nnz, filled.format) == (7, 3, a.format)


def test_what_where_refuses():
    a = sp.array(np.eye(2, dtype="int8"), "csr")
    with pytest.raises(DTypeError, match="300"):
        sp.where(a, a, 300)
    with pytest.raises(ShapeError, match="where"):
        sp.where(a, np.ones((3, 2)), 0)
    with pytest.raises(DTypeError):
        sp.where(a, "text", 0)
