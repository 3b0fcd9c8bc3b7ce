"""SparseArray: attributes, text, and the methods that need no kernel."""

import copy
import itertools
import math
import pickle
import timeit

import numpy as np
import pytest

import sparray as sp
import sparray.sparse_array
from sparray.convert import array, from_buffers, from_coords
from sparray.errors import (
    DTypeError,
    FormatError,
    KernelMemoryError,
    SparrayError,
    UnsupportedError,
    WouldDensifyError,
)
from sparray.formats import NAMED_FORMATS, Format
from sparray.formats.packing import check_buffers

SHAPES = [(), (5,), (0,), (1,), (4, 6), (0, 3), (3, 0), (3, 4, 2), (2, 3, 2, 2, 3)]
DTYPES = ["bool", "int8", "uint64", "float16", "float64", "complex64"]


def names(ndim):
    return [name for name, named in NAMED_FORMATS.items() if named.fits(ndim)]


def random_dense(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(1, 9, shape) * (rng.random(shape) < 0.4)).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_empty", [False, True])
def test_every_named_format_to_every_other(shape, is_empty):
    dense = np.zeros(shape) if is_empty else random_dense(shape)
    for source, target in itertools.product(names(len(shape)), repeat=2):
        before = array(dense, source)
        after = before.to_format(target)
        check_buffers(after.format, after.shape, after.levels, after.values)
        assert after.format.name == Format.parse(target, len(shape)).name
        assert after.shape == shape
        assert after.dtype == dense.dtype
        if not (before.format.pads or after.format.pads):
            assert after.nnz == np.count_nonzero(dense)
        assert np.array_equal(after.todense(), dense)
        assert np.array_equal(before.todense(), dense)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill_value", [0, 1])
def test_every_dtype(dtype, fill_value):
    dense = random_dense((4, 3), dtype)
    for name in names(2):
        made = array(dense, name, fill_value=fill_value)
        assert made.dtype == dtype
        assert made.fill_value == fill_value
        assert made.fill_value.dtype == dtype
        if not made.format.pads:
            fill = np.dtype(dtype).type(fill_value)
            assert made.nnz == np.count_nonzero(dense != fill)
        assert np.array_equal(made.to_format("csc").todense(), dense)
        assert np.array_equal(made.T.todense(), dense.T)


@pytest.mark.parametrize("width", ["int32", "int64"])
def test_attributes(width):
    pos, crd = np.array([0, 2, 2, 3], width), np.array([0, 3, 1], width)
    values = np.array([1.0, 0.0, 2.0], "float32")
    made = from_buffers("csr", (3, 4), [{}, {"pos": pos, "crd": crd}], values)
    assert (made.shape, made.ndim, made.size) == ((3, 4), 2, 12)
    assert made.dtype == np.float32
    assert made.nnz == 3
    assert made.index_dtype == width
    assert made.nbytes == pos.nbytes + crd.nbytes + 12
    assert made.values is values
    assert made.levels[0] == {}
    assert np.shares_memory(made.levels[1]["pos"], pos)
    coords, found = made.to_coords()
    assert coords.dtype == np.int64
    assert coords.tolist() == [[0, 0, 2], [0, 3, 1]]
    assert found.tolist() == [1.0, 0.0, 2.0]
    found[:] = 7
    assert values.tolist() == [1.0, 0.0, 2.0]


def test_the_pattern_is_read_only_and_values_are_not():
    made = array(np.eye(3), "csr")
    with pytest.raises(ValueError, match="read-only"):
        made.levels[1]["crd"][0] = 2
    made.values[0] = 5
    assert made.todense()[0, 0] == 5


@pytest.mark.parametrize("name", ["shape", "format", "values", "levels", "fill_value"])
def test_no_part_can_be_replaced(name):
    made = array(np.eye(3), "csr")
    with pytest.raises(AttributeError):
        setattr(made, name, getattr(made, name))


def test_a_dense_format_has_no_index_buffers():
    made = array(random_dense((3, 4)), "dense")
    assert made.levels == ({}, {})
    assert made.index_dtype == np.int64
    assert made.nbytes == 12 * 8


def test_addresses_are_those_of_the_buffers_in_kernel_order():
    made = array(random_dense((3, 4, 2)), "csf")
    buffers = [level[role] for level in made.levels for role in ("pos", "crd")]
    expected = tuple(b.ctypes.data for b in (*buffers, made.values))
    assert made._addresses == expected
    assert made._addresses is made._addresses


def test_keys_tell_what_a_kernel_is_specialised_to():
    dense = random_dense((3, 4))
    made = array(dense, "csr")
    assert made._key == array(dense + 1, "csr")._key
    assert made._key is made._key
    other = {made.T._key, made.astype("float32")._key, made.to_format("coo")._key}
    assert len(other | {made._key}) == 4
    assert hash(made._key) == hash(array(dense, "csr")._key)


def test_trusted_construction_is_cheap():
    made = array(random_dense((3, 4)), "csr")
    parts = (made.format, made.shape, made._levels, made.values, made.fill_value)
    wrap = sparray.sparse_array.SparseArray._from_trusted
    best_s = min(timeit.repeat(lambda: wrap(*parts), number=1000, repeat=5)) / 1000
    assert best_s < 5e-6
    assert wrap(*parts)._key == made._key


def test_transposition_shares_buffers():
    made = array(random_dense((3, 4, 2)), "csf")
    assert made.T.format.order == (2, 1, 0)
    assert made.T.shape == (2, 4, 3)
    assert made.T.values is made.values
    assert array(np.eye(3), "csr").T.format.name == "csc"


def test_to_format():
    made = array(random_dense((3, 4)), "csr")
    assert made.to_format("csr") is made
    assert made.to_format(made.format) is made
    assert made.to_format("coo").values is not made.values
    assert not np.shares_memory(made.to_format("coo").values, made.values)
    with pytest.raises(FormatError, match="expected a known name"):
        made.to_format("cssr")
    with pytest.raises(FormatError, match="expected 2 dimensions, got 1"):
        made.to_format("(i) -> (i: dense)")


def test_a_dense_array_in_another_order_keeps_negative_zeros():
    dense = np.array([[0.0, -0.0, 1.0], [-0.0, 0.0, 2.0]])
    columns = "(i, j) -> (j: dense, i: dense)"
    made = array(dense, "dense").to_format(columns)
    assert made.values.reshape(3, 2).tolist() == dense.T.tolist()
    for other in (made.todense(), made.to_format("dense").todense()):
        assert np.array_equal(np.signbit(other), np.signbit(dense))


def test_repeated_entries_add_up_where_they_cannot_be_kept():
    loose = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    coords = [[1, 0, 1], [2, 0, 2]]
    made = from_coords(coords, [1, 2, 4], (2, 3), loose, duplicates="keep")
    assert made.nnz == 3
    assert made.todense().tolist() == [[2, 0, 0], [0, 0, 5]]
    assert made.to_format("csr").nnz == 2
    assert made.to_format("csr").values.tolist() == [2, 5]
    assert made.T.to_format("csr").todense().tolist() == [[2, 0], [0, 0], [0, 5]]


def test_explicit_zeros_survive_a_conversion():
    made = from_coords([[0, 1], [1, 0]], [0.0, -0.0], (2, 2))
    for name in ("csr", "csc", "dcsr", "dcsc", "csf"):
        other = made.to_format(name)
        assert other.nnz == 2
        assert sorted(np.signbit(other.values).tolist()) == [False, True]


def test_nan_and_inf_survive():
    dense = np.array([[np.nan, 0.0, np.inf], [0.0, -np.inf, 0.0]])
    for name in names(2):
        made = array(dense, name)
        assert made.nnz == 3 or made.format.pads
        assert np.array_equal(made.todense(), dense, equal_nan=True)
        holes = array(dense, name, fill_value=np.nan)
        assert holes.nnz == 5 or holes.format.pads
        assert np.array_equal(holes.to_format("csc").todense(), dense, equal_nan=True)


def test_astype_and_copy():
    made = array([[0, 3], [4, 0]], "csr")
    half = made.astype("float16")
    assert half.dtype == np.float16
    assert half.fill_value.dtype == np.float16
    assert half.todense().tolist() == [[0, 3], [4, 0]]
    with pytest.raises(DTypeError, match="dtype: expected a dtype"):
        made.astype("no such dtype")
    with pytest.raises(DTypeError, match="expected one of bool"):
        made.astype(object)
    copied = made.copy()
    assert not np.shares_memory(copied.values, made.values)
    assert not np.shares_memory(copied._levels[1]["crd"], made._levels[1]["crd"])
    assert np.array_equal(copied.todense(), made.todense())


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))]
)
def test_a_duplicate_has_addresses_of_its_own(duplicate):
    made = array(random_dense((3, 4)), "csr", fill_value=1)
    before = made._addresses
    other = duplicate(made)
    assert other._addresses == tuple(
        buffer.ctypes.data for buffer in (*other.levels[1].values(), other.values)
    )
    assert not set(before) & set(other._addresses)
    assert other._key == made._key
    assert np.array_equal(other.todense(), made.todense())


def test_nothing_becomes_dense_by_accident():
    made = array(random_dense((3, 4)), "csr")
    for convert in (np.asarray, np.array, np.asanyarray):
        with pytest.raises(WouldDensifyError, match=r"todense\(\).* 96 bytes"):
            convert(made)


def test_a_dense_array_that_cannot_fit_is_a_named_error():
    for exponent in (30, 41):
        extent = 2**exponent
        made = from_coords([[extent - 1], [0]], [1.0], (extent, extent))
        assert made.size == extent**2
        with pytest.raises(KernelMemoryError, match="expected dense levels that fit"):
            made.todense()


@pytest.mark.parametrize("shape", [(0, 2**63 - 1), (2**40, 0, 2**40), (2**62, 0)])
def test_no_elements_in_extents_that_numpy_cannot_multiply(shape):
    a = sp.from_coords(np.zeros((len(shape), 0), int), np.zeros(0), shape)
    letters = "ijk"[: len(shape)]
    for densify in (
        a.todense,
        lambda: a.to_format("dense").todense(),
        lambda: sp.einsum(f"{letters}->{letters}", a, format="dense"),
    ):
        with pytest.raises(KernelMemoryError, match="shape"):
            densify()
    assert (a + a).nnz == 0


def test_sixty_four_dimensions():
    coords = np.ones((64, 1), dtype=np.int64)
    for name in ("csf", "coo"):
        made = from_coords(coords, [3.0], (2,) * 64, name)
        assert made.size == 2**64
        assert np.array_equal(made.to_coords()[0], coords)
        assert made.to_format("csf").to_format("coo").nnz == 1
        assert made.T.to_format("csf").values.tolist() == [3.0]
        assert "2, 2" in repr(made)
    ones = array(np.ones((1,) * 64), "csf")
    assert ones.todense().shape == (1,) * 64
    more = from_coords(np.ones((65, 1), dtype=np.int64), [3.0], (2,) * 65, "csf")
    assert more.to_format("coo").nnz == 1
    with pytest.raises(UnsupportedError, match="at most 64 dimensions, got 65"):
        more.todense()


@pytest.mark.parametrize(
    ("dense", "name", "text"),
    [
        (
            [[0.0, 1.0], [0.0, 2.0]],
            "csr",
            "<SparseArray csr, shape (2, 2), float64: 2 stored entries, density 0.5, "
            "36 B (pos 12 B, crd 8 B, values 16 B)>",
        ),
        (
            np.zeros((0, 3)),
            "coo",
            "<SparseArray coo, shape (0, 3), float64: 0 stored entries, density none, "
            "8 B (i.pos 8 B, i.crd 0 B, j.crd 0 B, values 0 B)>",
        ),
        (
            np.bool_(True),
            "dense",
            "<SparseArray dense, shape (), bool: 1 stored entry, density 1, 1 B>",
        ),
        (
            np.zeros((1, 1), "int8"),
            "(i, j) -> (j: compressed, i: dense)",
            "<SparseArray (i, j) -> (j: compressed, i: dense), shape (1, 1), int8: "
            "0 stored entries, density 0, 8 B (pos 8 B, crd 0 B, values 0 B)>",
        ),
    ],
)
def test_text(dense, name, text):
    assert repr(array(dense, name)) == str(array(dense, name)) == text


def test_text_names_a_fill_value():
    assert "fill value nan" in repr(array([np.nan, 1.0], fill_value=np.nan))


def test_the_class_is_not_a_constructor():
    with pytest.raises(SparrayError, match=r"expected a call of sparray\.array"):
        sparray.sparse_array.SparseArray()


def test_size_is_exact():
    made = from_coords(np.zeros((3, 0), int), [], (2**40, 2**40, 3))
    assert made.size == math.prod((2**40, 2**40, 3))
    assert made.nnz == 0
