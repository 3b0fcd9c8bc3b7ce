"""Coordinates that are not an index alone, as text."""

import pytest

from sparray.compiler.index_notation.affine import (
    Affine,
    affine,
    affine_text,
    bases,
    is_unit_step,
    rename_coordinate,
)
from sparray.compiler.index_notation.canonical import symbolize
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment

MEANINGS = [
    ("3", Affine((), 3)),
    ("-1", Affine((), -1)),
    ("i+2", Affine((("i", 1),), 2)),
    ("2*i-k-1", Affine((("i", 2), ("k", -1)), -1)),
    ("-i+@2", Affine((("i", -1),), 0, None, "@2")),
    ("i in 2:10:2", Affine((("i", 2),), 0, (2, 10, 2))),
    ("i in :-1", Affine((("i", 1),), 0, (None, -1, None))),
    ("i in ::-1", Affine((("i", -1),), 0, (None, None, -1))),
]


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
def test_what_a_text_says(text, meaning):
    assert affine(text) == meaning
    if meaning.window is None:
        assert affine_text(meaning.terms, meaning.first, meaning.symbol) == text


@pytest.mark.parametrize("text", [text for text, _ in MEANINGS if "@" not in text])
def test_texts_are_parsed_as_they_are_printed(text):
    statement = f"y[i,k] = A[{text}] * B[i,k]"
    assert print_assignment(parse_assignment(statement)) == statement


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("i + 1 + i", "2*i+1"),
        ("i*3 - 2 + k", "3*i+k-2"),
        ("i - i + 4", "4"),
        ("2 - i", "-i+2"),
        ("i in 1:", "i in 1:"),
        ("i in : : 2", "i in ::2"),
        ("i + 0", "i"),
        ("in", "in"),
    ],
)
def test_sums_are_put_in_order(written, printed):
    parsed = parse_assignment(f"y = A[{written}] * B[i,k,in]")
    assert f"A[{printed}]" in print_assignment(parsed)


def test_indices_of_coordinates():
    assert affine("i") is None
    assert bases("i") == ("i",)
    assert bases("2*i+k+@1") == ("i", "k")
    assert bases("7") == ()
    assert is_unit_step("i", "i")
    assert is_unit_step("i+k+@1", "k")
    assert not is_unit_step("2*i+@1", "i")
    assert not is_unit_step("k+@1", "i")


def test_indices_are_renamed():
    names = {"i": "u", "k": "v"}
    assert rename_coordinate("i", names) == "u"
    assert rename_coordinate("2*i-k+3", names) == "2*u-v+3"
    assert rename_coordinate("k in 1::2", names) == "v in 1::2"


def test_first_coordinates_become_parameters():
    parsed = parse_assignment("C[i,j] = A[i in 2:9:2,j] - B[i+4,-1] * C2[j]")
    changed, sources = symbolize(parsed)
    assert print_assignment(changed) == "C[i,j] = A[2*i+@1,j] - B[i+@2,@3] * C2[j]"
    assert sources == {"2*i+@1": "i in 2:9:2", "i+@2": "i+4", "@3": "-1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C[i+1] = A[i]", "expected ',' or ']', got '+'"),
        ("C[i] = A[i in 1]", "expected ':', got ']'"),
        ("C[i] = A[i in 1:2:0]", "expected a step that is not 0"),
        ("C[i] = A[1.5] * B[i]", "expected an integer, got '1.5'"),
        ("C[i] = A[i*k] * B[k]", "expected an integer, got 'k'"),
        ("C[i] = A[i+]", "expected the name of an index, got ']'"),
        ("C[i] = A[i in a:b]", "expected ':', got 'a'"),
        ("C[i] = sum(i+1, A[i])", "expected ',', got '+'"),
    ],
)
def test_what_is_no_coordinate(text, message):
    with pytest.raises(ValueError, match=r"\^") as caught:
        parse_assignment(text)
    assert message in str(caught.value)
