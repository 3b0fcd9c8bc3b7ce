"""Buffers of levels and values, shared with other libraries by DLPack."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import InvalidBufferError

FORMATS = ["csr", "csc", "coo", "dcsr", "bcsr(2, 2)", "ell", "bitmap", "nm(2, 4)"]


class Speaker:
    """Memory of a library that NumPy knows nothing of but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Speaker):
    def __dlpack__(self, **options):
        raise BufferError("not on this device")

    def __dlpack_device__(self):
        return (2, 0)


def example(format):
    dense = np.zeros((4, 8))
    dense[0, [1, 6]], dense[3, 2] = (2.0, 3.0), 5.0
    return sp.array(dense, format=format)


def by_dlpack(array, wrap=Speaker):
    levels = [{role: wrap(b) for role, b in level.items()} for level in array.levels]
    return sp.from_buffers(array.format, array.shape, levels, wrap(array.values))


@pytest.mark.parametrize("format", FORMATS)
def test_no_buffer_is_copied(format):
    A = example(format)
    B = by_dlpack(A)
    np.testing.assert_array_equal(B.todense(), A.todense())
    assert np.shares_memory(B.values, A.values)
    for mine, given in zip(B.levels, A.levels, strict=True):
        assert all(np.shares_memory(mine[role], given[role]) for role in given)
    np.testing.assert_array_equal(B @ np.ones(8), A.todense() @ np.ones(8))


@pytest.mark.parametrize("format", FORMATS)
def test_torch_and_back(format):
    torch = pytest.importorskip("torch")
    A = example(format)
    B = by_dlpack(A, torch.from_dlpack)
    torch.from_dlpack(B.values)[0] = 7
    assert A.values.reshape(-1)[0] == 7 and np.shares_memory(B.values, A.values)


@pytest.mark.parametrize("format", FORMATS)
def test_tensors_of_other_libraries_memory(format):
    torch = pytest.importorskip("torch")
    import sparray.torch as spt

    A = example(format)
    levels = [{role: Speaker(b) for role, b in level.items()} for level in A.levels]
    W = spt.from_buffers(A.format, A.shape, levels, Speaker(A.values))
    assert np.shares_memory(W.values().numpy(), A.values)
    for mine, given in zip(W.pattern.levels, A.levels, strict=True):
        assert all(np.shares_memory(mine[role], given[role]) for role in given)
    np.testing.assert_array_equal(W.to_dense(), A.todense())
    # And out again, values and all.
    out = np.from_dlpack(W.values())
    assert np.shares_memory(out, A.values)
    for level in W.pattern.levels:
        for buffer in level.values():
            shared = torch.from_dlpack(buffer)
            assert buffer.size == 0 or shared.data_ptr() == buffer.ctypes.data


def test_memory_that_cannot_be_shared():
    A = example("csr")
    with pytest.raises(InvalidBufferError, match=r"'pos'.*Elsewhere .*this device"):
        by_dlpack(A, Elsewhere)


def test_shared_buffers_are_checked():
    A = example("csr")
    pos = np.array([0, 2, 1, 2, 3], np.int32)
    with pytest.raises(InvalidBufferError, match="pos"):
        sp.from_buffers(
            "csr",
            A.shape,
            [{}, {"pos": Speaker(pos), "crd": Speaker(A.levels[1]["crd"])}],
            Speaker(A.values),
        )
