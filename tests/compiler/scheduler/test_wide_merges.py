"""Expressions in which many operands meet are computed a few at a time."""

import numpy as np
import pytest

import sparray as sp
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.planning import operands_plan

RNG = np.random.default_rng(0)


def many(n, shape=(9, 8), format="csr", density=0.3):
    made = {}
    for number in range(n):
        dense = RNG.integers(1, 5, shape) * (RNG.random(shape) < density)
        made[f"T{number}"] = sp.array(dense.astype(float), format=format)
    return made


def dense(arrays):
    return [array.todense() for array in arrays.values()]


def joined(arrays, operator, indices="i,j"):
    return f" {operator} ".join(f"{name}[{indices}]" for name in arrays)


def kernels(text, arrays):
    expression = assignment_expression(text)
    plan = operands_plan(expression, [arrays[name] for name in expression.tensors])
    return [kernel for kernel in plan.kernels if kernel is not None]


def values(result):
    return result.todense() if isinstance(result, sp.SparseArray) else result


@pytest.mark.parametrize("format", ["csr", "coo", "dcsr", "csc"])
def test_sums_of_many_terms(format):
    terms = many(20, format=format)
    result = sp.compute(f"Y[i,j] = {joined(terms, '+')}", **terms)
    np.testing.assert_array_equal(result.todense(), np.sum(dense(terms), axis=0))
    assert result.nnz == np.any(dense(terms), axis=0).sum()


def test_three_meet_in_one_kernel_and_the_fourth_in_another():
    terms = many(4)
    (whole,) = kernels(f"Y[i,j] = {joined(dict(list(terms.items())[:3]), '+')}", terms)
    parts = kernels(f"Y[i,j] = {joined(terms, '+')}", terms)
    assert len(parts) == 2
    # From the left, so that rounding is that of the expression as it is written.
    assert str(parts[0].decision.problem.assignment) == str(
        whole.decision.problem.assignment
    )


def test_parts_of_one_kind_have_one_kernel():
    terms = many(13)
    found = kernels(f"Y[i,j] = {joined(terms, '+')}", terms)
    assert len(found) == 6
    assert len({kernel.decision.problem.describe() for kernel in found[1:-1]}) == 1


def test_products_sums_of_products_and_reductions():
    terms = many(20, (8, 8), density=0.9)
    arrays = dense(terms)
    product = sp.compute(f"Y[i,j] = {joined(terms, '*')}", **terms)
    np.testing.assert_allclose(values(product), np.prod(arrays, axis=0))
    total = sp.compute(f"s = {joined(terms, '+')}", **terms)
    np.testing.assert_allclose(total, np.sum(arrays))
    pairs = [(f"T{n}", f"T{n + 1}") for n in range(0, 20, 2)]
    text = " + ".join(f"{a}[i,j] * {b}[j,k]" for a, b in pairs)
    result = sp.compute(f"Y[i,k] = {text}", **terms)
    expected = sum(a @ b for a, b in zip(arrays[::2], arrays[1::2], strict=True))
    np.testing.assert_allclose(values(result), expected)
    square = sp.compute(f"s = sum(i, sum(j, ({joined(terms, '+')})**2))", **terms)
    np.testing.assert_allclose(square, (sum(arrays) ** 2).sum())


def test_dense_terms_among_sparse_ones_and_differences():
    terms = many(12)
    for name in ("T1", "T5"):
        terms[name] = terms[name].todense()
    arrays = [values(term) for term in terms.values()]
    result = sp.compute(f"Y[i,j] = {joined(terms, '-')}", **terms)
    np.testing.assert_array_equal(values(result), arrays[0] - sum(arrays[1:]))


def test_what_is_first_is_explained():
    terms = many(5)
    text = sp.explain(f"Y[i,j] = {joined(terms, '+')}", **terms)
    assert "too many operands would meet in one loop" in text


def test_a_hundred_terms_are_planned_in_reasonable_time():
    terms = many(90, (30,), "coo")
    result = sp.compute(f"y[i] = {joined(terms, '+', 'i')}", **terms)
    np.testing.assert_array_equal(result.todense(), np.sum(dense(terms), axis=0))
