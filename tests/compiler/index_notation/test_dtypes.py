"""Dtypes of expressions: NumPy's and ml_dtypes' promotion, and weak literals."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from sparray.compiler.cin.interpreter import run as run_cin
from sparray.compiler.index_notation.dtypes import (
    accumulated_dtype,
    result_dtype,
    settle_literals,
)
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.traversal import walk
from sparray.compiler.loop_ir.interpreter import run
from sparray.compiler.pipeline import compile_problem
from sparray.compiler.problem import Problem, TensorSpec
from sparray.errors import DTypeError
from sparray.formats.named import named_format

DTYPES = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def value(text):
    return parse_assignment(f"Y[i] = {text}").value


@pytest.mark.parametrize("symbol", ["+", "*"])
def test_two_operands_are_promoted_as_arrays_are(symbol):
    operation = {"+": np.add, "*": np.multiply}[symbol]
    for a, b in itertools.product(DTYPES, repeat=2):
        expected = operation(np.ones(1, DTYPES[a]), np.ones(1, DTYPES[b])).dtype
        found = result_dtype(value(f"A[i] {symbol} B[i]"), {"A": a, "B": b})
        assert found == expected.name, (a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", ["2", "0.5", "True", "(1 / 4)"])
def test_a_literal_is_weak(dtype, number):
    found = result_dtype(value(f"A[i] * {number}"), {"A": dtype})
    if dtype == "bfloat16":
        assert found == "bfloat16"
        return
    number = {"2": 2, "0.5": 0.5, "True": True, "(1 / 4)": 0.25}[number]
    assert found == (np.ones(1, dtype) * number).dtype.name


def test_sums_of_16_bit_floats_are_kept_in_float32():
    for dtype in ("float16", "bfloat16"):
        total = Reduce("add", ("i",), value("A[i]"))
        assert result_dtype(total, {"A": dtype}) == dtype
        assert accumulated_dtype(total, {"A": dtype}) == "float32"
    assert accumulated_dtype(total, {"A": "int8"}) == "int8"


def literals(expr):
    return [node.value for node in walk(expr) if isinstance(node, Literal)]


def test_literals_are_rounded_to_the_16_bit_dtype_they_take():
    expr = value("A[i] + 0.1 * B[i]")
    assert literals(settle_literals(expr, {"A": "float16", "B": "float32"})) == [0.1]
    half = settle_literals(expr, {"A": "float32", "B": "float16"})
    assert literals(half) == [float(np.float16(0.1))]
    brain = settle_literals(expr, {"A": "float32", "B": "bfloat16"})
    assert literals(brain) == [float(ml_dtypes.bfloat16(0.1))]
    assert settle_literals(expr, {"A": "float32", "B": "int8"}) is expr


def test_what_is_exact_stays_as_it_is_written():
    expr = value("max(A[i], 3) ** 2 + 0.5")
    assert settle_literals(expr, {"A": "bfloat16"}) == expr
    large = settle_literals(value("A[i] < 1e6"), {"A": "float16"})
    assert literals(large) == [np.inf]
    third = settle_literals(value("A[i] * (1 / 3)"), {"A": "float16"})
    assert literals(third) == [float(np.float16(1 / 3))]
    # It meets a float32: what the 16-bit floats give is no 16-bit float.
    mixed = value("A[i] * B[i] + 0.1")
    assert literals(settle_literals(mixed, {"A": "float16", "B": "bfloat16"})) == [0.1]


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("other", ["float32", "int16", "float16", "bfloat16"])
def test_a_literal_may_be_a_16_bit_float(half, other):
    """One with a dtype, which is not weak: every stage widens it as it does loads."""
    literal = Literal(DTYPES[half].type(0.5))
    target, read = Access("out", ("i",)), Access("A", ("i",))
    assignment = Assignment(target, Apply("add", (read, literal)))
    dtype = result_dtype(assignment.value, {"A": other})
    dense = named_format("dense", 1)
    operands = (("A", TensorSpec(dense, other)),)
    problem = Problem(assignment, operands, TensorSpec(dense, dtype))
    (kernel,) = compile_problem(problem, 32).kernels
    a, out = np.arange(5).astype(DTYPES[other]), np.zeros(5, DTYPES[dtype])
    (function,) = kernel.functions
    names = [parameter.name for parameter in function.parameters]
    run(function, dict(zip(names, [a, out, 5, 1], strict=True)))
    for found in (
        out,
        evaluate(assignment, {"A": a}),
        run_cin(kernel.decision.statement, {"A": a}, {"i": 5}, DTYPES[dtype]),
    ):
        assert found.dtype == DTYPES[dtype]
        assert found.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_a_number_that_no_integer_dtype_holds():
    with pytest.raises(DTypeError, match="out of bounds"):
        result_dtype(value("A[i] * -1"), {"A": "uint16"})


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize(
    ("op", "function"), [("mul", np.multiply), ("add", np.add), ("div", np.true_divide)]
)
def test_any_two_dtypes_become_what_numpy_makes_of_them(left, op, function):
    """Integers beside narrow floats too: int8 / float32 is float32."""
    a, b = Access("A", ("i",)), Access("B", ("i",))
    for right in DTYPES:
        ones = (np.ones(1, DTYPES[name]) for name in (left, right))
        expected = function(*ones).dtype.name
        made = result_dtype(Apply(op, (a, b)), {"A": left, "B": right})
        assert made == expected, (left, right)
