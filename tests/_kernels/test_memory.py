"""Memory of large results is kept, never shared by two arrays, and bounded."""

import threading
import tracemalloc

import numpy as np
import pytest

from sparray import release_memory
from sparray._kernels import memory
from sparray.errors import KernelMemoryError, SettingError

LARGE = memory._LEAST_BYTES // 4

pytestmark = pytest.mark.skipif(
    memory.blocks is None, reason="the extension that keeps memory is not built"
)


@pytest.fixture(autouse=True)
def _nothing_kept():
    release_memory()
    yield
    release_memory()


def address(array):
    return array.__array_interface__["data"][0]


def test_a_large_array_takes_what_another_has_left():
    first = memory.empty(LARGE, np.float64)
    place = address(first)
    first[:] = 7
    del first
    second = memory.empty(LARGE - 5, np.float64)
    assert address(second) == place
    assert len(second) == LARGE - 5
    assert second.flags.writeable and second.flags.aligned
    assert address(memory.empty(LARGE, np.float64)) != place


def test_memory_is_kept_only_when_the_last_view_is_gone():
    array = memory.empty(LARGE, np.float64)
    view = array[3:].view(np.int64)[::2]
    view[:] = 5
    del array
    others = [memory.zeros(LARGE, np.float64) for _ in range(3)]
    assert (view == 5).all()
    assert all((other == 0).all() for other in others)


def test_zeros_are_zero_in_used_memory():
    memory.empty(LARGE, np.float64).fill(3)
    made = memory.zeros(LARGE, np.float64)
    assert not made.any()


def test_a_much_smaller_array_does_not_take_a_large_block():
    place = address(memory.empty(4 * LARGE, np.float64))
    assert address(memory.empty(LARGE, np.float64)) != place


def test_the_limit_is_kept(monkeypatch):
    monkeypatch.setenv("SPARRAY_REUSE_SIZE", "20M")
    release_memory()
    arrays = [memory.empty(LARGE, np.float64) for _ in range(12)]
    del arrays
    assert 0 < release_memory() <= 20 * 2**20
    monkeypatch.setenv("SPARRAY_REUSE_SIZE", "0")
    release_memory()
    del_me = memory.empty(LARGE, np.float64)
    del del_me
    assert release_memory() == 0
    monkeypatch.setenv("SPARRAY_REUSE_SIZE", "a lot")
    release_memory()
    with pytest.raises(SettingError, match="SPARRAY_REUSE_SIZE: expected a number"):
        memory.empty(LARGE, np.float64)


def test_more_blocks_than_are_listed():
    arrays = [memory.empty(LARGE, np.float64) for _ in range(40)]
    assert len({address(array) for array in arrays}) == 40
    del arrays
    assert memory.blocks.free_bytes() <= 40 * 2 * memory._LEAST_BYTES


def test_what_does_not_fit_is_a_named_error():
    with pytest.raises(KernelMemoryError, match=r"result: expected \d+ elements"):
        memory.empty(2**60, np.float64)
    with pytest.raises(KernelMemoryError):
        memory.zeros(2**45, np.float64)
    with pytest.raises(KernelMemoryError):
        memory.empty(2**62, np.complex128)


def test_small_arrays_are_numpys():
    assert memory.empty(10, "int8").flags.owndata
    assert memory.zeros(0, "float32").shape == (0,)


def test_tracemalloc_counts_blocks():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        array = memory.empty(LARGE, np.float64)
        assert tracemalloc.get_traced_memory()[0] - before >= array.nbytes
        del array
        assert tracemalloc.get_traced_memory()[0] - before < 2**16
    finally:
        tracemalloc.stop()


def test_several_threads():
    wrong = []

    def work(number):
        for _ in range(30):
            array = memory.empty(LARGE, np.int64)
            array.fill(number)
            if not (array == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
