"""`precompute`: CIN before and after, every stage of kernels, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from oracle_check import Question, check_dispatch, check_stages

import sparray as sp
from sparray.compiler.cin.concretize import concretize
from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.schedule.precompute import Precompute
from sparray.errors import ScheduleError
from sparray.formats import as_format

RNG = np.random.default_rng(0)
TEXT = "y[i] = A[i,j] * exp(x[j])"


def part(text, indices):
    return parse_assignment(f"t[{indices}] = {text}").value


def test_before_and_after():
    statement = concretize(parse_assignment(TEXT), lambda expr: "float64")
    command = Precompute(part("exp(x[j])", "j"), "i", "t1", "float64")
    assert str(command) == "precompute(exp(x[j]), i)"
    made = command.apply(statement)
    verify(made)
    text = " ".join(print_statement(made).split())
    assert text.replace("( ", "(").replace(" )", ")") == (
        "(∀i (y[i] = w1 where[scalar float64] ∀j w1 += A[i,j] * t1[j]) "
        "where[dense float64] ∀j t1[j] = exp(x[j]))"
    )
    a, x = RNG.random((3, 4)), RNG.random(4)
    target = parse_assignment(TEXT).target
    extents = {"i": 3, "j": 4}
    found = run(made, {"A": a, "x": x}, extents, "float64", target=target)
    np.testing.assert_allclose(found, a @ np.exp(x))


@pytest.mark.parametrize(
    ("value", "index", "message"),
    [
        (part("exp(x[j])", "j"), "j", "a loop over j around all that reads"),
        (part("exp(z[j])", "j"), "i", "to be read in one place"),
    ],
)
def test_what_cannot_be_precomputed(value, index, message):
    statement = concretize(parse_assignment(TEXT), lambda expr: "float64")
    with pytest.raises(ScheduleError, match=f"precompute: expected .*{message}"):
        Precompute(value, index, "t1", "float64").apply(statement)


def operands(dtype):
    dense = RNG.integers(-3, 4, (9, 6)) * (RNG.random((9, 6)) < 0.4)
    a = sp.array(dense, format="csr", dtype=dtype)
    return {
        "A": a,
        "B": RNG.integers(-3, 4, (6, 7)).astype(dtype),
        "x": RNG.integers(-3, 4, 6).astype(dtype),
    }


def question(text, schedule, dtype="float64"):
    given = operands(dtype)
    read = [name for name in "ABx" if f"{name}[" in text]
    ordered = sorted(read, key=text.index)
    by_hand = sp.schedule(schedule)
    return Question(text, tuple(given[name] for name in ordered), schedule=by_hand)


SCALED = "C[i,j] = A[i,k] * (B[k,j] * x[k])"


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "bool"])
@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("y[i] = A[i,j] * abs(x[j])", "precompute(abs(x[j]), i)"),
        ("y[i] = A[i,j] * max(2, x[j])", "precompute(max(2, x[j]), i)"),
        (SCALED, "reorder(i k j).precompute(B[k,j] * x[k], i)"),
        (SCALED, "split(i, 4).reorder(i_out i_in k j).precompute(B[k,j] * x[k], i_in)"
                 ".parallelize(i_out)"),
        (SCALED, "reorder(i k j).precompute(B[k,j] * x[k], k)"),
    ],
)  # fmt: skip
def test_every_stage(text, schedule, dtype):
    if "k)" in schedule[-3:]:
        with pytest.raises(ScheduleError, match="a loop over k"):
            check_stages(question(text, schedule, "float64"))
        return
    check_stages(question(text, schedule, dtype))


@pytest.mark.parametrize("format", [None, "dense"])
@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("C[i,j] = A[i,j] * abs(x[j])", "precompute(abs(x[j]), i).parallelize(i)"),
        ("C[i,j] = A[i,j] * abs(x[j])",
         "precompute(abs(x[j]), i).fuse(i, j).pos(i, A).split(i, 3).parallelize(i)"),
    ],
)  # fmt: skip
def test_before_a_parallel_loop(text, schedule, format):
    """Threads share what was made before them; entries are written where they are."""
    wanted = as_format("csr" if format is None else format, 2)
    check_stages(replace(question(text, schedule), format=wanted))


def test_in_tiles():
    schedule = "reorder(i k j).tile(j, 4).precompute(B[k,j] * x[k], i)"
    check_stages(question(SCALED, schedule))
    check_dispatch(question(SCALED, schedule))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("A[i,k]", "dense operands, got A"),
        ("2", "operands, and no sum"),
        ("sum(k, x[k])", "operands, and no sum"),
        ("x[j]", r"a part of .*, got x\[j\]"),
        ("B[k,j] + x[k]", "to be read in one place"),
        ("B[k,j] *", "expected an operand"),
        ("x[k] x[k]", "expected"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(ScheduleError, match=message) as error:
        check_stages(question(SCALED, f"reorder(i k j).precompute({given}, i)"))
    assert f"at fault:   precompute({given}, i)" in str(error.value)
