"""The verifier accepts what means something and names what does not."""

import pytest

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, add, literal
from sparray.compiler.loop_ir.verify import verify
from sparray.errors import InternalError

X = ir.Buffer("x", "float64")
Y = ir.Buffer("y", "float64", writable=True)
CRD = ir.Buffer("crd", "int32")
N = ir.Var("n")
THREADS = ir.Var("threads")
ONE = literal(1.0)
HALF = ir.Literal(1.0, "bfloat16")
I = ir.Var("i")  # noqa: E741
S = ir.Var("s", "float64")
W = ir.Buffer("w", "int64", writable=True)


def function(*statements: ir.Stmt) -> ir.Function:
    return ir.Function("f", (X, Y, CRD, N, THREADS), ir.Block(statements))


def block(*statements: ir.Stmt) -> ir.Block:
    return ir.Block(statements)


def value(expression: ir.Expr) -> ir.Function:
    var = ir.Var("v", expression.dtype, expression.lanes)
    return function(ir.Declare(var, expression))


def task(*statements: ir.Stmt) -> ir.Parallel:
    return ir.Parallel(I, N, THREADS, block(*statements))


def test_accepts_every_statement() -> None:
    b = Builder(["x", "y", "crd", "n", "threads"])
    s = b.declare("s", ONE)
    b.assign(s, ir.Unary("neg", s, "float64"))
    w = b.allocate("w", "int64", N, zeroed=True)
    with b.parallel("t", N, THREADS) as t:
        v = b.declare("v", ir.Broadcast(s, 4))
        b.store(Y, t, v, "add")
        r = b.declare("r", ir.ReduceLanes("max", v))
        b.assign(r, ir.Load(X, t))
    with b.loop("i", literal(0), N, step=2) as i:
        with b.branch(ir.Binary("lt", i, N, "bool")):
            b.store(w, i, ir.Search(CRD, literal(0), N, i))
        with b.otherwise():
            b.comment("nothing")
    with b.loop_while(ir.Binary("gt", s, ONE, "bool")):
        b.assign(s, ir.Select(ir.Binary("eq", s, ONE, "bool"), s, ONE))
    with b.nested():
        b.declare("c", ir.Cast(N, "complex64"))
        b.declare("q", ir.Binary("floordiv", N, literal(4), "int64"))
    with b.loop_while(ir.Binary("gt", s, ONE, "bool")):
        b.renew(w, N, zeroed=True)
    b.emit(ir.Sort(w, N))
    b.free(w)
    verify(ir.Function("f", (X, Y, CRD, N, THREADS), b.block()))


BROKEN = {
    "undeclared variable": (value(S), "s is not declared"),
    "undeclared buffer": (value(ir.Load(W, N)), "w is not declared"),
    "out of scope": (
        function(
            ir.For(I, literal(0), N, block()),
            ir.Declare(ir.Var("k"), I),
        ),
        "i is not declared",
    ),
    "declared twice": (
        function(ir.Declare(S, ONE), ir.Declare(S, ONE)),
        "s is declared twice",
    ),
    "loop variable twice": (
        function(*[ir.For(I, literal(0), N, block())] * 2),
        "i is declared twice",
    ),
    "parameter twice": (ir.Function("f", (X, X), block()), "x is declared twice"),
    "another dtype than declared": (
        value(ir.Var("n", "int32")),
        "n was declared as",
    ),
    "another buffer than declared": (
        value(ir.Load(ir.Buffer("x", "float32"), N)),
        "x was declared as",
    ),
    "declare dtypes": (function(ir.Declare(S, N)), "float64 and int64"),
    "declare lanes": (
        function(ir.Declare(S, ir.Broadcast(ONE, 4))),
        "float64 and float64x4",
    ),
    "assign dtypes": (
        function(ir.Declare(S, ONE), ir.Assign(S, N)),
        "float64 and int64",
    ),
    "assign parameter": (function(ir.Assign(N, literal(1))), "n is a parameter"),
    "assign loop variable": (
        function(ir.For(I, literal(0), N, block(ir.Assign(I, N)))),
        "a loop's variable",
    ),
    "store to read-only": (function(ir.Store(X, N, ONE)), "x is not writable"),
    "store dtypes": (function(ir.Store(Y, N, N)), "float64 and int64"),
    "store index": (function(ir.Store(Y, ONE, ONE)), "index is float64"),
    "store operator": (
        function(ir.Store(Y, N, ONE, "lt")),
        "lt of float64 gives bool",
    ),
    "load index": (value(ir.Load(X, ONE)), "index is float64"),
    "narrow index": (value(ir.Load(X, ir.Load(CRD, N))), "index is int32"),
    "operand dtypes": (value(ir.Binary("add", N, ONE, "int64")), "operands of add"),
    "operand lanes": (
        value(ir.Binary("add", ONE, ir.Broadcast(ONE, 4), "float64")),
        "operands of add",
    ),
    "result dtype": (value(ir.Binary("add", N, N, "float64")), "gives int64"),
    "comparison dtype": (value(ir.Binary("lt", N, N, "int64")), "gives bool"),
    "integer division": (value(ir.Binary("div", N, N, "int64")), "gives float64"),
    "unknown operator": (value(ir.Binary("spin", N, N, "int64")), "no operator spin"),
    "arity": (value(ir.Unary("add", N, "int64")), "no operator add of 1"),
    "floordiv of floats": (
        value(ir.Binary("floordiv", ONE, ONE, "float64")),
        "not index arithmetic",
    ),
    "unknown dtype": (value(ir.Cast(N, "float128")), "no dtype float128"),
    "16-bit float of an integer": (
        value(ir.Cast(N, "float16")),
        "float16 is cast from or to int64, not float32",
    ),
    "double of a 16-bit float": (
        value(ir.Cast(HALF, "float64")),
        "bfloat16 is cast from or to float64, not float32",
    ),
    "16-bit arithmetic": (
        value(ir.Binary("add", HALF, HALF, "bfloat16")),
        "add of bfloat16, which is only stored and cast",
    ),
    "16-bit lanes": (
        value(ir.ReduceLanes("add", ir.Broadcast(HALF, 4))),
        "add of bfloat16",
    ),
    "choice sides": (
        value(ir.Select(literal(True), N, ONE)),
        "sides of the choice",
    ),
    "choice condition": (value(ir.Select(N, ONE, ONE)), "condition is int64"),
    "broadcast vector": (
        value(ir.Broadcast(ir.Broadcast(ONE, 4), 4)),
        "a vector is broadcast",
    ),
    "reduce by sub": (
        value(ir.ReduceLanes("sub", ir.Broadcast(ONE, 4))),
        "sub is no reduction",
    ),
    "reduce a scalar": (value(ir.ReduceLanes("add", ONE)), "1 lanes are reduced"),
    "search in values": (
        value(ir.Search(X, literal(0), N, N)),
        "x holds float64",
    ),
    "empty table": (value(ir.Lookup((), N)), "a table has no elements"),
    "wide table": (value(ir.Lookup((2**63,), N)), "element does not fit int64"),
    "table index": (value(ir.Lookup((1,), ONE)), "index is float64"),
    "table dtype": (value(ir.Lookup((1,), N, "int32")), "a table of int32, not int64"),
    "loop bound": (function(ir.For(I, ONE, N, block())), "begin is float64"),
    "loop variable dtype": (
        function(ir.For(ir.Var("i", "int32"), literal(0), N, block())),
        "loop variable i is not int64",
    ),
    "step 0": (function(ir.For(I, literal(0), N, block(), 0)), "step of a loop is 0"),
    "while condition": (function(ir.While(N, block())), "condition is int64"),
    "if condition": (function(ir.If(ONE, block())), "condition is float64"),
    "nested parallel": (
        function(ir.If(literal(True), block(task()))),
        "inside another than",
    ),
    "parallel in parallel": (
        function(ir.Parallel(ir.Var("t"), N, THREADS, block(task()))),
        "inside another than",
    ),
    "parallel writes outside": (
        function(ir.Declare(S, ONE), task(ir.Assign(S, ONE))),
        "declared outside the parallel loop",
    ),
    "allocate read-only": (
        function(ir.Allocate(ir.Buffer("w", "int64"), N)),
        "allocated, not writable",
    ),
    "allocate size": (function(ir.Allocate(W, ONE)), "size is float64"),
    "use after free": (
        function(ir.Allocate(W, N), ir.Free(W), ir.Sort(W, N)),
        "w is not declared, or freed",
    ),
    "renewal of a parameter": (
        function(ir.Renew(Y, N)),
        "y was not allocated by this task",
    ),
    "renewal by another task": (
        function(ir.Allocate(W, N), task(ir.Renew(W, N)), ir.Free(W)),
        "w was not allocated by this task",
    ),
    "renewal after free": (
        function(ir.Allocate(W, N), ir.Free(W), ir.Renew(W, N)),
        "w is not declared, or freed",
    ),
    "free of a parameter": (function(ir.Free(Y)), "y was not allocated"),
    "free of outside": (
        function(ir.Allocate(W, N), task(ir.Free(W))),
        "was not allocated in this block",
    ),
    "leak": (function(ir.Allocate(W, N)), "w is not freed in its block"),
    "sort read-only": (function(ir.Sort(CRD, N)), "crd is not writable"),
    "sort by values": (
        function(ir.Allocate(W, N), ir.Sort(W, N, Y), ir.Free(W)),
        "y holds no marks",
    ),
    "sort values": (function(ir.Sort(Y, N)), "y holds float64"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_rejects(case: str) -> None:
    broken, problem = BROKEN[case]
    with pytest.raises(InternalError, match=problem) as caught:
        verify(broken)
    assert str(caught.value).startswith("function f: ")


def test_error_shows_the_statement() -> None:
    with pytest.raises(InternalError, match=r"y\[\(n \+ 1\)\] = n"):
        verify(function(ir.Store(Y, add(N, literal(1)), N)))
