"""`fuse`: CIN before and after, every stage of kernels, and what is refused."""

import numpy as np
import pytest
from oracle_check import Question, check_dispatch, check_stages

import sparray as sp
from sparray.compiler.cin.concretize import concretize
from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.nodes import Forall, Tiles
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.schedule.fuse import Fuse
from sparray.compiler.schedule.parallelize import Parallelize
from sparray.compiler.schedule.unroll import Unroll
from sparray.errors import InternalError, ScheduleError

PRODUCT = "C[i,j] = A[i,k] * B[j,k]"
RNG = np.random.default_rng(0)


def start():
    return concretize(parse_assignment(PRODUCT), lambda expr: "float64")


def test_before_and_after():
    statement = Fuse("i", "j").apply(start())
    verify(statement)
    text = " ".join(print_statement(statement).split())
    assert text == ("∀i,j (C[i,j] = w1 where[scalar float64] ∀k w1 += A[i,k] * B[j,k])")
    a, b = RNG.random((3, 4)), RNG.random((5, 4))
    extents = {"i": 3, "j": 5, "k": 4}
    target = parse_assignment(PRODUCT).target
    found = run(statement, {"A": a, "B": b}, extents, "float64", target=target)
    np.testing.assert_allclose(found, a @ b.T)
    parallel = Parallelize("i").apply(statement)
    verify(parallel)
    assert print_statement(parallel).startswith("∀i,j[parallel] (")


@pytest.mark.parametrize("pair", [("i", "k"), ("j", "i"), ("j", "k"), ("i", "l")])
def test_loops_that_do_not_stand_together(pair):
    with pytest.raises(ScheduleError, match="fuse: expected a plain loop over"):
        Fuse(*pair).apply(start())


def test_loops_that_are_marked():
    with pytest.raises(ScheduleError, match="fuse: expected a plain loop over"):
        Fuse("i", "j").apply(Parallelize("i").apply(start()))
    with pytest.raises(ScheduleError, match="unroll: expected a loop over j"):
        Unroll("j", 2).apply(Fuse("i", "j").apply(start()))


def test_the_verifier_sees_both_indices():
    body = Fuse("i", "j").apply(start()).body
    with pytest.raises(InternalError, match="'j' is bound twice"):
        verify(Forall("j", Forall("i", body, fused=("j",))))
    with pytest.raises(InternalError, match="of a tile is fused"):
        verify(Tiles("j", "jt", (1,), Forall("jt", body, fused=("i",))))


SCHEDULES = [
    "reorder(i j k).fuse(i, j)",
    "reorder(i j k).fuse(i, j).parallelize(i)",
    "reorder(j i k).fuse(j, i).parallelize(j, rows).unroll(k, 4)",
    "split(j, 2).reorder(i j_out j_in k).fuse(i, j_out).parallelize(i)",
    "split(j, 4).reorder(j_out i j_in k).fuse(i, j_in).parallelize(j_out)",
]


def question(schedule, rows=3, columns=7):
    dense = RNG.integers(-3, 4, (rows, 6)) * (RNG.random((rows, 6)) < 0.5)
    given = (sp.array(dense, format="csr"), RNG.integers(-3, 4, (columns, 6)))
    return Question("ik,jk->ij", given, schedule=sp.schedule(schedule))


@pytest.mark.parametrize(("rows", "columns"), [(3, 7), (0, 5), (5, 0), (1, 1), (4, 8)])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_stage(schedule, rows, columns):
    check_stages(question(schedule, rows, columns))


def test_two_loops_of_a_sum():
    a, b = RNG.integers(-3, 4, (2, 3, 4)), RNG.integers(-3, 4, (4, 3))
    by_hand = sp.schedule("reorder(i j k).fuse(j, k)")
    check_stages(Question("ijk,kj->i", (a, b), schedule=by_hand))


def test_compiled():
    check_dispatch(question(SCHEDULES[1]))


@pytest.mark.parametrize(
    ("schedule", "format", "message"),
    [
        ("reorder(i j k).fuse(j, k)", None, "what A stores"),
        ("reorder(i j k).fuse(i, j)", "csr", "a dense result"),
        ("reorder(i j k).fuse(i, i)", None, "a plain loop over i directly"),
        ("reorder(i j k).fuse(i, l)", None, "a loop of i, j, k, got l"),
    ],
)
def test_refusals(schedule, format, message):
    asked = question(schedule)
    with pytest.raises(ScheduleError, match=message):
        sp.einsum(asked.text, *asked.operands, schedule=schedule, format=format)


def test_a_sum_does_not_run_in_parallel_with_its_result():
    a = RNG.random((3, 4))
    with pytest.raises(ScheduleError, match="write the same elements"):
        sp.einsum("ij->i", a, schedule="reorder(i j).accumulate().fuse(i, j)"
                  ".parallelize(i)")  # fmt: skip
