"""`pos`: CIN before and after, every stage of kernels, and what is refused."""

import numpy as np
import pytest
from oracle_check import Question, check_dispatch, check_stages

import sparray as sp
from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.nodes import Assign, Forall
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.schedule.fuse import Fuse
from sparray.compiler.schedule.parallelize import Parallelize
from sparray.compiler.schedule.pos import Pos
from sparray.compiler.schedule.split_positions import SplitPositions
from sparray.compiler.schedule.unroll import Unroll
from sparray.errors import InternalError, ScheduleError
from sparray.formats import as_format

RNG = np.random.default_rng(0)
SUMS = parse_assignment("y[i] = A[i,j] * x[j]")


def start():
    value = parse_assignment("y[i] = A[i,j] * x[j]").value.operand
    return foralls(("i", "j"), Assign(SUMS.target, value, "add"))


def test_before_and_after():
    statement = Pos("i", "A").apply(Fuse("i", "j").apply(start()))
    verify(statement)
    assert print_statement(statement) == "∀i,j[pos A] y[i] += A[i,j] * x[j]"
    a, x = RNG.random((3, 4)), RNG.random(4)
    extents = {"i": 3, "j": 4}
    found = run(statement, {"A": a, "x": x}, extents, "float64", target=SUMS.target)
    np.testing.assert_allclose(found, a @ x)
    # Chunks end where a row does, so they write rows of their own.
    parallel = Parallelize("i").apply(SplitPositions("i", 64).apply(statement))
    verify(parallel)
    assert print_statement(parallel) == (
        "∀i,j[pos A; blocks of 64; parallel] y[i] += A[i,j] * x[j]"
    )


def test_loops_that_are_none():
    fused = Fuse("i", "j").apply(start())
    for index, tensor in [("j", "A"), ("i", "B"), ("k", "A")]:
        with pytest.raises(ScheduleError, match="pos: expected a plain or a fused"):
            Pos(index, tensor).apply(fused)
    over = Pos("i", "A").apply(fused)
    with pytest.raises(ScheduleError, match="pos: expected a plain or a fused"):
        Pos("i", "A").apply(over)
    with pytest.raises(ScheduleError, match="fuse: expected a plain loop"):
        Fuse("i", "k").apply(over)
    with pytest.raises(ScheduleError, match="unroll: expected"):
        Unroll("j", 2).apply(over)


def test_the_verifier_wants_positions_for_blocks():
    with pytest.raises(InternalError, match="expected positions for blocks of 4"):
        verify(Forall("i", start().body, block=4))
    with pytest.raises(InternalError, match="fused with itself"):
        verify(Forall("i", start().body.body, fused=("i",)))


def sparse(shape, format, density=0.4, dtype=np.int64):
    dense = RNG.integers(-3, 4, shape) * (RNG.random(shape) < density)
    return sp.array(dense.astype(dtype), format=format)


def full(*shape):
    return RNG.integers(-3, 4, shape)


SHAPES = [(5, 7), (0, 3), (3, 0), (1, 1), (9, 2)]
FORMATS = ["csr", "coo", "dcsr", "csc", "dcsc"]
ROWS = {"csc": ("j", "i"), "dcsc": ("j", "i")}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("rest", ["", ".parallelize({0})", ".split({0}, 3)"
                                  ".parallelize({0})", ".split({0}, 2)"])  # fmt: skip
def test_entries_of_a_matrix(format, shape, rest):
    """A sampled product: each entry is written where it is stored."""
    order = ROWS.get(format, ("i", "j"))
    a = sparse(shape, format)
    given = (a, full(shape[0], 3), full(3, shape[1]))
    loops = f"reorder({order[0]} {order[1]} k).fuse({order[0]}, {order[1]})"
    text = f"{loops}.pos({order[0]}, A){rest.format(order[0])}"
    expression = "C[i,j] = A[i,j] * (B[i,k] * D[k,j])"
    by_hand = sp.schedule(text)
    check_stages(Question(expression, given, as_format(format, 2), schedule=by_hand))
    check_stages(Question(expression, given, as_format("dense", 2), schedule=by_hand))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format", ["csr", "coo", "dcsr"])
@pytest.mark.parametrize("rest", ["", ".parallelize(i)", ".split(i, 2).parallelize(i)"])
def test_sums_of_rows(format, shape, rest):
    """Chunks end with the row that an equal share of the entries ends in."""
    given = (sparse(shape, format, 0.8), full(shape[1]))
    text = f"accumulate().fuse(i, j).pos(i, A){rest}"
    check_stages(Question("ij,j->i", given, schedule=sp.schedule(text)))


def test_one_row_with_all_entries_and_many_without():
    dense = np.zeros((40, 9), int)
    dense[17] = np.arange(1, 10)
    dense[39, 2] = 5
    for format in ("csr", "dcsr", "coo"):
        a = sp.array(dense, format=format)
        for rest in ("", ".parallelize(i)", ".split(i, 2).parallelize(i)"):
            by_hand = sp.schedule(f"accumulate().fuse(i, j).pos(i, A){rest}")
            check_stages(Question("ij,j->i", (a, full(9)), schedule=by_hand))


THREE = [
    ("ijk,jl,kl->il", "reorder(i j k l).accumulate().fuse(i, j).pos(i, A)"),
    ("ijk,jl,kl->il", "reorder(i j k l).accumulate().fuse(i, j).fuse(i, k)"
     ".pos(i, A).parallelize(i)"),
    ("ijk,k->ij", "reorder(i j k).accumulate().fuse(i, j).fuse(i, k).pos(i, A)"
     ".split(i, 2).parallelize(i)"),
    ("ijk,k->ij", "fuse(i, j).pos(i, A).parallelize(i)"),
    ("ijk,i->ijk", "fuse(i, j).fuse(i, k).pos(i, A).parallelize(i)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "schedule"), THREE)
@pytest.mark.parametrize("shape", [(4, 3, 5), (3, 0, 2), (1, 6, 1)])
@pytest.mark.parametrize("format", ["csf", "coo"])
def test_three_dimensions(format, shape, text, schedule):
    extents = dict(zip("ijkl", (*shape, 2), strict=True))
    inputs = text.partition("->")[0].split(",")
    others = [full(*(extents[i] for i in term)) for term in inputs[1:]]
    given = (sparse(shape, format, 0.5), *others)
    dense = as_format("dense", 2) if text.endswith("->ij") else None
    asked = Question(text, given, dense, schedule=sp.schedule(schedule))
    if format == "coo" and "fuse(i, k)" not in schedule:
        # Positions of (i, j) are repeated.
        with pytest.raises(ScheduleError, match="of which none is repeated"):
            sp.einsum(text, *given, format=dense, schedule=schedule)
        return
    check_stages(asked)


def test_three_counted_loops_are_one():
    a, b = full(3, 4, 2), full(3, 4, 2)
    by_hand = sp.schedule("reorder(i j k).fuse(i, j).fuse(i, k).parallelize(i)")
    check_stages(Question("ijk,ijk->ijk", (a, b), schedule=by_hand))


@pytest.mark.parametrize("rest", ["", ".split(i, 3)"])
def test_after_a_part_was_precomputed(rest):
    """The part is made once, then read by all threads."""
    schedule = f"precompute(abs(x[j]), i).accumulate().fuse(i, j).pos(i, A){rest}"
    for format in ("csr", "coo"):
        asked = Question(
            "y[i] = A[i,j] * abs(x[j])",
            (sparse((9, 6), format), full(6)),
            schedule=sp.schedule(f"{schedule}.parallelize(i)"),
        )
        check_stages(asked)
    with pytest.raises(ScheduleError, match="chunks of equal entries"):
        sp.compute(asked.text, A=asked.operands[0], x=asked.operands[1],
                   schedule=f"{schedule}.parallelize(i, rows)")  # fmt: skip


def test_one_loop():
    by_hand = sp.schedule("accumulate().pos(i, A)")
    check_stages(Question("i,i->", (sparse(9, "coo"), full(9)), schedule=by_hand))


def test_compiled():
    schedule = "accumulate().fuse(i, j).pos(i, A).split(i, 4).parallelize(i)"
    given = (sparse((30, 20), "csr", dtype=np.float64), RNG.random(20))
    check_dispatch(Question("ij,j->i", given, schedule=sp.schedule(schedule)))


def test_steps_are_counted_by_entries():
    """The loop has a step for each entry, and passes each row once."""
    kernel = sp.compile(
        "C[i,j] = A[i,j] * x[j]", A="csr", schedule="fuse(i, j).pos(i, A)"
    )
    text = str(kernel.loops)
    assert "for pA2 in 0 .. entries" in text
    assert text.count("for ") == 1
    assert kernel.schedule.startswith("reorder(i j).fuse(i, j).pos(i, A)")
    again = sp.compile("C[i,j] = A[i,j] * x[j]", A="csr", schedule=kernel.schedule)
    assert again.source == kernel.source


REFUSED = [
    ("ij,j->i", ("csr", None), "fuse(i, j).pos(i, A)", "a plain loop over i directly"),
    ("ij,j->i", ("csr", None), "accumulate().fuse(i, j)", "with no pos"),
    ("ij,j->i", ("csr", None), "accumulate().pos(i, A)", "got one over i"),
    ("ij,j->i", ("csr", None), "accumulate().fuse(i, j).pos(i, B)", "outermost levels"),
    ("ij,j->i", ("csr", None), "accumulate().fuse(i, j).pos(i, Z)", "a tensor of A, B"),
    ("ij,j->i", ("csr", None), "accumulate().fuse(i, j).pos(i, A)"
     ".parallelize(i, rows)", "chunks of equal entries"),
    ("ij,j->i", ("csr", None), "accumulate().fuse(i, j).pos(i, A)"
     ".parallelize(i, merge)", "chunks of equal entries"),
    ("ij,ij->ij", ("csr", "csr"), "fuse(i, j).pos(i, A)", "A alone to say"),
    ("ij,i->j", ("csr", None), "reorder(i j).accumulate().fuse(i, j).pos(i, A)"
     ".parallelize(i)", "an outermost loop with one range"),
    ("ij,j->i", ("ell", None), "accumulate().fuse(i, j).pos(i, A)", "outermost levels"),
    ("ij,j->i", ("csr", None), "accumulate().fuse(i, j).pos(i, A).split(i, j)",
     "a number of stored entries"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "formats", "schedule", "message"), REFUSED)
def test_refusals(text, formats, schedule, message):
    terms = text.partition("->")[0].split(",")
    extents = {"i": 4, "j": 5}
    given = [
        full(*shape) if format is None else sparse(shape, format)
        for term, format in zip(terms, formats, strict=True)
        for shape in [tuple(extents[i] for i in term)]
    ]
    with pytest.raises(ScheduleError, match=message):
        sp.einsum(text, *given, schedule=schedule)


def test_explained():
    a, u = sparse((9, 9), "csr", dtype=np.float64), RNG.random((9, 2))
    schedule = "fuse(i, j).pos(i, A).split(i, 16).parallelize(i)"
    text = str(sp.explain("ij,ik,jk->ij", a, u, u, schedule=schedule))
    assert "for i [parallel, one loop with j, positions of A, blocks of 16]" in text
    assert "∀i,j[pos A; blocks of 16; parallel] (" in text
