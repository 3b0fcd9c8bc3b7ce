"""`pack`: CIN before and after, every stage of kernels, and what is refused."""

import numpy as np
import pytest
from oracle_check import Question, check_dispatch, check_stages

import sparray as sp
from sparray.compiler.cin.concretize import concretize
from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.schedule.pack import Pack
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.split import Split
from sparray.compiler.schedule.tile import Tile
from sparray.errors import ScheduleError

PRODUCT = "C[i,j] = A[i,k] * B[k,j]"
RNG = np.random.default_rng(0)
EXTENTS = {"i": 5, "j": 7, "k": 4}


def start(text=PRODUCT):
    return concretize(parse_assignment(text), lambda expr: "float64")


def after(*commands):
    """Apply commands; every stage is well-formed and computes the same."""
    arrays = {
        "A": RNG.integers(-3, 4, (5, 4)).astype(float),
        "B": RNG.integers(-3, 4, (4, 7)).astype(float),
    }
    statement = start()
    for command in commands:
        statement = command.apply(statement)
        verify(statement)
        target = parse_assignment(PRODUCT).target
        found = run(statement, arrays, EXTENTS, "float64", target=target)
        np.testing.assert_array_equal(found, arrays["A"] @ arrays["B"])
    text = " ".join(print_statement(statement).split())
    return text.replace("( ", "(").replace(" )", ")")


def test_the_tile_comes_to_stand_around_the_loop():
    tiled = Reorder(("i", "k", "j")), Tile("j", (4, 1))
    assert after(*tiled, Pack("B", "i", "float64")) == (
        "∀j[tiles jt of 4, 1] (∀i (∀jt[vector] C[i,j] = w1[jt] "
        "where[registers float64] "
        "∀k ∀jt[vector] w1[jt] += A[i,k] * Bp[k,jt]) where[dense float64] "
        "∀k ∀jt[vector] Bp[k,jt] = B[k,j])"
    )


def test_without_a_tile():
    assert after(Pack("B", "i", "float64")) == (
        "(∀i ∀j (C[i,j] = w1 where[scalar float64] ∀k w1 += A[i,k] * Bp[j,k]) "
        "where[dense float64] ∀j ∀k Bp[j,k] = B[k,j])"
    )


def test_an_operand_without_the_tile_is_copied_inside_none():
    tiled = Reorder(("i", "k", "j")), Tile("j", (4, 1))
    text = after(*tiled, Pack("A", "i", "float64"))
    assert text.startswith("(∀i ∀j[tiles jt of 4, 1]")
    assert text.endswith("where[dense float64] ∀i ∀k Ap[i,k] = A[i,k])")


def test_parts_of_split_loops():
    split = Split("j", ("jq4", "jr4")), Reorder(("jq4", "i", "k", "jr4"))
    assert after(*split, Pack("B", "i", "float64")).endswith(
        "where[dense float64] ∀k ∀jr4 Bp[k,jr4] = B[k,j])"
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (Pack("B", "l", "float64"), "a loop over l around all that reads B"),
        (Pack("B", "k", "float64"), "a loop over k around all that reads B"),
        (Pack("D", "i", "float64"), "D to be read in one place"),
        (Pack("A", "j", "float64"), None),
    ],
)
def test_what_cannot_be_packed(command, message):
    if message is None:
        assert "Ap[k] = A[i,k]" in print_statement(command.apply(start()))
        return
    with pytest.raises(ScheduleError, match=message):
        command.apply(start())


def test_what_depends_on_no_loop_inside():
    statement = Reorder(("i", "k", "j")).apply(start())
    with pytest.raises(ScheduleError, match="a loop over j around all"):
        Pack("A", "j", "float64").apply(statement)


SCHEDULES = [
    "reorder(i k j).tile(j, 8).pack(B, i)",
    "split(i, 4).reorder(i_out i_in k j).tile(j, 16 4 1).pack(B, i_in).unroll(k, 2)"
    ".parallelize(i_out, rows)",
    "split(j, 8).reorder(j_out i k j_in).pack(B, i).vectorize(j_in)",
    "reorder(i j k).pack(B, i)",
    "reorder(i j k).pack(B, j)",
    "reorder(i k j).tile(j, 16 4 1).pack(B, i).prefetch(k, 8).parallelize(i)",
    "reorder(i k j).tile(j, 8).pack(B, i).unroll(k, 4).parallelize(i, rows)",
    "reorder(i k j).accumulate().pack(B, i).parallelize(i)",
]
A = sp.array(RNG.integers(-3, 4, (9, 6)) * (RNG.random((9, 6)) < 0.4), format="csr")


def question(schedule, dtype, columns, order="C"):
    b = np.asarray(RNG.integers(-3, 4, (6, columns)), dtype, order=order)
    given = (A.astype(dtype), b)
    return Question("ik,kj->ij", given, schedule=sp.schedule(schedule))


@pytest.mark.parametrize("columns", [0, 1, 7, 8, 9, 37])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_stage(schedule, columns):
    check_stages(question(schedule, "float32", columns))


@pytest.mark.parametrize("dtype", ["int32", "complex128", "bool", "float16"])
def test_every_stage_in_other_dtypes(dtype):
    check_stages(question(SCHEDULES[2].replace(".vectorize(j_in)", ""), dtype, 9))
    check_stages(question(SCHEDULES[3], dtype, 9, order="F"))


def test_a_sparse_result_counts_without_the_copy():
    m = sp.array(RNG.random((9, 7)) < 0.3, format="csr", dtype="float64")
    dense = RNG.random((9, 4)), RNG.random((7, 4))
    by_hand = sp.schedule("reorder(i j k).pack(C, i)")
    asked = Question("ij,ik,jk->ij", (m, *dense), schedule=by_hand)
    check_stages(asked)


def test_a_result_with_the_pattern_of_another_operand():
    m = sp.array(RNG.random((5, 2)) < 0.5, format="csr", dtype="float64")
    asked = Question("ij,ji->ij", (RNG.random((2, 5)), m))
    check_stages(asked)
    for text in ("pack(A, i)", "pack(A, j)"):
        by_hand = sp.schedule(f"reorder(j i).{text}")
        check_stages(Question(asked.text, asked.operands, schedule=by_hand))


def test_compiled():
    check_dispatch(question(SCHEDULES[0], "float32", 37))
    check_dispatch(question(SCHEDULES[1], "float64", 37))


def test_panels_are_packed_and_read_on_threads():
    rng = np.random.default_rng(1)
    many = sp.array(rng.random((400, 900)) * (rng.random((400, 900)) < 0.3), "csr")
    b = rng.random((900, 150))
    found = sp.compute(PRODUCT, A=many, B=b, schedule=sp.schedule(SCHEDULES[5]))
    np.testing.assert_allclose(found, many.todense() @ b, rtol=1e-12)


def test_panels_are_for_dense_operands():
    with pytest.raises(ScheduleError, match="pack: expected a dense operand"):
        check_stages(question("pack(A, i)", "float64", 3))
    with pytest.raises(ScheduleError, match="a tensor of A, B, got C"):
        check_stages(question("pack(C, i)", "float64", 3))


def test_the_panel_may_not_stand_around_a_loop_that_is_split_by_merge_path():
    asked = SCHEDULES[5].replace("parallelize(i)", "parallelize(i, merge)")
    with pytest.raises(ScheduleError, match="to split rows"):
        check_stages(question(asked, "float64", 3))


def test_the_panel_around_the_parallel_loop_of_a_sampled_result():
    m = sp.array(RNG.random((9, 7)) < 0.3, format="csr", dtype="float64")
    by_hand = sp.schedule("reorder(i j k).pack(C, i).parallelize(i)")
    given = (m, RNG.integers(-3, 4, (9, 4)), RNG.integers(-3, 4, (7, 4)))
    check_stages(Question("ij,ik,jk->ij", given, schedule=by_hand))


def test_the_panel_may_not_stand_around_the_parallel_loop_of_a_counted_result():
    m = sp.array(RNG.random((9, 9)) < 0.3, format="csr", dtype="float64")
    by_hand = sp.schedule("pack(C, i).parallelize(i)")
    asked = Question("ik,kj,k->ij", (m, m, RNG.random(9)), schedule=by_hand)
    with pytest.raises(ScheduleError, match="expected a dense result, or one with"):
        check_stages(asked)
