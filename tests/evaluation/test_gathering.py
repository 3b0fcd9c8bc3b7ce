"""Repeated coordinates of lists: a hash table gives what a sort gives."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from oracle_check import Question, check_stages, ways_of

import sparray as sp
from sparray.compiler.kernel_facts.gather_spec import GatherSpec
from sparray.compiler.scheduler.merging import gather_cost, sort_cost
from sparray.compiler.scheduler.options import options
from sparray.compiler.scheduler.steps import GatherStep, SortStep
from sparray.convert import compiled
from sparray.evaluation import gathering, list_kernels, planning
from sparray.evaluation.expression import einsum_expression
from sparray.formats import Format, as_format
from sparray.formats.repetition import distinct_coordinates, repetition

LOOSE = (
    "(i, j) -> (i: compressed(nonunique, unordered), "
    "j: singleton(nonunique, unordered))"
)


def repeated(n, distinct, n_levels=2, extent=2**31 - 1, dtype="float64", seed=0):
    """Coordinates of which few differ, as rows, with a value each."""
    rng = np.random.default_rng(seed)
    known = rng.integers(0, extent, (n_levels, distinct))
    values = rng.integers(0, 3, n).astype(dtype)
    return known[:, rng.integers(0, distinct, n)], values


def first_come(coords, values, summed):
    """Each coordinate in the order in which it came first, with its sum."""
    _, first, number = np.unique(coords, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)[number.reshape(-1)]
    total = np.zeros(len(first), summed)
    (np.logical_or if summed == np.bool_ else np.add).at(total, rank, values)
    return coords[:, first[order]], total


def check(coords, values, index_dtype="int32", made="int64"):
    given = [row.astype(index_dtype) for row in coords]
    spec = GatherSpec(len(given), index_dtype, made, values.dtype.name)
    found, sums = gathering.GatherCall(given, values, spec).run()
    summed = np.float32 if values.dtype == np.float16 else values.dtype
    expected, total = first_come(coords, values, summed)
    assert all(row.dtype == made for row in found)
    np.testing.assert_array_equal(np.array(found), expected)
    np.testing.assert_array_equal(sums, total)
    assert sums.dtype == summed


@pytest.fixture
def interpreted():
    """No kernel is compiled, and tables begin small enough to grow."""
    with (
        mock.patch.object(list_kernels, "load_kernel", lambda key, make: None),
        mock.patch.object(gathering, "_FIRST_ROOM", 2),
    ):
        yield


@pytest.mark.parametrize("n_levels", [1, 2, 4])
@pytest.mark.parametrize("extent", [1, 5, 2**31 - 1])
def test_tables_grow_with_what_differs(n_levels, extent, interpreted):
    check(*repeated(200, 60, n_levels, extent))
    check(*repeated(1, 1, n_levels, extent))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"]
)
def test_every_dtype(dtype, interpreted):
    check(*repeated(150, 12, dtype=dtype), "int64", "int32")


def test_values_are_added_in_the_order_in_which_they_come(interpreted):
    values = np.array([1e16, 1.0, -1e16, 1.0])
    spec = GatherSpec(1, "int32", "int32", "float64")
    call = gathering.GatherCall([np.zeros(4, np.int32)], values, spec)
    assert call.run()[1].tolist() == [((1e16 + 1.0) - 1e16) + 1.0]


def test_kernels_agree():
    for distinct in (3, 5000, 40_000):
        check(*repeated(50_000, distinct))


def loose(coords, values, shape):
    levels = [{"crd": row.astype(np.int32)} for row in coords]
    levels[0]["pos"] = np.array([0, len(values)], np.int32)
    return sp.from_buffers(LOOSE, shape, levels, values)


def steps(operand, merging=""):
    expression = compiled._copy(2)
    csr = as_format("csr", 2)
    return planning.operands_plan(expression, [operand], csr, merging=merging).plan


def kinds(plan):
    return [type(step) for step in plan.steps]


def test_the_cost_model_takes_a_table_where_few_coordinates_differ():
    shape = (10**6, 10**6)
    few = loose(*repeated(60_000, 50, extent=10**6), shape)
    many = loose(*repeated(60_000, 10**6, extent=10**6), shape)
    assert GatherStep in kinds(steps(few))
    assert GatherStep not in kinds(steps(many))
    assert SortStep in kinds(steps(many))
    (reason,) = (r for r in steps(few).reasons if "hash table" in r.what)
    assert "entries' coordinates differ" in reason.why
    text = str(sp.explain("ij->ij", few, format="csr"))
    assert "add up the repeated coordinates of A in a hash table" in text


def test_extents_tell_that_coordinates_are_repeated():
    # Too few entries for a sample.
    given = loose(*repeated(4000, 9, extent=3), (3, 3))
    assert GatherStep in kinds(steps(given))


def test_either_way_can_be_asked_for():
    few = loose(*repeated(5000, 50, extent=100), (100, 100))
    assert GatherStep in kinds(steps(few, "hash"))
    assert GatherStep not in kinds(steps(few, "sort"))
    many = loose(*repeated(100, 100, extent=10**6), (10**6, 10**6))
    assert GatherStep in kinds(steps(many, "hash"))


@pytest.mark.parametrize("text", ["ij->ij", "ij,j->i", "ij->j", "ij,jk->ik"])
def test_expressions_of_repeated_coordinates(text):
    given = loose(*repeated(300, 7, extent=6), (6, 6))
    others = {
        "ij,j->i": (np.arange(6.0),),
        "ij,jk->ik": (np.arange(12.0).reshape(6, 2),),
    }
    format = as_format("csr", 2) if text == "ij->ij" else None
    check_stages(Question(text, (given, *others.get(text, ())), format))


def test_a_result_that_keeps_repetitions_keeps_them():
    given = loose(*repeated(300, 7, extent=6), (6, 6))
    expression = compiled._copy(2)
    plan = planning.operands_plan(expression, [given], Format.parse(LOOSE)).plan
    assert GatherStep not in kinds(plan)


def test_costs_grow_with_what_differs():
    costs = [gather_cost(10**6, d) for d in (10, 10**4, 10**5, 10**6)]
    assert costs == sorted(costs)
    assert costs[0] < sort_cost(10**6) < costs[-1]


@pytest.mark.parametrize("distinct", [1, 100, 10_000])
def test_a_sample_tells_how_many_coordinates_differ(distinct):
    n = 200_000
    coords, _ = repeated(n, distinct)
    format = Format.parse(LOOSE)
    levels = ({"pos": np.array([0, n]), "crd": coords[0]}, {"crd": coords[1]})
    found = distinct_coordinates(format, levels, n)
    assert distinct / 2 <= found <= 2 * distinct
    assert abs(repetition(format, levels, n) - np.log2(n / distinct) / 2) <= 1
    assert distinct_coordinates(as_format("csr", 2), levels, n) is None


def test_a_sample_without_pairs_says_that_nothing_is_repeated():
    coords = np.random.default_rng(0).integers(0, 2**31 - 1, (2, 100_000))
    format = Format.parse(LOOSE)
    levels = ({"pos": np.array([0, 10**5]), "crd": coords[0]}, {"crd": coords[1]})
    assert distinct_coordinates(format, levels, 10**5) == 10**5
    assert repetition(format, levels, 10**5) == 0


def test_both_ways_make_the_same_array():
    coords, values = repeated(40_000, 300, extent=2000)
    shape, csr = (2000, 2000), as_format("csr", 2)
    made = [
        compiled.assign_entries(
            coords, values, shape, csr, zero_fill=True, merging=merging
        )
        for merging in ("sort", "hash")
    ]
    for first, second in zip(*(one._levels for one in made), strict=True):
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[role], second[role]) for role in first)
    assert np.array_equal(made[0].values, made[1].values)
    expected = np.zeros(shape)
    np.add.at(expected, tuple(coords), values)
    assert np.array_equal(
        sp.from_buffers("csr", shape, made[1]._levels, made[1].values).todense(),
        expected,
    )


def test_a_plan_names_the_kernels_of_tables_and_sorts():
    few = loose(*repeated(5000, 50, extent=100), (100, 100))
    expression, csr = compiled._copy(2), as_format("csr", 2)
    plan = planning.operands_plan(expression, [few], csr, merging="hash")
    found = list(plan.all_kernels)
    assert any(isinstance(kernel, GatherSpec) for kernel in found)
    assert len({kernel.key for kernel in found}) == len(found)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
def test_numpy_adds_up_short_lists(dtype):
    coords, values = repeated(100, 7, dtype=dtype)
    plan = steps(loose(coords % 50, values, (50, 50)), "hash")
    (step,) = (step for step in plan.steps if isinstance(step, GatherStep))
    listed = loose(coords % 50, values, (50, 50))
    with mock.patch.object(list_kernels, "load_kernel", None):
        found = gathering.gather_list(listed, step)
    table = np.array([level["crd"] for level in found._levels])
    wide = np.float32 if dtype == "float16" else values.dtype
    expected, sums = first_come(coords % 50, values, wide)
    order = np.lexsort(expected[::-1])
    np.testing.assert_array_equal(table, expected[:, order])
    np.testing.assert_array_equal(found.values, sums[order].astype(values.dtype))


def product(merging):
    """Options to multiply matrices whose products meet at few coordinates."""
    left = sp.array(np.ones((3, 400)), "csc")
    right = sp.array(np.ones((400, 2)), "csr")
    expression = einsum_expression("ij,jk->ik", (left, right))
    csr = as_format("dcsr", 2)
    problem, statistics = planning.operands_problem(expression, (left, right), csr)
    return tuple(options(problem, replace(statistics, merging=merging)))


def test_products_meet_in_a_table_where_few_coordinates_differ():
    chosen, table, sort = (
        min((option for option in product(merging) if option.sort), key=cost_of)
        for merging in ("", "hash", "sort")
    )
    assert table.table and not sort.table
    assert table.cost < sort.cost
    # Statistics say what was asked for, and how much memory there is at the moment.
    assert replace(chosen, statistics=table.statistics) == table


def cost_of(option):
    return option.cost


def test_products_in_a_table_are_right():
    rng = np.random.default_rng(0)
    left, right = (rng.integers(0, 3, shape) for shape in ((6, 30), (30, 5)))
    operands = sp.array(left, "csc"), sp.array(right, "csr")
    question = Question("ij,jk->ik", operands, as_format("dcsr", 2))
    found = [way for way in ways_of(question) if "in a table" in str(way)]
    assert found
    for way in found[:3]:
        check_stages(question, way=way)
