"""Arrays made of a shape, of other arrays' shapes, or of anything."""

import numpy as np
import pytest
import scipy.sparse

import sparray as sp
from sparray.errors import (
    DeviceError,
    DTypeError,
    FormatError,
    SettingError,
    ShapeError,
    WouldDensifyError,
)

FORMATS = ("csr", "csc", "coo", "dcsr", "bitmap", "dia", "bcsr(2, 2)", "dense")
SHAPES = ((), (0,), (3,), (2, 3), (0, 4), (2, 1, 3))


def same(found, expected):
    assert isinstance(found, sp.SparseArray)
    np.testing.assert_array_equal(found.todense(), expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128", None])
def test_zeros_ones_and_full(shape, dtype):
    for name in ("zeros", "ones", "empty"):
        found = getattr(sp, name)(shape, dtype=dtype)
        numpys = np.zeros if name == "empty" else getattr(np, name)
        same(found, numpys(shape, dtype=dtype))
        assert found.nnz == 0 or not shape
    same(sp.full(shape, True, dtype=dtype), np.full(shape, True, dtype=dtype))
    same(sp.full(shape, 1), np.full(shape, 1))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_made(format):
    for found in (sp.zeros((4, 6), format=format), sp.full((4, 6), 7, format=format)):
        assert str(found.format) == str(sp.array(np.eye(4, 6), format).format)
    same(sp.full((4, 6), 7, format=format), np.full((4, 6), 7))
    for k in (-5, -2, 0, 1, 5, 7):
        found = sp.eye(4, 6, k=k, format=format)
        same(found, np.eye(4, 6, k=k))
        like = sp.ones_like(found)
        same(like, np.ones((4, 6)))
        assert like.format == found.format
    same(sp.eye(3, format=format), np.eye(3))


def test_huge_shapes_store_nothing():
    huge = sp.full((2**40, 2**40), 3, format="dcsr")
    assert huge.nnz == 0 and huge.size == 2**80 and huge.nbytes < 64


def test_asarray_copies_when_told_and_where_it_must():
    A = sp.array(np.eye(3))
    assert sp.asarray(A) is A and sp.asarray(A, copy=False) is A
    assert not np.shares_memory(sp.asarray(A, copy=True).values, A.values)
    S = scipy.sparse.csr_array(np.eye(3))
    assert np.shares_memory(sp.asarray(S).values, S.data)
    assert np.shares_memory(sp.asarray(S, copy=False).values, S.data)
    x = np.arange(3.0)
    assert np.shares_memory(sp.asarray(x, copy=False, format="dense").values, x)
    assert not np.shares_memory(sp.asarray(x, copy=True, format="dense").values, x)
    same(sp.asarray([[1, 2], [0, 3]], dtype="float32"), np.float32([[1, 2], [0, 3]]))
    same(sp.asarray(3), np.asarray(3))
    for given, options in ((x, {}), (A, {"dtype": "int8"}), (A, {"format": "csc"})):
        with pytest.raises(SettingError, match="copy: expected True"):
            sp.asarray(given, copy=False, **options)


def test_dlpack():
    x = np.arange(6.0).reshape(2, 3)
    A = sp.from_dlpack(x)
    same(A, x)
    assert np.shares_memory(A.values, x)
    assert not np.shares_memory(sp.from_dlpack(x, copy=True).values, x)
    assert sp.from_dlpack(x, format="csr").nnz == 5
    np.testing.assert_array_equal(np.from_dlpack(A), x)
    assert A.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(A.T), x)
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(A).tolist() == x.tolist()
    same(sp.from_dlpack(torch.ones(2)), np.ones(2, "float32"))
    with pytest.raises(WouldDensifyError, match="48 bytes"):
        sp.array(x).__dlpack__()
    with pytest.raises(DTypeError, match="__dlpack__"):
        sp.from_dlpack([1])


def test_what_is_refused():
    with pytest.raises(DeviceError, match="'cuda'"):
        sp.zeros(3, device="cuda")
    with pytest.raises(ShapeError):
        sp.zeros((2, -1))
    with pytest.raises(ShapeError):
        sp.eye(2.5)
    with pytest.raises(ShapeError, match="k: expected"):
        sp.eye(2, k=0.5)
    with pytest.raises(DTypeError, match="300"):
        sp.full(3, 300, dtype="int8")
    with pytest.raises(DTypeError):
        sp.zeros(3, dtype="U3")
    with pytest.raises(FormatError):
        sp.zeros(3, format="csr")
