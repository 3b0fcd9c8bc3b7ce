"""The commands `split` and `unroll`: CIN before and after, the result unchanged."""

import numpy as np
import pytest

from sparray.compiler import names
from sparray.compiler.cin.concretize import concretize
from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.split import Split
from sparray.compiler.schedule.unroll import Unroll
from sparray.errors import ScheduleError

TEXT = "y[i] = A[i,j] * x[j]"
BLOCKS = (names.quotient("j", 4), names.remainder("j", 4))


def start():
    return concretize(parse_assignment(TEXT), lambda expr: "float64")


@pytest.mark.parametrize("columns", [1, 4, 7, 8])
@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (
            [Split("j", BLOCKS)],
            "∀i (y[i] = w1 where[scalar float64] ∀jq4 ∀jr4 w1 += A[i,j] * x[j])",
        ),
        (
            [Split("j", BLOCKS), Reorder(("jq4", "i", "jr4"))],
            "(∀i y[i] = w1[i] where[list float64] ∀jq4 ∀i ∀jr4 w1[i] += A[i,j] * x[j])",
        ),
        (
            [Split("j", (names.diagonal("j", "i"),))],
            "∀i (y[i] = w1 where[scalar float64] ∀jmi w1 += A[i,j] * x[j])",
        ),
        (
            [Unroll("j", 4)],
            "∀i (y[i] = w1 where[scalar float64] ∀j[unroll 4] w1 += A[i,j] * x[j])",
        ),
    ],
)
def test_the_statement_and_its_result(commands, expected, columns):
    rng = np.random.default_rng(columns)
    arrays = {
        "A": rng.integers(-3, 4, (5, columns)).astype(float),
        "x": rng.integers(-3, 4, columns).astype(float),
    }
    statement = start()
    for command in commands:
        statement = command.apply(statement)
        verify(statement)
        found = run(statement, arrays, {"i": 5, "j": columns}, "float64")
        assert np.array_equal(found, evaluate(parse_assignment(TEXT), arrays))
    assert " ".join(print_statement(statement).split()) == expected


def test_refusals():
    with pytest.raises(ScheduleError, match="expected a loop over k"):
        Split("k", BLOCKS).apply(start())
    with pytest.raises(ScheduleError, match="expected 2 sums or more, got 1"):
        Unroll("j", 1).apply(start())
    with pytest.raises(ScheduleError, match="a loop over i that reduces"):
        Unroll("i", 4).apply(start())
