"""A conversion takes little more memory than its input and its output together.

The bound is 1.5 × (input + output), the input included. Compiled assignments are
within it; NumPy's road, which serves where there is no compiler or few values, mostly
is not: what is known of it is listed, and what comes within it has to be taken out.
``python tests/convert/test_memory.py`` prints the table.
"""

import itertools
import tracemalloc
from functools import lru_cache
from unittest import mock

import numpy as np
import pytest

import sparray as sp
from sparray._kernels import memory
from sparray.convert import entries

N = 1_000_000
LIMIT = 1.5
FORMATS = ["csr", "csc", "coo", "dcsr", "dcsc", "ell", "bcsr(4, 4)", "dense", "bitmap"]
ROADS = ["compiled", "numpy"]
PAIRS = [pair for pair in itertools.product(FORMATS, repeat=2) if pair[0] != pair[1]]


PADDED = "pack of the padded level, beside int64 coordinates and positions"
COMPRESSED = "pack of a compressed level, beside int64 coordinates in sorted order"
UNPACK = "unpack, which lists every position of every level as int64"
VALUES = "the new values, beside int64 coordinates of all entries"
OVER = {
    ("numpy", "csr"): {
        "csc": (4.08, COMPRESSED),
        "coo": (2.14, UNPACK),
        "dcsr": (2.50, UNPACK),
        "dcsc": (4.08, COMPRESSED),
        "ell": (3.62, PADDED),
        "bcsr(4, 4)": (7.01, COMPRESSED),
        "dense": (1.69, VALUES),
        "bitmap": (1.64, VALUES),
    },
    ("numpy", "csc"): {
        "csr": (4.08, COMPRESSED),
        "coo": (3.50, COMPRESSED),
        "dcsr": (4.08, COMPRESSED),
        "dcsc": (2.50, UNPACK),
        "ell": (5.29, PADDED),
        "bcsr(4, 4)": (7.01, COMPRESSED),
        "dense": (2.81, VALUES),
        "bitmap": (2.67, VALUES),
    },
    ("numpy", "coo"): {
        "csr": (2.86, UNPACK),
        "csc": (3.64, COMPRESSED),
        "dcsr": (2.86, UNPACK),
        "dcsc": (3.64, COMPRESSED),
        "ell": (3.25, PADDED),
        "bcsr(4, 4)": (6.02, COMPRESSED),
        "dense": (2.00, UNPACK),
        "bitmap": (1.86, UNPACK),
    },
    ("numpy", "dcsr"): {
        "csr": (2.50, UNPACK),
        "csc": (4.08, COMPRESSED),
        "coo": (2.14, UNPACK),
        "dcsc": (4.08, COMPRESSED),
        "ell": (3.62, PADDED),
        "bcsr(4, 4)": (7.01, COMPRESSED),
        "dense": (1.69, VALUES),
        "bitmap": (1.64, VALUES),
    },
    ("numpy", "dcsc"): {
        "csr": (4.08, COMPRESSED),
        "csc": (2.50, UNPACK),
        "coo": (3.50, COMPRESSED),
        "dcsr": (4.08, COMPRESSED),
        "ell": (5.29, PADDED),
        "bcsr(4, 4)": (7.01, COMPRESSED),
        "dense": (2.81, VALUES),
        "bitmap": (2.67, VALUES),
    },
    ("numpy", "ell"): {
        "csr": (2.75, COMPRESSED),
        "csc": (4.42, COMPRESSED),
        "coo": (2.36, COMPRESSED),
        "dcsr": (2.75, COMPRESSED),
        "dcsc": (4.41, COMPRESSED),
        "bcsr(4, 4)": (7.41, COMPRESSED),
        "dense": (1.92, VALUES),
        "bitmap": (1.85, VALUES),
    },
    ("numpy", "bcsr(4, 4)"): {
        "csr": (4.65, COMPRESSED),
        "csc": (4.65, COMPRESSED),
        "coo": (3.89, COMPRESSED),
        "dcsr": (4.65, COMPRESSED),
        "dcsc": (4.65, COMPRESSED),
        "ell": (6.08, PADDED),
        "dense": (3.02, VALUES),
        "bitmap": (2.84, VALUES),
    },
    ("numpy", "dense"): {
        "csr": (2.17, COMPRESSED),
        "csc": (3.28, COMPRESSED),
        "coo": (1.95, COMPRESSED),
        "dcsr": (2.17, COMPRESSED),
        "dcsc": (3.28, COMPRESSED),
        "ell": (2.97, PADDED),
        "bcsr(4, 4)": (5.02, COMPRESSED),
        "bitmap": (1.65, VALUES),
    },
    ("numpy", "bitmap"): {
        "csr": (4.38, UNPACK),
        "csc": (4.38, UNPACK),
        "coo": (3.98, UNPACK),
        "dcsr": (4.38, UNPACK),
        "dcsc": (4.38, UNPACK),
        "ell": (4.38, UNPACK),
        "bcsr(4, 4)": (4.85, UNPACK),
        "dense": (3.35, UNPACK),
    },
}
"""Known to take more: the ratio that was measured, and the step at which it did."""


def example(format):
    """Return an array of about a million entries that suits a format.

    Rows are of one length and entries fill blocks, so that padding is no excuse; a
    third of all elements is stored, so that dense formats may be converted too.
    """
    rng = np.random.default_rng(0)
    side, block = 1728, 4
    n_blocks = side // block
    chosen = np.argsort(rng.random((n_blocks, n_blocks)), axis=1) < n_blocks // 3
    dense = np.kron(chosen, np.ones((block, block)))
    dense *= rng.integers(1, 9, (side, side))
    return sp.array(dense, format)


def ratio(array, format, road):
    """Return peak memory of a conversion over that of input and output together."""
    if road == "numpy":
        with mock.patch.object(entries, "assign_compiled", lambda *_, **__: None):
            return traced(array, format)
    # The first call makes the kernel.
    array.to_format(format)
    return traced(array, format)


def traced(array, format):
    """Measure by `tracemalloc`, to which NumPy reports all that it allocates.

    All is NumPy's here: blocks that are kept for later results are rounded up.
    """
    tracemalloc.start()
    try:
        with mock.patch.object(memory, "blocks", None):
            made = array.to_format(format)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.nnz == array.nnz
    return (array.nbytes + most) / (array.nbytes + made.nbytes)


def cases():
    """Return every conversion, those that are known to take more as a failure."""
    for road, (source, target) in itertools.product(ROADS, PAIRS):
        known = OVER.get((road, source), {}).get(target)
        reason = "" if known is None else f"{known[0]} ×: {known[1]}"
        marks = () if known is None else pytest.mark.xfail(strict=True, reason=reason)
        yield pytest.param(road, source, target, marks=marks)


@lru_cache(maxsize=1)
def cached(format):
    """Return the example of a format; its conversions follow one another."""
    return example(format)


@pytest.mark.slow
@pytest.mark.parametrize(("road", "source", "target"), list(cases()))
def test_conversions(road, source, target):
    # To two digits: a transposition through another array is exactly at the limit.
    assert round(ratio(cached(source), target, road), 2) <= LIMIT


def table():
    """Print every ratio, a row for each format that is converted."""
    for road in ROADS:
        print(f"{road:12s}" + "".join(f"{name:>12s}" for name in FORMATS))
        for source in FORMATS:
            array = example(source)
            row = [
                "" if source == target else f"{ratio(array, target, road):.2f}"
                for target in FORMATS
            ]
            print(f"{source:12s}" + "".join(f"{text:>12s}" for text in row), flush=True)


if __name__ == "__main__":
    table()
