"""The kernels that are used most, at every stage, as text.

For vectors of 32 bytes and assumed sizes, so that every machine prints the same.
"""

import pytest

from sparray._kernels.render import render_module
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.hand_schedule import parse_schedule
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.pipeline import compile_problem
from sparray.compiler.problem import Problem, TensorSpec
from sparray.evaluation.expression import assignment_expression
from sparray.formats.named import as_format

KERNELS = {
    "spmv_csr": ("y[i] = A[i,j] * x[j]", "csr dense", "dense"),
    "spmm_csr": ("C[i,j] = A[i,k] * B[k,j]", "csr dense", "dense"),
    "spgemm_csr": ("C[i,j] = A[i,k] * B[k,j]", "csr csr", "csr"),
    "spgemm_csr_hashed": ("C[i,j] = A[i,k] * B[k,j]", "csr csr", "csr"),
    "masked_product_csr": (
        "C[i,j] = M[i,j] * A[i,k] * B[k,j]",
        "csr csr csr",
        "csr",
    ),
    "sddmm_csr": ("C[i,j] = M[i,j] * A[i,k] * B[j,k]", "csr dense dense", "csr"),
    "add_csr_csr": ("C[i,j] = A[i,j] + B[i,j]", "csr csr", "csr"),
    "mttkrp_csf": ("A[i,r] = T[i,j,k] * B[j,r] * C[k,r]", "csf dense dense", "dense"),
    "multiply_csr_csr": ("C[i,j] = A[i,j] * B[i,j]", "csr csr", "csr"),
    "ttv_csf": ("A[i,j] = T[i,j,k] * x[k]", "csf dense", "csr"),
    "csr_to_bcsr": ("C[i,j] = A[i,j]", "csr", "bcsr(4,4)"),
    "csr_to_ell": ("C[i,j] = A[i,j]", "csr", "ell"),
    "spmv_bcsr": ("y[i] = A[i,j] * x[j]", "bcsr(4,4) dense", "dense"),
    "csr_to_csc": ("C[i,j] = A[i,j]", "csr", "csc"),
    "sum_rows_coo": ("y[i] = A[i,j]", "coo", "dense"),
    "spmv_csr_merge": ("y[i] = A[i,j] * x[j]", "csr dense", "dense"),
    "spmv_csr_precomputed": ("y[i] = A[i,j] * exp(x[j])", "csr dense", "dense"),
    "product_csr_fused": ("C[i,j] = A[i,k] * B[j,k]", "csr dense", "dense"),
    "sddmm_csr_positions": (
        "C[i,j] = A[i,j] * B[i,k] * D[k,j]",
        "csr dense dense",
        "csr",
    ),
    "spmm_csr_packed": ("C[i,j] = A[i,k] * B[k,j]", "csr dense", "dense"),
    "difference_csr": ("D[i,j] = A[i,j in 1:] - A[i,j in :-1]", "csr", "csr"),
    "every_other_backwards_coo": ("C[i,j] = A[i,j in ::-2]", "coo", "coo"),
    "convolution": ("y[i] = x[i + k] * w[k]", "dense dense", "dense"),
    "one_row_dcsr": ("y[j] = A[3,j]", "dcsr", "dense"),
}
BY_HAND = {
    "masked_product_csr": "reorder(i k j).collect(list, M).parallelize(i)",
    "spgemm_csr_hashed": "reorder(i k j).collect(hashed).parallelize(i)",
    "spmv_csr_precomputed": "unroll(j, 2).precompute(exp(x[j]), i)",
    "product_csr_fused": "reorder(i j k).fuse(i, j).parallelize(i)",
    "sddmm_csr_positions": "fuse(i, j).pos(i, A).split(i, 256).parallelize(i)",
    "spmv_csr_merge": "unroll(j, 2).parallelize(i, merge)",
    "spmm_csr_packed": "split(i, 64).reorder(i_out i_in k j).tile(j, 16)"
    ".pack(B, i_in).unroll(k, 2).parallelize(i_out, rows)",
}


def kernel(name, schedule=None):
    """Return the only kernel of a named problem, in float32 with int32 indices."""
    text, formats, result = KERNELS[name]
    if schedule is None and name in BY_HAND:
        schedule = parse_schedule(BY_HAND[name])
    expression = assignment_expression(text, schedule=schedule)
    ndims = {number: len(access.indices) for access, number in expression.axes}
    specs = tuple(
        (
            operand,
            TensorSpec(
                as_format(formats.split()[number], ndims[number]),
                "float32",
                "int64" if formats.split()[number] == "dense" else "int32",
            ),
        )
        for operand, number in expression.operands
    )
    ndim = len(expression.assignment.target.indices)
    index_dtype = "int64" if result == "dense" else "int32"
    output = TensorSpec(as_format(result, ndim), "float32", index_dtype)
    problem = Problem(expression.assignment, specs, output)
    compiled = compile_problem(problem, 32, way=expression.by_hand)
    (made,) = compiled.kernels
    return made


@pytest.mark.parametrize("name", KERNELS)
def test_every_stage_as_text(name, golden):
    made = kernel(name)
    decision = made.decision
    stages = [
        f"{command}\n{print_statement(stage)}"
        for command, stage in zip(
            ("", *decision.commands), decision.stages, strict=True
        )
    ]
    parts = {
        "index notation": print_assignment(decision.problem.assignment),
        "problem": decision.problem.describe(),
        "CIN": "\n".join(stages).strip(),
        "schedule": decision.schedule,
        "loop IR": made.loops,
        "Cython": render_module(made.functions, made.header),
    }
    text = "\n\n".join(f"==== {title} ====\n{body}" for title, body in parts.items())
    golden(f"kernels/{name}.txt", text.rstrip() + "\n")


@pytest.mark.parametrize("name", KERNELS)
def test_the_schedule_that_is_printed_gives_the_same_kernel(name):
    made = kernel(name)
    names = assignment_expression(KERNELS[name][0]).user_names
    text = names.schedule(made.decision)
    again = kernel(name, parse_schedule(text))
    assert again.key == made.key
    assert again.decision.stages == made.decision.stages
    assert names.schedule(again.decision) == text
