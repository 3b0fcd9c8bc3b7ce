"""What the scheduler chooses within a kernel: tiles, panels, sums, prefetches."""

import numpy as np
import pytest
from plans import ROWS, entries, schedules

import sparray as sp
from sparray.dispatch import given_key
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.planning import operands_plan

N = ROWS
DENSE = np.ones((N, 40))
VECTOR = np.ones(N)
CSR = entries()


def test_products_with_a_dense_matrix_are_tiled():
    (schedule,) = schedules("ij,jk->ik", CSR, DENSE)
    assert schedule.startswith("reorder(i k j).tile(j, ")
    assert schedule.endswith("parallelize(i).assemble(insert)")


@pytest.mark.parametrize(
    "value",
    [
        "max(sum(k, A[i,k] * B[k,j]) + B[i,j], 0)",
        "where(sum(k, A[i,k] * B[k,j]) > 0, B[i,j], 2)",
        "tanh(sum(k, A[i,k] * B[k,j]))",
    ],
)
def test_whatever_follows_a_sum_takes_it_from_registers(value):
    expression = assignment_expression(f"Y[i,j] = {value}")
    found = operands_plan(expression, (CSR, DENSE), None).plan
    *_, last = found.steps
    assert ".tile(j, " in last.decision.schedule


def test_a_dense_matrix_times_a_sparse_one_is_computed_in_vectors():
    # Both dense arrays with the rows of the result innermost, and back.
    wide = np.ones((128, 768), "float32")
    found = schedules("bi,oi->bo", wide, weights(3072, 768, 0.1))
    assert [text.startswith("split(i, iq16 ir16)") for text in found] == [1, 0, 1]
    assert found[1].startswith("reorder(j k i).tile(i, ")
    # A vector has no other layout.
    assert len(schedules("i,oi->o", wide[0], weights(3072, 768, 0.1))) == 1


@pytest.mark.parametrize(
    ("dtype", "shape", "split"),
    [
        ("float32", (100, 90), "split(i, iq16 ir16).split(j, jq16 jr16)"),
        ("float64", (100, 90), "split(i, iq8 ir8).split(j, jq8 jr8)"),
        ("complex128", (100, 90), "split(i, iq4 ir4).split(j, jq4 jr4)"),
        ("int8", (100, 90), "split(i, iq16 ir16).split(j, jq16 jr16)"),
        ("float32", (100, 8), ""),
    ],
)
def test_dense_arrays_in_two_orders_are_passed_in_blocks(dtype, shape, split):
    array = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    (schedule,) = schedules("ij->ji", array)
    assert schedule.startswith(split) and ("split" in schedule) == bool(split)
    assert sp.einsum("ij->ji", array).tolist() == array.T.tolist()
    turned = np.asfortranarray(array)
    assert "split" not in schedules("ij->ij", array)[0]
    made = sp.compute("Y[i,j] = A[i,j] + B[i,j]", A=array, B=turned)
    assert made.tolist() == (array + array).tolist()


def test_sums_in_memory_cost_more_than_those_in_registers():
    # On one thread the rows of the operand decide nothing else.
    before = sp.num_threads()
    sp.set_num_threads(1)
    try:
        (schedule,) = schedules(
            "oi,ib->ob", weights(3072, 768, 0.1), np.ones((768, 128), "float32")
        )
    finally:
        sp.set_num_threads(before)
    assert ".tile(j, " in schedule


def weights(rows, columns, stored):
    rng = np.random.default_rng(0)
    kept = rng.random((rows, columns)) < stored
    return sp.array((kept * 1.0).astype("float32"), format="csr")


def rows_at(rows, columns, place):
    """A matrix whose rows begin at a place, in bytes, of a cache line."""
    memory = np.ones(rows * columns + 32, "float32")
    start = (place - memory.ctypes.data) % 64 // 4
    return memory[start : start + rows * columns].reshape(rows, columns)


@pytest.mark.parametrize(
    ("columns", "n", "packs"),
    [(512, 64, False), (3072, 256, True)],
    ids=["near", "far"],
)
def test_rows_that_begin_at_cache_lines_are_packed_where_they_are_far(
    columns, n, packs
):
    a, b = weights(512, columns, 0.2), rows_at(columns, n, 0)
    (schedule,) = schedules("ij,jk->ik", a, b)
    assert (".pack(B, i)" in schedule) == packs
    # A plan for rows that begin there is not taken for others.
    assert given_key(b) != given_key(rows_at(columns, n, 4))


@pytest.mark.parametrize(
    ("rows", "columns", "stored", "n", "packs"),
    [
        (768, 3072, 0.2, 128, True),
        (512, 512, 0.2, 64, True),
        (512, 512, 0.2, 16, False),
        (512, 512, 0.2, 1, False),
        (256, 2048, 0.02, 128, False),
        (64, 20_000, 0.01, 128, False),
    ],
    ids=["far", "near", "narrow", "one column", "read too seldom", "panel too large"],
)
def test_a_panel_is_packed_where_that_pays(rows, columns, stored, n, packs):
    b = rows_at(columns, n, 16)
    (schedule,) = schedules("ij,jk->ik", weights(rows, columns, stored), b)
    assert (".pack(B, i)" in schedule) == packs
    if packs:
        assert schedule.endswith("parallelize(i).assemble(insert)")


@pytest.mark.parametrize(
    ("per_row", "sums"),
    [(4, ""), (20, ".unroll(j, 4)"), (60, ".unroll(j, 8)")],
    ids=["short rows", "rows of some", "long rows"],
)
def test_sums_side_by_side_are_as_many_as_rows_have_use_for(per_row, sums):
    assert schedules("ij,j->i", entries(per_row=per_row), VECTOR) == [
        f"reorder(i j){sums}.parallelize(i).assemble(insert)"
    ]


@pytest.mark.parametrize(
    ("per_row", "columns", "side_by_side"),
    [(4, 8, False), (20, 8, True), (4, 64, True)],
    ids=["few narrow rows", "many", "wide ones"],
)
def test_few_rows_of_one_vector_are_added_to_one_sum(per_row, columns, side_by_side):
    x = np.ones((N, columns))
    (schedule,) = schedules("ij,jk->ik", entries(per_row=per_row), x)
    assert (".unroll(k, 4)" in schedule) == side_by_side


@pytest.mark.parametrize(("columns", "far"), [(32, False), (2000, True)])
def test_rows_are_prefetched_where_they_are_far(columns, far):
    (schedule,) = schedules("ij,jk->ik", entries(per_row=2), np.ones((N, columns)))
    assert (".prefetch(k, 8)" in schedule) == far


def test_kernels_that_cannot_be_compiled_are_those_of_the_usual_settings(monkeypatch):
    monkeypatch.setattr(
        "sparray.evaluation.planning.can_load", lambda keys: not list(keys)
    )
    (schedule,) = schedules("ij,j->i", entries(per_row=4), VECTOR)
    kernel = sp.compile("y[i] = A[i,j] * x[j]", A="csr", dtype="float64")
    assert schedule == kernel.schedule


def test_nothing_is_packed_for_sizes_that_are_assumed():
    kernel = sp.compile("C[i,j] = A[i,k] * B[k,j]", A="csr", dtype="float32")
    assert "pack" not in kernel.schedule
