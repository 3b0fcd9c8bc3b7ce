"""Whose the memory of a workspace is: that of the innermost task around it."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, plan_of

import sparray as sp
from sparray.compiler.loop_ir.nodes import Allocate, Parallel
from sparray.compiler.loop_ir.traversal import walk

TEXT = "C[i,j] = A[i,k] * B[k,j] + D[i,j]"


def packed(n_j, size):
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 9, (17, 6)) * (rng.random((17, 6)) < 0.3)
    A, B, D = sp.array(dense.astype(float)), rng.random((6, n_j)), rng.random((17, n_j))
    schedule = sp.schedule().pack("B", "i").parallelize("i").split("j", size)
    return Question(TEXT, (A, B, D), schedule=schedule)


@pytest.mark.parametrize(("n_j", "size"), [(9, 4), (8, 4), (5, 2)])
def test_tasks_after_a_copy_have_lists_of_their_own(n_j, size):
    check_stages(packed(n_j, size))


def test_the_copy_is_outside_and_the_lists_are_inside():
    (step,) = plan_of(packed(9, 4)).kernels
    function = step.functions[-1]
    loops = [node for node in walk(function.body) if isinstance(node, Parallel)]
    inside = {
        node.buffer.name
        for loop in loops
        for node in walk(loop.body)
        if isinstance(node, Allocate)
    }
    every = {
        node.buffer.name for node in walk(function.body) if isinstance(node, Allocate)
    }
    assert inside == {"w1_values", "w1_marks", "w1_list"}
    assert every - inside == {"Bp_values"}


@pytest.mark.parametrize("format", [None, "csr"])
def test_a_list_beside_what_is_not_listed_is_read_in_order(format):
    # Columns of B come in the order of its rows: 3 before 0. C has work at all of them.
    B = sp.from_coords([[0, 1, 1], [3, 0, 3]], [2.0, 3.0, 4.0], (2, 5), "csr")
    A, C = np.ones((3, 2)), np.arange(5.0)
    text = "Y[i,j] = sum(k, A[i,k] * B[k,j]) + C[j]"
    made = sp.compute(text, A=A, B=B, C=C, format=format)
    dense = made.todense() if format else made
    np.testing.assert_array_equal(dense, A @ B.todense() + C)


def test_windows_of_blocks_beside_whole_indices_are_ordered():
    # A stores halves of q, over all of which the loop is.
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((2, 2, 2, 4)) * (rng.random((2, 2, 2, 4)) < 0.5)
    x = rng.standard_normal((1, 2, 3, 6))
    W = sp.array(dense, format="bcsr(2, 2)")
    text = "Y[n,o,h,v] = x[n,c,h+p,2*v+q] * W[o,c,p,q]"
    made = sp.compute(text, W=W, x=x)
    np.testing.assert_allclose(made, sp.compute(text, W=dense, x=x))
