"""Statements joined into one nest: what holds temporaries, and what cannot be held."""

import numpy as np
import pytest

from sparray._kernels.render import render_module
from sparray.compiler import names
from sparray.compiler.cin.nodes import Assign, Forall, Sequence, Workspace
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.index_notation.nodes import Access, Literal
from sparray.compiler.index_notation.program_text import parse_program
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.index_notation.unify import unify_statements
from sparray.compiler.loop_ir.interpreter import run
from sparray.compiler.pipeline import KernelSpec
from sparray.compiler.problem import TensorSpec
from sparray.compiler.schedule.join import Join
from sparray.compiler.scheduler.joined import JoinError, schedule_joined
from sparray.compiler.scheduler.statistics import Statistics
from sparray.errors import ScheduleError, UnsupportedError
from sparray.formats import named_format

ATTENTION = """
    S[i,j] = where(M[i,j], sum(d, Q[i,d] * K[j,d]), -inf)
    m[i] = max(j, S[i,j])
    E[i,j] = where(M[i,j], exp(S[i,j] - m[i]), 0)
    Z[i] = sum(j, E[i,j])
    O[i,d] = sum(j, E[i,j] * V[j,d]) / Z[i]
"""


def schedule(text, format=None, vector_bytes=32, **formats):
    """Schedule a program as one kernel; what has no format is dense, of float32."""
    unified = unify_statements(parse_program(text).statements)
    read = {a.tensor: a for s in unified.statements for a in accesses(s.value)}
    specs, positions = [], {names.OUTPUT: [1, 1]}
    for name, tensor in unified.operands:
        ndim = len(read[name].indices)
        made = named_format(formats.get(tensor, "dense"), ndim)
        dtype = "bool" if tensor == "M" else "float32"
        index_dtype = "int64" if made.is_dense else "int32"
        specs.append((name, TensorSpec(made, dtype, index_dtype)))
        sizes = (
            [4096, 65536] if tensor in formats else [64 ** (n + 1) for n in range(2)]
        )
        positions[name] = sizes[: len(made.levels)]
    extents = {i: 64 for a in read.values() for i in a.indices}
    wanted = None if format is None else named_format(format, 2)
    statistics = Statistics(extents, positions)
    return schedule_joined(unified.statements, specs, wanted, statistics, vector_bytes)


def held(decision):
    """Return the kind of each temporary."""
    (join,) = decision.commands
    return [workspace.kind for workspace in join.workspaces]


def test_attention_is_one_pass_over_the_mask():
    decision = schedule(ATTENTION, M="csr")
    assert held(decision) == ["pattern", "scalar", "pattern", "scalar"]
    statement = decision.statement
    assert isinstance(statement, Forall)
    assert statement.parallel
    # -inf where the mask has no entry: it is no score, and exp(-inf) is no weight.
    assert "where[pattern float32 fill -inf]" in print_statement(statement)


def test_attention_as_text(golden):
    decision = schedule(ATTENTION, M="csr")
    made = KernelSpec(decision, 8)
    stages = map(print_statement, decision.stages)
    parts = {
        "problem": decision.problem.describe(),
        "CIN": "\n".join(stages),
        "loop IR": made.loops,
    }
    text = "\n\n".join(f"==== {title} ====\n{body}" for title, body in parts.items())
    golden("kernels/attention_csr.txt", text + "\n")
    assert "t1_values" in render_module(made.functions, made.header)


@pytest.mark.parametrize(
    ("text", "formats", "kinds"),
    [
        # A graph network's layer, features first.
        (
            "H[i,k] = A[i,j] * X[j,k]; Y[i,f] = relu(sum(k, H[i,k] * W[k,f]) + b[f])",
            {"A": "csr"},
            ["row"],
        ),
        # A loss over the entries of a mask.
        (
            "R[i,j] = M[i,j] * (sum(k, U[i,k] * V[j,k]) - 1); L[i] = R[i,j] ** 2",
            {"M": "csr"},
            ["pattern"],
        ),
        # The same in all: the sum runs over rows, inside a reduction.
        (
            "R[i,j] = M[i,j] * x[i]; L = sum((i, j), R[i,j] * R[i,j])",
            {"M": "csr"},
            ["pattern"],
        ),
        # Columns, of a mask that is stored by columns.
        (
            "E[i,j] = A[i,j] * x[i]; Z[j] = E[i,j]; P[j] = Z[j] / sum(i, E[i,j])",
            {"A": "csc"},
            ["pattern", "scalar"],
        ),
    ],
)
def test_what_holds_a_temporary(text, formats, kinds):
    assert held(schedule(text, **formats)) == kinds


@pytest.mark.parametrize(
    ("text", "formats", "message"),
    [
        (
            "H[j,f] = X[j,k] * W[k,f]; Y[i] = sum((j, f), A[i,j] * H[j,f])",
            {"A": "csr"},
            "t1 is needed whole",
        ),
        (
            "T[i,j] = A[i,j] + B[i,j]; y[i] = sum(j, T[i,j] * T[i,j])",
            {"A": "csr", "B": "csr"},
            "dense or in the pattern of an operand",
        ),
        (
            "T[i,j] = A[i,j] * x[j]; y[i] = sum(j, T[i,j] * T[i,j])",
            {"A": "coo"},
            "has work only where A has a row",
        ),
        (
            "T[i,j] = A[i,j] * x[j]; y[i] = sum(j, T[i,j] * T[i,j])",
            {"A": "bitmap"},
            "are no rows",
        ),
        (
            "T[i] = A[i,j] * x[j]; C[i,j] = T[i] * B[i,j] + A[i,j]",
            {"A": "csr", "B": "csr"},
            "out cannot be made",
        ),
        ("T[i] = A[i,i] * x[i]; y[i] = T[i] * T[i]", {}, "reads a diagonal"),
        (
            "T[i] = max(j, sum(k, A[i,k] * B[k,j]) * x[j]); y[i] = T[i] * T[i]",
            {},
            "reduction inside another",
        ),
        ("T[i] = x[i] * x[i]; y[i] = T[i]", {}, "the result is a copy"),
        (
            "T[i] = x[i] * x[i]; s = sum(i, T[i] * x[i]) + sum(i, T[i])",
            {},
            "several loops over i",
        ),
        (
            "T[i,j] = alpha + A[i,j]; y[i] = sum(j, T[i,j] * T[i,j])",
            {"A": "csr"},
            "depends on scalars",
        ),
        (
            "T[i,j] = A[i,j] * 2; C[i,j] = T[i,j] * T[j,i]",
            {"A": "csr"},
            "two lists of indices",
        ),
    ],
)
def test_what_cannot_be_held(text, formats, message):
    with pytest.raises(UnsupportedError, match=message):
        schedule(text, **formats)


def test_a_refusal_says_which_tensor_it_is_about():
    text = "a[i] = x[i] + 1; H[j] = y[j] * y[j]; C[i] = sum(j, A[i,j] * H[j]) + a[i]"
    with pytest.raises(JoinError) as caught:
        schedule(text, A="csr")
    assert caught.value.tensor == "t2"


@pytest.mark.parametrize("features", [3, 6])
def test_work_of_attention_grows_with_the_entries_of_the_mask(features):
    few, many, wide = (
        iterations(rows=8, per_row=per_row, columns=columns, features=features)
        for per_row, columns in ((2, 16), (8, 16), (2, 256))
    )
    # How many columns there are does not matter.
    assert wide == few
    # Each entry: a score, of as many products as there are features; a maximum; a
    # weight; their sum; and a product for each feature of the result. Loops that are
    # unrolled count less, a step of four scores as one.
    entries = 8 * (8 - 2)
    most = 1 + features + 1 + 1 + 1 + features
    assert entries <= many - few <= entries * most


def test_memory_of_attention_is_that_of_rows():
    loops = KernelSpec(schedule(ATTENTION, M="csr"), 32).loops
    allocated = [line.split()[1:] for line in loops.splitlines() if "allocate" in line]
    assert allocated == [
        ["t1_values:", "float32[n_k]"],
        ["t3_values:", "float32[n_k]"],
    ]


def iterations(rows, per_row, columns, features):
    """Return how many iterations all loops of the kernel have."""
    spec = KernelSpec(schedule(ATTENTION, M="csr", vector_bytes=4), 4)
    (function,) = spec.functions
    entries = rows * per_row
    pos = np.arange(0, entries + 1, per_row, dtype=np.int32)
    crd = np.tile(np.arange(per_row, dtype=np.int32), rows)
    lengths = (rows, columns, columns, rows)
    dense = [np.ones(length * features, np.float32) for length in lengths]
    sizes = {"i": rows, "j": features, "k": columns, "l": features}
    extents = [sizes[index] for index in spec.index_order]
    given = [pos, crd, np.ones(entries, bool), *dense, *extents, 1]
    parameters = [parameter.name for parameter in function.parameters]
    counter = {}
    run(function, dict(zip(parameters, given, strict=True)), counter=counter)
    return sum(counter.values())


def test_join_refuses_nests_with_other_loops():
    def nest(target, index):
        return Forall(index, Assign(Access(target, (index,)), Literal(1)))

    scalar = Workspace("t1", (), "scalar", "float64")
    good = Sequence((nest("t1", "i"), nest("out", "i")))
    made = Join("i", (scalar,)).apply(good)
    assert print_statement(made) == "∀i (out[i] = 1 where[scalar float64] t1 = 1)"
    for broken, message in (
        (nest("out", "i"), "a sequence of 2 nests"),
        (Sequence((nest("t1", "j"), nest("out", "i"))), "a loop over i outermost"),
        (Sequence((nest("t1", "i"), nest("out", "j"))), "a loop over i outermost"),
        (Sequence((nest("t2", "i"), nest("out", "i"))), "a nest that makes"),
    ):
        with pytest.raises(ScheduleError, match=message):
            Join("i", (scalar,)).apply(broken)
