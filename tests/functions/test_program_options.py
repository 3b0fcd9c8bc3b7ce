"""Programs with semirings, masks and schedules; tuned, and compiled ahead."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import (
    ExpressionError,
    ScheduleError,
    ShapeError,
    UnsupportedError,
)
from sparray.evaluation import programs
from sparray.functions import autotune, precompile
from sparray.functions.program_arguments import stated_program

TWO_HOPS = "T[i,k] = A[i,j] * A[j,k]; C[i,k] = T[i,k] * x[k]"
SELF = "R[i,j] = A[i,j] * x[j]; y[i] = sum(j, R[i,j] * R[i,j])"


@pytest.fixture
def graph():
    rng = np.random.default_rng(3)
    return np.where(rng.random((7, 7)) < 0.4, rng.integers(1, 9, (7, 7)), 0.0)


@pytest.fixture
def x():
    return np.arange(1.0, 8)


def min_plus(a, b):
    return (a[:, :, None] + b[None]).min(axis=1)


def kinds(stated):
    runners = programs.group_runners(
        stated.program, stated.arrays, stated.formats, stated.options
    )
    return [[step.target for step in runner.group.steps] for runner in runners]


def test_a_semiring_is_that_of_every_statement(graph, x):
    roads = np.where(graph == 0, np.inf, graph)
    expected = min_plus(roads, roads) + x
    A = sp.array(graph, format="csr")
    with interpreted():
        made = sp.compute(TWO_HOPS, A=A, x=x, semiring="min_plus")
        np.testing.assert_array_equal(made.todense(), expected)
        T, C = sp.compute(
            TWO_HOPS, A=A, x=x, semiring="min_plus", outputs=["T", "C"], missing="zero"
        )
        np.testing.assert_array_equal(C.todense(), expected)
        np.testing.assert_array_equal(T.todense(), min_plus(roads, roads))
    assert T.fill_value == np.inf


@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "max_plus"])
def test_statements_over_a_semiring_in_one_kernel(graph, x, semiring):
    A = sp.array(graph, format="csr")
    stated = stated_program(SELF, {"A": A, "x": x}, semiring=semiring)
    assert kinds(stated) == [["R", "y"]]
    add, multiply, zero = {
        "min_plus": (np.min, np.add, np.inf),
        "max_plus": (np.max, np.add, -np.inf),
        "max_times": (np.max, np.multiply, -np.inf),
    }[semiring]
    stored = np.where(graph == 0, zero, graph)
    row = np.where(graph == 0, zero, multiply(stored, x))
    expected = add(np.where(graph == 0, zero, multiply(row, row)), axis=1)
    with interpreted():
        found = sp.compute(SELF, A=A, x=x, semiring=semiring)
    np.testing.assert_array_equal(found, expected)


def test_what_a_semiring_refuses(graph):
    A = sp.array(graph, format="csr")
    with pytest.raises(ExpressionError, match="no negation"):
        sp.compute("T[i] = A[i,j]; y = -T[i]", A=A, semiring="min_plus")
    with pytest.raises(ExpressionError, match="missing: expected 'zero'"):
        sp.compute("T[i] = A[i,j]; y = T[i]", A=A, semiring="or_and", missing="fill")
    nameless = sp.Semiring(sp.Monoid("x * y / (x + y)"), "times")
    with pytest.raises(ExpressionError, match="has an identity"):
        sp.compute("T[i,j] = A[i,j] + A[j,i]; C[i,j] = T[j,i]", A=A, semiring=nameless)


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("format", ["csr", "dense", "csc"])
def test_a_mask_is_that_of_the_result(graph, x, complement, format):
    A = sp.array(graph, format="csr")
    mask = np.eye(7) + np.eye(7, k=2)
    chosen = (mask == 0) if complement else (mask != 0)
    with interpreted():
        made = sp.compute(
            TWO_HOPS,
            A=A,
            x=x,
            mask=sp.array(mask, format=format),
            complement=complement,
        )
    np.testing.assert_allclose(made.todense(), chosen * (graph @ graph) * x)
    assert made.nnz == np.count_nonzero(chosen * ((graph != 0) @ (graph != 0) * 1))


def test_a_tensor_may_be_called_mask(graph, x):
    text = "T[i,k] = mask[i,j] * mask[j,k]; C[i,k] = T[i,k] * T[k,i]"
    A, M = sp.array(graph, format="csr"), sp.array(np.eye(7), format="csr")
    with interpreted():
        product = graph @ graph
        stated = stated_program(text, {"mask": A}, mask=M)
        assert stated.options.mask_tensor == "mask_"
        (result,) = programs.evaluate_program(
            stated.program, stated.arrays, stated.formats, stated.options
        )
    dense = np.zeros((7, 7))
    coords, values = sp.SparseArray._from_trusted(
        result.format, result.shape, result._levels, result.values, 0.0
    ).to_coords()
    dense[tuple(coords)] = values
    np.testing.assert_allclose(dense, np.eye(7) * product * product.T)


def test_what_masks_refuse(graph):
    A = sp.array(graph, format="csr")
    text = "T[i] = A[i,j]; y[i] = T[i] * 2"
    with pytest.raises(ExpressionError, match=r"mask: expected one result.*T, y"):
        sp.compute(text, A=A, mask=np.ones(7), outputs=["T", "y"])
    with pytest.raises(ExpressionError, match="complement: expected a mask too"):
        sp.compute(text, A=A, complement=True)
    with pytest.raises(ShapeError, match="one extent"):
        sp.compute(text, A=A, mask=np.ones(6))


def test_a_schedule_is_for_the_statement_that_is_named(graph, x):
    A = sp.array(graph, format="csr")
    by_hand = {"T": sp.schedule().reorder("i j k")}
    stated = stated_program(TWO_HOPS, {"A": A, "x": x}, schedule=by_hand)
    assert kinds(stated) == [["T"], ["C"]]
    told = sp.explain(TWO_HOPS, A=A, x=x, schedule=by_hand)
    assert "reorder(i j k): asked for by hand" in told
    assert "compute T first: it has a mask or a schedule of its own" in told
    with interpreted():
        made = sp.compute(TWO_HOPS, A=A, x=x, schedule=by_hand)
        np.testing.assert_allclose(made.todense(), graph @ graph * x)
        (alone,) = sp.compute(
            "y[i] = A[i,j]", A=A, outputs=["y"], schedule="reorder(i j)"
        )
        np.testing.assert_allclose(alone, graph.sum(axis=1))


def test_what_a_scheduled_statement_reads_stays_as_it_is(graph, x):
    text = "T[i,k] = A[i,k] * x[k]; y[i] = T[i,k] * x[k]"
    A = sp.array(graph, format="csr")
    assert kinds(stated_program(text, {"A": A, "x": x})) == [["y"]]
    stated = stated_program(text, {"A": A, "x": x}, schedule={"y": "reorder(i k)"})
    assert kinds(stated) == [["T"], ["y"]]


def test_schedules_that_are_refused(graph, x):
    A = sp.array(graph, format="csr")
    with pytest.raises(ScheduleError, match="a mapping from what statements assign"):
        sp.compute(TWO_HOPS, A=A, x=x, schedule="reorder(i j k)")
    with pytest.raises(
        ScheduleError, match=r"names that are assigned \(T, C\), got 'x'"
    ):
        sp.compute(TWO_HOPS, A=A, x=x, schedule={"x": "reorder(i j k)"})
    with pytest.raises(ScheduleError, match=r"at fault: +reorder\(q j k\)"):
        sp.compute(TWO_HOPS, A=A, x=x, schedule={"T": "reorder(q j k)"})
    for function in (sp.compute, sp.explain):
        with pytest.raises(ScheduleError, match="the only statement, got a mapping"):
            function("y[i] = A[i,j]", A=A, schedule={"y": "reorder(i j)"})
    with pytest.raises(ScheduleError, match="the only statement, got a mapping"):
        sp.compile("y[i] = A[i,j]", A="csr", schedule={"y": "reorder(i j)"})


def test_a_compiled_program(graph, x):
    A, M = sp.array(graph, format="csr"), sp.array(np.eye(7), format="csr")
    roads = np.where(graph == 0, np.inf, graph)
    with interpreted():
        kernel = sp.compile(TWO_HOPS, A="csr", semiring="min_plus")
        made = kernel(A, x)
        np.testing.assert_array_equal(made.todense(), min_plus(roads, roads) + x)
        kernel = sp.compile(TWO_HOPS, A="csr", mask="csr")
        made = kernel(A, x, mask=M)
        np.testing.assert_allclose(made.todense(), np.eye(7) * (graph @ graph) * x)
        with pytest.raises(ExpressionError, match="expected a mask, got none"):
            kernel(A, x)
        kernel = sp.compile(TWO_HOPS, A="csr", schedule={"T": "reorder(i j k)"})
        assert kernel.schedule.splitlines()[0].startswith("reorder(i k j)")
        with pytest.raises(ExpressionError, match="expected no mask, got one"):
            kernel(A, x, mask=M)


def test_the_kernels_of_a_program_are_compiled_ahead(graph, x, monkeypatch):
    A = sp.array(graph, format="csr")
    monkeypatch.setattr(precompile, "load_kernel", lambda key, make: None)
    with interpreted():
        found = sp.precompile(
            [
                (TWO_HOPS, {"A": A, "x": x, "outputs": ["T", "C"]}),
                (SELF, {"A": A, "x": x, "semiring": "min_plus"}),
                (SELF, {"A": "csr", "dtype": "float32"}),
                ("C[i,j] = A[i,j] * 2", {"A": A, "mask": A, "complement": True}),
            ]
        )
    assert [len(one.schedules) for one in found] == [2, 1, 1, 1]
    assert "join(i" in found[1].schedules[0]
    with pytest.raises(ExpressionError, match="expected the operands A, x, got A"):
        sp.precompile([(SELF, {"A": A})])


def test_each_statement_that_is_computed_by_itself_is_tuned(graph, x, monkeypatch):
    A = sp.array(graph, format="csr")
    asked = []

    def tune(expression, given, wanted, candidates, seconds):
        asked.append((expression.text, candidates, seconds))
        best = autotune.Candidate("way", "reorder(i)", 1.0, 1e-6)
        return autotune.Tuning(expression.text, (best,), best, 1)

    monkeypatch.setattr(autotune, "_tune", tune)
    first = "S[i,k] = A[i,j] * A[j,k]; z[i] = S[i,k] * S[k,i]"
    text = f"{first}; {SELF}; w[i] = y[i] - z[i]"
    with interpreted():
        found = sp.autotune(text, A=A, x=x, candidates=3, seconds=0.5)
    assert ("S[i,k] = sum(j, A[i,j] * A[j,k])", 3, 0.5) in asked
    assert [part.expression for part in found.parts] == [text for text, _, _ in asked]
    assert str(found).count("-> ") == len(asked)
    with interpreted(), pytest.raises(UnsupportedError, match="computed by itself"):
        sp.autotune(SELF, A=A, x=x)
