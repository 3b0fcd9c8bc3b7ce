"""Two functions whose printed text is kept: a plain loop nest, and everything else."""

import pytest

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, add, cast, less, literal, mul


def spmm_plain() -> ir.Function:
    """Return CSR times dense, one loop inside the other."""
    pos, crd = ir.Buffer("A2_pos", "int32"), ir.Buffer("A2_crd", "int32")
    a, b_values = ir.Buffer("A_values", "float32"), ir.Buffer("B_values", "float32")
    c = ir.Buffer("C_values", "float32", writable=True)
    n, m = ir.Var("n_i"), ir.Var("n_j")
    b = Builder(["n_i", "n_j"])
    with b.loop("i", literal(0), n) as i:
        begin = cast(ir.Load(pos, i), "int64")
        end = cast(ir.Load(pos, add(i, literal(1))), "int64")
        with b.loop("p", begin, end) as p:
            k = b.declare("k", cast(ir.Load(crd, p), "int64"))
            s = b.declare("s", ir.Load(a, p))
            with b.loop("j", literal(0), m) as j:
                x = ir.Load(b_values, add(mul(k, m), j))
                b.store(c, add(mul(i, m), j), ir.Binary("mul", s, x, "float32"), "add")
    return ir.Function(
        "spmm_plain",
        (pos, crd, a, b_values, c, n, m),
        b.block(),
        documentation=("C[i,j] = A[i,k] * B[k,j]",),
    )


def spmm_tiled() -> ir.Function:
    """Return CSR times dense by tasks, with four vector accumulators per tile."""
    pos, crd = ir.Buffer("A2_pos", "int64"), ir.Buffer("A2_crd", "int64")
    a, b_values = ir.Buffer("A_values", "float32"), ir.Buffer("B_values", "float32")
    c = ir.Buffer("C_values", "float32", writable=True)
    n, m, threads = ir.Var("n_i"), ir.Var("n_j"), ir.Var("threads")
    b = Builder(["n_i", "n_j", "threads"])
    marks = b.allocate("marks", "bool", n, zeroed=True)
    order = b.allocate("order", "int64", n)
    tile = b.declare("tile", literal(64))
    zero = ir.Broadcast(ir.Literal(0.0, "float32"), 16)
    with b.parallel("t", n, threads) as t:
        with b.loop("j", literal(0), m, step=64) as j:
            accumulators = [b.declare("acc", zero) for _ in range(4)]
            end = ir.Load(pos, add(t, literal(1)))
            with b.loop("p", ir.Load(pos, t), end) as p:
                start = b.declare("start", add(mul(ir.Load(crd, p), m), j))
                x = b.declare("x", ir.Broadcast(ir.Load(a, p), 16))
                for lane, acc in enumerate(accumulators):
                    y = ir.Load(b_values, add(start, literal(16 * lane)), 16)
                    product = ir.Binary("mul", x, y, "float32")
                    b.assign(acc, ir.Binary("add", acc, product, "float32"))
            for lane, acc in enumerate(accumulators):
                b.store(c, add(add(mul(t, m), j), literal(16 * lane)), acc)
        b.store(marks, t, literal(True))
    count = b.declare("count", literal(0))
    with b.loop("u", literal(0), n) as u:
        with b.branch(ir.Load(marks, u)):
            b.store(order, count, ir.Unary("neg", u, "int64"))
            b.increment(count)
        with b.otherwise():
            b.comment("a row without a task")
    b.emit(ir.Sort(order, count))
    with b.loop_while(less(literal(0), count)):
        b.assign(count, ir.Search(order, literal(0), count, tile))
    b.free(marks)
    b.free(order)
    parameters = (pos, crd, a, b_values, c, n, m, threads)
    return ir.Function("spmm_tiled", parameters, b.block(), reassociate=True)


@pytest.fixture
def examples() -> dict[str, ir.Function]:
    """Return both functions by name."""
    return {f.name: f for f in (spmm_plain(), spmm_tiled())}
