"""In which order the factors of a product of many are multiplied."""

import numpy as np
import pytest
from oracle_check import Question, check_stages

import sparray as sp
from sparray.compiler.scheduler.contraction import occupied
from sparray.compiler.scheduler.steps import KernelStep
from sparray.evaluation.planning import operands_plan


def sparse(shape, per_row, format="csr", seed=0):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(shape[0]), per_row)
    others = [rng.integers(0, n, len(rows)) for n in shape[1:]]
    coords = np.stack([rows, *others])
    return sp.from_coords(coords, np.ones(len(rows)), shape, format, duplicates="sum")


def plan(text, *operands, format=None):
    question = Question(text, operands, format)
    return operands_plan(question.expression, operands, format).plan


def loops(made):
    return [
        len(step.decision.loops) for step in made.steps if isinstance(step, KernelStep)
    ]


def test_a_chain_is_multiplied_pair_by_pair():
    chain = [sparse((1000, 1000), 10, seed=n) for n in range(4)]
    made = plan("ij,jk,kl,lm->im", *chain)
    assert loops(made) == [3, 3, 3]
    reason = next(r for r in made.reasons if "multiply in pairs" in r.what)
    assert "pair1 = C * D, pair2 = B * pair1, then A * pair2" in reason.what
    text = str(sp.explain("ij,jk,kl,lm->im", *chain))
    assert "multiply in pairs: pair1 = " in text


def test_the_dense_factor_of_a_chain_comes_first():
    A, B = sparse((1000, 1000), 10), sparse((1000, 1000), 10, seed=1)
    made = plan("ij,jk,kl->il", A, B, np.ones((1000, 4)))
    assert loops(made) == [3, 3]
    assert "pair1 = B * C" in next(
        r.what for r in made.reasons if "multiply in pairs" in r.what
    )


def test_what_is_cheaper_fused_stays_one_kernel():
    n = 500
    mask, X = sparse((n, n), 10), np.ones((n, 32))
    assert loops(plan("ij,ik,jk->ij", mask, X, X)) == [3]
    tensor = sparse((50, 50, 50), 20, "csf")
    assert loops(plan("ijk,jr,kr->ir", tensor, np.ones((50, 8)), np.ones((50, 8)))) == [
        4
    ]


def test_integers_of_other_widths_stay_together():
    chain = [sparse((300, 300), 10, seed=n) for n in range(3)]
    narrow = [chain[0].astype("int8"), chain[1].astype("int8"), chain[2]]
    wide = [a.astype("int64") for a in narrow[2:]]
    assert loops(plan("ij,jk,kl->il", *narrow[:2], *wide)) == [4]


@pytest.mark.parametrize("formats", ["csr csr csr", "csr coo dense", "csc dcsr csr"])
@pytest.mark.parametrize("result", [None, "csr", "coo", "dense"])
def test_pairs_give_what_numpy_does(formats, result, monkeypatch):
    monkeypatch.setattr("sparray.compiler.scheduler.pairs.PAIRS_SHARE", 1e9)
    operands = []
    for number, format in enumerate(formats.split()):
        made = sparse((6, 6), 2, seed=number)
        made = sp.array(np.where(np.arange(6)[:, None] == 2, 0, made.todense()))
        operands.append(made.todense() if format == "dense" else made.to_format(format))
    wanted = None if result is None else sp.formats.as_format(result, 2)
    question = Question("ij,jk,kl->il", tuple(operands), wanted)
    made = operands_plan(question.expression, operands, wanted).plan
    assert any("multiply in pairs" in reason.what for reason in made.reasons)
    check_stages(question)


def test_products_fill_places_up():
    assert occupied(10, 1e9) == pytest.approx(10)
    assert occupied(1e9, 100) == pytest.approx(100)
    assert occupied(5, 0) == 0
