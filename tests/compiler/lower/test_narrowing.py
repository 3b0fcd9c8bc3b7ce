"""Counted loops run over the coordinates that an operand may have."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, plan_of

import sparray as sp

BAND = np.eye(40) + np.eye(40, k=1) + np.eye(40, k=-30)


def loops(question):
    """Return the loops of a plan of one kernel."""
    (kernel,) = plan_of(question).kernels
    return kernel.loops


def band(format="dia"):
    return sp.array(BAND, format)


def test_a_diagonal_is_walked_inside_the_shape():
    question = Question("y[i] = A[i,j] * x[j]", (band(), np.arange(40.0)))
    text = loops(question)
    diagonals = "select(((0 < n_i) & (0 < n_j)), ((n_i + n_j) - 1), 0)"
    bounds = f"max(((n_i - 1) - jmi), 0) .. min(n_i, ({diagonals} - jmi))"
    assert f"for i in {bounds}:" in text
    check_stages(question)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (3, 8), (8, 3), (0, 4), (4, 0)])
def test_bounds_of_other_shapes(shape):
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 9, shape) * (rng.random(shape) < 0.5)
    A = sp.array(dense.astype(float), "dia")
    check_stages(Question("y[i] = A[i,j] * x[j]", (A, np.arange(shape[1]) + 1.0)))
    check_stages(Question("C[i,j] = A[i,j] * A2[i,j]", (A, A), A.format))


def test_work_at_every_coordinate_keeps_the_whole_loop():
    question = Question("C[i,j] = A[i,j] + D[i,j]", (band("bitmap"), np.ones((40, 40))))
    assert "for j in 0 .. n_j" in loops(question)
    check_stages(question)
