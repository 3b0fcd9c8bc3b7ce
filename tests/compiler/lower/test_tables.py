"""Hashed workspaces: right in every stage, as large as what comes, empty at the end."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, interpreted, plan_of

import sparray as sp
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.kernel_facts.workspaces import SLOTS_PER_SUM
from sparray.compiler.loop_ir import interpreter
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.interpreter import run
from sparray.compiler.loop_ir.traversal import walk
from sparray.compiler.lower.tables import home_slot
from sparray.errors import ScheduleError
from sparray.formats.named import as_format

HASHED = sp.schedule("reorder(i k j).collect(hashed).parallelize(i)")
PRODUCT = "C[i,j] = A[i,k] * B[k,j]"


def stored(shape, format, seed=0, density=0.3, dtype=float):
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 9, shape) * (rng.random(shape) < density)
    return sp.array(dense.astype(dtype), format=format)


def question(text, formats, result, shapes, schedule=HASHED, dtype=float):
    made = tuple(
        stored(shape, format, seed, dtype=dtype)
        for seed, (shape, format) in enumerate(zip(shapes, formats, strict=True))
    )
    return Question(
        text, made, as_format(result, len(text[2:5]) - 1), schedule=schedule
    )


PAIR = ((7, 9), (9, 21))
TRIPLE = (*PAIR, (9, 21))

CASES = {
    "csr": question(PRODUCT, ("csr", "csr"), "csr", PAIR),
    "dcsr": question(PRODUCT, ("dcsr", "dcsr"), "dcsr", PAIR),
    "coordinates": question(PRODUCT, ("csr", "coo"), "coo", PAIR),
    "blocks": question(
        PRODUCT,
        ("csr", "(k, j) -> (k: dense, j // 4: compressed, j % 4: dense)"),
        "csr",
        PAIR,
        sp.schedule("collect(hashed).parallelize(i)"),
    ),
    "dense rows": question(PRODUCT, ("csr", "dense"), "csr", PAIR),
    "bools": question(PRODUCT, ("csr", "csr"), "csr", PAIR, dtype=bool),
    "one thread": question(
        PRODUCT, ("csr", "csr"), "csr", PAIR, sp.schedule("collect(hashed)")
    ),
    "union": question(
        "C[i,j] = A[i,k] * (B[k,j] + D[k,j])", ("csr",) * 3, "csr", TRIPLE
    ),
    "intersection": question(
        "C[i,j] = A[i,k] * (B[k,j] * D[k,j])", ("csr",) * 3, "csr", TRIPLE
    ),
    "merged with an operand": question(
        "C[i,j] = A[i,k] * B[k,j] + D[i,j]", ("csr",) * 3, "csr", (*PAIR, (7, 21))
    ),
    "a function of the sum": question(
        "C[i,j] = sqrt(sum(k, A[i,k] * B[k,j]))", ("csr", "csr"), "csr", PAIR
    ),
    "largest product": question(
        "C[i,j] = max(k, A[i,k] * B[k,j])", ("csr", "csr"), "csr", PAIR
    ),
    "no columns": question(PRODUCT, ("csr", "csr"), "csr", ((7, 9), (9, 0))),
    "no rows": question(PRODUCT, ("csr", "csr"), "csr", ((0, 9), (9, 4))),
    "dense result": question(
        "C[i,j] = sqrt(sum(k, A[i,k] * B[k,j]))", ("csr", "csr"), "dense", PAIR
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_stage_is_right(name):
    (step,) = plan_of(CASES[name]).kernels
    assert "where[hashed" in print_statement(step.decision.statement)
    check_stages(CASES[name])


UNORDERED = (
    "(i, j) -> (i: dense, j: compressed(unordered))",
    "(i, j) -> (i: compressed, j: compressed(unordered))",
)


@pytest.mark.parametrize("kind", ["list", "hashed"])
@pytest.mark.parametrize("format", [*UNORDERED, "dense", "csr"])
def test_only_what_takes_an_order_is_sorted(format, kind):
    """A result of unordered levels gets each coordinate once, too."""
    root = "C[i,j] = sqrt(sum(k, A[i,k] * B[k,j]))"
    asked = question(
        root if format == "dense" else PRODUCT,
        ("csr", "csr"),
        format,
        PAIR,
        sp.schedule(f"reorder(i k j).collect({kind}).parallelize(i)"),
    )
    (step,) = plan_of(asked).kernels
    sorts = [
        node
        for function in step.functions
        for node in walk(function.body)
        if isinstance(node, ir.Sort)
    ]
    assert len(sorts) == (format == "csr")
    check_stages(asked)


def test_an_unordered_result_is_collected_without_being_asked():
    check_stages(question(PRODUCT, ("csr", "csr"), UNORDERED[0], PAIR, None))


def test_two_reductions_around_the_coordinates():
    tensor = question(
        "C[i,j] = T[i,k,l] * B[k,j] * D[l,j]",
        ("csf", "csr", "csr"),
        "csr",
        ((5, 6, 7), (6, 15), (7, 15)),
        sp.schedule("reorder(i k l j).collect(hashed)"),
    )
    check_stages(tensor)


def allocated(kernel, phase=-1):
    """Return the sizes that a kernel's tables are given, in the order of the rows."""
    return [
        node
        for node in walk(kernel.functions[phase].body)
        if isinstance(node, ir.Renew)
    ]


def test_a_table_takes_memory_for_the_longest_row_and_not_for_the_extent(monkeypatch):
    n = 10**8
    columns = np.array([7, 0, n - 1, 2**26, 2**20])
    B = sp.from_coords([np.zeros(5, int), columns], np.ones(5), (3, n), "csr")
    A = sp.from_coords([[0, 1], [0, 2]], [2.0, 3.0], (2, 3), "csr")
    largest = 0
    plain = np.zeros

    def zeros(shape, *given, **named):
        nonlocal largest
        largest = max(largest, int(np.prod(shape)))
        return plain(shape, *given, **named)

    product = Question(PRODUCT, (A, B), as_format("csr", 2), schedule=HASHED)
    with interpreted(), monkeypatch.context() as patched:
        patched.setattr(interpreter.np, "zeros", zeros)
        made = sp.compute(PRODUCT, A=A, B=B, schedule=HASHED)
    assert largest <= 8 * SLOTS_PER_SUM * 5
    coords, values = made.to_coords()
    assert coords.tolist() == [[0] * 5, sorted(columns.tolist())]
    assert values.tolist() == [2.0] * 5
    assert allocated(plan_of(product).kernels[0])


def test_coordinates_that_share_a_slot_are_told_apart():
    """Whatever the hash: all of a row's coordinates begin their search at one slot."""
    mask = 63
    slot = home_slot([ir.Var("j")], ir.Literal(mask))
    place = ir.Function(
        "slot",
        (ir.Buffer("out", "int64", writable=True), ir.Var("j")),
        ir.Block((ir.Store(ir.Buffer("out", "int64", True), ir.Literal(0), slot),)),
    )

    def home(j):
        out = np.zeros(1, np.int64)
        run(place, {"out": out, "j": j})
        return int(out[0])

    together = [j for j in range(900) if home(j) == 62][:9]
    assert len(together) == 9
    # Nine coordinates of four slots each: 64 slots.
    B = sp.from_coords(
        [np.arange(9) % 4, np.array(together)], np.arange(1.0, 10), (4, 900), "csr"
    )
    A = sp.array(np.ones((2, 4)), format="csr")
    check_stages(Question(PRODUCT, (A, B), as_format("csr", 2), schedule=HASHED))


def test_collect_is_refused_where_nothing_is_collected():
    A, B = stored((4, 4), "csr"), np.ones((4, 4))
    with pytest.raises(ScheduleError, match="collect: expected one sum"):
        sp.compute("y[i] = A[i,j]", A=A, schedule="collect(hashed)")
    with pytest.raises(ScheduleError, match="collect: expected list or hashed"):
        sp.schedule().collect("heap")
    # Registers hold these, unless a list is asked for.
    made = sp.compile(
        "C[i,j] = sqrt(sum(k, A[i,k] * B[k,j]))",
        A="csr",
        schedule="reorder(i k j).collect(list)",
    )
    assert "where[list" in str(made.cin)
    assert "collect(list)" in made.schedule
    np.testing.assert_allclose(made(A, B), np.sqrt(A.todense() @ B))
