"""The operations that sparray is used for most, format by format.

The whole table runs in the loop IR interpreter, in several chunks each; the part that
every installation compiles runs compiled as well, at the sizes around each tile.
"""

import math

import numpy as np
import pytest
from oracle_check import (
    Question,
    check_dispatch,
    check_result,
    check_stages,
    densify,
    interpreted,
)
from oracle_problems import widened

import sparray as sp
from sparray import dispatch
from sparray.compiler.index_notation.printer import print_assignment
from sparray.dispatch import evaluate, evaluate_expression, try_compiled
from sparray.errors import (
    DTypeError,
    ExpressionError,
    ShapeError,
    UnsupportedError,
)
from sparray.evaluation.expression import assignment_expression
from sparray.formats import Format, named_format
from sparray.formats.packing import check_buffers

MATRICES = ("csr", "csc", "coo", "dcsr", "dcsc", "dense")
TENSORS = ("csf", "coo", "csr", "(i,j,k)->(k:dense,j:compressed,i:compressed)")


def sparse(shape, format="csr", dtype="float64", density=0.3, seed=0):
    """An array whose first and last slices are empty, of small numbers."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) * (rng.random(shape) < density)
    if len(shape) and shape[0] > 2:
        values[0] = values[-1] = 0
    return sp.array(values.astype(dtype), format=format)


def dense(shape, dtype="float64", seed=1):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def given(shape, format, seed=0):
    made = sparse(shape, format, seed=seed)
    return made.todense() if format == "dense" else made


# Every format with every format, interpreted.


@pytest.mark.parametrize("left", MATRICES)
@pytest.mark.parametrize("right", MATRICES)
@pytest.mark.parametrize("symbol", "+-*")
def test_elementwise(left, right, symbol):
    a, b = given((5, 4), left, 0), given((5, 4), right, 2)
    check_stages(Question(f"C[i,j] = A[i,j] {symbol} B[i,j]", (a, b)))


@pytest.mark.parametrize("left", MATRICES)
@pytest.mark.parametrize("right", MATRICES)
@pytest.mark.parametrize("result", [None, "csr", "csc", "coo"])
def test_matrix_products(left, right, result):
    a, b = given((5, 4), left, 0), given((4, 6), right, 2)
    format = None if result is None else named_format(result, 2)
    check_stages(Question("ij,jk->ik", (a, b), format))


@pytest.mark.parametrize("mask", MATRICES)
@pytest.mark.parametrize("factor", ["dense", "csr", "csc"])
def test_sampled_products(mask, factor):
    m, a, b = given((5, 4), mask), given((5, 3), factor, 2), given((4, 3), factor, 3)
    check_stages(Question("ij,ik,jk->ij", (m, a, b)))
    check_stages(Question("C[i,j] = A[i,k] * B[j,k] * M[i,j]", (a, b, m)))


@pytest.mark.parametrize("format", TENSORS)
@pytest.mark.parametrize(
    "subscripts",
    [
        "ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr",
        "ijk,k->ij", "ijk,j->ik", "ijk,i->jk",
    ],
)  # fmt: skip
def test_tensor_products(format, subscripts):
    extents = {"i": 4, "j": 3, "k": 5, "r": 2}
    tensor, *others = subscripts.partition("->")[0].split(",")
    operands = [sparse([extents[c] for c in tensor], format)]
    operands += [dense([extents[c] for c in term]) for term in others]
    check_stages(Question(subscripts, tuple(operands)))


@pytest.mark.parametrize("format", TENSORS)
@pytest.mark.parametrize("kept", ["", "i", "j", "k", "ij", "ki", "kj", "ijk", "kji"])
def test_sums_over_any_axes(format, kept):
    check_stages(Question(f"ijk->{kept}", (sparse((4, 3, 5), format),)))


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("y[i] = A[i,j] * x[j] + b[i]", ["csr", "dense", "dense"]),
        ("y[i] = A[i,j] * x[j] + b[i]", ["coo", "csf", "csf"]),
        ("C[i,j] = A[i,k] * B[k,j] + D[i,j]", ["csr", "csr", "csr"]),
        ("C[i,j] = A[i,k] * B[k,j] + D[i,j]", ["csc", "csr", "coo"]),
        ("C[i,j] = A[i,j] + B[i,j] + D[i,j]", ["csr", "coo", "dcsr"]),
        ("C[i,j] = A[i,j] * B[i,j] + D[i,j]", ["csr", "dense", "csr"]),
        ("C[i,j] = A[i,j] * (B[i,j] + D[i,j])", ["csr", "coo", "dcsc"]),
        ("C[i,j] = 2 * A[i,k] * B[k,j] - D[i,j]", ["csr", "csr", "csc"]),
        ("C[i,j] = -A[i,j] + 0.5 * B[j,i]", ["csr", "csr"]),
        ("C[i,j] = x[i] * A[i,j] * y[j]", ["dense", "csr", "dense"]),
        ("C[i,j] = A[i,k] * B[k,l] * D[l,j]", ["csr", "csr", "csr"]),
        ("c = A[i,j] * B[j,i]", ["csr", "csr"]),
    ],
)
def test_fused_expressions(text, formats):
    expression = assignment_expression(text)
    shapes = {}
    for access, number in expression.axes:
        shapes[number] = (4,) * len(access.indices)
    operands = [given(shapes[n], format, n) for n, format in enumerate(formats)]
    check_stages(Question(text, tuple(operands)))


def formats_of(ndim):
    names = {1: ("csf", "coo", "dense"), 2: MATRICES, 3: ("csf", "coo", "csr", "dense")}
    return [named_format(name, ndim) for name in names[ndim]]


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_conversions(ndim, prune):
    shape = (5, 4, 3)[:ndim]
    letters = ",".join("ijk"[:ndim])
    expression = assignment_expression(f"C[{letters}] = A[{letters}]")
    for source in formats_of(ndim):
        array = sparse(shape).to_format(source) if ndim == 2 else sparse(shape, source)
        for wanted in formats_of(ndim):
            with interpreted():
                made = evaluate_expression(expression, [array], wanted, prune=prune)
            assert made.format == wanted
            np.testing.assert_array_equal(densify(made), array.todense())
            if prune and not wanted.is_dense:
                assert len(made.values) == np.count_nonzero(made.values) == array.nnz


# What every installation compiles.

TILE_EDGES = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 130]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_csr_times_dense_around_each_tile(dtype):
    a = sparse((40, 30), "csr", dtype)
    for columns in TILE_EDGES:
        b = dense((30, columns), dtype, columns)
        found = evaluate("ij,jk->ik", a, b).as_ndarray()
        np.testing.assert_array_equal(found, a.todense() @ b)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_operations(dtype, wide):
    a, b = sparse((30, 20), "csr", dtype), sparse((20, 25), "csr", dtype, seed=3)
    c = sparse((30, 20), "csr", dtype, seed=4)
    if wide:
        a, b, c = widened(a), widened(b), widened(c)
    check_dispatch(Question("ij,j->i", (a, dense(20, dtype))))
    check_dispatch(Question("ij,jk->ik", (a, b)))
    u, v = dense((30, 9), dtype), dense((20, 9), dtype)
    check_dispatch(Question("ij,ik,jk->ij", (a, u, v)))
    check_dispatch(Question("C[i,j] = A[i,j] + B[i,j]", (a, c)))
    check_dispatch(Question("C[i,j] = A[i,j] * B[i,j]", (a, c)))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_absent_entry_times_anything_is_absent(value):
    a = sp.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    x = np.array([1.0, value, 2.0])
    y = evaluate("ij,j->i", a, x).values
    assert y[:2].tolist() == [5.0, 0.0]
    np.testing.assert_equal(y[2], 3.0 * value)
    b = np.column_stack([x] * 20)
    found = evaluate("ij,jk->ik", a, b).as_ndarray()
    np.testing.assert_equal(found, np.repeat([[5.0], [0.0], [3.0 * value]], 20, 1))


def test_a_stored_zero_times_nan_is_nan():
    a = sp.from_coords([[0, 1], [0, 1]], [0.0, 1.0], (2, 2), "csr")
    assert np.isnan(evaluate("ij,j->i", a, np.array([math.nan, 1.0])).values[0])


def test_entries_that_cancel_stay_stored():
    a = sp.array([[1.0, 1.0], [0.0, 2.0]])
    b = sp.array([[1.0, 0.0], [-1.0, 0.0]])
    made = evaluate("ij,jk->ik", a, b)
    assert len(made.values) == 2
    assert densify(made).tolist() == [[0.0, 0.0], [-2.0, 0.0]]


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1][::-1],
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: (
            np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:]
            .view(x.dtype)
            .reshape(x.shape)
        ),
    ],
)
def test_any_layout_of_a_dense_operand(layout):
    a, b = sparse((6, 5)), layout(dense((5, 7)))
    b.flags.writeable = False
    found = evaluate("ij,jk->ik", a, b).as_ndarray()
    np.testing.assert_array_equal(found, a.todense() @ b)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("format", MATRICES)
def test_extents_of_zero_and_one(shape, format):
    a = given(shape, format)
    _rows, columns = shape
    check_stages(Question("ij,jk->ik", (a, dense((columns, 2)))))
    check_stages(Question("ij,kj->ik", (a, sparse((2, columns), "csr"))))
    check_stages(Question("C[i,j] = A[i,j] + B[i,j]", (a, sparse(shape, "coo"))))
    check_stages(Question("ij->", (a,)))
    check_stages(Question("ij->j", (a,)))


def test_a_tensor_that_occurs_twice():
    a = sparse((5, 5))
    for text in (
        "C[i,j] = A[i,j] * A[i,j]",
        "C[i,j] = A[i,j] + A[j,i]",
        "C[i,k] = A[i,j] * A[j,k]",
        "C[i,j] = A[i,j] * (1 + A[i,j])",
    ):
        check_stages(Question(text, (a,)))


def test_inheriting_shares_the_pattern():
    a = sparse((6, 5))
    made = evaluate_expression(assignment_expression("C[i,j] = 2 * A[i,j]"), [a])
    assert made._levels is a._levels
    assert made.values is not a.values


@pytest.mark.parametrize("format", ["csr", "coo", "dense"])
def test_diagonals(format):
    a = sparse((4, 4), format)
    assert evaluate("ii->", a).values[0] == np.trace(a.todense())
    found = densify(evaluate("ii,ij->ij", a, a))
    assert np.array_equal(found, np.diag(a.todense())[:, None] * a.todense())


@pytest.mark.parametrize(
    "text",
    [
        "(i, j) -> (i: compressed, j: dense)",
        "bcsr(2, 2)",
        "dia",
        "ell",
        "bitmap",
        "(i, j) -> (i: dense, j: hashed)",
    ],
)
def test_a_result_whose_levels_no_kernel_assembles(text):
    format = Format.parse(text, 2)
    a, b = sparse((5, 7)), sparse((7, 5))
    result = evaluate("ij,jk->ik", a, b, format=format)
    assert result.format == format
    check_buffers(format, result.shape, result._levels, result.values)
    assert np.allclose(densify(result), a.todense() @ b.todense())


# Refusals.


def test_shapes_that_do_not_fit():
    a = sparse((3, 4))
    with pytest.raises(ShapeError, match=r"4 in axis 1.*5 in axis 0.*\n  ij,jk->ik"):
        evaluate("ij,jk->ik", a, dense((5, 2)))
    with pytest.raises(ExpressionError, match="expected 1 dimensions for A"):
        evaluate("i->", a)
    with pytest.raises(ExpressionError, match="expected 2 operands, got 1"):
        evaluate("ij,jk->ik", a)


def test_dtypes_that_kernels_do_not_have():
    with pytest.raises(DTypeError, match=r"bfloat16.*got \w+ in A"):
        evaluate("i->", np.ones(3, "longdouble"))
    with pytest.raises(DTypeError, match="subtract"):
        text = "C[i] = A[i] - B[i]"
        flags = np.ones(3, bool)
        evaluate_expression(assignment_expression(text), [flags, flags])


def test_a_fill_value_other_than_zero():
    dense = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 5.0]])
    a = sp.array(dense, "csr", fill_value=1.0)
    assert evaluate("ij->", a).values == dense.sum()
    transposed = evaluate("ij->ji", a)
    assert transposed.fill_value == 1 and len(transposed.values) == 2


def test_a_format_of_other_dimensions():
    with pytest.raises(ExpressionError, match="a format of 1 dimensions"):
        evaluate("ij->i", sparse((2, 2)), format=named_format("csr", 2))


@pytest.mark.parametrize(
    "text",
    [
        "C[i] = A[i]; import os",
        "C[i] = A[i]\nimport os",
        "C[__import__('os')] = A[i]",
        "C[i] = A[i] # comment",
        "C[i] = Ä[i]",
    ],
)
def test_text_that_is_no_expression(text):
    with pytest.raises(ExpressionError):
        assignment_expression(text)


def test_a_users_names_reach_no_kernel():
    plain = assignment_expression("C[i] = A[i] * B[i]")
    other = assignment_expression("cdef[nogil] = class_[nogil] * import_[nogil]")
    assert plain.assignment == other.assignment
    assert print_assignment(other.assignment) == "out[i] = A[i] * B[i]"


# Sizes.


def test_huge_extents_take_no_memory():
    n = 10**9
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, n, (2, 50))
    a = sp.from_coords([rows, columns], np.arange(1.0, 51), (n, n), "dcsr")
    b = sp.from_coords([columns, rows], np.ones(50), (n, n), "coo")
    with interpreted():
        product = evaluate("ij,jk->ik", a, b)
        total = evaluate_expression(
            assignment_expression("C[i,j] = A[i,j] + B[i,j]"), [a, b]
        )
    assert product.values.sum() == np.arange(1.0, 51).sum()
    assert len(total.values) == 100


def test_a_plan_for_small_extents_is_not_used_for_huge_ones():
    small, huge = (
        sp.from_coords([[1, 3], [2, 1]], [1.0, 2.0], (n, n), "dcsr")
        for n in (10, 10**9)
    )
    with interpreted():
        evaluate("ij,jk->ik", small, small)
        made = evaluate("ij,jk->ik", huge, huge)
        calls = len(dispatch._calls)
    assert calls == 2
    assert made.shape == (10**9, 10**9)


@pytest.mark.parametrize("ndim", [8, 12, 20])
def test_many_dimensions(ndim):
    rng = np.random.default_rng(0)
    a = sp.from_coords(rng.integers(0, 2, (ndim, 9)), np.ones(9), (2,) * ndim, "coo")
    indices = [f"i{n}" for n in range(ndim)]
    there, back = ",".join(indices), ",".join(reversed(indices))
    with interpreted():
        for text, format in (
            (f"C[{there}] = A[{there}]", "csf"),
            (f"C[{back}] = A[{there}]", "csf"),
            (f"C[{there}] = A[{there}] + A[{there}]", "coo"),
        ):
            wanted = named_format(format, ndim)
            made = evaluate_expression(assignment_expression(text), [a], wanted)
            assert made.values.sum() in (9.0, 18.0)


def test_64_dimensions_are_right_or_refused(monkeypatch):
    shape = (2,) * 64
    a = sp.from_coords(np.ones((64, 1), int), [3.0], shape, "coo")
    b = a.copy()
    indices = ",".join(f"i{n}" for n in range(64))
    with interpreted():
        scaled = assignment_expression(f"C[{indices}] = 2 * A[{indices}]")
        assert evaluate_expression(scaled, [a]).values.tolist() == [6.0]
        total = assignment_expression(f"C = A[{indices}]")
        assert evaluate_expression(total, [a]).values.tolist() == [3.0]
        text = f"C[{indices}] = A[{indices}] + B[{indices}]"
        made = evaluate_expression(assignment_expression(text), [a, b])
        assert made.values.tolist() == [6.0]
    monkeypatch.setattr(dispatch, "joined_runner", lambda *given: None)
    with interpreted(), pytest.raises(UnsupportedError, match="at most 32 indices"):
        evaluate_expression(assignment_expression(text), [a, b])


# The road of a call.


def test_a_warm_call_plans_nothing(monkeypatch):
    a, x = sparse((6, 5)), dense(5)
    first = evaluate("ij,j->i", a, x)
    monkeypatch.setattr(dispatch, "_prepare", None)
    again = evaluate("ij,j->i", sparse((6, 5), seed=7), x)
    assert again.shape == first.shape


def test_try_compiled_says_where_nothing_compiles():
    expression = assignment_expression("C[i,j] = A[i,j]")
    a, csc = sparse((6, 5)), named_format("csc", 2)
    with interpreted():
        assert try_compiled(expression, [a], csc) is None
    made = try_compiled(expression, [a], csc)
    assert made is not None
    check_result(Question("C[i,j] = A[i,j]", (a,), csc), made)


# Other reductions, and sums inside of sums.


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize(
    "text",
    [
        "y = max(j, x[j])",
        "y = min(j, -x[j])",
        "y = prod(j, x[j])",
        "y[i] = max(j, B[i,j])",
        "y[j] = min(i, B[i,j])",
        "y[j] = 2 * prod(i, B[i,j])",
        "y[j] = all(i, B[i,j])",
        "y[i,j] = S[i,j] * max(k, B[i,k])",
        "y[i,j] = max(k, S[i,j] * B[i,k])",
        "y[i] = min(j, z[j]) + x[i]",
        "y[i] = prod(j, z[j]) * x[i]",
        "y[j] = prod(i, z[i] * x[j])",
    ],
)
def test_reductions_start_from_their_identity(text, dtype):
    known = {
        "x": np.array([-3, -2, -5]),
        "B": -1 - np.arange(9).reshape(3, 3),
        "S": sparse((3, 3), seed=6),
        "z": np.zeros(0),
    }
    tensors = assignment_expression(text).tensors
    operands = tuple(known[name].astype(dtype) for name in tensors)
    check_stages(Question(text, operands))


def test_a_reduction_to_which_absent_entries_count():
    for word in ("min", "max", "prod", "any", "all"):
        for text in (f"y[i] = {word}(j, A[i,j])", f"y[j] = {word}(i, A[i,j])"):
            check_stages(Question(text, (sparse((3, 4)),)))


@pytest.mark.parametrize("format", ["csr", "coo", "dense"])
@pytest.mark.parametrize(
    "text",
    [
        "y = sum(i, x[i] * abs(sum(j, A[i,j])))",
        "y = sum(i, x[i] * sum(j, A[i,j]))",
        "y[i] = sum(j, A[i,j] * sum(k, A[k,j]))",
        "y[i] = sum(j, A[i,j] * sum(k, A[k,j] * sum(l, A[k,l])))",
        "y[i,j] = A[i,j] * sum(k, x[k] * abs(sum(l, A[k,l])))",
        "y = sum(i, sum(j, A[i,j]))",
    ],
)
def test_sums_inside_of_sums(text, format):
    known = {"x": np.arange(1.0, 5), "A": given((4, 4), format, 5)}
    tensors = assignment_expression(text).tensors
    check_stages(Question(text, tuple(known[name] for name in tensors)))
