"""What the scheduler decides, and why."""

from typing import Any

import numpy as np
import pytest
from plans import ROWS, entries, plan, schedules

import sparray as sp
from sparray.compiler import merge_lattice
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.pipeline import compile_problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler import candidates as scheduler_candidates
from sparray.compiler.scheduler.candidates import best_candidate, candidates
from sparray.compiler.scheduler.format_facts import can_assemble, slotted_leaf
from sparray.compiler.scheduler.steps import KernelStep, PackStep, SortStep
from sparray.compiler.scheduler.temporaries import reordered
from sparray.evaluation.expression import einsum_expression
from sparray.evaluation.planning import operands_plan, operands_problem
from sparray.formats import Format, as_format, named_format

N = ROWS
DENSE = np.ones((N, 40))
VECTOR = np.ones(N)
CSR, CSC, COO = (entries(format=format) for format in ("csr", "csc", "coo"))
DCSR = entries(format="dcsr")


def test_a_product_of_csr_arrays_is_gustavsons():
    assert schedules("ij,jk->ik", CSR, CSR) == [
        "reorder(i k j).parallelize(i).assemble(append)"
    ]


def test_csr_by_csc_converts_the_second():
    made = plan("ij,jk->ik", CSR, CSC)
    convert, multiply = made.steps
    assert convert.operands == ("B",)
    assert convert.decision.problem.output.format == named_format("csr", 2)
    assert convert.decision.assemble.way is Assembly.SCATTER
    assert multiply.operands == ("A", convert.result)
    assert any(reason.what.startswith("convert B to") for reason in made.reasons)


def test_a_small_csr_by_csc_may_be_inner_products():
    few = entries(4, 2)
    steps = schedules("ij,jk->ik", few, few.to_format("csc"))
    assert len(steps) == 1


@pytest.mark.parametrize("second", [COO, DCSR])
def test_rows_that_are_looked_up_are_made_locatable(second):
    convert, multiply = plan("ij,jk->ik", second, second).steps
    first, *_ = convert.decision.problem.output.format.levels
    assert first.full
    assert "reorder(i k j)" in multiply.decision.schedule


def test_hypersparse_products_meet_along_the_summed_index():
    n = 10**9
    rng = np.random.default_rng(0)
    many = sp.from_coords(
        rng.integers(0, n, (2, 10**5)), np.ones(10**5), (n, n), "dcsr"
    )
    steps = schedules("ij,jk->ik", many, many)
    assert any("reorder(k i j).accumulate()" in step for step in steps)
    assert steps.count("sort") == 2


def test_masked_products_of_hubs_are_computed_where_the_mask_is():
    rng = np.random.default_rng(0)
    coords = np.unique(np.minimum(rng.zipf(1.6, (2, 60_000)) - 1, 4999), axis=1)
    hubs = sp.from_coords(coords, np.ones(coords.shape[1]), (5000, 5000), "csr")
    other = sp.from_coords(coords[::-1], np.ones(hubs.nnz), (5000, 5000), "csr")
    filtered = "reorder(i k j).collect(list, C).parallelize(i).assemble(append)"
    assert schedules("ik,kj,ij->ij", hubs, other, hubs) == [filtered]
    # A mask of few entries has few inner products.
    rows = np.arange(5000)
    few = sp.from_coords([rows, rows], np.ones(5000), (5000, 5000), "csr")
    long = entries(5000, 20, seed=1)
    convert, multiply = schedules("ik,kj,ij->ij", long, long, few)
    assert convert.endswith("assemble(scatter)")
    assert multiply.startswith("reorder(i j k)")
    # There is little to pass over where the mask has as many as the product.
    even = entries(5000, 1, seed=1)
    assert schedules("ik,kj,ij->ij", even, even, even) == [
        "reorder(i k j).parallelize(i).assemble(append)"
    ]


def band(n, width):
    rows = np.arange(n).repeat(width)
    columns = np.clip(rows + np.tile(np.arange(width), n) - width // 2, 0, n - 1)
    return sp.from_coords(
        [rows, columns], np.ones(n * width), (n, n), "csr", duplicates="sum"
    )


def test_masked_products_that_meet_in_few_entries_are_listed():
    # 31 times as many products as entries: a list is cheaper than to search rows of B
    # for each entry of the mask. Spread at random most are passed over (8 times as fast
    # as inner products).
    banded, spread = band(3000, 61), entries(6000, 20)
    assert not any("i j k" in step for step in schedules("ik,kj,ij->ij", *[banded] * 3))
    (filtered,) = schedules("ik,kj,ij->ij", *[spread] * 3)
    assert "collect(list, C)" in filtered


@pytest.fixture
def two_threads():
    before = sp.num_threads()
    sp.set_num_threads(2)
    yield
    sp.set_num_threads(before)


def test_few_entries_are_worth_no_further_steps(two_threads):
    few = sp.from_coords(
        np.random.default_rng(3).integers(0, 200_000, (2, 4000)),
        *(np.ones(4000), (200_000,) * 2, "dcsr"),
    )
    transposed = few.T.to_format("dcsr")
    (schedule,) = schedules("ij,jk->ik", few, transposed)
    assert schedule.startswith("reorder(i k j)")


def test_sums_in_registers_beat_sums_in_memory():
    coords = np.unique(np.random.default_rng(0).integers(0, 14, (3, 2000)), axis=1)
    tensor = sp.from_coords(coords, np.ones(coords.shape[1]), (14, 14, 14), "csf")
    factors = np.ones((14, 8)), np.ones((14, 8))
    (schedule,) = schedules("ijk,jr,ks->irs", tensor, *factors)
    assert ".tile(" in schedule
    assert "accumulate" not in schedule


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("ij,jk->ik", (CSR, CSR)),
        ("ij,jk->ik", (CSR, DENSE)),
        ("ik,kj,ij->ij", (CSR, CSC, CSR)),
        ("ij,ij->j", (COO, CSR)),
        ("ij,kj->ki", (DCSR, DENSE.T)),
    ],
)
def test_the_cheapest_order_is_found_without_judging_all(text, operands):
    expression = einsum_expression(text, len(operands))
    problem, statistics = operands_problem(expression, operands)
    every = list(candidates(problem, statistics))
    best = min(every, key=lambda candidate: candidate.cost, default=None)
    assert best_candidate(problem, statistics) == best


def test_orders_that_cost_more_by_their_loops_alone_are_not_judged(monkeypatch):
    judged = []
    judge = scheduler_candidates.judge
    monkeypatch.setattr(
        scheduler_candidates,
        "judge",
        lambda order, *rest: judged.append(order) or judge(order, *rest),
    )
    expression = einsum_expression("ijk,jr,ks->irs", 3)
    coords = np.random.default_rng(0).integers(0, 300, (3, 4000))
    tensor = sp.from_coords(coords, np.ones(4000), (300,) * 3, "csf", duplicates="sum")
    operands = tensor, np.ones((300, 16)), np.ones((300, 16))
    problem, statistics = operands_problem(expression, operands)
    best_candidate(problem, statistics)
    # The levels allow 20 of 120 orders.
    assert 0 < len(judged) < 15


def test_a_list_workspace_is_never_far_longer_than_its_content():
    n = 10**9
    few = sp.from_coords(np.ones((2, 1), int), [1.0], (n, n), "dcsr")
    for step in plan("ij,jk->ik", few, few).steps:
        if isinstance(step, KernelStep):
            assert "where[list" not in print_statement(step.decision.statement)
    assert any("collect(hashed)" in step for step in schedules("ij,jk->ik", few, few))


@pytest.mark.parametrize("source", [CSR, CSC, DENSE, CSR.to_format("ell")])
def test_entries_are_placed_where_the_result_has_room_for_all(source):
    (step,) = plan("ij->ij", source, format="bitmap").steps
    assert step.decision.assemble.way is Assembly.PLACE


@pytest.mark.parametrize(
    ("source", "way"),
    [(CSR, Assembly.APPEND), (CSC, Assembly.SCATTER), (DENSE, Assembly.APPEND)],
)
def test_slots_are_filled_by_one_kernel(source, way):
    (step,) = plan("ij->ij", source, format="ell").steps
    assert step.decision.assemble.way is way


@pytest.mark.parametrize("source", [CSR, CSC, COO, DENSE])
@pytest.mark.parametrize("format", ["dia", "(i, j) -> (j: compressed, i: dense)"])
def test_diagonals_and_rows_are_blocks_of_the_whole_array(source, format):
    (step,) = plan("ij->ij", source, format=format).steps
    assert step.decision.assemble.way is Assembly.BLOCKS
    assert "parallelize" not in step.decision.schedule


def test_a_list_of_blocks_is_never_far_longer_than_its_content():
    few = sp.from_coords([[0, 10**12]], [1.0, 2.0], (10**12 + 1,), "csf")
    blocks = "(i) -> (i // 4: compressed, i % 4: dense)"
    assert any(isinstance(s, PackStep) for s in plan("i->i", few, format=blocks).steps)
    made = sp.einsum("i->i", few, format=blocks)
    assert made.nbytes < 1000
    coords, values = made.to_coords()
    assert dict(zip(coords[0], values, strict=True))[10**12] == 2


@pytest.mark.parametrize(("source", "loop"), [(CSR, "i"), (CSC, "j"), (COO, "i")])
def test_copies_without_zeros_get_slots_in_parts_of_rows(source, loop):
    made = operands_plan(
        einsum_expression("ij->ij", 1), [source], as_format("nm(2, 4)", 2), prune=True
    )
    (step,) = made.plan.steps
    assert f"parallelize({loop})" in step.decision.schedule
    assert step.decision.assemble.way is Assembly.SCATTER


def test_no_temporary_has_slots():
    """Along another dimension a single fibre may be as long as the array."""
    coo = entries(format="(i, j) -> (j: compressed(nonunique), i: singleton)")
    for operands in [("ij,jk->ik", CSC, CSC), ("ij->ij", coo)]:
        for step in plan(*operands, format="ell").steps[:-1]:
            made = (
                step.spec
                if isinstance(step, SortStep)
                else step.decision.problem.output
            )
            assert slotted_leaf(made.format) is None


def test_a_product_is_placed_as_it_is_computed():
    (step,) = plan("ij,jk->ik", CSR, CSR, format="bitmap").steps
    assert (
        step.decision.schedule
        == "reorder(i k j).accumulate().parallelize(i).assemble(place)"
    )


def test_a_gather_is_no_reason_to_transpose():
    tensor = sp.from_coords(
        np.random.default_rng(0).integers(0, 300, (3, 5000)),
        np.ones(5000),
        (300, 300, 300),
        "csf",
        duplicates="sum",
    )
    (step,) = plan("ijk,kr->ijr", tensor, np.ones((300, 16))).steps
    assert step.decision.schedule.startswith("reorder(i j k l)")


def test_sampled_products_inherit_the_mask():
    made = plan("ij,ik,jk->ij", CSR, DENSE, DENSE)
    (step,) = made.steps
    assert step.decision.assemble.way is Assembly.INHERIT
    assert step.decision.assemble.source == "A"
    assert "vectorize(k)" in step.decision.schedule
    assert any("pattern of A" in reason.why for reason in made.reasons)


def test_factors_leave_their_sum():
    (step,) = plan("C[i,j] = A[i,k] * B[j,k] * M[i,j]", DENSE, DENSE, CSR).steps
    assert "C[i,j] * w1" in sp.explain(
        "C[i,j] = A[i,k] * B[j,k] * M[i,j]", A=DENSE, B=DENSE, M=CSR
    )
    assert step.decision.loops[-1].iterations < 10 * 8 * N * 40


def test_sums_are_split_off_where_that_is_cheaper():
    product, total = plan("C[i,j] = A[i,k] * B[k,j] + D[i,j]", CSR, CSR, CSR).steps
    assert "reorder(i k j)" in product.decision.schedule
    assert total.operands == ("C", product.result)
    (fused,) = plan("y[i] = A[i,j] * x[j] + b[i]", CSR, VECTOR, VECTOR).steps
    assert fused.decision.schedule == "reorder(i j).parallelize(i).assemble(insert)"


def test_a_sum_that_is_a_number_is_computed_once():
    first, second = plan("C[i,j] = A[i,j] * sum(k, x[k])", CSR, VECTOR).steps
    assert first.decision.problem.output.format.ndim == 0
    assert second.decision.assemble.way is Assembly.INHERIT


def test_an_operand_is_converted_once():
    made = plan("C[i,j] = A[i,k] * B[k,j] + A[i,k] * D[k,j]", CSR, CSC, CSC)
    sources = [step.operands for step in made.steps if isinstance(step, KernelStep)]
    assert len([names for names in sources if names == ("B",)]) == 1


def test_conversions_end():
    for source in (CSR, CSC, COO, DCSR):
        for format in ("csr", "csc", "coo", "dcsr", "dcsc", "dense"):
            assert len(schedules("ij->ij", source, format=format)) <= 3
    assert schedules("ij->ij", CSR, format="csc") == [
        "reorder(i j).prefetch(j, 16).parallelize(i).assemble(scatter)"
    ]


def test_entries_out_of_order_are_sorted():
    array = sp.from_coords([[0], [1], [2]], [1.0], (3, 3, 3), "csf")
    steps = plan("ijk->kji", array, format="csf")
    assert [isinstance(step, SortStep) for step in steps.steps] == [False, True, False]
    assert any("no loop order" in reason.why for reason in steps.reasons)


def test_plans_are_deterministic():
    arguments = ("C[i,j] = A[i,k] * B[k,j] + D[i,j]", COO, CSC, DCSR)
    assert len({str(schedules(*arguments)) for _ in range(5)}) == 1
    assert len({str(plan(*arguments).reasons) for _ in range(5)}) == 1


def test_every_decision_has_a_reason():
    for text, operands in (
        ("ij,jk->ik", (CSR, DENSE)),
        ("ij,jk->ik", (CSR, CSC)),
        ("C[i,j] = A[i,k] * B[k,j] + D[i,j]", (CSR, CSR, CSR)),
    ):
        made = plan(text, *operands)
        for step in made.steps:
            if isinstance(step, KernelStep):
                told = {reason.what for reason in step.decision.reasons}
                assert all(
                    str(command) in told
                    for command in step.decision.commands
                    if not str(command).startswith("reorder")
                )
                assert any(what.startswith("loop order") for what in told)
                assert any(what.startswith("assemble by") for what in told)
        assert all(reason.why for reason in made.reasons)


def test_assumed_sizes_serve_where_there_are_no_operands():
    expression = einsum_expression("ij,jk->ik", 2)
    problem = operands_plan(expression, (CSR, DENSE)).plan.problem
    (kernel,) = compile_problem(problem, 32).kernels
    assert "tile(j, " in kernel.decision.schedule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(i, j) -> (i: dense, j: compressed)", True),
        ("(i, j) -> (i: compressed, j: dense)", False),
        ("(i, j) -> (i: dense, j: dense)", True),
        ("(i, j, k) -> (i: dense, j: compressed, k: dense)", False),
    ],
)
def test_what_a_result_may_be(text, expected):
    format = Format.parse(text)
    assert can_assemble(format) is expected
    expression = einsum_expression("ij,jk->ik", 2)
    spec = operands_plan(expression, (CSR, DENSE)).plan.problem.operands[0][1]
    other = reordered(type(spec)(format, "float64"), format.order[::-1]).format
    assert can_assemble(other)
    assert (other.levels == format.levels) is expected


def arranged(rows=8, columns=24):
    """A matrix of one entry in every 4 of a column, in groups of 2."""
    dense = np.kron(np.ones((rows // 4, columns // 4)), np.eye(4))
    return sp.array(dense, "nmg(1, 4, 2)")


def test_unordered_levels_are_walked_as_they_are_beside_dense_operands():
    a = arranged()
    assert schedules("ij,jk->ik", a, np.ones((24, 5))) == [
        "split(k, kq8 kr8).split(i, iq4 ir4).reorder(iq4 kq8 kr8 ir4 j)"
        ".accumulate().parallelize(iq4).assemble(insert, zeroed)"
    ]
    for text, others in (
        ("ij,j->i", [np.ones(24)]),
        ("ij,i->j", [np.ones(8)]),
        ("ij->", []),
        ("ij,ij->ij", [np.ones((8, 24))]),
        ("ij,ik,jk->ij", [np.ones((8, 3)), np.ones((24, 3))]),
        ("ij->ji", []),
    ):
        (schedule,) = schedules(text, a, *others)
        assert "sort" not in schedule


@pytest.mark.parametrize(
    "text",
    ["y[i,j] = A[i,j] + B[i,j]", "y[i,j] = A[i,j] * B[i,j]", "y[i,k] = A[i,j]*B[k,j]"],
)
def test_unordered_levels_are_sorted_where_they_meet_others(text):
    steps = schedules(text, arranged(), sp.array(np.eye(8, 24), "csr"))
    assert "sort" in steps


def test_a_result_in_order_is_not_made_of_coordinates_in_none():
    steps = schedules("ij->ij", arranged(), format="csr")
    assert steps[1] == "sort"
    assert schedules("ij->ij", arranged(), format="dense") == [
        "split(j, jq8 jr8).split(i, iq4 ir4).reorder(iq4 jq8 jr8 ir4)"
        ".parallelize(iq4).assemble(insert, zeroed)"
    ]


def test_hashed_operands_and_lists_are_sorted_still():
    hashed = sp.array(np.eye(4), "(i, j) -> (i: dense, j: hashed)")
    assert "sort" in schedules("ij,j->i", hashed, np.ones(4))
    loose = "(i, j) -> (i: compressed(nonunique, unordered), j: singleton(unordered))"
    assert "sort" in schedules("ij,j->i", entries(format=loose), VECTOR)


def test_an_unordered_unique_level_is_walked_in_a_product():
    loose = "(i, j) -> (i: dense, j: compressed(unordered))"
    made = sp.from_coords([[0, 0, 2], [3, 1, 2]], [1.0, 2.0, 4.0], (3, 4), "csr")
    levels = [{}, {"pos": made.levels[1]["pos"], "crd": np.array([3, 1, 2], "int32")}]
    turned = sp.from_buffers(loose, (3, 4), levels, np.array([2.0, 1.0, 4.0]))
    assert len(schedules("ij,jk->ik", turned, np.ones((4, 3)))) == 1
    assert np.array_equal(turned @ np.arange(4.0), turned.todense() @ np.arange(4.0))
    # The list workspace of a row is sorted, whatever came into it.
    other = entries(n=9, per_row=3, shape=(9, 9)).todense()[:, :3].copy()
    assert len(schedules("ij,jk->ik", sp.array(other), turned, format="csr")) == 1
    found = sp.array(other) @ turned
    assert np.array_equal(found.todense(), other @ turned.todense())
    assert "sort" in schedules("ij->ij", turned, format="csr")


def test_a_transposed_pattern_is_inherited():
    (schedule,) = schedules("ij->ji", CSR, format="csc")
    assert schedule.endswith("assemble(inherit from A)")


def test_a_sum_is_split_off_only_where_the_rest_needs_no_order():
    loose = "(i) -> (i: compressed(unordered))"
    levels = [{"pos": np.array([0, 2]), "crd": np.array([3, 1])}]
    p = sp.from_buffers(loose, (4,), levels, np.array([2.0, 5.0]))
    q = sp.from_coords([[0, 2]], [1.0, 3.0], (3,), "csf")
    found = sp.compute("Y[k] = P[k] * Q[j] - P[k]", P=p, Q=q, format="dense")
    assert np.array_equal(found, [0, 15, 0, 6])
    a, x, z = arranged(), np.arange(24.0), np.arange(8.0)
    found = sp.compute("y[i] = A[i,j] * x[j] + z[i]", A=a, x=x, z=z)
    assert np.array_equal(found, a.todense() @ x + z)


LOOSE = "(i) -> (i: compressed(unordered))"


def loose_vector(fill_value=0):
    levels = [{"pos": np.array([0, 2]), "crd": np.array([1, 0])}]
    return sp.from_buffers(LOOSE, (3,), levels, np.array([3.0, 5.0]), fill_value)


def test_a_workspace_in_order_does_not_meet_an_operand_in_none():
    p = sp.array(np.array([[1.0, 0], [0, 0], [0, 2]]), "csr")
    q = loose_vector()
    text = "Y[l] = P[k,l] * relu(Q[l])"
    found = sp.compute(text, P=sp.array(p.todense().T.copy(), "csr"), Q=q, format="csf")
    assert np.array_equal(found.todense(), p.todense().sum(1) * q.todense())
    assert found.to_coords()[0].tolist() == [[0]]


def test_what_is_not_stored_counts_where_it_is_no_zero():
    q = loose_vector(fill_value=2)
    ones = sp.array(np.ones((4, 3)), "csr")
    assert sp.compute("Y = Q[i]", Q=q) == 10
    assert np.array_equal(
        sp.compute("Y[i] = sum(j, Q[j])*R[i]", Q=q, R=np.ones(2)), [10, 10]
    )
    found = sp.compute("Y[i] = P[i,j] * Q[j]", P=ones, Q=q)
    assert np.array_equal(found, np.full(4, 10.0))


def test_an_expression_is_analysed_once_for_all_formats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a plan of many candidates asks of the expression's algebra is remembered."""
    asked: list[object] = []
    found = merge_lattice._points

    def counted(*given: Any) -> Any:
        asked.append(given)
        return found(*given)

    monkeypatch.setattr(merge_lattice, "_points", counted)
    A = sp.array(np.ones((30, 40, 50)), format="csf")
    U, V = np.ones((40, 7)), np.ones((50, 6))
    expression = einsum_expression("ijk,jl,km->ilm", 3)
    made = operands_plan(expression, [A, U, V], None)
    # Some three hundred pairs of a format and a loop are looked at.
    assert sum(len(one.options) for one in made.plan.weighed) > 10
    assert 0 < len(asked) < 40
