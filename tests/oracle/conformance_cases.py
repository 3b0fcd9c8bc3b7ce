"""Functions for every node and every dtype, with arguments: interpreter = kernel."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from sparray.compiler.codegen.cython.printer import print_functions
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir import operators
from sparray.compiler.loop_ir.builder import Builder, add, less, literal, mul, sub
from sparray.compiler.loop_ir.operators import REAL_RESULTS
from sparray.errors import UnsupportedError

__all__ = [
    "CASES",
    "DTYPES",
    "FAILING",
    "FUSED",
    "INEXACT",
    "OPERATORS",
    "Arguments",
    "supported",
]

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]

# A choice is a node of its own, which other cases have; what is stored, a constant.
OPERATORS = {
    name: row
    for name, row in operators.OPERATORS.items()
    if not row.conditions and row.of_stored is None
}
DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float32 float64 complex64 complex128"
).split()
FUSED = set("mul div times over square reciprocal sign".split())
N = ir.Var("n")
THREADS = ir.Var("threads")
# Rounded differently by C's and NumPy's functions. Complex products and quotients
# are too: the C compiler fuses their parts.
INEXACT = set(
    "pow exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh sqrt abs hypot atan2 logaddexp".split()
)


class Case:
    """One function with arguments for it."""

    def __init__(self, function: ir.Function, make: Callable[[], Arguments]) -> None:
        self.function, self.make = function, make


CASES: dict[str, Case] = {}


def case(
    b: Builder,
    name: str,
    parameters: list[ir.Buffer | ir.Var],
    make: Callable[[], Arguments],
) -> None:
    function = ir.Function(name, tuple(parameters), b.block())
    CASES[name] = Case(function, make)


def out(name: str, dtype: str) -> ir.Buffer:
    return ir.Buffer(name, dtype, writable=True)


def result_dtype(op: str, dtype: str) -> str:
    row = OPERATORS[op]
    if row.result == "bool":
        return "bool"
    if row.result == "float" and np.dtype(dtype).kind in "biu":
        return "float64"
    if op in REAL_RESULTS and dtype.startswith("complex"):
        return "float32" if dtype == "complex64" else "float64"
    return dtype


def apply(op: str, dtype: str, operands: list[ir.Expr]) -> ir.Expr:
    result = result_dtype(op, dtype)
    if len(operands) == 1:
        return ir.Unary(op, operands[0], result)
    return ir.Binary(op, operands[0], operands[1], result)


def supported(op: str, dtype: str, lanes: int = 1) -> bool:
    x = out("x", dtype)
    operands: list[ir.Expr] = [ir.Load(x, N, lanes)] * OPERATORS[op].arity
    value = apply(op, dtype, operands)
    var = ir.Var("v", value.dtype, value.lanes)
    body = ir.Block((ir.Declare(var, value),))
    try:
        print_functions([ir.Function("f", (x, N), body)])
    except UnsupportedError:
        return False
    return True


def samples(dtype: str, seed: int, *, plain: bool = False) -> Array:
    """Return 48 values: extremes first, unless they should be plain."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, 48).astype(bool)
    if kind in "iu":
        low = 0 if kind == "u" or plain else -5
        values = rng.integers(low, 12, 48).astype(dtype)
        if not plain:
            info = np.iinfo(dtype)
            extremes = np.array([info.min, info.max, 0, 1, 2, 3], dtype)
            values[:6] = rng.permutation(extremes)
        return values
    real = rng.uniform(0.25, 3.0, 48)
    if kind == "c":
        return (real + 1j * rng.uniform(-2, 2, 48)).astype(dtype)
    values = real.astype(dtype)
    if not plain:
        values[12:] *= rng.choice([-1, 1], 36)
        values[:8] = rng.permutation([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2])
    return values


def operator_case(dtype: str, lanes: int) -> None:
    b = Builder(["x", "y", "n"])
    parameters: list[ir.Buffer | ir.Var] = [
        ir.Buffer("x", dtype),
        ir.Buffer("y", dtype),
    ]
    x, y = parameters
    outs = {}
    with b.loop("i", literal(0), N, step=lanes) as i:
        operands: list[ir.Expr] = [ir.Load(x, i, lanes), ir.Load(y, i, lanes)]
        for op, row in OPERATORS.items():
            if not supported(op, dtype, lanes):
                continue
            value = apply(op, dtype, operands[: row.arity])
            outs[op] = out(f"out_{op}", value.dtype)
            b.store(outs[op], i, value)
    parameters += [*outs.values(), N]

    def make() -> Arguments:
        results = {o.name: np.zeros(48, o.dtype) for o in outs.values()}
        return {"x": samples(dtype, 1), "y": samples(dtype, 2), "n": 48, **results}

    name = f"operators_{dtype}" + (f"_x{lanes}" if lanes > 1 else "")
    case(b, name, parameters, make)


def cast_case(dtype: str, lanes: int) -> None:
    b = Builder(["x", "n"])
    x = ir.Buffer("x", dtype)
    targets = [d for d in DTYPES if lanes == 1 or not d.startswith("complex")]
    outs = [out(f"to_{target}", target) for target in targets]
    with b.loop("i", literal(0), N, step=lanes) as i:
        for o in outs:
            b.store(o, i, ir.Cast(ir.Load(x, i, lanes), o.dtype))

    def make() -> Arguments:
        results = {o.name: np.zeros(48, o.dtype) for o in outs}
        return {"x": samples(dtype, 3, plain=True), "n": 48, **results}

    name = f"casts_{dtype}" + (f"_x{lanes}" if lanes > 1 else "")
    case(b, name, [x, *outs, N], make)


def update_case(dtype: str, lanes: int) -> None:
    """Stores that update, and both kinds of choice."""
    b = Builder(["x", "n"])
    x = ir.Buffer("x", dtype)
    ops = [
        op
        for op in ("add", "sub", "mul", "min", "max", "or")
        if result_dtype(op, dtype) == dtype and supported(op, dtype, lanes)
    ]
    outs = [out(f"to_{op}", dtype) for op in ops]
    chosen = out("chosen", dtype)
    with b.loop("i", literal(0), N, step=lanes) as i:
        value = ir.Load(x, i, lanes)
        for o in outs:
            b.store(o, i, value, o.name[3:])
        other = ir.Load(x, sub(literal(48 - lanes), i), lanes)
        condition: ir.Expr = ir.Binary("ne", value, other, "bool")
        b.store(chosen, i, ir.Select(condition, value, other))
        odd = ir.Binary(
            "eq", ir.Binary("mod", i, literal(3), "int64"), literal(1), "bool"
        )
        b.store(chosen, i, ir.Select(odd, value, ir.Load(chosen, i, lanes)))

    def make() -> Arguments:
        results = {o.name: samples(dtype, 5) for o in (*outs, chosen)}
        return {"x": samples(dtype, 4), "n": 48, **results}

    name = f"updates_{dtype}" + (f"_x{lanes}" if lanes > 1 else "")
    case(b, name, [x, *outs, chosen, N], make)


def lanes_case(dtype: str, lanes: int) -> None:
    """Broadcast, vector literals, and every reduction of lanes."""
    b = Builder(["x", "n"])
    x = ir.Buffer("x", dtype)
    reductions = [
        op
        for op in ("add", "mul", "min", "max", "and", "or")
        if result_dtype(op, dtype) == dtype and supported(op, dtype)
    ]
    outs = [out(f"by_{op}", dtype) for op in reductions]
    wide = out("wide", dtype)
    with b.loop(
        "i", literal(0), ir.Binary("floordiv", N, literal(lanes), "int64")
    ) as i:
        v = b.declare("v", ir.Load(x, mul(i, literal(lanes)), lanes))
        for o in outs:
            b.store(o, i, ir.ReduceLanes(o.name[3:], v))
        b.store(wide, mul(i, literal(lanes)), ir.Broadcast(ir.Load(x, i), lanes))
    with b.nested():
        b.store(wide, sub(N, literal(lanes)), ir.Literal(1, dtype, lanes))

    def make() -> Arguments:
        results = {o.name: np.zeros(48 // lanes, o.dtype) for o in outs}
        arrays = {"x": samples(dtype, 6, plain=True), "wide": np.zeros(48, dtype)}
        return {**arrays, "n": 48, **results}

    case(b, f"lanes_{dtype}_x{lanes}", [x, *outs, wide, N], make)


def literal_case() -> None:
    b = Builder()
    values: dict[str, list[Any]] = {"bool": [True, False]}
    for dtype in DTYPES:
        kind = np.dtype(dtype).kind
        if kind in "iu":
            info = np.iinfo(dtype)
            values[dtype] = [0, 1, int(info.min), int(info.max), int(info.max) // 3]
        elif kind in "fc":
            tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
            reals = [0.0, -0.0, 0.1, -1e-7, 1e30, float(tiny), -float(huge)]
            values[dtype] = [*reals, np.inf, -np.inf, np.nan]
        if kind == "c":
            values[dtype] += [1 - 2j, complex(-0.0, np.inf), complex(np.nan, -1e-3)]
    values["int64"] += [-1, 2**31, -(2**31), 2**31 - 1, 10**18]
    outs = {dtype: out(f"out_{dtype}", dtype) for dtype in values}
    for dtype, row in values.items():
        for k, value in enumerate(row):
            b.store(outs[dtype], literal(k), ir.Literal(value, dtype))
    # Constants that overflow wrap around; neither Cython nor C may fold them otherwise.
    big = literal(2**62)
    wrapped = ir.Binary("add", ir.Binary("mul", big, literal(3), "int64"), big, "int64")
    b.store(outs["int64"], literal(len(values["int64"])), wrapped)

    def make() -> Arguments:
        return {o.name: np.zeros(16, o.dtype) for o in outs.values()}

    case(b, "literals", list(outs.values()), make)


def integer_tree(rng: random.Random, leaves: list[ir.Expr], depth: int) -> ir.Expr:
    if depth == 0:
        return rng.choice(leaves)
    op = rng.choice(
        ["add", "sub", "mul", "min", "max", "neg", "abs", "lt", "mod", "if"]
    )
    left = integer_tree(rng, leaves, depth - 1)
    right = integer_tree(rng, leaves, depth - 1)
    if op in ("neg", "abs"):
        return ir.Unary(op, left, "int64")
    if op == "lt":
        return ir.Cast(ir.Binary("lt", left, right, "bool"), "int64")
    if op == "if":
        return ir.Select(ir.Binary("le", left, right, "bool"), right, left)
    if op == "mod":
        index = ir.Binary("max", left, literal(0), "int64")
        divisor = ir.Binary("max", right, literal(1), "int64")
        return ir.Binary(rng.choice(["mod", "floordiv"]), index, divisor, "int64")
    return ir.Binary(op, left, right, "int64")


def tree_case() -> None:
    b = Builder(["x", "y", "n"])
    x, y = ir.Buffer("x", "int64"), out("y", "int64")
    rng = random.Random(11)
    with b.loop("i", literal(0), N) as i:
        leaves = [i, ir.Load(x, i), literal(3), literal(-7), literal(2**40), literal(1)]
        for k in range(40):
            tree = integer_tree(rng, leaves, 4)
            b.store(y, add(mul(literal(k), N), i), tree)

    def make() -> Arguments:
        values = np.random.default_rng(7).integers(-(2**62), 2**62, 24)
        values[:12] = np.arange(-6, 6)
        return {"x": values, "y": np.zeros(24 * 40, "int64"), "n": 24}

    case(b, "trees", [x, y, N], make)


def control_case() -> None:
    b = Builder(["x", "n", "scale", "flag"])
    x = out("x", "float64")
    scale, flag = ir.Var("scale", "float32"), ir.Var("flag", "bool")
    b.comment("every kind of control flow")
    total = b.declare("total", literal(0))
    with b.loop("i", sub(N, literal(1)), literal(-1), step=-3) as i:
        with b.branch(less(i, literal(5))):
            b.increment(total, i)
        with b.otherwise():
            with b.loop("j", i, N) as j:
                b.increment(total, j)
        with b.branch(flag):
            b.comment("a block of comments only")
    # Bounds are evaluated once, whatever happens to what they were made of.
    end = b.declare("end", literal(4))
    with b.loop("k", literal(0), end):
        b.increment(end, literal(1))
        b.increment(total, end)
    p = b.declare("p", literal(0))
    with b.loop_while(less(mul(p, p), N)):
        b.increment(p)
    b.store(x, literal(0), ir.Cast(total, "float64"))
    b.store(x, literal(1), ir.Cast(p, "float64"))
    b.store(x, literal(2), ir.Cast(scale, "float64"))
    b.store(x, literal(3), ir.Cast(flag, "float64"))
    with b.branch(ir.Unary("not", flag, "bool")):
        b.store(x, literal(4), literal(9.0))

    def make() -> Arguments:
        return {"x": np.zeros(5), "n": 20, "scale": 0.1, "flag": 1}

    case(b, "control", [x, N, scale, flag], make)


def search_case(dtype: str) -> None:
    b = Builder(["crd", "found", "n"])
    crd, found = ir.Buffer("crd", dtype), out("found", "int64")
    with b.loop("i", literal(0), N) as i:
        value = sub(mul(i, literal(2)), literal(3))
        b.store(found, i, ir.Search(crd, literal(0), N, value))
        b.store(found, add(i, N), ir.Search(crd, i, N, value))
        b.store(found, add(i, mul(N, literal(2))), ir.Search(crd, i, i, value))

    def make() -> Arguments:
        values = np.sort(np.random.default_rng(3).integers(0, 40, 25)).astype(dtype)
        return {"crd": values, "found": np.zeros(75, "int64"), "n": 25}

    case(b, f"search_{dtype}", [crd, found, N], make)


def lookup_case() -> None:
    """Tables of each width, the smallest and the largest integer among them."""
    b = Builder(["found", "n"])
    found = out("found", "int64")
    tables = [(5, 0, 255), (256, 1, 65535), (65536, 2**32 - 1, 0), (-1, 2**31, -7)]
    tables += [(-(2**63), 2**63 - 1, 2**32), (5, 0, 255)]
    for number, table in enumerate(tables):
        with b.loop("i", literal(0), literal(3)) as i:
            value = ir.Lookup(table, sub(literal(2), i))
            b.store(found, add(i, literal(3 * number)), value)

    case(b, "lookup", [found, N], lambda: {"found": np.zeros(18, "int64"), "n": 3})


def sort_case(dtype: str) -> None:
    b = Builder(["x", "n"])
    x = out("x", dtype)
    b.emit(ir.Sort(x, N))
    case(
        b,
        f"sort_{dtype}",
        [x, N],
        lambda: {"x": np.arange(40, 0, -1).astype(dtype), "n": 37},
    )


def marked_sort_case(dtype: str) -> None:
    """Marked elements: none, few, far apart, close together, all of them."""
    rng = np.random.default_rng(4)
    listed = [
        np.arange(0),
        np.array([200, 3, 150]),
        rng.permutation(np.arange(0, 4000, 97)),
        rng.permutation(np.arange(5, 1000, 3)),
        rng.permutation(np.arange(173, 200)),
        rng.permutation(np.arange(64)),
    ]
    names = [(f"x{n}", f"marks{n}") for n in range(len(listed))]
    b = Builder([each for pair in names for each in pair])
    parameters: list[ir.Buffer | ir.Var] = []
    for (name, marked), chosen in zip(names, listed, strict=True):
        x, marks = out(name, dtype), ir.Buffer(marked, "bool")
        b.emit(ir.Sort(x, literal(len(chosen)), marks))
        parameters += [x, marks]

    def make() -> Arguments:
        made: Arguments = {}
        for (name, marked), chosen in zip(names, listed, strict=True):
            # What is behind the elements stays as it is.
            made[name] = np.append(chosen, [7, 5]).astype(dtype)
            made[marked] = np.isin(np.arange(chosen.max(initial=0) + 1), chosen)
        return made

    case(b, f"sort_marked_{dtype}", parameters, make)


def workspace_case() -> None:
    b = Builder(["x", "n"])
    x = out("x", "int64")
    with b.loop("i", literal(0), literal(3)) as i:
        zeros = b.allocate("zeros", "int64", N, zeroed=True)
        plain = b.allocate("plain", "complex64", add(N, i))
        with b.loop("j", literal(0), N) as j:
            b.store(zeros, j, add(i, j), "add")
            b.store(plain, j, ir.Cast(j, "complex64"))
        with b.loop("k", literal(0), N) as k:
            b.store(x, k, ir.Load(zeros, k), "add")
            real = ir.Cast(ir.Load(plain, k), "float32")
            b.store(x, k, ir.Cast(real, "int64"), "add")
        b.free(zeros)
        b.free(plain)
    case(b, "workspaces", [x, N], lambda: {"x": np.arange(9), "n": 9})


def renewed_case() -> None:
    """Memory that grows inside of loops, and is zeroed each time."""
    b = Builder(["x", "n"])
    x = out("x", "int64")
    w = b.allocate("w", "int64", literal(1), zeroed=True)
    v = b.allocate("v", "float32", literal(1))
    with b.loop("i", literal(1), N) as i:
        with b.branch(less(literal(2), i)):
            b.renew(w, mul(i, literal(1000)), zeroed=True)
            b.renew(v, i)
            b.store(v, sub(i, literal(1)), ir.Cast(i, "float32"))
            last = ir.Load(w, sub(mul(i, literal(1000)), literal(1)))
            kept = ir.Cast(ir.Load(v, sub(i, literal(1))), "int64")
            b.store(x, i, add(add(ir.Load(w, i), last), kept), "add")
        b.store(w, literal(0), i)
    b.free(v)
    b.free(w)
    case(b, "renewed", [x, N], lambda: {"x": np.arange(9), "n": 9})


def parallel_case() -> None:
    b = Builder(["x", "y", "n", "threads"])
    x, y = ir.Buffer("x", "float32"), out("y", "float32")
    width = b.declare("width", literal(16))
    half = b.declare("half", ir.Broadcast(ir.Literal(0.5, "float32"), 16))
    shared = b.allocate("shared", "int32", N, zeroed=True)
    with b.parallel("t", N, THREADS) as t:
        own = b.allocate("own", "float32", width)
        v = b.declare("v", ir.Load(x, mul(t, width), 16))
        b.store(own, literal(0), ir.Binary("mul", v, half, "float32"))
        b.store(shared, t, ir.Cast(t, "int32"))
        with b.loop("i", literal(0), width) as i:
            b.store(y, add(mul(t, width), i), ir.Load(own, i))
        b.free(own)
    with b.parallel("u", N, THREADS) as u:
        number = ir.Cast(ir.Load(shared, sub(sub(N, literal(1)), u)), "float32")
        b.store(y, mul(u, width), number, "add")
    b.free(shared)

    def make() -> Arguments:
        values = np.random.default_rng(5).standard_normal(50 * 16).astype("float32")
        return {"x": values, "y": np.zeros(50 * 16, "float32"), "n": 50, "threads": 2}

    case(b, "parallel", [x, y, N, THREADS], make)


def failing_case(where: str) -> None:
    """Memory that cannot be had: only ever called, never interpreted."""
    b = Builder(["size", "n", "threads"])
    size = ir.Var("size")
    first = b.allocate("first", "float64", literal(10))
    if where == "task":
        with b.parallel("t", N, THREADS):
            b.free(b.allocate("w", "float64", size))
    else:
        with b.loop("i", literal(0), N):
            b.free(b.allocate("w", "float64", size))
    b.free(first)
    parameters = (size, N, THREADS)
    FAILING[where] = ir.Function(f"failing_{where}", parameters, b.block())


FAILING: dict[str, ir.Function] = {}
VECTORS = {"bool": 16, "int8": 16, "int32": 8, "int64": 4, "uint16": 8}
VECTORS |= {"float32": 16, "float64": 8}

for each in DTYPES:
    operator_case(each, 1)
    cast_case(each, 1)
    update_case(each, 1)
for each, width in VECTORS.items():
    operator_case(each, width)
    cast_case(each, width)
    update_case(each, width)
    lanes_case(each, width)
lookup_case()
for each in ("int32", "int64"):
    search_case(each)
    sort_case(each)
    marked_sort_case(each)
literal_case()
tree_case()
control_case()
workspace_case()
renewed_case()
parallel_case()
failing_case("task")
failing_case("loop")
