"""Reductions that pass over NaN, against NumPy's; without a compiler."""

import warnings

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import ShapeError

RNG = np.random.default_rng(5)
X = (RNG.integers(-3, 4, (4, 6)) * (RNG.random((4, 6)) < 0.6)) * 1.0
X[X == 2] = np.nan
X[1] = np.nan
X[2] = 0
X[3, 1:3] = np.inf, -np.inf
T = np.stack([X, X[::-1], np.zeros((4, 6))])
FORMATS = ["csr", "coo", "bitmap", "dense"]
FUNCTIONS = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"]


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def same(found, expected):
    found = found.todense() if isinstance(found, sp.SparseArray) else found
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_against_numpy(format, name):
    A, function = sp.array(X, format), getattr(np, name)
    for axis in (None, 0, 1, -1, (0, 1), ()):
        for keepdims in (False, True):
            found = getattr(sp, name)(A, axis=axis, keepdims=keepdims)
            same(found, function(X, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_stacks_and_fill_values(name):
    function, ours = getattr(np, name), getattr(sp, name)
    for given in (T, T[:, :, :0], T.astype("float32"), T.astype("complex128")):
        empty = 0 in given.shape
        for axis in (0, 2, (0, 1)):
            if empty and name in ("nanmin", "nanmax") and axis == 2:
                with pytest.raises(ShapeError, match="at least one element"):
                    ours(sp.array(given), axis=axis)
                continue
            if given.dtype.kind == "c" and name in ("nanprod", "nanmin", "nanmax"):
                continue
            loose = 1e-5 if given.dtype == np.float32 else 1e-12
            found = ours(sp.array(given), axis=axis)
            found = found.todense() if isinstance(found, sp.SparseArray) else found
            expected = function(given, axis=axis)
            np.testing.assert_allclose(found, expected, rtol=loose)
            assert np.asarray(found).dtype == expected.dtype
    for fill in (np.nan, 1.0, -1.0):
        A = sp.array(X, "csr", fill_value=fill)
        for axis in (None, 0, 1):
            same(ours(A, axis=axis), function(X, axis=axis))
        stack = sp.array(T, fill_value=fill)
        same(ours(stack, axis=0), function(T, axis=0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_numbers_alone(name):
    whole = np.nan_to_num(X, posinf=2, neginf=3).astype("int32")
    for given in (whole, whole > 0, np.zeros((2, 0)), np.zeros((0, 2))):
        if given.size == 0 and name in ("nanmin", "nanmax"):
            continue
        same(getattr(sp, name)(sp.array(given), axis=0), getattr(np, name)(given, 0))


def test_the_correction():
    for correction in (1, 2.5, 6):
        found = sp.nanvar(sp.array(X), axis=1, correction=correction)
        same(found, np.nanvar(X, axis=1, ddof=correction))


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
@pytest.mark.parametrize("format", FORMATS)
def test_positions(format, name):
    numbers = X[[0, 2, 3]]
    for fill in (0, np.nan):
        A = sp.array(numbers, format, fill_value=fill)
        for axis in (None, 0, 1):
            found = getattr(sp, name)(A, axis=axis)
            np.testing.assert_array_equal(found, getattr(np, name)(numbers, axis))
    with pytest.raises(ShapeError, match=f"{name}: expected a number along axis 1"):
        getattr(sp, name)(sp.array(X, format), axis=1)
    with pytest.raises(ShapeError, match="NaN alone"):
        getattr(sp, name)(sp.array(np.full((2, 3, 4), np.nan)), axis=0)


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_for_nan(format):
    A = sp.array(X, format)
    for options in ({}, {"nan": 3.0}, {"posinf": 1.0, "neginf": 0.0}):
        found = sp.nan_to_num(A, **options)
        assert found.format == A.format
        same(found, np.nan_to_num(X, **options))
    assert sp.nan_to_num(sp.full((2, 2), np.nan)).fill_value == 0


def test_what_is_given_several_times_counts_as_its_sum():
    coo = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    coords, values = [[0, 0, 1], [1, 1, 0]], [np.nan, 1.0, 2.0]
    A = sp.from_coords(coords, values, (2, 2), coo, duplicates="keep")
    dense = np.array([[0, np.nan], [2.0, 0]])
    for name in FUNCTIONS:
        same(getattr(sp, name)(A, axis=0), getattr(np, name)(dense, axis=0))
    same(sp.nan_to_num(A), np.nan_to_num(dense))
