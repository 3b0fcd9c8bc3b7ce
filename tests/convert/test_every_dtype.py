"""Every named format to every other one and back, in every class of dtypes.

By NumPy, by the loop IR of the compiled assignment in its interpreter, and by compiled
kernels: those of a few conversions in each dtype, the rest marked slow.
"""

import itertools
from contextlib import contextmanager
from unittest import mock

import ml_dtypes
import networkx
import numpy as np
import pytest
from oracle_check import interpreted
from sklearn.datasets import load_digits

from sparray import dispatch
from sparray.convert import array, compiled, entries
from sparray.errors import FormatError
from sparray.formats import FORMAT_FAMILIES, NAMED_FORMATS, as_format

DTYPES = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "uint64", "int64", "float16", "float32", "float64"),
        *("complex64", "complex128"),
    )
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
PARAMETERS = {"bcsr": "(2, 3)", "bcsc": "(3, 2)", "nm": "(2, 4)", "nmg": "(1, 4, 4)"}
NAMES = [name for name, named in NAMED_FORMATS.items() if named.fits(2)]
NAMES += [
    name + PARAMETERS[name]
    for name, family in FORMAT_FAMILIES.items()
    if family.fits(2) and name in PARAMETERS
]


def extremes(dtype):
    """Return numbers at the ends of a dtype, none of them 0."""
    if dtype.kind == "b":
        return np.array([True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.max, limits.min or 1, 1, 2], dtype)
    limits = ml_dtypes.finfo(dtype)
    small, large = limits.smallest_subnormal, limits.max
    values = np.array([small, -small, large, -large, np.nan, np.inf, -np.inf, 1], dtype)
    return values * dtype.type(1j) if dtype.kind == "c" else values


def random_dense(dtype, shape=(7, 9), seed=0):
    """Return few entries: at most two in each block of four columns."""
    rng = np.random.default_rng(seed)
    kept = rng.random(shape) < 0.5
    kept[:, np.arange(shape[1]) % 4 > 1] = False
    with np.errstate(all="ignore"):
        values = rng.choice(extremes(dtype), shape)
    return np.where(kept, values, dtype.type(0))


def real_arrays(dtype):
    """Return a graph's adjacency and a few scanned digits: integers up to 16."""
    yield networkx.to_numpy_array(networkx.karate_club_graph()).astype(dtype)
    yield load_digits().data[:30].astype(dtype)


def check_round_trips(source, dense, targets=NAMES):
    """Convert to each format and back; what no format may hold is left out."""
    try:
        made = array(dense, source)
    except FormatError as error:
        assert "a conversion never drops a value" in str(error)
        return
    for target in targets:
        try:
            there = made.to_format(target)
        except FormatError as error:
            assert "a conversion never drops a value" in str(error)
            assert target.startswith("nm")
            continue
        back = there.to_format(source)
        for found, name in ((there, target), (back, source)):
            assert found.format == as_format(name, 2)
            assert found.dtype == dense.dtype
            assert np.array_equal(found.todense(), dense, equal_nan=True), (
                name,
                source,
            )
        if not (there.format.pads or made.format.pads):
            assert there.nnz == back.nnz == made.nnz


def numpy_road():
    return mock.patch.object(compiled, "_WORTH_COMPILING", 2**62)


@contextmanager
def interpreted_road():
    """Convert everything that a kernel converts in the loop IR's interpreter."""

    def evaluate(expression, operands, format, *, prune, index_dtype, merging=""):
        call = dispatch._find(expression, operands, format, prune, index_dtype, merging)
        return dispatch._run(call, expression, operands)

    with (
        interpreted(),
        mock.patch.object(compiled, "_WORTH_COMPILING", 0),
        mock.patch.object(compiled, "try_compiled", evaluate),
    ):
        yield


def compiled_road():
    return mock.patch.object(compiled, "_WORTH_COMPILING", 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", NAMES)
def test_by_numpy(source, dtype):
    with numpy_road():
        check_round_trips(source, random_dense(DTYPES[dtype]))
        for shape in ((7, 9), (0, 3), (3, 0)):
            check_round_trips(source, np.zeros(shape, DTYPES[dtype]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", NAMES)
def test_real_arrays_by_numpy(source, dtype):
    with numpy_road():
        for dense in real_arrays(DTYPES[dtype]):
            check_round_trips(source, dense)


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64"])
@pytest.mark.parametrize("source", NAMES)
def test_by_the_interpreter(source, dtype):
    with interpreted_road():
        check_round_trips(source, random_dense(DTYPES[dtype], (4, 5)))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", NAMES)
def test_by_the_interpreter_in_every_dtype(source, dtype):
    with interpreted_road():
        check_round_trips(source, random_dense(DTYPES[dtype]))
        check_round_trips(source, np.zeros((3, 4), DTYPES[dtype]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_by_kernels(dtype):
    dense = random_dense(DTYPES[dtype], (40, 50))
    with compiled_road(), mock.patch.object(entries, "pack_coordinates", None):
        # NumPy's road would fall over what is not there.
        for source, target in itertools.permutations(["csr", "csc", "coo"], 2):
            made = entries.convert_format(MADE[source, dtype], as_format(target, 2))
            assert made.dtype == dense.dtype
            assert np.array_equal(made.todense(), dense, equal_nan=True)


MADE = {
    (source, dtype): array(random_dense(DTYPES[dtype], (40, 50)), source)
    for source in ("csr", "csc", "coo")
    for dtype in DTYPES
}


# Each format in one dtype: each dtype of a conversion costs a compilation.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "dtype"), zip(NAMES, itertools.cycle(DTYPES), strict=False)
)
def test_by_kernels_between_all_formats(source, dtype):
    with compiled_road():
        check_round_trips(source, random_dense(DTYPES[dtype]))
        for dense in real_arrays(DTYPES[dtype]):
            check_round_trips(source, dense)
        check_round_trips(source, np.zeros((3, 4), DTYPES[dtype]))
