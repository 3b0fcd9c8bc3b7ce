"""Tiles, vectors and accumulators, for every width of register."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, plan_of

import sparray as sp

RNG = np.random.default_rng(0)
A = sp.array(RNG.integers(-3, 4, (5, 7)) * (RNG.random((5, 7)) < 0.4) * 1.0)


def question(columns, dtype, width):
    b = RNG.integers(-3, 4, (7, columns)).astype(dtype)
    return Question("ij,jk->ik", (A.astype(dtype), b), None, False, width)


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 8, 17, 33, 70, 130])
def test_tiles(columns, dtype, width):
    check_stages(question(columns, dtype, width))


@pytest.mark.parametrize("dtype", ["int32", "complex128", "bool"])
def test_other_dtypes_are_not_tiled(dtype):
    asked = question(9, dtype, 32)
    (step,) = plan_of(asked).plan.steps
    assert "tile" not in step.decision.schedule
    check_stages(asked)


def test_mixed_dtypes_are_not_tiled():
    asked = Question("ij,jk->ik", (A, RNG.random((7, 9)).astype("float32")))
    (step,) = plan_of(asked).plan.steps
    assert "tile" not in step.decision.schedule


def test_what_scales_the_sum_is_read_once_per_row():
    text = "C[i,k] = d[i] * A[i,j] * B[j,k] + b[k]"
    d, b, bias = np.arange(5.0), RNG.random((7, 40)), np.arange(40.0)
    asked = Question(text, (d, A, b, bias))
    (step,) = plan_of(asked).plan.steps
    assert "tile" in step.decision.schedule
    check_stages(asked)


def test_an_order_of_columns_first():
    b = np.asfortranarray(RNG.integers(-3, 4, (7, 9)).astype(float))
    check_stages(Question("ij,jk->ik", (A, b)))
    check_stages(Question("ij,kj->ik", (A, np.ascontiguousarray(b.T))))
