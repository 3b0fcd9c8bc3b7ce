"""Schedules by hand: followed, completed, or refused by name."""

import numpy as np
import pytest

import sparray as sp
from sparray.compiler.pipeline import compile_problem
from sparray.compiler.problem import Problem, TensorSpec
from sparray.errors import ScheduleError
from sparray.evaluation.expression import assignment_expression, einsum_expression
from sparray.evaluation.planning import operands_plan
from sparray.formats import Compressed, Format, named_format
from sparray.functions.schedule import as_schedule

PRODUCT = "C[row,col] = A[row,mid] * B[mid,col]"
BLOCKS = Format.parse(
    "(i, j) -> (i // 2: dense, j // 2: compressed, i % 2: dense, j % 2: dense)"
)


def planned(text, schedule, dtype="float64", output="dense", **formats):
    """Return the only kernel of an expression under a schedule."""
    expression = assignment_expression(text, schedule=as_schedule(schedule))
    read = {n: len(a.indices) for a, n in expression.axes}
    specs = tuple(
        (name, spec(formats.get(expression.tensors[n], "dense"), read[n], dtype))
        for name, n in expression.operands
    )
    made = spec(output, len(expression.assignment.target.indices), dtype)
    problem = Problem(expression.assignment, specs, made)
    compiled = compile_problem(problem, 32, way=expression.by_hand)
    (kernel,) = [kernel for kernel in compiled.kernels if kernel is not None]
    return kernel


def spec(format, ndim, dtype):
    levels = format if isinstance(format, Format) else named_format(format, ndim)
    return TensorSpec(levels, dtype, "int64" if levels.is_dense else "int32")


def followed(text, schedule, **options):
    """Return the schedule that is made of one, in the expression's names."""
    names = assignment_expression(text).user_names
    return names.schedule(planned(text, schedule, **options).decision)


@pytest.mark.parametrize(
    ("schedule", "formats", "expected"),
    [
        ("", {"A": "csr"},
         "reorder(row mid col).tile(col, 32 16 8 4 2 1).assemble(insert)"),
        ("reorder(row col mid)", {},
         "reorder(row col mid).assemble(insert)"),
        ("reorder(mid row col)", {"A": "csc"},
         "reorder(mid row col).accumulate().assemble(insert, zeroed)"),
        ("reorder(row mid col).split(col, 64).vectorize(col_in)", {"A": "csr"},
         "split(col, 64).reorder(row mid col_out col_in).accumulate()"
         ".vectorize(col_in).assemble(insert, zeroed)"),
        ("split(row, 8).reorder(row_out mid row_in col).accumulate()", {},
         "split(row, 8).reorder(row_out mid row_in col).accumulate()"
         ".assemble(insert, zeroed)"),
        ("", {"A": "csr", "B": "csr", "output": "csr"},
         "reorder(row mid col).assemble(append)"),
        ("split(row, 2).reorder(row_out mid_out row_in mid_in col)"
         ".parallelize(row_out)", {"A": BLOCKS},
         "split(mid, 2).split(row, 2).reorder(row_out mid_out row_in mid_in col)"
         ".accumulate().parallelize(row_out).assemble(insert, zeroed)"),
    ],
)  # fmt: skip
def test_what_is_left_open_is_completed(schedule, formats, expected):
    made = followed(PRODUCT, schedule, **formats)
    assert made == expected
    # What was completed, given back, is the same.
    assert followed(PRODUCT, made, **formats) == made


def test_only_what_is_necessary_is_completed():
    made = followed("y[i] = A[i,j] * x[j]", "", A="csr")
    assert made == "reorder(i j).assemble(insert)"
    usual = sp.compile("y[i] = A[i,j] * x[j]", A="csr").schedule
    assert usual == "reorder(i j).unroll(j, 4).parallelize(i).assemble(insert)"


REFUSED = {
    "reorder(mid row col)": "loop over row around that over mid: A is stored along",
    "reorder(row mid)": "each of row mid col once, got row mid",
    "reorder(row mid k)": "a loop of row, mid, col, got k",
    "reorder(row row mid col)": "each of row mid col once",
    "split(mid, 4)": "an index that is located, got mid",
    "split(col, 4).split(col, 8)": "is split already",
    "split(col, 4).split(col_in, 2)": "an index, and a number",
    "split(col, col-row)": "an index, and a number",
    "split(col, 4).tile(col, 8)": "a loop of row, mid, col_out, col_in, got col",
    "reorder(row col mid).tile(col, 8)": "the loop over col innermost",
    "tile(col, 12)": "powers of two up to 1024, got 12",
    "tile(col, 4096)": "powers of two up to 1024",
    "tile(col, 4 8 1)": "descending sizes that end in 1",
    "tile(col, 8 4)": "descending sizes that end in 1",
    "tile(col, 8).tile(col, 8)": "expected a workspace over col",
    "accumulate().tile(col, 8)": "expected a workspace over col",
    "unroll(row, 4)": "a loop over row that reduces",
    "unroll(mid, 65)": "at most 64 sums",
    "prefetch(row, 4)": "a loop over row around a vector loop",
    "vectorize(mid)": "an innermost loop over mid",
    "parallelize(mid)": "expected row, the outermost loop, got mid",
    "assemble(append)": r"expected assemble\(insert\): every level",
}


@pytest.mark.parametrize("schedule", REFUSED)
def test_refusals_show_expression_statement_and_command(schedule):
    with pytest.raises(ScheduleError, match=REFUSED[schedule]) as error:
        planned(PRODUCT, schedule, A="csr")
    text = str(error.value)
    assert f"expression: {PRODUCT}" in text
    assert "schedule:   " in text
    last = sp.schedule(schedule).commands
    assert any(f"at fault:   {command}" in text for command in last)
    assert "∀row" in text.partition("reached:")[2]
    # Nothing of the canonical names.
    assert "A[i,k]" not in text
    assert "out[" not in text


@pytest.mark.parametrize(
    ("text", "schedule", "message", "formats"),
    [
        ("y[i] = max(j, A[i,j])", "accumulate()", "a sum and nothing else",
         {"A": "csr"}),
        ("y[i] = max(j, X[i,j])", "vectorize(j)", "a sum, whose terms", {}),
        ("y[i] = 2 * sum(j, A[i,j])", "accumulate()", "a sum and nothing else",
         {"A": "csr"}),
        ("y[j] = A[i,j]", "reorder(i j).parallelize(i)", "its own part of the result",
         {"A": "csr"}),
        ("C[i,j] = A[i,j] + B[i,j]", "parallelize(i)", "with one range",
         {"A": "dcsr", "B": "dcsr", "output": "dcsr"}),
        ("C[i,j] = A[i,k] * B[k,j]", "reorder(k i j)", "no kernel computes this",
         {"A": "csc", "B": "csr", "output": "csr"}),
        ("C[i,j] = A[i,k] * B[k,j] + A[i,j]", "reorder(k i j)",
         "no workspace holds the sums", {}),
        ("y[i] = sum(j, A[i,j] * max(k, B[j,k]))", "", "one inside another", {}),
        ("C[i,j] = A[i,k] * B[k,j]", "tile(j, 8)", "contiguous", {"A": "csr",
         "dtype": "int32"}),
        ("y[j_in] = A[j_in,j] * x[j]", "split(j, 4)", "has an index j_in, too", {}),
        ("C[i,j] = X[i,j] * a[j in 1::2]", "fuse(i, j)", "got one over what a stores",
         {"a": Format([Compressed()])}),
        ("C[i,j] = A[i,j] + 0 * B[i,j]", "fuse(i, j).pos(i, B)", "got 0 times",
         {"A": "csr", "B": "csr", "output": "csr"}),
    ],
)  # fmt: skip
def test_what_would_change_the_result_or_has_no_kernel(
    text, schedule, message, formats
):
    with pytest.raises(ScheduleError, match=message):
        planned(text, schedule, **formats)


def test_a_schedule_of_another_shape_of_expression():
    spmm = sp.compile("C[i,j] = A[i,k] * B[k,j]", A="csr").schedule
    with pytest.raises(ScheduleError, match="expected a loop of i, j, got k"):
        planned("C[i,j] = A[i,j] + B[i,j]", spmm, A="csr")


def test_nothing_is_compiled_for_a_schedule_that_is_refused():
    a = sp.array(np.eye(3), format="csr")
    with pytest.raises(ScheduleError, match="got x"):
        sp.einsum("ij,j->i", a, np.ones(3), schedule="unroll(x, 4)")
    with pytest.raises(ScheduleError, match="expected a Schedule or text, got int"):
        sp.einsum("ij,j->i", a, np.ones(3), schedule=3)


def test_a_tensor_that_is_read_twice_is_named_with_its_indices():
    text = "C[i,j] = A[i,j] * A[j,i]"
    names = assignment_expression(text).user_names
    assert names.tensors == {"out": "C", "A": "A[i,j]", "B": "A[j,i]"}


def test_capital_indices_of_einsum_are_written_as_they_are():
    expression = einsum_expression("aB,B->a", 2, schedule=as_schedule("reorder(a B)"))
    a = sp.array(np.eye(3), format="csr")
    (kernel,) = operands_plan(expression, (a, np.ones(3))).kernels
    text = expression.user_names.schedule(kernel.decision)
    assert text == "reorder(a B).assemble(insert)"


def test_a_16_bit_result_that_is_added_up_is_computed_widely():
    rng = np.random.default_rng(0)
    a = sp.array(rng.random((5, 40)) < 0.3, format="csc", dtype="float16")
    x = np.full((40, 3), 0.1, np.float16)
    found = sp.einsum("ij,jk->ik", a, x, schedule="reorder(j i k)")
    assert found.dtype == np.float16
    wide = a.todense().astype(np.float32) @ x.astype(np.float32)
    np.testing.assert_array_equal(found, wide.astype(np.float16))
