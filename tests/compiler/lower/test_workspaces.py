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
