"""Printed loop IR is deterministic and kept as golden text."""

from collections.abc import Callable

import pytest

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal
from sparray.compiler.loop_ir.printer import (
    print_expression,
    print_function,
    print_statement,
)
from sparray.compiler.loop_ir.verify import verify

N = ir.Var("n")
X = ir.Buffer("x", "float32", writable=True)


@pytest.mark.parametrize("name", ["spmm_plain", "spmm_tiled"])
def test_function(
    name: str, examples: dict[str, ir.Function], golden: Callable[[str, str], None]
) -> None:
    verify(examples[name])
    golden(f"loop_ir/{name}.txt", print_function(examples[name]))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (ir.Literal(2, "int8"), "int8(2)"),
        (ir.Literal(1.0, "float32", 8), "float32x8(1.0)"),
        (ir.Binary("mod", N, literal(-3), "int64"), "(n % -3)"),
        (ir.Binary("max", N, N, "int64"), "max(n, n)"),
        (ir.Unary("relu", ir.Load(X, N, 4), "float32"), "relu(x[n : 4 lanes])"),
        (ir.Select(literal(True), N, N), "select(True, n, n)"),
        (ir.ReduceLanes("add", ir.Load(X, N, 4)), "reduce_add(x[n : 4 lanes])"),
        (ir.Search(X, N, N, N), "search(x, n, n, n)"),
        (ir.Lookup((3, -1), N), "[3, -1][n]"),
    ],
)
def test_expression(node: ir.Expr, text: str) -> None:
    assert print_expression(node) == text


def test_update_by_a_function_and_an_empty_loop() -> None:
    update = ir.Store(X, N, ir.Literal(1.0, "float32"), "max")
    assert print_statement(update) == "x[n] max= float32(1.0)"
    loop = ir.For(ir.Var("i"), N, N, ir.Block(()), 2)
    assert print_statement(loop) == "for i in n .. n step 2:\n    pass"
