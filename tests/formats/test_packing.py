"""Packing: any entries in any format come back; malformed buffers never do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparray.errors import (
    DTypeError,
    FormatError,
    InvalidBufferError,
    KernelMemoryError,
)
from sparray.formats import NAMED_FORMATS, Format, Structured, named_format
from sparray.formats.packing import (
    check_buffers,
    count_entries,
    count_positions,
    narrowest_index_dtype,
    pack_coordinates,
    unpack_coordinates,
)

OTHERS = [
    "(i, j) -> (i: compressed, j: dense)",
    "(i, j) -> (j: compressed, i: dense)",
    "(i, j) -> (i: compressed(nonunique), j: compressed)",
    "(i, j) -> (i: compressed(nonunique), j: singleton(unordered))",
    "(i, j) -> (i: dense, j: compressed(unordered))",
    "(i, j, k) -> (k: dense, i: compressed, j: dense)",
    "(i, j, k) -> (j: compressed, k: compressed(nonunique), i: singleton)",
    "(i, j, k) -> (k: compressed(nonunique), i: singleton(nonunique), j: singleton)",
    "(i, j) -> (j: padded, i: padded)",
    "(i, j) -> (i: padded, j: dense)",
    "(i, j) -> (i: dense, j: padded(nonunique, unordered))",
    "(i, j) -> (i: bitmap, j: bitmap)",
    "(i, j) -> (i: dense, j: hashed)",
    "(i, j) -> (j: hashed, i: compressed)",
    "(i, j) -> (i: hashed, j: hashed)",
    "(i, j, k) -> (i: compressed, j: hashed, k: dense)",
    "(i, j) -> (j - i: hashed, i: range)",
    "(i, j) -> (i // 2: hashed, i % 2: padded, j: hashed)",
    "(i, j) -> (j: bitmap, i: compressed)",
    "(i, j, k) -> (i: bitmap, k: dense, j: padded)",
    "(i, j) -> (i - j: compressed, j: range)",
    "(i, j) -> (j - i: dense, i: range)",
    "(i, j) -> (j - i: padded, i: range)",
    "(i, j) -> (j - i: compressed, j: compressed)",
    "(i, j) -> (j - i: dense, i: dense)",
    "(i, j) -> (i - j: bitmap, j // 2: compressed, j % 2: dense)",
    "(i, j, k) -> (k - j: compressed, j - i: compressed, i: compressed)",
    "(i, j, k) -> (j: dense, k - i: compressed, i: range)",
    "(i, j) -> (i // 2: dense, j // 2: dense, i % 2: dense, j % 2: dense)",
    "(i, j) -> (i // 2: dense, j // 3: padded, i % 2: dense, j % 3: bitmap)",
    "(i, j) -> (i % 2: dense, i // 2: compressed, j: compressed)",
    "(i, j) -> (i // 2: compressed(nonunique), i % 2: singleton(nonunique), "
    "j: singleton)",
    "(i) -> (i // 3: compressed, i % 3: compressed)",
    "(i, j) -> (j // 4: compressed, j % 4: structured(3, 4), i: dense)",
    "(i, j) -> (i: dense, j // 2: compressed, j % 2: structured(1, 2))",
    "(i, j) -> (i: batch, j: compressed)",
    "(i, j) -> (j: batch, i: hashed)",
    "(i, j, k) -> (i: batch, j: compressed, k: compressed)",
    "(i, j, k) -> (j: batch, i: batch, k: padded)",
    "(i, j, k) -> (i: batch, j: compressed(nonunique), k: singleton)",
    "(i, j, k) -> (k: batch, j - i: compressed, i: range)",
    "(i, j, k) -> (i: batch, j: bitmap, k // 2: padded, k % 2: structured(1, 2))",
    "(i, j) -> (i: batch, j: dense)",
    "(i, j) -> (i: permuted, j: permuted)",
    "(i, j) -> (j // 2: compressed, j % 2: permuted, i: compressed)",
    "(i, j) -> (i // 3: compressed, j // 2: hashed, j % 2: permuted, "
    "i % 3: grouped(3, 3, 2))",
]
FAMILIES = {
    "bcsr(2, 2)": (2, 3),
    "bcsr(3, 1)": (2, 4),
    "bcsr(5, 7)": (2,),
    "bcsc(2, 3)": (2,),
    "batched_bcsr(2, 2)": (3, 4),
    "batched_bcsc(3, 2)": (3,),
    "nm(2, 4)": (1, 2, 3),
    "nm(1, 1)": (2,),
    "nm(1, 3)": (2, 4),
    "nmg(2, 2, 1)": (2, 3),
    "nmg(3, 3, 2)": (2, 4),
}
FORMATS = [
    *(
        named_format(name, ndim)
        for name, named in NAMED_FORMATS.items()
        for ndim in range(5)
        if named.fits(ndim)
    ),
    *(named_format(name, ndim) for name, fits in FAMILIES.items() for ndim in fits),
    *map(Format.parse, OTHERS),
]


@st.composite
def entries(draw, ndim):
    """A shape, and coordinates in it in any order, none twice."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=ndim, max_size=ndim)))
    if 0 in shape:
        chosen = []
    else:
        coordinate = st.tuples(*(st.integers(0, extent - 1) for extent in shape))
        chosen = draw(st.lists(coordinate, max_size=12, unique=True))
    table = np.array(chosen, dtype=np.int64).reshape(len(chosen), ndim).T
    return shape, np.ascontiguousarray(table)


def fitting(format, shape, coords):
    """Mark the entries that a structured level has room for."""
    rows = np.array(format.level_coordinates(coords, shape))
    kept = np.ones(coords.shape[1], dtype=bool)
    for depth, level in enumerate(format.levels):
        if isinstance(level, Structured):
            room = {}
            for entry, column in enumerate(rows.T.tolist()):
                taken = room.setdefault(tuple(column[:depth]), set())
                kept[entry] &= len(taken | {column[depth]}) <= level.n
                if kept[entry]:
                    taken.add(column[depth])
    return kept


@pytest.mark.parametrize("format", FORMATS, ids=str)
@given(data=st.data(), dtype=st.sampled_from(["int32", "int64"]))
def test_pack_check_unpack(format, data, dtype):
    shape, coords = data.draw(entries(format.ndim))
    coords = coords[:, fitting(format, shape, coords)]
    values = np.arange(1.0, coords.shape[1] + 1)
    levels, packed = pack_coordinates(format, shape, coords, values, -7, dtype)
    check_buffers(format, shape, levels, packed)
    assert count_positions(format, shape, levels) == len(packed)
    for level, buffers in zip(format.levels, levels, strict=True):
        for role, buffer in buffers.items():
            assert buffer.dtype == level.buffer_dtype(role, dtype)
    found, found_values = unpack_coordinates(format, shape, levels, packed, -7)
    # what a dense level below a sparse one pads with is stored, not dropped
    given_entries = found_values != -7
    expected = sorted(zip(*coords.tolist(), values, strict=True))
    assert expected == sorted(
        zip(*found[:, given_entries].tolist(), found_values[given_entries], strict=True)
    )
    assert count_entries(format, shape, levels, packed, -7) == len(found_values)
    assert format.pads or len(found_values) == len(values)
    if format.n_levels:
        by_level = np.array(format.level_coordinates(found, shape)).T.tolist()
        assert by_level == sorted(by_level) or not format.is_sorted


def test_padding_below_a_sparse_level_is_stored():
    rows = Format.parse("(i, j) -> (i: compressed, j: dense)")
    coords = np.array([[2], [1]])
    levels, values = pack_coordinates(rows, (4, 3), coords, np.array([5.0]))
    assert levels[0]["crd"].tolist() == [2]
    assert values.tolist() == [0.0, 5.0, 0.0]
    found, _ = unpack_coordinates(rows, (4, 3), levels, values)
    assert found.tolist() == [[2, 2, 2], [0, 1, 2]]


@pytest.mark.parametrize(
    ("text", "coords"),
    [
        ("csr", [[0, 0], [1, 1]]),
        ("coo", [[0, 0], [1, 1]]),
        ("dense", [[0, 0], [1, 1]]),
        ("dcsr", [[0, 0], [1, 1]]),
        ("(i, j) -> (i: compressed(nonunique), j: compressed)", [[0, 0], [1, 1]]),
        (
            "(i, j, k) -> (i: compressed(nonunique), j: singleton, k: singleton)",
            [[0, 0], [1, 1], [0, 1]],
        ),
    ],
)
def test_a_unique_level_refuses_two_entries_that_it_cannot_tell_apart(text, coords):
    format = Format.parse(text, len(coords))
    with pytest.raises(FormatError, match="unique levels can hold, got"):
        pack_coordinates(format, (2,) * len(coords), np.array(coords), np.ones(2))


def test_index_width():
    assert narrowest_index_dtype((2**31 - 1, 3), 2**31 - 1) == np.int32
    assert narrowest_index_dtype((2**31, 3), 5) == np.int64
    assert narrowest_index_dtype((3, 3), 2**31) == np.int64
    assert narrowest_index_dtype((), 1) == np.int32
    wide = np.array([[2**40], [1]])
    levels, _ = pack_coordinates(named_format("coo", 2), (2**41, 2), wide, np.ones(1))
    assert levels[0]["crd"].dtype == np.int64
    assert levels[0]["crd"].tolist() == [2**40]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("csr", (2**60, 3)),
        ("dense", (2**31, 2**31)),
        ("dense", (2**40, 2**40)),
        ("csr", (2**40, 2**40, 5)),
    ],
)
def test_a_dense_level_that_cannot_fit_is_a_named_error(name, shape):
    format = named_format(name, len(shape))
    coords = np.zeros((len(shape), 1), dtype=np.int64)
    with pytest.raises(KernelMemoryError):
        pack_coordinates(format, shape, coords, np.ones(1))


def test_huge_extents_above_an_extent_of_0_take_no_memory():
    format = Format.parse("(i, j, k) -> (i: dense, j: dense, k: compressed)")
    shape = (2**50, 0, 3)
    none = np.empty((3, 0), dtype=np.int64)
    levels, values = pack_coordinates(format, shape, none, np.empty(0))
    check_buffers(format, shape, levels, values)
    found, _ = unpack_coordinates(format, shape, levels, values)
    assert found.shape == (3, 0)


def i32(*values):
    return np.array(values, dtype=np.int32)


def csr():
    return [{}, {"pos": i32(0, 2, 2, 3), "crd": i32(0, 3, 1)}], np.ones(3)


def dcsr():
    levels = [
        {"pos": i32(0, 2), "crd": i32(0, 2)},
        {"pos": i32(0, 2, 3), "crd": i32(0, 3, 1)},
    ]
    return levels, np.ones(3)


def coo():
    return [{"pos": i32(0, 3), "crd": i32(0, 0, 2)}, {"crd": i32(0, 3, 1)}], np.ones(3)


MAKERS = {"csr": csr, "dcsr": dcsr, "coo": coo, "csc": csr}
SHAPES = {"csr": (3, 4), "dcsr": (3, 4), "coo": (3, 4), "csc": (4, 3)}

MALFORMED = [
    ("csr", 1, "pos", i32(1, 2, 2, 3), r"pos\[0\]: expected 0, got 1"),
    ("csr", 1, "pos", i32(0, 2, 1, 3), "do not decrease"),
    ("csr", 1, "pos", i32(0, 2, 2, 4), r"pos\[-1\]: expected 3.* got 4"),
    ("csr", 1, "pos", i32(0, 2, 2, 2), r"pos\[-1\]: expected 3.* got 2"),
    ("csr", 1, "pos", i32(0, 2, 3), "pos: expected 4 elements, got 3"),
    ("csr", 1, "pos", i32(0, 2, 2, 3, 3), "pos: expected 4 elements, got 5"),
    ("csr", 1, "pos", i32(), "pos: expected 4 elements, got 0"),
    ("csr", 1, "pos", i32(0, -(2**31), 2**31 - 1, 3), "do not decrease"),
    ("csr", 1, "pos", np.array([0.0, 2, 2, 3]), "dtype int32 or int64, got float64"),
    ("csr", 1, "pos", np.array([0, 2, 2, 3], "uint32"), "got uint32"),
    ("csr", 1, "pos", np.array([0, 2, 2, 3], "int8"), "got int8"),
    ("csr", 1, "pos", np.array([0, 2, 2, 3], ">i4"), "native byte order"),
    ("csr", 1, "pos", i32(0, 2, 2, 3).reshape(2, 2), "expected 1 dimension"),
    ("csr", 1, "pos", [0, 2, 2, 3], "expected a NumPy array, got list"),
    ("csr", 1, "pos", np.array([0, 2, 2, 3]), "expected one index dtype"),
    ("csr", 1, "crd", i32(0, 4, 1), r"in \[0, 4\), got crd\[1\] = 4"),
    ("csr", 1, "crd", i32(0, 3, -1), r"in \[0, 4\), got crd\[2\] = -1"),
    ("csr", 1, "crd", i32(3, 0, 1), "ascend in each fibre"),
    ("csr", 1, "crd", i32(3, 3, 1), "no coordinate twice in a fibre"),
    ("csr", 1, "crd", i32(0, 3), r"pos\[-1\]: expected 2"),
    ("csr", 1, "crd", i32(0, 9, 3, 9, 1, 9)[::2], "expected contiguous"),
    ("csr", 1, "crd", None, r"expected \['crd', 'pos'\], got \['pos'\]"),
    ("csr", 0, "pos", i32(0, 1), r"dense level: expected \[\], got \['pos'\]"),
    ("csc", 1, "crd", i32(0, 4, 1), r"in \[0, 4\), got crd\[1\] = 4"),
    ("dcsr", 0, "pos", i32(0, 3), r"pos\[-1\]: expected 2"),
    ("dcsr", 0, "crd", i32(2, 0), "ascend"),
    ("dcsr", 0, "crd", i32(1, 1), "no coordinate twice"),
    ("dcsr", 0, "crd", i32(0, 3), r"in \[0, 3\)"),
    ("dcsr", 1, "pos", i32(0, 2), "expected 3 elements, got 2"),
    ("coo", 0, "pos", i32(0, 2), r"pos\[-1\]: expected 3"),
    ("coo", 0, "pos", i32(0, 3, 3), "expected 2 elements, got 3"),
    ("coo", 0, "crd", i32(2, 0, 0), "ascend"),
    ("coo", 1, "crd", i32(0, 3), "crd: expected 3 elements, got 2"),
    ("coo", 1, "crd", i32(3, 0, 1), "ascend in each fibre"),
    ("coo", 1, "crd", i32(3, 3, 1), "no coordinate twice"),
    ("coo", 1, "crd", i32(0, 3, 4), r"in \[0, 4\)"),
    ("coo", 1, "pos", i32(0, 3), r"expected \['crd'\]"),
]


@pytest.mark.parametrize("name", MAKERS)
def test_the_buffers_that_are_about_to_be_broken_are_right(name):
    check_buffers(named_format(name, 2), SHAPES[name], *MAKERS[name]())


@pytest.mark.parametrize(("name", "number", "role", "buffer", "message"), MALFORMED)
def test_malformed_buffers_are_refused(name, number, role, buffer, message):
    levels, values = MAKERS[name]()
    if buffer is None:
        del levels[number][role]
    else:
        levels[number][role] = buffer
    with pytest.raises(InvalidBufferError, match=message):
        check_buffers(named_format(name, 2), SHAPES[name], levels, values)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.ones(2), InvalidBufferError, "values: expected 3 elements, got 2"),
        (np.ones(4), InvalidBufferError, "values: expected 3 elements, got 4"),
        (np.ones((3, 1)), InvalidBufferError, "values: expected 1 dimension"),
        (np.ones(6)[::2], InvalidBufferError, "values: expected contiguous"),
        ([1.0, 1.0, 1.0], InvalidBufferError, "values: expected a NumPy array"),
        (np.ones(3, ">f8"), InvalidBufferError, "values: expected native"),
        (np.ones(3, object), DTypeError, "values: expected one of"),
        (np.ones(3, "longdouble"), DTypeError, "values: expected one of"),
    ],
)
def test_malformed_values_are_refused(name, values, error, message):
    levels, _ = MAKERS[name]()
    with pytest.raises(error, match=message):
        check_buffers(named_format(name, 2), SHAPES[name], levels, values)


@pytest.mark.parametrize("levels", [[], [{}], [{}] * 3, [{}, None]])
def test_the_list_of_levels_is_checked(levels):
    with pytest.raises(InvalidBufferError, match="levels"):
        check_buffers(named_format("csr", 2), (3, 4), levels, np.ones(3))


def test_unordered_and_nonunique_formats_claim_less():
    loose = Format.parse("(i, j) -> (i: dense, j: compressed(unordered, nonunique))")
    levels, values = csr()
    levels[1]["crd"] = i32(3, 3, 1)
    check_buffers(loose, (3, 4), levels, values)
    levels[1]["crd"] = i32(3, 0, 1)
    check_buffers(loose, (3, 4), levels, values)
    levels[1]["crd"] = i32(3, 4, 1)
    with pytest.raises(InvalidBufferError, match=r"in \[0, 4\)"):
        check_buffers(loose, (3, 4), levels, values)


def test_rows_in_any_order_are_still_one_fibre_each():
    rows = "compressed(nonunique, unordered)"
    loose = Format.parse(f"(i, j) -> (i: {rows}, j: singleton(unordered))")
    crd = {"pos": i32(0, 3), "crd": i32(2, 0, 2)}
    check_buffers(loose, (3, 4), [crd, {"crd": i32(1, 1, 0)}], np.ones(3))
    with pytest.raises(InvalidBufferError, match="no coordinate twice"):
        check_buffers(loose, (3, 4), [crd, {"crd": i32(1, 0, 1)}], np.ones(3))


@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data())
def test_random_damage_is_found_or_harmless(name, data):
    """Whatever passes the check can be read and packed again without an error."""
    format, shape = named_format(name, 2), SHAPES[name]
    levels, values = MAKERS[name]()
    buffers = [b for level in levels for b in level.values()]
    for buffer in data.draw(st.lists(st.sampled_from(buffers), max_size=3)):
        at = data.draw(st.integers(0, len(buffer) - 1))
        buffer[at] = data.draw(st.integers(-2, 6) | st.sampled_from([2**31 - 1]))
    try:
        check_buffers(format, shape, levels, values)
    except InvalidBufferError:
        return
    coords, found = unpack_coordinates(format, shape, levels, values)
    packed = pack_coordinates(format, shape, coords, found)
    again, found_again = unpack_coordinates(format, shape, *packed)
    assert np.array_equal(again, coords)
    assert np.array_equal(found_again, found)
