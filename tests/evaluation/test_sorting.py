"""Sorting of coordinate lists: compiled = interpreted = np.lexsort."""

from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

from sparray import from_coords
from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.steps import SortStep
from sparray.convert import compiled
from sparray.evaluation import list_kernels, sorting
from sparray.evaluation.stored import Stored
from sparray.formats import Compressed, Format

EXTENTS = (1, 7, 3000, 2**31 - 1)


def random_list(rng, n, n_levels, extent, index_dtype, dtype):
    """Return coordinates and values whose order among equals can be told."""
    coords = [rng.integers(0, extent, n).astype(index_dtype) for _ in range(n_levels)]
    return coords, np.arange(n).astype(dtype)


def check(coords, values, made):
    """Sort, and compare with a stable sort of NumPy."""
    spec = SortSpec(len(coords), coords[0].dtype.name, made, values.dtype.itemsize)
    found_coords, found_values = sorting.SortCall(coords, values, spec).run()
    order = np.lexsort(coords[::-1])
    for found, crd in zip(found_coords, coords, strict=True):
        assert found.dtype in (np.dtype(made), crd.dtype)
        np.testing.assert_array_equal(found, crd[order])
    np.testing.assert_array_equal(found_values, values[order])


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("n_levels", [1, 2, 3])
def test_kernels_sort(n_levels, extent):
    rng = np.random.default_rng(n_levels)
    for n in (2, 3, 1000, 70_000):
        check(*random_list(rng, n, n_levels, extent, "int32", "float32"), "int32")


def test_coordinates_and_values_of_other_widths():
    rng = np.random.default_rng(0)
    for index_dtype, made in (("int64", "int64"), ("int64", "int32")):
        for dtype in ("int8", "int16", "float64", "complex64", "complex128"):
            given = random_list(rng, 5000, 2, 3000, index_dtype, dtype)
            check(*given, made)


@pytest.mark.parametrize(
    ("n_levels", "extent", "joined"),
    [(1, 5000, True), (3, 5000, True), (3, 2**31 - 1, False)],
)
def test_the_interpreter_agrees(n_levels, extent, joined):
    rng = np.random.default_rng(n_levels)
    coords, values = random_list(rng, 300, n_levels, extent, "int64", "float32")
    with (
        mock.patch.object(list_kernels, "load_kernel", lambda key, make: None),
        mock.patch.object(sorting, "num_threads", lambda: 3),
        mock.patch.object(list_kernels, "num_threads", lambda: 3),
        mock.patch.object(sorting, "_ENTRIES_PER_BUCKET", 64),
        mock.patch.object(sorting, "MOST_DIGIT_BITS", 4),
    ):
        check(coords, values, "int32")
        call = sorting.SortCall(coords, values, SortSpec(n_levels, "int64", "int32", 4))
        assert call.spec.joined is joined


@pytest.mark.parametrize(
    ("bits", "n", "joined"),
    [
        ([17, 17], 10**7, True),
        ([20, 20], 10**7, True),
        ([20, 20], 10**5, True),
        ([22, 22], 10**7, False),
        ([31, 31], 10**5, False),
        ([0, 0], 10, True),
        ([11, 11, 11], 5 * 10**6, True),
    ],
)
def test_bits_are_divided(bits, n, joined):
    """Every bit of a coordinate is in the bucket's number, or else in a digit once."""
    layout = sorting._layout(bits, n, 31)
    assert layout.joined is joined
    assert layout.bucket_bits <= sorting._MOST_BUCKET_BITS
    assert [n - low for n, low in zip(bits, layout.low, strict=True)] == [
        high.bit_length() for high in layout.high
    ]
    keys = [sum(layout.low)] if joined else layout.low
    for depth, n_bits in enumerate(keys):
        taken = [int(mask) << int(shift) for shift, mask, _ in layout.digits[:, depth]]
        assert sum(taken) == 2**n_bits - 1
    if joined:
        ends = [b + low for b, low in zip(layout.base, layout.low, strict=True)]
        assert ends == [sum(layout.low), *layout.base[:-1]]


def test_one_long_bucket_beside_short_ones():
    rng = np.random.default_rng(0)
    row = np.where(rng.random(100_000) < 0.95, 4, rng.integers(0, 5000, 100_000))
    column = rng.integers(0, 2**20, 100_000)
    coords = [row.astype(np.int32), column.astype(np.int32)]
    check(coords, np.arange(100_000.0), "int32")
    check([np.full(50_000, 3, np.int32), coords[1][:50_000]], np.arange(5e4), "int32")


def test_a_sorted_list_is_not_copied():
    crd = np.sort(np.random.default_rng(0).integers(0, 9, 40_000)).astype(np.int32)
    levels = ({"pos": np.array([0, 40_000], np.int32), "crd": crd},)
    unsorted = Format([Compressed(unique=False, ordered=False)])
    source = Stored(unsorted, (9,), levels, np.ones(40_000))
    wanted = TensorSpec(Format([Compressed(unique=False)]), "float64", "int32")
    step = SortStep("A", "B", wanted, SortSpec(1, "int32", "int32", 8))
    made = sorting.sort_list(source, step)
    assert made.values is source.values
    assert np.shares_memory(made._levels[0]["crd"], crd)


def test_scratch_is_never_larger_than_the_entries():
    for sizes in ([5, 0, 0, 9], [100], [1] * 500, [0, 0, 7000, 1, 1]):
        starts = np.concatenate([[0], np.cumsum(sizes)])
        shares, scratch, total = sorting._tasks(starts, 16)
        assert shares[0] == 0 and shares[-1] == len(sizes)
        assert total <= 2 * sum(sizes)
        largest = [max(sizes[a:b]) for a, b in pairwise(shares)]
        ends = [*scratch[1:], total]
        assert [e - s for s, e in zip(scratch, ends, strict=True)] == largest


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "dense"])
@pytest.mark.parametrize("index_dtype", ["int16", "int32", "int64"])
def test_arrays_from_many_coordinates(format, index_dtype):
    rng = np.random.default_rng(5)
    n = compiled._WORTH_COMPILING + 5
    coords = rng.integers(0, 180, (2, n)).astype(index_dtype)
    values = rng.integers(-5, 6, n).astype(np.float64)
    made = from_coords(coords, values, (180, 200), format)
    expected = np.zeros((180, 200))
    np.add.at(expected, tuple(coords), values)
    np.testing.assert_array_equal(made.todense(), expected)
    assert made._levels == () or all(
        buffer.dtype == np.int32 for level in made._levels for buffer in level.values()
    )
    assert not np.shares_memory(made.values, values)
