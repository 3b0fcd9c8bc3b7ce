import pytest

from sparray.compiler.cin.nodes import (
    Access,
    Apply,
    Assign,
    Forall,
    Literal,
    Sequence,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.cin.printer import print_statement

OUT, W = Access("out", ("i", "j")), Access("w", ("j",))
PRODUCT = Apply("mul", (Access("A", ("i", "k")), Access("B", ("k", "j"))))


def gustavson(kind="list", parallel=True):
    producer = Forall("k", Forall("j", Assign(W, PRODUCT, "add")))
    consumer = Forall("j", Assign(OUT, W))
    where = Where(consumer, producer, Workspace("w", ("j",), kind, "float64"))
    return Forall("i", where, parallel)


def test_a_short_statement_is_one_line():
    assert print_statement(gustavson(parallel=False)) == (
        "∀i (∀j out[i,j] = w[j] where[list float64] ∀k ∀j w[j] += A[i,k] * B[k,j])"
    )


def test_a_long_statement_is_indented():
    assert print_statement(gustavson()).splitlines() == [
        "∀i[parallel] (",
        "  ∀j out[i,j] = w[j]",
        "where[list float64]",
        "  ∀k ∀j w[j] += A[i,k] * B[k,j]",
        ")",
    ]


def test_a_long_sequence_is_indented():
    part = Forall("i", Forall("j", Assign(OUT, Apply("exp", (PRODUCT,)), "add")))
    assert print_statement(Sequence((part, part, part))).splitlines() == [
        "(",
        "  ∀i ∀j out[i,j] += exp(A[i,k] * B[k,j]);",
        "  ∀i ∀j out[i,j] += exp(A[i,k] * B[k,j]);",
        "  ∀i ∀j out[i,j] += exp(A[i,k] * B[k,j])",
        ")",
    ]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (Assign(Access("s", ()), Literal(2), "mul"), "s *= 2"),
        (Assign(Access("s", ()), Literal(2), "max"), "s max= 2"),
        (
            Forall("i", Assign(Access("y", ("i",)), Literal(0)), vector=True),
            "∀i[vector] y[i] = 0",
        ),
        (
            Tiles(
                "i", "ii", (8, 1), Forall("ii", Assign(W, Literal(0))), parallel=True
            ),
            "∀i[tiles ii of 8, 1; parallel] ∀ii w[j] = 0",
        ),
        (
            Sequence((Assign(W, Literal(0)), Assign(W, Literal(1), "add"))),
            "(w[j] = 0; w[j] += 1)",
        ),
    ],
)
def test_each_kind_of_statement(statement, text):
    assert print_statement(statement) == text


def test_statements_that_differ_print_differently():
    texts = {print_statement(gustavson(k)) for k in ("list", "dense")}
    assert len(texts | {print_statement(gustavson(parallel=False))}) == 3
