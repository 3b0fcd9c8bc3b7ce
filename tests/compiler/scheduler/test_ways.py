"""Every legal decision: which there are, in what order, and that each is right."""

import numpy as np
import pytest
from oracle_check import Question, check_ways, plan_of, ways_of
from oracle_problems import random_question

from sparray.convert import from_coords
from sparray.errors import SparrayError

N = 500


def entries(format="csr", ndim=2, seed=0):
    rng = np.random.default_rng(seed)
    coords = rng.integers(0, N, (ndim, 8 * N))
    return from_coords(coords, np.ones(8 * N), (N,) * ndim, format)


SPMM = Question("ij,jk->ik", (entries(), np.ones((N, 64))))
SPGEMM = Question("ij,jk->ik", (entries(), entries(seed=1)))
ADDED = Question("C[i,j] = A[i,k] * B[k,j] + D[i,j]", (*SPGEMM.operands, entries()))


def schedule(question, way):
    kernels = plan_of(question, way).kernels
    return [kernel.decision.schedule for kernel in kernels if kernel is not None]


def test_the_first_way_is_the_schedulers():
    for question in (SPMM, SPGEMM, ADDED):
        first, *_ = ways_of(question)
        usual = [k.decision.schedule for k in plan_of(question).kernels]
        assert schedule(question, first) == usual


def test_the_cost_of_a_decision_is_that_of_its_way():
    for question in (SPMM, SPGEMM):
        found = [way for way in ways_of(question) if way.option is not None]
        alone = [
            way for way in found if not way.option.convert and way.option.final is None
        ][:12]
        assert len({way.cost for way in alone}) > 3
        for way in alone:
            (kernel,) = plan_of(question, way).kernels
            assert kernel.decision.cost == pytest.approx(way.cost)


def test_ways_are_many_cheapest_first_and_always_the_same():
    ways = ways_of(SPMM)
    costs = [way.cost for way in ways]
    assert costs == sorted(costs)
    texts = [str(way) for way in ways]
    assert len(set(texts)) == len(texts)
    assert texts == [str(way) for way in ways_of(SPMM)]


def test_ways_vary_all_that_can_vary():
    texts = "\n".join(schedule(SPMM, way)[-1] for way in ways_of(SPMM))
    for command in (
        *("reorder(i k j)", "reorder(i j k)", "reorder(k i j)", "accumulate()"),
        *("tile(j, 16", "tile(j, 32", "tile(j, 64", "prefetch(k, 16)", "unroll(k, 2)"),
        *("assemble(insert)", "assemble(insert, zeroed)"),
    ):
        assert command in texts, command
    assert any("parallelize" not in line for line in texts.splitlines())
    assert any("prefetch" not in line for line in texts.splitlines())


def test_ways_convert_an_operand_and_sort_the_result():
    texts = [str(way) for way in ways_of(SPGEMM)]
    assert any(text.startswith("convert B to") for text in texts)
    assert any("sorted" in text for text in texts)
    assert "each sum for itself" in [str(way) for way in ways_of(ADDED)]


def test_the_reasons_say_that_a_way_was_asked_for():
    way = ways_of(SPMM)[-1]
    reasons = plan_of(SPMM, way).plan.reasons
    assert any(reason.what == str(way) for reason in reasons)


@pytest.mark.parametrize("seed", [14, 27, 55])
def test_every_way_is_right(seed):
    assert check_ways(random_question(seed), most=3) >= 3


@pytest.mark.slow
def test_every_way_is_right_many():
    for seed in range(100, 115):
        question = random_question(seed)
        try:
            check_ways(question, most=5)
        except SparrayError as error:
            # Refused as a whole: no way was at fault.
            assert not getattr(error, "__notes__", ())
