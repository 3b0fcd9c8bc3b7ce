"""Formats: strings, names, equality, and which levels can stand where."""

import copy
import itertools
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from level_strategies import level_variants

from sparray.errors import FormatError
from sparray.formats import (
    NAMED_FORMATS,
    Compressed,
    Dense,
    Format,
    Singleton,
    as_format,
    named_format,
)

NAMED = [
    (name, ndim)
    for name, named in NAMED_FORMATS.items()
    for ndim in (0, 1, 2, 3, 5, 26, 64)
    if named.fits(ndim)
]


@pytest.mark.parametrize(("name", "ndim"), NAMED)
def test_a_named_format_parses_back_and_knows_its_name(name, ndim):
    format = named_format(name, ndim)
    again = Format.parse(str(format))
    assert again == format
    assert hash(again) == hash(format)
    assert format.ndim == ndim
    assert format.is_sorted
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
        ("(i) -> (i // 4: dense)", "are not supported so far", "//"),
        ("(i, j) -> (j - i: dense, i: dense)", "are not supported so far", "- i"),
        ("(i) -> (4: dense)", "are not supported so far", "4"),
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
    "dense": {"dense", "compressed"},
    "compressed": {"dense", "compressed"},
    "singleton": {"dense", "compressed", "singleton"},
    "compressed(nonunique)": {"compressed", "singleton"},
    "singleton(nonunique)": {"compressed", "singleton"},
}


def test_which_level_stands_below_which():
    chains = {
        str(upper): {
            str(lower)
            for lower in (Dense(), Compressed(), Singleton())
            if _is_valid([Compressed(unique=False), upper, lower])
            or _is_valid([upper, lower])
        }
        for upper in (
            Dense(),
            Compressed(),
            Singleton(),
            Compressed(unique=False),
            Singleton(unique=False),
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
    ],
)
def test_bad_formats_are_refused(make, message):
    with pytest.raises(FormatError, match=message):
        make()


def test_equality_is_of_structure():
    formats = [named_format(name, 2) for name in NAMED_FORMATS]
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
