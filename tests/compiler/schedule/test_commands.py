"""Each command: CIN before and after, and the result unchanged."""

import numpy as np
import pytest

from sparray.compiler.cin.concretize import concretize
from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.schedule.accumulate import Accumulate
from sparray.compiler.schedule.assemble import Assemble, Assembly
from sparray.compiler.schedule.parallelize import Parallelize
from sparray.compiler.schedule.prefetch import Prefetch
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.tile import Tile
from sparray.compiler.schedule.vectorize import Vectorize, vectorises_reduction
from sparray.errors import ScheduleError

PRODUCT = "C[i,j] = A[i,k] * B[k,j]"
SCALED = "C[i,j] = 2 * sum(k, A[i,k] * B[k,j])"
TWO_SUMS = "C[i,j] = sum(k, A[i,k]) + sum((k, l), B[k,j] * D[l])"
SHAPES = {"A": (3, 4), "B": (4, 5), "D": (2,)}
EXTENTS = {"i": 3, "j": 5, "k": 4, "l": 2}


def start(text):
    return concretize(parse_assignment(text), lambda expr: "float64")


def after(text, *commands):
    """Apply commands; every stage is well-formed and computes the same."""
    assignment = parse_assignment(text)
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.integers(-3, 4, shape).astype(float)
        for name, shape in SHAPES.items()
        if name in text
    }
    expected = evaluate(assignment, arrays)
    statement = start(text)
    for command in commands:
        statement = command.apply(statement)
        verify(statement)
        found = run(statement, arrays, EXTENTS, "float64", target=assignment.target)
        np.testing.assert_array_equal(found, expected)
    return one_line(print_statement(statement))


def one_line(text):
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def test_before_any_command():
    assert after(PRODUCT) == (
        "∀i ∀j (C[i,j] = w1 where[scalar float64] ∀k w1 += A[i,k] * B[k,j])"
    )


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        (PRODUCT, "j i k",
         "∀j ∀i (C[i,j] = w1 where[scalar float64] ∀k w1 += A[i,k] * B[k,j])"),
        (PRODUCT, "i k j",
         "∀i ( ∀j C[i,j] = w1[j] where[list float64] ∀k ∀j w1[j] += A[i,k] * B[k,j] )"),
        (PRODUCT, "k i j",
         "( ∀i ∀j C[i,j] = w1[i,j] where[dense float64] "
         "∀k ∀i ∀j w1[i,j] += A[i,k] * B[k,j] )"),
        (SCALED, "i k j",
         "∀i ( ∀j C[i,j] = 2 * w1[j] where[list float64] "
         "∀k ∀j w1[j] += A[i,k] * B[k,j] )"),
        (TWO_SUMS, "j i l k",
         "∀j ∀i ( (C[i,j] = w1 + w2 where[scalar float64] ∀l ∀k w2 += B[k,j] * D[l]) "
         "where[scalar float64] ∀k w1 += A[i,k] )"),
    ],
)  # fmt: skip
def test_reorder(text, order, expected):
    found = after(text, Reorder(tuple(order.split())))
    assert found == one_line(expected)


@pytest.mark.parametrize("order", ["i j", "i j k k", "i j l", "i j k l"])
def test_reorder_needs_each_loop_once(order):
    with pytest.raises(ScheduleError, match="reorder: expected each of i j k once"):
        Reorder(tuple(order.split())).apply(start(PRODUCT))


def test_accumulate():
    assert after(PRODUCT, Reorder(("k", "i", "j")), Accumulate()) == (
        "∀k ∀i ∀j C[i,j] += A[i,k] * B[k,j]"
    )
    with pytest.raises(ScheduleError, match="copies the workspace"):
        Accumulate().apply(Reorder(("i", "k", "j")).apply(start(SCALED)))
    with pytest.raises(ScheduleError, match="one workspace"):
        Accumulate().apply(start("C[i] = D[i]"))


def test_tile():
    assert after(PRODUCT, Reorder(("i", "k", "j")), Tile("j", (4, 2, 1))) == (
        "∀i ∀j[tiles jt of 4, 2, 1] (∀jt[vector] C[i,j] = w1[jt] "
        "where[registers float64] ∀k ∀jt[vector] w1[jt] += A[i,k] * B[k,j])"
    )


@pytest.mark.parametrize("sizes", [(), (4, 2), (2, 4, 1), (4, 4, 1)])
def test_tile_sizes_descend_to_one(sizes):
    statement = Reorder(("i", "k", "j")).apply(start(PRODUCT))
    with pytest.raises(ScheduleError, match="descending sizes that end in 1"):
        Tile("j", sizes).apply(statement)


def test_tile_needs_the_workspaces_index_innermost():
    with pytest.raises(ScheduleError, match="tile: expected a workspace over j"):
        Tile("j", (2, 1)).apply(start(PRODUCT))


def test_vectorize():
    text = after(PRODUCT, Vectorize("k"))
    assert "∀k[vector] w1 += A[i,k] * B[k,j]" in text
    with pytest.raises(ScheduleError, match="innermost loop over i"):
        Vectorize("i").apply(start(PRODUCT))


def test_only_a_vectorised_sum_lets_the_compiler_reassociate():
    assert vectorises_reduction(Vectorize("k").apply(start(PRODUCT)))
    tiled = Tile("j", (2, 1)).apply(Reorder(("i", "k", "j")).apply(start(PRODUCT)))
    assert not vectorises_reduction(tiled)


def test_parallelize():
    assert after(PRODUCT, Parallelize("i")).startswith("∀i[parallel] ∀j")
    with pytest.raises(ScheduleError, match="expected j to be the outermost loop"):
        Parallelize("j").apply(start(PRODUCT))


def test_prefetch():
    tiled = Reorder(("i", "k", "j")), Tile("j", (4, 2, 1))
    assert "∀k[prefetch 8] ∀jt[vector]" in after(PRODUCT, *tiled, Prefetch("k", 8))
    with pytest.raises(ScheduleError, match="a positive distance"):
        Prefetch("k", 0).apply(start(PRODUCT))
    assert "∀k[prefetch 8] C" in after("C[i,k] = A[i,k]", Prefetch("k", 8))
    with pytest.raises(ScheduleError, match="around a vector loop or an assignment"):
        Prefetch("k", 8).apply(start(PRODUCT))


def test_commands_as_text():
    texts = map(str, (Reorder(("i", "k")), Tile("j", (2, 1)), Vectorize("k")))
    assert list(texts) == ["reorder(i k)", "tile(j, 2 1)", "vectorize(k)"]
    assert str(Assemble(Assembly.INHERIT, "A")) == "assemble(inherit from A)"
    assert str(Assemble(Assembly.INSERT, None, True)) == "assemble(insert, zeroed)"
