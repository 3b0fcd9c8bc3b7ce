"""The parser of lines: compiled and interpreted agree, and numbers are exact."""

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparray.io import lines
from sparray.io.interpreted_lines import parse_lines as interpreted

compiled = pytest.importorskip("sparray.io.compiled")

PARSERS = [
    pytest.param(compiled.parse_lines, id="compiled"),
    pytest.param(interpreted, id="interpreted"),
]


def parse(
    parser, text, n_coords=2, kind=1, extent=2**63 - 1, base=1, comment=-1, over=False
):
    """Return coordinates, values, number of lines, and status with its offset."""
    capacity = len(text) + 1
    coords = np.zeros((n_coords, capacity), dtype=np.int64)
    reals = np.zeros(capacity * kind if kind in (1, 2) else 0)
    integers = np.zeros(capacity if kind > 2 else 0, dtype=np.int64)
    extents = np.full(n_coords, extent, dtype=np.int64)
    count, n_lines, status, offset = parser(
        text, coords, reals, integers, extents, kind, capacity, base, comment, over
    )
    values = integers if kind > 2 else reals
    per_entry = 2 if kind == 2 else 1 if kind else 0
    return coords[:, :count], values[: per_entry * count], n_lines, status, offset


def bits(values):
    """Return the bits of floats, one pattern for every NaN."""
    return np.where(np.isnan(values), 0, values.view(np.uint64))


def test_the_compiled_parser_is_the_one_that_is_used():
    assert lines.parse_lines is compiled.parse_lines


decimal = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(
        "{}{}.{}e{}".format,
        st.sampled_from(["", "-", "+"]),
        st.integers(0, 10**25),
        st.integers(0, 10**25),
        st.integers(-345, 280),
    ),
    st.builds("{}e{}".format, st.integers(0, 2**66), st.integers(-345, 280)),
    st.integers(2**52, 2**55).map(str),
)


@pytest.mark.parametrize("parser", PARSERS)
@settings(max_examples=300)
@given(st.lists(decimal, min_size=1, max_size=8))
@example(["9007199254740993", "9007199254740992.5", "0.1", "5e-324", "2.5e-324"])
@example(["2.2250738585072011e-308", "1.7976931348623157e308", "0e999", "1e-400"])
@example([".5", "5.", "00000000000000000000000001.5", "0." + "0" * 400 + "1e400"])
@example([f"{2**53 + 1}" + "0" * 30, "1" + "0" * 25 + ".5", "123456789012345678901e-5"])
def test_real_numbers_are_the_nearest(parser, tokens):
    text = "\n".join(tokens).encode()
    _, values, _, status, _ = parse(parser, text, n_coords=0)
    assert status == 0
    expected = np.array([float(token) for token in tokens])
    np.testing.assert_array_equal(bits(values), bits(expected))


@pytest.mark.parametrize("parser", PARSERS)
def test_half_way_between_two_numbers_goes_to_the_even_one(parser):
    from fractions import Fraction

    for pattern in (0x3FF0000000000001, 0x4340000000000001, 0x3FF0000000000002):
        low, high = (
            struct.unpack("d", struct.pack("Q", pattern + n))[0] for n in (0, 1)
        )
        middle = (Fraction(low) + Fraction(high)) / 2
        digits = str(middle.numerator * 10**60 // middle.denominator)
        _, values, *_ = parse(parser, f"{digits}e-60".encode(), n_coords=0)
        assert values[0] == float(f"{digits}e-60")


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("token", "value"),
    [("nan", "nan"), ("-NaN", "nan"), ("INF", "inf"), ("-Infinity", "-inf")],
)
def test_words_for_numbers(parser, token, value):
    _, values, _, status, _ = parse(parser, token.encode(), n_coords=0)
    assert status == 0
    assert repr(float(values[0])) == value


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "line",
    [
        *(
            b"1 1 x",
            b"1 1",
            b"1",
            b"x 1 1",
            b"1.0 1 1",
            b"-1 1 1",
            b"0 1 1",
            b"1 1 1 1",
        ),
        *(b"1 1 1abc", b"1 1 1\x005", b"1 1 .", b"1 1 e5", b"1 1 1e", b"1 1 1e+"),
        *(b"1 1 1d5", b"1 1 --1", b"1 1 1_0", b"1 1 0x10", b"1 1 in", b"1 1 1e999"),
        *(b"99999999999999999999 1 1", b"9223372036854775808 1 1", b"\x00", b"1\r1 1"),
        *(b"1 1 1,5", b"1,1,1", b"\xff\xfe1 1 1", b"1 1 nana", b"1 1 infinit"),
        *("\uff11 1 1".encode(), b"1\xa01 1", b"1\x0b1\x0c1", b"1 1 1.2.3"),
    ],
)
def test_wrong_lines_are_refused_where_they_are(parser, line):
    text = b"1 1 1\n\n2 2 2\n" + line + b"\n1 1 1\n"
    _, values, n_lines, status, offset = parse(parser, text)
    assert status != 0
    assert (len(values), n_lines) == (2, 3)
    assert 13 <= offset <= 13 + len(line)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("kind", "token", "ok"),
    [
        (3, "-9223372036854775808", True),
        (3, "9223372036854775807", True),
        (3, "9223372036854775808", False),
        (3, "-9223372036854775809", False),
        (3, "0" * 50 + "7", True),
        (3, "9" * 30, False),
        (4, "18446744073709551615", True),
        (4, "18446744073709551616", False),
        (4, "-1", False),
        (4, "-0", True),
        (3, "1.0", False),
        (3, "inf", False),
    ],
)
def test_integers_fit_or_are_refused(parser, kind, token, ok):
    _, values, _, status, _ = parse(parser, token.encode(), n_coords=0, kind=kind)
    assert (status == 0) == ok
    if ok:
        dtype = np.uint64 if kind == 4 else np.int64
        assert int(values.view(dtype)[0]) == int(token)


@pytest.mark.parametrize("parser", PARSERS)
def test_the_end_of_the_buffer_is_never_passed(parser):
    # Every prefix of a file: what is behind it in memory must not matter.
    text = b"12 34 5.678901234567890123e-12\n56 78 12345678.87654321\n"
    for size in range(len(text)):
        whole = parse(parser, text[:size] + b"")
        again = parse(parser, bytes(bytearray(text[:size])))
        assert whole[3] == again[3]
        np.testing.assert_array_equal(whole[1], again[1])


line = st.one_of(
    st.binary(max_size=12),
    st.text("0123456789+-.eE \t\r#%naNiIf\x00", max_size=16).map(str.encode),
    st.builds("{} {} {}".format, *[st.integers(-1, 12)] * 3).map(str.encode),
    st.builds("{}  {}\t{!r} ".format, *[st.integers(1, 9)] * 2, st.floats()).map(
        str.encode
    ),
)


@settings(max_examples=400)
@given(
    st.lists(line, max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(0, 3),
    st.integers(0, 4),
    st.sampled_from([5, 2**63 - 1]),
    st.integers(0, 1),
    st.sampled_from([-1, ord("#"), ord("%")]),
    st.booleans(),
)
def test_compiled_and_interpreted_agree(
    parts, end, n_coords, kind, extent, base, comment, over
):
    if n_coords == kind == 0:
        kind = 1
    text = end.join(parts)
    options = (n_coords, kind, extent, base, comment, over)
    fast = parse(compiled.parse_lines, text, *options)
    slow = parse(interpreted, text, *options)
    np.testing.assert_array_equal(fast[0], slow[0])
    if kind in (1, 2):
        np.testing.assert_array_equal(bits(fast[1]), bits(slow[1]))
    else:
        np.testing.assert_array_equal(fast[1], slow[1])
    assert fast[2] == slow[2]
    assert (fast[3] == 0) == (slow[3] == 0)
