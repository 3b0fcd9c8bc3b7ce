"""Formats: strings, names, equality, and which levels can stand where."""

import copy
import itertools
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from level_strategies import level_variants

from sparray.errors import FormatError
from sparray.formats import (
    FORMAT_FAMILIES,
    NAMED_FORMATS,
    Bitmap,
    Compressed,
    Dense,
    Difference,
    Dimension,
    Format,
    Padded,
    Quotient,
    Range,
    Remainder,
    Singleton,
    Structured,
    as_format,
    named_format,
)

FAMILIES = [
    ("bcsr", "bcsr(4, 4)"),
    ("bcsr", "bcsr(2, 3)"),
    ("bcsr", "bcsr(1, 1)"),
    ("bcsc", "bcsc(2, 3)"),
    ("nm", "nm(2, 4)"),
    ("nm", "nm(1, 300)"),
    ("nmg", "nmg(1, 10, 16)"),
    ("nmg", "nmg(2, 4, 1)"),
]
NAMED = [
    (name, ndim)
    for key, name in [*((key, key) for key in NAMED_FORMATS), *FAMILIES]
    for ndim in (0, 1, 2, 3, 5, 26, 64)
    if {**NAMED_FORMATS, **FORMAT_FAMILIES}[key].fits(ndim)
]


@pytest.mark.parametrize(("name", "ndim"), NAMED)
def test_a_named_format_parses_back_and_knows_its_name(name, ndim):
    format = named_format(name, ndim)
    again = Format.parse(str(format))
    assert again == format
    assert hash(again) == hash(format)
    assert format.ndim == ndim
    assert format.is_sorted == (not name.startswith("nmg"))
    assert format.is_walkable
    assert format.unique
    assert named_format(format.name, ndim) == format
    assert Format.parse(name, ndim) == format
    assert as_format(f" {name} ", ndim) is format


@given(st.lists(st.sampled_from(level_variants()), max_size=4), st.randoms())
def test_every_valid_chain_parses_back(levels, random):
    order = list(range(len(levels)))
    random.shuffle(order)
    try:
        format = Format(levels, order)
    except FormatError:
        return
    assert Format.parse(str(format)) == format
    assert Format.parse(str(format)).levels == tuple(levels)
    assert eval(repr(format), {"Format": Format}) == format
    assert format.transposed.transposed == format


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("(i, j) -> (i: dense, j: compressed)", "csr"),
        ("(i, j) -> (j: dense, i: compressed)", "csc"),
        ("(row,col)->(row:compressed(nonunique),col:singleton)", "coo"),
        ("(a, b) -> (a: compressed, b: compressed)", "dcsr"),
        ("(a, b) -> (b: compressed, a: compressed)", "dcsc"),
        ("(i,\n j) ->\t(i: dense, j: dense)", "dense"),
        ("(i) -> (i: compressed)", "coo"),
        ("() -> ()", "dense"),
        ("(i, j) -> (i: dense, j: compressed(unordered, nonunique))", None),
        ("(i, j, k) -> (i: compressed, k: compressed, j: compressed)", None),
        (
            "(i, j) -> (i // 4: dense, j//8: compressed, i % 4: dense, j%8: dense)",
            "bcsr(4, 8)",
        ),
        (
            "(i, j) -> (j // 3: dense, i // 2: compressed, i % 2: dense, j % 3: dense)",
            "bcsc(2, 3)",
        ),
        (
            "(i, j) -> (i // 4: dense, j // 4: dense, i % 4: dense, j % 4: dense)",
            None,
        ),
        ("(i, j) -> (j - i: compressed, i: range)", "dia"),
        ("(i, j) -> (i - j: compressed, j: range)", None),
        ("(i, j) -> (i: dense, j // 4: dense, j % 4: structured(2, 4))", "nm(2, 4)"),
        (
            "(i, j) -> (i // 4: dense, j // 12: dense, j % 12: permuted, "
            "i % 4: grouped(2, 4, 2))",
            "nmg(2, 4, 2)",
        ),
        ("(i, j) -> (i: dense, j: padded)", "ell"),
        ("(i) -> (i: bitmap)", "bitmap"),
    ],
)
def test_parse(text, name):
    assert Format.parse(text).name == name


def test_properties():
    loose = Format.parse("(i, j) -> (i: dense, j: compressed(nonunique, unordered))")
    assert loose.levels == (Dense(), Compressed(unique=False, ordered=False))
    assert loose.order == (0, 1)
    assert not loose.is_sorted
    assert not loose.unique
    assert not loose.is_dense
    assert named_format("dense", 3).is_dense
    coo = named_format("coo", 3)
    middle = Singleton(unique=False)
    assert coo.levels == (Compressed(unique=False), middle, Singleton())


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("(i) -> (i: compresed)", "expected a level type", "compresed"),
        ("(i) -> (i compressed)", "expected ':', got 'compressed'", "compressed"),
        ("(i j) -> (i: dense)", "expected ',', got 'j'", "j"),
        ("(i, i) -> (i: dense)", "dimension i is listed twice", "i) ->"),
        ("(i) -> (k: dense)", r"expected a dimension \(i\), got 'k'", "k"),
        ("(i) -> (i: dense, i: dense)", "dimension i has two levels", "i: dense)"),
        ("(i) -> (i: dense) x", "expected the end, got 'x'", "x"),
        ("(i) > (i: dense)", "unexpected character '>'", "> ("),
        ("(i) -> (i: compressed(sorted))", "got sorted", "(sorted"),
        ("(i) -> (i: dense(2))", "expected no arguments, got 2", "(2"),
        ("(i) -> (i: compressed())", "expected a property", "))"),
        ("(i) -> (i: dense", "expected ',', got the end", ""),
        ("(i, j) -> (i: dense)", "expected a level for dimension j", ""),
        ("(i) -> (i // 4: dense)", "a level i % 4 too, got i // 4 alone", "i //"),
        ("(i) -> (i % 4: dense)", "a level i // 4 too, got i % 4 alone", "i %"),
        ("(i) -> (i // 4: dense, i % 2: dense)", "expected i % 4 beside it", "i //"),
        ("(i) -> (i // 4: dense, i // 2: dense)", "has two quotients", "i // 2"),
        ("(i) -> (i % 4: dense, i % 4: dense)", "has two remainders", "i % 4: dense)"),
        ("(i) -> (i: dense, i % 4: dense)", "has a level of its own", "i %"),
        ("(i, j) -> (j - i: dense)", "a level for j or i beside j - i", "j -"),
        ("(i, j) -> (i: dense, j: dense, j - i: dense)", "tells nothing", "j -"),
        ("(i) -> (i - i: dense, i: dense)", "tells nothing", "i -"),
        ("(i, j) -> (j + i: dense, i: dense)", "got a sum", "+"),
        ("(i, j) -> (j - i - i: dense, i: dense)", "after one operator", "- i: d"),
        ("(i) -> (i // 4 // 2: dense, i % 4: dense)", "after one operator", "// 2"),
        ("(i) -> (i // 0: dense, i % 0: dense)", "a block of 1 or more", "0:"),
        ("(i) -> (i // j: dense, i % 4: dense)", "the size of a block, got 'j'", "j"),
        ("(i) -> (i // 4444444444444444444: dense)", "unexpected character", "4444"),
        ("(i) -> (4: dense)", r"expected a dimension \(i\), got '4'", "4"),
        ("(i, j) -> (j: dense, i: range)", "below a level that stores j - i", "range"),
        ("(i, j) -> (j - i: dense, j: range)", "below a level that", "range"),
        ("(i) -> (i // 8: dense, i % 8: structured(2, 4))", "i % 4", "structured"),
        ("(i) -> (i: structured(2, 4))", "places in blocks of 4", "structured"),
        ("(i) -> (i: structured, i: range)", r"\(n, m\), got \(\)", ", i"),
        ("(i) -> (i: structured(4, 2))", "1 <= n <= m, got 4 and 2", "(4"),
        ("(i) -> (i: structured(4, x))", r"got \(4, x\)", "(4"),
        ("(i, j) -> (i: dense, j: singleton)", "nonunique or a singleton", "singl"),
        ("(é) -> (é: dense)", "unexpected character", "é) ->"),
        ("", r"expected '\(', got the end", ""),
    ],
)
def test_an_error_shows_the_place(text, message, caret):
    with pytest.raises(FormatError, match=message) as caught:
        Format.parse(text)
    _, shown, pointer = str(caught.value).split("\n")
    place = len(text) if caret == "" else text.index(caret)
    assert shown == f"  {text}"
    assert pointer == "  " + " " * place + "^"


VALID_BELOW = {
    "dense": {"dense", "compressed", "padded", "bitmap"},
    "compressed": {"dense", "compressed", "padded", "bitmap"},
    "singleton": {"dense", "compressed", "singleton", "padded", "bitmap"},
    "padded": {"dense", "compressed", "padded", "bitmap"},
    "padded(nonunique)": {"compressed"},
    "compressed(nonunique)": {"compressed", "singleton"},
    "singleton(nonunique)": {"compressed", "singleton"},
}


def test_which_level_stands_below_which():
    chains = {
        str(upper): {
            str(lower)
            for lower in (Dense(), Compressed(), Singleton(), Padded(), Bitmap())
            if _is_valid([Compressed(unique=False), upper, lower])
            or _is_valid([upper, lower])
        }
        for upper in (
            Dense(),
            Compressed(),
            Singleton(),
            Compressed(unique=False),
            Singleton(unique=False),
            Padded(),
            Padded(unique=False),
        )
    }
    assert chains == VALID_BELOW
    assert not _is_valid([Singleton()])


def _is_valid(levels):
    try:
        Format(levels)
    except FormatError:
        return False
    return True


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Format([Dense()], order=(1,)), "each of the 1 dimensions once"),
        (lambda: Format([Dense()] * 2, order=(0, 0)), "each of the 2 dimensions"),
        (lambda: Format(["dense"]), "expected Level objects, got str"),
        (lambda: Format.parse("csr"), "expected a number of dimensions"),
        (lambda: Format.parse("csr", 1), "for 1 there are dense, coo, csf"),
        (lambda: named_format("csc", 3), "expected 2 dimensions, got 3"),
        (lambda: named_format("crs", 2), "expected a known name"),
        (lambda: named_format("coo", -1), "expected 0 or more"),
        (lambda: as_format("(i) -> (i: dense)", 2), "expected 2 dimensions, got 1"),
        (lambda: as_format(named_format("csr", 2), 3), "expected 3 dimensions, got 2"),
        (lambda: as_format(3, 2), "expected a name, a format string or a Format"),
        (lambda: named_format("bcsr", 2), r"expected bcsr\(b, c\), got 'bcsr'"),
        (lambda: named_format("bcsr(4)", 2), r"expected bcsr\(b, c\), got"),
        (lambda: named_format("csr(4)", 2), "expected csr, got"),
        (lambda: named_format("bcsr(0, 4)", 2), "expected 1 or more"),
        (lambda: named_format("bcsr(4, 4)", 1), r"for 1 there are .*, nm\(n, m\)"),
        (lambda: named_format("nm(4, 2)", 2), "expected n and m with 1 <= n <= m"),
        (lambda: named_format("(i) -> ()", 2), r"expected a name or name\(integers\)"),
        (
            lambda: Format([Dense()], (0,), [Dimension(0)]),
            "expected None beside expressions",
        ),
        (lambda: Format([Dense()], None, []), "one for each of 1 levels, got 0"),
        (lambda: Format([Dense()], None, ["i"]), "expected LevelExpression objects"),
        (
            lambda: Format([Dense()], None, [Dimension(-1)]),
            "expected LevelExpression objects",
        ),
        (lambda: Format([Dense()], None, [Dimension(1)]), "a level for dimension i,"),
        (
            lambda: Format([Dense()], None, [Remainder(0, 2)]),
            r"expressions\[0\]: expected a level i // 2 too",
        ),
        (lambda: Format([Structured(1, 2)]), r"levels\[0\]: structured\(1, 2\)"),
        (lambda: Quotient(0, 0), "block: expected 1 or more"),
        (lambda: Remainder(0, 2**70), "block: expected 1 or more"),
        (lambda: named_format("csr", 2).permuted((0, 0)), "each of the 2 dimensions"),
    ],
)
def test_bad_formats_are_refused(make, message):
    with pytest.raises(FormatError, match=message):
        make()


def test_expressions():
    bcsr = named_format("bcsr(2, 3)", 2)
    parts = (Quotient(0, 2), Quotient(1, 3), Remainder(0, 2), Remainder(1, 3))
    assert bcsr.expressions == parts
    assert (bcsr.ndim, bcsr.n_levels, bcsr.order) == (2, 4, (0, 1, 0, 1))
    assert bcsr == Format(bcsr.levels, None, parts)
    assert bcsr.level_extents((5, 7)) == (3, 3, 2, 3)
    assert not bcsr.is_plain
    assert named_format("bcsr(2, 3)", 3).level_extents((9, 5, 7)) == (9, 3, 3, 2, 3)
    dia = named_format("dia", 2)
    assert dia == Format(
        [Compressed(), Range()], None, [Difference(1, 0), Dimension(0)]
    )
    assert (dia.order, dia.dimension_order) == ((1, 0), (1, 0))
    assert dia.level_extents((4, 6)) == (9, 4)
    assert dia.level_extents((4, 0)) == (0, 4)
    tiled = "(i, j) -> (i // 2: dense, j // 2: dense, i % 2: dense, j % 2: dense)"
    assert Format.parse(tiled).is_full
    assert not Format.parse(tiled).is_dense
    csr = named_format("csr", 2)
    assert csr.expressions == (Dimension(0), Dimension(1))
    assert csr.is_plain
    assert csr == Format(csr.levels, None, csr.expressions)


def test_permuted_formats_have_the_same_buffers():
    stack = named_format("bcsr(2, 3)", 3)
    moved = stack.permuted((1, 2, 0))
    assert str(moved) == (
        "(i, j, k) -> (k: dense, i // 2: dense, j // 3: compressed, i % 2: dense, "
        "j % 3: dense)"
    )
    assert moved.permuted((2, 0, 1)) == stack
    assert named_format("dia", 2).transposed == Format.parse(
        "(i, j) -> (i - j: compressed, j: range)"
    )
    assert named_format("bcsr(2, 3)", 2).transposed != named_format("bcsc(3, 2)", 2)


EXPRESSIONS = st.one_of(
    st.builds(Dimension, st.integers(0, 2)),
    st.builds(Quotient, st.integers(0, 2), st.integers(1, 3)),
    st.builds(Remainder, st.integers(0, 2), st.integers(1, 3)),
    st.builds(Difference, st.integers(0, 2), st.integers(0, 2)),
)


@given(st.lists(EXPRESSIONS, max_size=6), st.data())
def test_whatever_expressions_are_accepted_recover_every_coordinate(parts, data):
    try:
        format = Format([Compressed()] * len(parts), None, parts)
    except FormatError:
        return
    assert Format.parse(str(format)) == format
    extents = st.integers(1, 7)
    shape = data.draw(st.tuples(*[extents] * format.ndim))
    coords = np.indices(shape).reshape(format.ndim, math.prod(shape))
    rows = format.level_coordinates(coords, shape)
    limits = format.level_extents(shape)
    for row, limit in zip(rows, limits, strict=True):
        assert ((row >= 0) & (row < limit)).all()
    if rows:
        assert len(np.unique(rows, axis=1).T) == coords.shape[1]
        found, inside = format.dimension_coordinates(rows, shape)
        assert np.array_equal(found, coords)
        assert inside is None or inside.all()
    # and of all level coordinates, exactly one inside the shape for each element
    everything = np.indices(limits).reshape(len(limits), math.prod(limits))
    found, inside = format.dimension_coordinates(list(everything), shape)
    kept = found if inside is None else found[:, inside]
    if parts:
        assert sorted(zip(*kept, strict=True)) == sorted(zip(*coords, strict=True))


def test_equality_is_of_structure():
    formats = [named_format(n, 2) for n, f in NAMED_FORMATS.items() if f.fits(2)]
    for a, b in itertools.combinations(formats, 2):
        assert (a == b) == (str(a) == str(b))
    csr = Format([Dense(), Compressed()])
    assert csr is not named_format("csr", 2)
    assert len({csr, named_format("csr", 2)}) == 1
    assert csr != "csr"
    with pytest.raises(AttributeError):
        csr.order = (1, 0)


def test_copies_are_equal():
    csf = named_format("csf", 3)
    assert copy.deepcopy(csf) == csf
    assert hash(pickle.loads(pickle.dumps(csf))) == hash(csf)


def test_a_pickle_of_another_process_hashes_like_our_own():
    code = (
        "import pickle, sys; from sparray.formats import named_format;"
        "sys.stdout.buffer.write(pickle.dumps(named_format('csr', 2)))"
    )
    sent = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "1"},
    )
    assert pickle.loads(sent.stdout) in {named_format("csr", 2)}
