"""What is larger than memory is refused before anything is compiled."""

import numpy as np
import pytest

import sparray as sp
from sparray import dispatch
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.problem import TensorSpec
from sparray.errors import KernelMemoryError
from sparray.evaluation import execution, programs
from sparray.evaluation.expression import einsum_expression
from sparray.evaluation.footprint import least_bytes
from sparray.evaluation.planning import operands_plan
from sparray.evaluation.programs import group_runners, parsed_program
from sparray.formats.named import as_format

N = 3000


@pytest.fixture
def little(monkeypatch):
    """A machine with 4 MB, on which no kernel is compiled or run."""

    def refused(*_):
        raise AssertionError("compiled something")

    monkeypatch.setenv("SPARRAY_MEMORY_SIZE", "4M")
    monkeypatch.setattr(execution, "load_kernel", refused)
    dispatch.forget_plans()
    yield monkeypatch
    dispatch.forget_plans()


def diagonal(n=N, format="csr"):
    at = np.arange(0, n, max(1, n // 50))
    return sp.from_coords([at, at], np.ones(len(at)), (n, n), format)


@pytest.mark.parametrize(
    ("format", "shape", "bytes_"),
    [
        ("dense", (10, 20), 8 * 200),
        ("csr", (10, 20), 4 * 11),
        ("csc", (10, 20), 4 * 21),
        ("dcsr", (10, 20), 4 * 2),
        ("csf", (10, 20, 30), 4 * 2),
        ("coo", (10, 20), 4 * 2),
        ("bitmap", (10, 20), 8 * 200),
        ("bcsr(4, 5)", (10, 20), 4 * 4),
        ("dense", (), 8),
        ("dense", (2**40, 2**40), 2**83),
    ],
)
def test_what_an_array_takes_whatever_it_stores(format, shape, bytes_):
    spec = TensorSpec(as_format(format, len(shape)), "float64", "int32")
    assert least_bytes(spec, shape) == bytes_


def test_a_dense_result(little):
    a = diagonal()
    with pytest.raises(KernelMemoryError) as error:
        sp.compute("Total[i,j] = A[i,k] * B[k,j]", A=a, B=a, format="dense")
    first, text, caret = str(error.value).splitlines()
    assert first == (
        "expected the result Total of shape (3000, 3000), dense float64, to fit in "
        "memory, of which 4.19 MB are available, got 72 MB"
    )
    assert text == "  Total[i,j] = A[i,k] * B[k,j]"
    assert caret == "  ^"
    assert isinstance(error.value, MemoryError)


def test_the_place_in_subscripts(little):
    x = np.broadcast_to(1.0, 2000)
    with pytest.raises(KernelMemoryError) as error:
        sp.einsum("i, j -> ij", x, x)
    assert str(error.value).splitlines()[1:] == ["  i, j -> ij", "          ^"]


def test_offsets_of_a_sparse_result(little):
    a = sp.from_coords([[1], [1]], [1.0], (2**24, 4), "dcsr")
    with pytest.raises(KernelMemoryError, match=r"i: dense, j: comp.* 67\.1 MB"):
        sp.einsum("ij->ij", a, format="csr")


def test_a_workspace_that_a_user_asks_for(little):
    a = diagonal(2**20, "dcsr")
    schedule = "reorder(i j k).collect(list)"
    with pytest.raises(KernelMemoryError, match="a list workspace over k") as error:
        sp.einsum("ij,jk->ik", a, a, format="dcsr", schedule=schedule)
    assert str(error.value).endswith("  ij,jk->ik\n      ^")


def test_a_workspace_in_memory_that_is_short(little):
    little.setenv("SPARRAY_MEMORY_SIZE", "1G")
    a = diagonal(2**20, "dcsr")
    by_hand = sp.schedule("reorder(i j k).collect(list)")
    expression = einsum_expression("ij,jk->ik", 2, schedule=by_hand)
    plan = operands_plan(expression, [a, a], as_format("dcsr", 2))
    assert len(plan.plan.steps) == 1
    little.setenv("SPARRAY_MEMORY_SIZE", "4M")
    sizes = expression.extents([a, a])
    with pytest.raises(KernelMemoryError) as error:
        dispatch.check_memory(expression, plan, sizes)
    first, *place = str(error.value).splitlines()
    assert first.startswith("expected a list workspace over k of float64")
    assert place == ["  ij,jk->ik", "      ^"]


def test_a_table_is_preferred_to_a_workspace_that_does_not_fit(monkeypatch):
    n = 2**16
    a = sp.from_coords([np.arange(n)] * 2, np.ones(n), (n, n), "csr")
    expression = einsum_expression("ij,jk->ik", 2)
    for size, kind in (("1G", "list"), ("4M", "hashed")):
        monkeypatch.setenv("SPARRAY_MEMORY_SIZE", size)
        made = operands_plan(expression, [a, a], as_format("csr", 2))
        (step,) = made.plan.steps
        assert f"where[{kind} float64]" in print_statement(step.decision.statement)
        dispatch.check_memory(expression, made, expression.extents([a, a]))


def test_a_warm_call_of_larger_operands(monkeypatch):
    small, large = diagonal(100, "dcsr"), diagonal(2000, "dcsr")
    assert small._key == large._key
    with monkeypatch.context() as patch:
        patch.setenv("SPARRAY_MEMORY_SIZE", "4M")
        assert sp.einsum("ij->ij", small, format="dense").shape == (100, 100)
        with pytest.raises(KernelMemoryError, match="32 MB"):
            sp.einsum("ij->ij", large, format="dense")
    assert sp.einsum("ij->ij", small, format="dense").trace() == small.nnz


def test_a_compiled_kernel_is_checked_when_it_is_called(monkeypatch):
    kernel = sp.compile("C[i,j] = A[i,j]", A="dcsr", C="dense")
    monkeypatch.setenv("SPARRAY_MEMORY_SIZE", "4M")
    with pytest.raises(KernelMemoryError, match="the result C of shape"):
        kernel(diagonal(4000, "dcsr"))


def test_statements_are_not_joined_by_a_row_that_does_not_fit(monkeypatch):
    text = "T[i,k] = A[i,j] * B[j,k]; C[i] = max(k, T[i,k]) / sum(k, T[i,k])"
    operands = {"A": np.ones((4, 3)), "B": np.ones((3, 2**16))}
    reasons = {}
    for size in ("16G", "1M"):
        monkeypatch.setenv("SPARRAY_MEMORY_SIZE", size)
        programs._known.clear()
        runners = group_runners(parsed_program(text), operands, {})
        reasons[size] = [r for runner in runners for r in runner.group.reasons]
    programs._known.clear()
    assert "in one kernel" in reasons["16G"][0].what
    assert reasons["1M"][0].why == "T might not fit in memory, a row at a time"


def test_joined_statements_whose_rows_do_not_fit_now_run_apart(monkeypatch):
    text = "T[i,k] = A[i,j] * B[j,k]; C[i] = max(k, T[i,k]) / sum(k, T[i,k])"
    operands = {"A": np.ones((4, 3)), "B": np.ones((3, 2**17))}
    (runner,) = group_runners(parsed_program(text), operands, {})
    monkeypatch.setenv("SPARRAY_MEMORY_SIZE", "1500K")
    apart = []
    monkeypatch.setattr(runner, "_run_apart", lambda *_: apart.append(True))
    runner.run(dict(operands), {})
    assert apart
