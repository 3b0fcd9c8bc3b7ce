"""Raw buffers of padded, bitmap, structured, blocked and diagonal formats, broken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparray.errors import InvalidBufferError
from sparray.formats import Format
from sparray.formats.packing import (
    check_buffers,
    count_entries,
    pack_coordinates,
    unpack_coordinates,
)


def i32(*values):
    return np.array(values, dtype=np.int32)


def u8(*values):
    return np.array(values, dtype=np.uint8)


def bits(*values):
    return np.array(values, dtype=bool)


def ell():
    levels = [
        {},
        {"width": i32(2), "count": i32(2, 0, 1), "crd": i32(0, 3, 9, 9, 1, 9)},
    ]
    return levels, np.ones(6)


def bitmap():
    return [{}, {"mask": bits(1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1)}], np.ones(12)


def nm():
    return [{}, {}, {"crd": u8(0, 1, 1, 2, 0, 2)}], np.ones(6)


def bcsr():
    levels = [{}, {"pos": i32(0, 1, 3), "crd": i32(1, 0, 1)}, {}, {}]
    return levels, np.ones(12)


def dia():
    return [{"pos": i32(0, 2), "crd": i32(2, 5)}, {}], np.ones(6)


def nmg():
    levels = [{}, {}, {"crd": i32(1, 0, 0, 1, 0, 1, 1, 0)}, {}]
    return levels, np.ones(8)


def hashed():
    # In a table of 4 slots the hashes of 0, 1, 2 and 3 are 0, 3, 2 and 2.
    levels = [{}, {"pos": i32(0, 4, 4, 6), "crd": i32(1, -1, 2, 3, 0, -1)}]
    return levels, np.ones(6)


HASHED = "(i, j) -> (i: dense, j: hashed)"
MAKERS = {
    HASHED: hashed,
    "ell": ell,
    "bitmap": bitmap,
    "nm(2, 3)": nm,
    "nmg(1, 2, 1)": nmg,
    "bcsr(2, 2)": bcsr,
    "dia": dia,
}
SHAPES = {name: (3, 4) for name in MAKERS} | {"nm(2, 3)": (3, 3)}

MALFORMED = [
    ("ell", 1, "width", i32(3), "crd: expected 9 elements, got 6"),
    ("ell", 1, "width", i32(-1), "width: expected 0 or more, got -1"),
    ("ell", 1, "width", i32(2, 2), "width: expected 1 elements, got 2"),
    ("ell", 1, "width", i32(), "width: expected 1 elements, got 0"),
    ("ell", 1, "width", np.array([2]), "expected one index dtype"),
    ("ell", 1, "width", np.array([2.0]), "width: expected dtype int32 or int64"),
    ("ell", 1, "width", i32(2**31 - 1), "crd: expected 6442450941 elements"),
    ("ell", 1, "count", i32(2, 0), "count: expected 3 elements, got 2"),
    ("ell", 1, "count", i32(2, 3, 1), r"in \[0, 2\], the width, got count\[1\] = 3"),
    ("ell", 1, "count", i32(2, -1, 1), r"got count\[1\] = -1"),
    ("ell", 1, "count", i32(2, 1, 1), r"crd: expected coordinates in \[0, 4\)"),
    ("ell", 1, "crd", i32(3, 0, 9, 9, 1, 9), "ascend in each fibre"),
    ("ell", 1, "crd", i32(3, 3, 9, 9, 1, 9), "no coordinate twice in a fibre"),
    ("ell", 1, "crd", i32(0, -1, 9, 9, 1, 9), r"got crd\[1\] = -1"),
    ("ell", 1, "crd", i32(0, 3, 9, 9, 1), "crd: expected 6 elements, got 5"),
    ("ell", 1, "crd", None, r"expected \['count', 'crd', 'width'\]"),
    ("bitmap", 1, "mask", bits(*[1] * 11), "mask: expected 12 elements, got 11"),
    ("bitmap", 1, "mask", u8(*[1] * 12), "mask: expected dtype bool, got uint8"),
    ("bitmap", 1, "mask", u8(*[2] * 12).view(bool), "expected bytes 0 and 1"),
    ("bitmap", 1, "mask", bits(*[1] * 24)[::2], "mask: expected contiguous"),
    ("bitmap", 1, "mask", None, r"expected \['mask'\], got \[\]"),
    ("nm(2, 3)", 2, "crd", u8(0, 1, 1, 2, 0), "crd: expected 6 elements, got 5"),
    ("nm(2, 3)", 2, "crd", u8(0, 3, 1, 2, 0, 2), r"in \[0, 3\), got crd\[1\] = 3"),
    ("nm(2, 3)", 2, "crd", u8(1, 0, 1, 2, 0, 2), "ascend in each fibre"),
    ("nm(2, 3)", 2, "crd", u8(1, 1, 1, 2, 0, 2), "no coordinate twice"),
    ("nm(2, 3)", 2, "crd", i32(0, 1, 1, 2, 0, 2), "dtype uint8, got int32"),
    ("nm(2, 3)", 1, "crd", u8(0), r"dense level: expected \[\], got \['crd'\]"),
    ("nmg(1, 2, 1)", 2, "crd", i32(1, 0, 0, 1), "expected 8 elements, got 4"),
    (
        "nmg(1, 2, 1)",
        2,
        "crd",
        i32(1, 0, 0, 2, 0, 1, 1, 0),
        r"in \[0, 2\), got crd\[3\] = 2",
    ),
    (
        "nmg(1, 2, 1)",
        2,
        "crd",
        i32(1, 0, 0, -1, 0, 1, 1, 0),
        r"in \[0, 2\), got crd\[3\] = -1",
    ),
    (
        "nmg(1, 2, 1)",
        2,
        "crd",
        i32(1, 0, 0, 1, 1, 1, 1, 0),
        r"each coordinate once in a fibre, got no 0 in crd\[4:6\]",
    ),
    ("nmg(1, 2, 1)", 2, "crd", u8(*[1, 0] * 4), "dtype int32 or int64, got uint8"),
    ("nmg(1, 2, 1)", 2, "crd", None, r"expected \['crd'\], got \[\]"),
    ("nmg(1, 2, 1)", 3, "crd", i32(0), r"grouped level: expected \[\], got"),
    ("bcsr(2, 2)", 1, "pos", i32(0, 1, 3, 3), "pos: expected 3 elements, got 4"),
    ("bcsr(2, 2)", 1, "crd", i32(1, 0, 2), r"in \[0, 2\), got crd\[2\] = 2"),
    (HASHED, 1, "pos", i32(0, 4, 3, 6), "do not decrease"),
    (HASHED, 1, "pos", i32(0, 4, 4, 5), "expected 6, the length of crd, got 5"),
    (HASHED, 1, "pos", i32(0, 4, 5, 6), "an empty slot in every table, got none"),
    (
        HASHED,
        1,
        "crd",
        i32(1, -1, 2, 4, 0, -1),
        r"in \[0, 4\), or -1, got crd\[3\] = 4",
    ),
    (HASHED, 1, "crd", i32(1, -2, 2, 3, 0, -1), r"got crd\[1\] = -2"),
    (HASHED, 1, "crd", i32(1, -1, 2, 1, 0, -1), "no coordinate twice in a fibre"),
    (HASHED, 1, "crd", i32(1, -1, 2, -1, 0, -1), r"no empty slot between .* crd\[0\]"),
    (HASHED, 1, "crd", i32(-1, 1, 2, 3, 0, -1), r"no empty slot between .* crd\[1\]"),
    (HASHED, 1, "crd", i32(1, -1, 2, 3, 0, 1), "an empty slot in every table"),
    ("dia", 0, "crd", i32(2, 6), r"in \[0, 6\), got crd\[1\] = 6"),
    ("dia", 0, "crd", i32(-1, 5), r"in \[0, 6\), got crd\[0\] = -1"),
    ("dia", 1, "offset", i32(0, 1), r"range level: expected \[\], got"),
]


@pytest.mark.parametrize("name", MAKERS)
def test_the_buffers_that_are_about_to_be_broken_are_right(name):
    check_buffers(Format.parse(name, 2), SHAPES[name], *MAKERS[name]())


@pytest.mark.parametrize(("name", "number", "role", "buffer", "message"), MALFORMED)
def test_malformed_buffers_are_refused(name, number, role, buffer, message):
    levels, values = MAKERS[name]()
    if buffer is None:
        del levels[number][role]
    else:
        levels[number][role] = buffer
    with pytest.raises(InvalidBufferError, match=message):
        check_buffers(Format.parse(name, 2), SHAPES[name], levels, values)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("change", [-1, 1])
def test_values_have_one_element_for_each_position(name, change):
    levels, values = MAKERS[name]()
    wrong = np.ones(len(values) + change)
    with pytest.raises(InvalidBufferError, match=f"values: expected {len(values)}"):
        check_buffers(Format.parse(name, 2), SHAPES[name], levels, wrong)


def test_wide_blocks_have_coordinates_of_the_index_width():
    format = Format.parse("nm(1, 300)", 1)
    for dtype in ("int32", "int64"):
        levels = [{}, {"crd": np.array([299, 0], dtype)}]
        check_buffers(format, (600,), levels, np.ones(2))
    levels = [{}, {"crd": u8(255, 0)}]
    with pytest.raises(InvalidBufferError, match="dtype int32 or int64, got uint8"):
        check_buffers(format, (600,), levels, np.ones(2))


@pytest.mark.parametrize("name", MAKERS)
@given(data=st.data())
def test_random_damage_is_found_or_harmless(name, data):
    """Whatever passes the check can be read and packed again without an error."""
    format, shape = Format.parse(name, 2), SHAPES[name]
    levels, values = MAKERS[name]()
    buffers = [b for level in levels for b in level.values()]
    for buffer in data.draw(st.lists(st.sampled_from(buffers), max_size=3)):
        at = data.draw(st.integers(0, len(buffer) - 1))
        low, high = {"b": (0, 1), "u": (0, 9), "i": (-1, 9)}[buffer.dtype.kind]
        damage = st.integers(low, high)
        buffer[at] = data.draw(damage)
    try:
        check_buffers(format, shape, levels, values)
    except InvalidBufferError:
        return
    coords, found = unpack_coordinates(format, shape, levels, values)
    assert len(found) == count_entries(format, shape, levels, values)
    extents = np.array(shape)[:, np.newaxis]
    assert ((coords >= 0) & (coords < extents)).all()
    again, found_again = unpack_coordinates(
        format, shape, *pack_coordinates(format, shape, coords, found)
    )
    # A table may be filled in more than one way.
    assert sorted(zip(*again, found_again, strict=True)) == sorted(
        zip(*coords, found, strict=True)
    )
