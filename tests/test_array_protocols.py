"""What other libraries ask of an array."""

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import sparray as sp
from sparray.errors import (
    DeviceError,
    DTypeError,
    SettingError,
    ShapeError,
    WouldDensifyError,
)

X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
FORMATS = ("csr", "csc", "coo", "dcsr", "bitmap", "ell", "dia", "bcsr(2, 2)", "dense")


@pytest.mark.parametrize("format", FORMATS)
def test_transposed_last_dimensions(format):
    A = sp.array(X, format)
    np.testing.assert_array_equal(A.mT.todense(), X.T)
    assert np.shares_memory(A.mT.values, A.values)
    stack = np.stack([X, 2 * X])
    np.testing.assert_array_equal(sp.array(stack).mT.todense(), stack.mT)
    with pytest.raises(ShapeError, match="2 dimensions or more"):
        sp.array([1.0]).mT  # noqa: B018


def test_there_is_one_device():
    A = sp.array(X)
    assert A.device == "cpu" and A.to_device("cpu") is A
    for device, stream in (("cuda", None), ("cpu", 1)):
        with pytest.raises(DeviceError):
            A.to_device(device, stream=stream)


def test_dense_arrays_are_made_on_purpose_only():
    A = sp.array(X, "csr")
    for make in (np.asarray, np.array, lambda x: np.array([x, x])):
        with pytest.raises(WouldDensifyError, match=r"todense.* 48 bytes"):
            make(A)
    with sp.allow_dense():
        np.testing.assert_array_equal(np.asarray(A), X)
        np.testing.assert_allclose(A, A.todense())
        assert np.asarray(A, dtype="float32").dtype == np.float32
        with pytest.raises(SettingError):
            np.array(A, copy=False)
        with sp.allow_dense(10), pytest.raises(WouldDensifyError, match="10 bytes"):
            np.asarray(A)
        with pytest.raises(AssertionError):
            np.testing.assert_array_equal(A, X + 1)
    with pytest.raises(WouldDensifyError):
        np.asarray(A)
    with sp.allow_dense(math.inf):
        assert np.asarray(A).shape == (2, 3)
    for size in (-1, "1", math.nan):
        with pytest.raises(SettingError, match="max_bytes"), sp.allow_dense(size):
            pass


def test_arrays_in_a_dense_format_have_their_elements():
    A = sp.array(X, "dense")
    for given, expected in ((A, X), (A.T, X.T)):
        made = np.asarray(given)
        np.testing.assert_array_equal(made, expected)
        assert np.shares_memory(made, A.values)
    assert not np.shares_memory(np.array(A), A.values)
    assert np.asarray(A, dtype="int8").dtype == np.int8


def test_arrays_of_one_element_are_numbers():
    for given in (sp.array(3), sp.array([[3]]), sp.full((1, 1), 3)):
        assert (int(given), float(given), complex(given)) == (3, 3.0, 3 + 0j)
        assert bool(given) is True
    assert operator.index(sp.array(3)) == [0, 1, 2, 3][sp.array(3)] == 3
    assert complex(sp.array(1j)) == 1j
    assert not sp.array(0.0)
    for call in (int, float):
        with pytest.raises(DTypeError, match="real number"):
            call(sp.array(1j))
    for call in (int, float, complex):
        with pytest.raises(DTypeError, match="one element"):
            call(sp.array(X))
    with pytest.raises(ShapeError, match="one element"):
        bool(sp.array(X))
    for given in (sp.array(3.0), sp.array([3])):
        with pytest.raises(DTypeError, match="index: expected an integer"):
            operator.index(given)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("fill", [0, 2.0])
def test_copies_and_pickles(format, fill):
    A = sp.array(X, format, fill_value=fill)
    for made in (copy.copy(A), copy.deepcopy(A), pickle.loads(pickle.dumps(A))):
        assert made.format == A.format and made.fill_value == A.fill_value
        np.testing.assert_array_equal(made.todense(), X)
    assert not np.shares_memory(copy.deepcopy(A).values, A.values)
    assert np.shares_memory(copy.copy(A).values, A.values)
