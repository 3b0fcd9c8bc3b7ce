"""What the interpreter refuses and counts; results are compared with kernels."""

import numpy as np
import pytest

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, add, less, literal, sub
from sparray.compiler.loop_ir.interpreter import run
from sparray.errors import InternalError, UnsupportedError

X = ir.Buffer("x", "float64", writable=True)
N = ir.Var("n")
ONE = literal(1.0)


def function(*statements: ir.Stmt) -> ir.Function:
    return ir.Function("f", (X, N), ir.Block(statements))


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (ir.Store(X, N, ONE), r"x\[3:4\] is outside its 3"),
        (ir.Store(X, literal(-1), ONE), r"x\[-1:0\] is outside"),
        (ir.Store(X, literal(1), ir.Broadcast(ONE, 4)), r"x\[1:5\] is outside"),
        (ir.Declare(ir.Var("v", "float64"), ir.Load(X, N)), "outside"),
        (ir.Sort(X, literal(4)), "outside"),
        (
            ir.Declare(ir.Var("v"), ir.Search(X, literal(2), literal(1), N)),
            "outside",
        ),
        (
            ir.Declare(ir.Var("v"), ir.Lookup((4, 5, 6), N)),
            "element 3 is outside a table of 3",
        ),
        (
            ir.Declare(ir.Var("v"), ir.Lookup((4,), literal(-1))),
            "element -1 is outside",
        ),
        (
            ir.Allocate(ir.Buffer("w", "int8", writable=True), literal(-1)),
            "size of -1",
        ),
        (
            ir.Declare(ir.Var("v"), ir.Binary("floordiv", literal(-1), N, "int64")),
            "expected indices",
        ),
    ],
)
def test_refuses_what_c_leaves_undefined(statement: ir.Stmt, problem: str) -> None:
    with pytest.raises(InternalError, match=problem):
        run(function(statement), {"x": np.zeros(3), "n": 3})


def test_both_sides_of_a_choice_are_evaluated() -> None:
    guard = ir.Select(less(N, literal(3)), ir.Load(X, N), ONE)
    with pytest.raises(InternalError, match="outside"):
        run(
            function(ir.Declare(ir.Var("v", "float64"), guard)),
            {"x": np.zeros(3), "n": 3},
        )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"n": 3}, "expected an argument x"),
        ({"x": np.zeros(3, "float32"), "n": 3}, "got 1-D of float32"),
        ({"x": np.zeros((3, 1)), "n": 3}, "got 2-D of float64"),
    ],
)
def test_refuses_arguments(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(InternalError, match=problem):
        run(function(), arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("shift", [0, 1, -1])
def test_finds_races(shift: int) -> None:
    b = Builder(["x", "n"])
    with b.parallel("t", N, literal(2)) as t:
        with b.branch(less(literal(0), t)):
            read = b.declare("v", ir.Load(X, sub(add(t, literal(shift)), literal(0))))
            b.store(X, t, read)
    f = ir.Function("f", (X, N), b.block())
    if shift == 0:
        run(f, {"x": np.ones(4), "n": 3})
        return
    with pytest.raises(InternalError, match="two parallel tasks touch"):
        run(f, {"x": np.ones(5), "n": 3})


def test_marks_are_those_of_what_is_sorted() -> None:
    x = ir.Buffer("x", "int64", writable=True)
    marks = ir.Buffer("marks", "bool")
    f = ir.Function("f", (x, marks, N), ir.Block((ir.Sort(x, N, marks),)))
    listed = np.array([2, 0])
    run(f, {"x": listed, "marks": np.array([True, False, True]), "n": 2})
    assert listed.tolist() == [0, 2]
    with pytest.raises(InternalError, match="marks does not mark"):
        run(f, {"x": listed, "marks": np.array([True, True, True]), "n": 2})


def test_uninitialised_memory_is_poison() -> None:
    w = ir.Buffer("w", "float64", writable=True)
    x = np.zeros(1)
    f = function(
        ir.Allocate(w, N), ir.Store(X, literal(0), ir.Load(w, literal(0))), ir.Free(w)
    )
    run(f, {"x": x, "n": 1})
    assert np.isnan(x[0])


def test_counts_iterations() -> None:
    b = Builder(["x", "n"])
    left = b.declare("left", N)
    with b.loop("i", literal(0), N) as i, b.loop("j", i, N):
        pass
    with b.loop_while(less(literal(0), left)):
        b.assign(left, sub(left, literal(1)))
    counter: dict[str, int] = {}
    run(
        ir.Function("f", (X, N), b.block()), {"x": np.zeros(0), "n": 4}, counter=counter
    )
    assert counter == {"i": 4, "j": 10, "while": 4}


def test_operation_without_meaning() -> None:
    flag = ir.Unary("neg", literal(True), "bool")
    with pytest.raises(UnsupportedError, match="neg of bool"):
        run(function(ir.Declare(ir.Var("v", "bool"), flag)), {"x": np.zeros(0), "n": 0})
