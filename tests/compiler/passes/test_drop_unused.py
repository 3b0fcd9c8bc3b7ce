"""Dropping variables that nothing reads."""

import numpy as np

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, add, literal
from sparray.compiler.loop_ir.interpreter import run
from sparray.compiler.loop_ir.printer import print_function
from sparray.compiler.passes.drop_unused import drop_unused


def function():
    out, n = ir.Buffer("out", "int64", writable=True), ir.Var("n")
    b = Builder(["n"])
    first = b.declare("first", literal(3))
    b.declare("second", add(first, literal(1)))
    with b.loop("i", literal(0), n) as i:
        kept = b.declare("kept", add(i, literal(2)))
        b.declare("chain", kept)
        b.store(out, i, kept)
    return ir.Function("f", (out, n), b.block())


def test_what_is_read_only_by_what_goes_goes_too():
    text = print_function(drop_unused(function()))
    assert "kept" in text
    assert not any(name in text for name in ("first", "second", "chain"))


def test_the_result_is_the_same():
    for made in (function(), drop_unused(function())):
        out = np.zeros(4, np.int64)
        run(made, {"out": out, "n": 4})
        assert out.tolist() == [2, 3, 4, 5]


def test_nothing_to_drop_changes_nothing():
    once = drop_unused(function())
    assert drop_unused(once) == once
