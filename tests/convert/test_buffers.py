"""Raw buffers from outside: whose memory they are, and what kind of objects."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import CoordinateError, InvalidBufferError, UnsupportedError


def csr(pos, crd, values):
    return sp.from_buffers("csr", (2, 5), [{}, {"pos": pos, "crd": crd}], values)


def test_buffers_that_overlap_are_refused():
    numbers = np.array([0, 1, 2, 3])
    message = r"share no memory, got levels\[1\]\['pos'\] and levels\[1\]\['crd'\]"
    with pytest.raises(InvalidBufferError, match=message):
        csr(numbers[:3], numbers[1:3], np.ones(2))


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_values_that_are_coordinates_are_refused(dtype):
    """To write to such values would be to write coordinates."""
    crd = np.array([0, 1])
    with pytest.raises(InvalidBufferError, match="and values that overlap"):
        csr(np.array([0, 1, 2]), crd, crd.view(dtype))


def test_buffers_that_only_touch_are_kept():
    numbers = np.array([0, 1, 2, 3, 4])
    a = csr(numbers[:3], numbers[3:], np.ones(2))
    assert np.shares_memory(a.levels[1]["crd"], numbers)
    assert a.todense().tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]


def test_slices_of_a_batch_that_overlap_with_values_are_refused():
    crd = np.array([0, 1])
    levels = [{}, {}, {"pos": np.array([0, 1, 0, 1]), "crd": crd}]
    with pytest.raises(InvalidBufferError, match="that overlap"):
        sp.from_buffers("batched_csr", (2, 1, 5), levels, crd.view("float64"))


def test_masks_are_not_lost():
    """A comparison of a masked element is masked: no check would see it."""
    pos = np.array([0, 1, 2])
    crd = np.ma.array([3, 10**9], mask=[False, True])
    with pytest.raises(InvalidBufferError, match="no masked elements"):
        csr(pos, crd, np.ones(2))
    with pytest.raises(InvalidBufferError, match="values: expected no masked"):
        csr(pos, np.array([3, 4]), np.ma.array([1.0, 2.0], mask=[True, False]))
    with pytest.raises(UnsupportedError, match="no masked elements"):
        sp.array(np.ma.array([1.0, 2.0], mask=[True, False]))
    with pytest.raises(CoordinateError, match="no masked elements"):
        sp.from_coords(np.ma.array([[0, 1]], mask=[[False, True]]), [1.0, 2.0])
    assert sp.array(np.ma.array([1.0, 2.0])).nnz == 2


class Agreeing(np.ndarray):
    """An array that says that nothing is smaller or larger than anything."""

    def __lt__(self, other):
        return np.zeros(self.shape, dtype=bool)

    __gt__ = __le__ = __ge__ = __lt__


def test_subclasses_are_checked_by_their_elements():
    pos = np.array([0, 1, 2])
    with pytest.raises(InvalidBufferError, match=r"coordinates in \[0, 5\)"):
        csr(pos, np.array([3, 10**9]).view(Agreeing), np.ones(2))
    kept = csr(pos, np.array([3, 4]), np.ones(2).view(Agreeing))
    assert type(kept.values) is np.ndarray


def test_memory_of_a_file_is_kept(tmp_path):
    path = tmp_path / "values"
    np.ones(2).tofile(path)
    mapped = np.memmap(path, dtype="float64", mode="r")
    a = csr(np.array([0, 1, 2]), np.array([3, 4]), mapped)
    assert np.shares_memory(a.values, mapped)


@pytest.mark.parametrize("level", [None, 3, [], "ab", {1: 2}, {"pos": np.zeros(1)}])
def test_levels_of_a_batch_are_mappings(level):
    rest = {"pos": np.array([0, 1, 0, 1]), "crd": np.array([0, 1])}
    with pytest.raises(InvalidBufferError):
        sp.from_buffers("batched_csr", (2, 1, 5), [level, {}, rest], np.ones(2))


@pytest.mark.parametrize("width", [2**31 - 1, 2**62])
def test_wide_padding_without_rows_takes_no_memory(width):
    none = np.zeros(0, dtype=np.int64)
    padded = {"width": np.array([width]), "count": none, "crd": none}
    a = sp.from_buffers("ell", (0, 5), [{}, padded], np.zeros(0))
    assert a.nnz == 0
    assert a.to_format("csr").nnz == 0
