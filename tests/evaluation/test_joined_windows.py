"""Statements in one kernel that read operands in windows."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.evaluation import programs

RNG = np.random.default_rng(0)
A = np.where(RNG.random((6, 7)) < 0.5, RNG.random((6, 7)), 0)
X, W = RNG.random(8), RNG.random(7)
ROWS = A[::2] - A[::2].max(axis=1, keepdims=True)

CASES = [
    (
        "R[i,j] = A[i,j] * x[j + 1]; y[i] = sum(j, R[i,j] * R[i,j])",
        ((A * X[1:]) ** 2).sum(axis=1),
        [["R", "y"]],
    ),
    (
        "n[i] = max(j, D[i in ::2,j]); y[i] = sum(j, exp(D[i in ::2,j] - n[i]) * w[j])",
        (np.exp(ROWS) * W).sum(axis=1),
        [["n", "y"]],
    ),
    (
        "m[i] = sum(j, A[i,j] * w[j]); y[i] = m[i] * m[i] + x[i + 2] * w[-1]",
        (A @ W) ** 2 + X[2:] * W[-1],
        [["m", "y"]],
    ),
    (
        "m[i] = sum(j, A[i,j] * w[j]); y[i] = m[i in 1:] - m[i in :-1]",
        np.diff(A @ W),
        [["m"], ["y"]],
    ),
]


def given(text):
    operands = {"A": sp.array(A, format="csr"), "D": A, "x": X, "w": W}
    return {name: value for name, value in operands.items() if f"{name}[" in text}


@pytest.mark.parametrize(("text", "expected", "groups"), CASES)
def test_windows_in_programs(text, expected, groups):
    operands = given(text)
    runners = programs.group_runners(programs.parsed_program(text), operands, {})
    found = [[step.target for step in runner.group.steps] for runner in runners]
    assert found == groups
    with interpreted():
        np.testing.assert_allclose(sp.compute(text, **operands), expected)
    assert ("in one kernel" in sp.explain(text, **operands)) == (len(groups) == 1)


def test_another_window_of_other_extents_is_read_by_the_same_plan():
    text = "m[i] = sum(j, A[i,j] * w[j]); y[i] = m[i] * m[i] + x[i in -6:]"
    for n in (8, 11):
        x = np.arange(float(n))
        operands = {"A": sp.array(A, format="csr"), "w": W, "x": x}
        with interpreted():
            made = sp.compute(text, **operands)
        np.testing.assert_allclose(made, (A @ W) ** 2 + x[-6:])


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        # Too few entries for an array with a place for every row.
        (lambda i, j: (i == 0) & (j == 2), "cannot be searched"),
        (lambda i, j: i == i, "stored by rows"),
    ],
)
def test_a_window_that_no_level_can_be_searched_for_is_computed_apart(kept, reason):
    text = "m[i] = sum(j, A[i,j] * w[j]); y[i] = m[i] * m[i] * sum(j, B[i,j in 2:4])"
    B = np.where(kept(*np.indices(A.shape)), 1.0, 0.0)
    operands = {"A": A, "w": W, "B": sp.array(B, format="dia")}
    runners = programs.group_runners(programs.parsed_program(text), operands, {})
    reasons = [reason.why for one in runners for reason in one.group.reasons]
    assert any(reason in why for why in reasons)
    with interpreted():
        made = sp.compute(text, **operands)
    np.testing.assert_allclose(made, (A @ W) ** 2 * B[:, 2:4].sum(axis=1))
