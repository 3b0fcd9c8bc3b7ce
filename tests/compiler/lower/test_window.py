"""Windows of levels: work for the entries inside, one kernel for every window."""

from unittest import mock

import numpy as np
import pytest
from oracle_check import counted, interpreted

import sparray as sp
from sparray import dispatch
from sparray.dispatch import evaluate_expression
from sparray.evaluation.expression import assignment_expression


def iterations(text, *operands):
    """Return the iterations of all loops, and the result."""
    expression = assignment_expression(text)
    return counted(lambda: evaluate_expression(expression, operands))


def row(n, format):
    """Return a matrix of two rows that are full."""
    return sp.array(np.ones((2, n)), format=format)


@pytest.mark.parametrize("format", ["csr", "dcsr", "coo"])
@pytest.mark.parametrize("window", ["10:15", "14:9:-1"])
def test_a_window_takes_time_for_its_entries(format, window):
    text = f"y[j] = A[1, j in {window}] + A[0, j in {window}]"
    work = []
    for n in (50, 400):
        count, made = iterations(text, row(n, format))
        assert made.values.tolist() == [2.0] * 5
        work.append(count)
    assert work[0] == work[1]


def test_a_step_passes_what_lies_between():
    dense = np.arange(1.0, 41.0).reshape(1, 40)
    for text, expected in (
        ("y[j] = A[0, j in 4:20:3]", dense[0, 4:20:3]),
        ("y[j] = A[0, j in 20:4:-3]", dense[0, 20:4:-3]),
    ):
        count, made = iterations(text, sp.array(dense, format="csr"))
        np.testing.assert_array_equal(made.values, expected)
        # Both functions of a sparse result pass 18 entries at most, in one chunk.
        assert count <= 2 * (18 + 1)


def test_windows_of_one_step_share_a_plan():
    A = sp.array(np.arange(24.0).reshape(6, 4), format="csr")
    with mock.patch.object(dispatch, "_calls", {}), interpreted(threads=1):
        for first in range(3):
            text = f"C[i,j] = A[i in {first}:{first + 3}, j]"
            made = evaluate_expression(assignment_expression(text), [A])
            wanted = np.arange(4.0 * first, 4 * first + 12)
            # The zero is not stored.
            np.testing.assert_array_equal(made.values, wanted[wanted != 0])
        assert len(dispatch._calls) == 1
