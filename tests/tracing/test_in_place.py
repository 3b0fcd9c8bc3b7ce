"""What traced code changes in place, returns late, asks for, and spells with dots."""

import collections
import dataclasses

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ExpressionError, ShapeError, TraceAttributeError, TraceError

X = np.arange(6.0).reshape(2, 3)


def computed_then_changed(x):
    h = x * 2
    alias = h
    h += x
    h *= 3
    h -= 1
    h /= 2
    return alias, h


def changed_by_product(x):
    h = x * 1
    h @= np.eye(3)
    return h


def of_a_number(x, rate):
    rate *= 2
    total = x.sum()
    before = total
    total += rate
    return x * rate, total, before


@pytest.mark.parametrize("function", [computed_then_changed, changed_by_product])
def test_what_the_code_computed_is_changed(function, interpreted):
    expected = function(X.copy())
    found = sp.fuse(function)(X)
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(one, other)


def test_numbers_are_never_changed(interpreted):
    made, total, before = sp.fuse(of_a_number)(X, 2.5)
    np.testing.assert_allclose(made, X * 5)
    assert (total, before) == (20, 15)


def argument(x):
    x += 1
    return x


def view_of_a_result(x):
    h = x * 2
    row = h[0]
    row += 1
    return h


def result_with_a_view(x):
    h = x * 2
    turned = h.T
    h += 1
    return turned


def wider(x):
    h = x * 2
    h += x[:, 0]
    return h


def other_dtype(x):
    h = x > 2
    h += 1.5
    return h


def attribute(x):
    x.note = 3
    return x


REFUSED = [
    (argument, r"\+= in argument \(.*: expected code that leaves its arguments"),
    (view_of_a_result, r"\+= in view_of_a_result .*without views"),
    (result_with_a_view, r"\+= in result_with_a_view .*without views"),
    (other_dtype, r"of shape \(2, 3\) and dtype bool, got \(2, 3\) and float64"),
    (attribute, r"\.note = in attribute"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED)
def test_a_change_that_others_would_see_is_refused(function, said, interpreted):
    given = X.copy()
    with pytest.raises(TraceError, match=said):
        sp.fuse(function)(given)
    np.testing.assert_array_equal(given, X)


def test_an_array_from_around_the_function_is_not_changed(interpreted):
    weights = np.ones(3)

    @sp.fuse
    def scaled(x):
        nonlocal weights
        weights *= x
        return weights

    with pytest.raises(TraceError, match=r"\*=|multiply"):
        scaled(X[0])
    np.testing.assert_array_equal(weights, np.ones(3))


def test_outside_of_traced_code_a_name_gets_another_array():
    made = other = sp.lazy(X)
    made += 1
    assert made is not other


def generated(x):
    yield x * 2


async def awaited(x):
    return x * 2


Pair = collections.namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Held:
    array: object


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (generated, "got a generator, whose code has not run"),
        (awaited, "got a coroutine, whose code has not run"),
        (lambda x: (y * 2 for y in [x]), "got a generator, whose code"),
        (lambda x: [map(abs, [x])], "got a map, whose code"),
        (lambda x: Pair(x, x * 2), "got a Pair with an array that is not computed"),
        (lambda x: Held(x * 2), "got a Held with an array that is not computed"),
    ],
)
def test_results_that_are_not_computed_are_refused(function, said, interpreted):
    with pytest.raises(TraceError, match=said):
        sp.fuse(function)(X)


def test_attributes_that_arrays_do_not_have(interpreted):
    with pytest.raises(
        TraceAttributeError, match=r"\.cumsum in .*can be traced"
    ) as one:
        sp.fuse(lambda x: x.cumsum())(X)
    assert isinstance(one.value, AttributeError)
    assert isinstance(one.value, TraceError)
    made = sp.fuse(lambda x: x * 2 if hasattr(x, "cumsum") else x * 3)(X)
    np.testing.assert_array_equal(made, X * 3)


STACK = np.arange(12.0).reshape(2, 2, 3)


@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("...i->...", [X]),
        ("...", [X]),
        ("i...,i...->...", [X, X]),
        ("...ij,...kj->...ik", [STACK, STACK]),
        ("...ij,kj->...ik", [STACK, X]),
        ("...ij,...j", [STACK, X]),
        ("...j,...j->...", [STACK[:, :1], X]),
        ("j...,...k->jk...", [X[0], X]),
        ("a...,a->...", [X, X[:, 0]]),
    ],
)
def test_dots_in_traced_einsums(subscripts, operands, interpreted):
    expected = np.einsum(subscripts, *operands)
    for function in (sp.einsum, np.einsum):
        made = sp.fuse(lambda *xs, f=function: f(subscripts, *xs))(*operands)
        np.testing.assert_allclose(made, expected)


def test_dots_that_are_refused(interpreted):
    with pytest.raises(ShapeError, match=r"3 dimensions or more for 'ijk"):
        sp.fuse(lambda x: sp.einsum("ijk...->i", x))(X)
    with pytest.raises(ExpressionError, match="in the output as well, got 'i'"):
        sp.fuse(lambda x: sp.einsum("i...->i", x))(X)
    with pytest.raises(ExpressionError, match="expected 2 operands, got 1"):
        sp.fuse(lambda x: sp.einsum("i...,i->...", x))(X)
