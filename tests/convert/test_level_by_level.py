"""Results whose levels get room level by level: no format is packed beside kernels."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, interpreted

import sparray as sp
from sparray import dispatch
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.steps import KernelStep, PackStep
from sparray.convert import compiled
from sparray.convert.compiled import _copy
from sparray.errors import PatternError
from sparray.evaluation import planning
from sparray.formats import Format, as_format
from sparray.formats.packing import narrowest_index_dtype, pack_coordinates

ROWS = "(i, j) -> (i: dense, j: hashed)"
TABLES = "(i, j) -> (i: hashed, j: hashed)"
COLUMNS = "(i, j) -> (j: hashed, i: bitmap)"
BLOCKS = "(i, j) -> (i // 2: hashed, j: dense, i % 2: dense)"
HASHED = [ROWS, TABLES, COLUMNS, BLOCKS]
GROUPED = ["nmg(2, 2, 3)", "nmg(1, 1, 2)", "nmg(2, 4, 9)", "nmg(3, 4, 5)"]
SLICED = [
    "batched_csr",
    "batched_csc",
    "batched_bcsr(2, 3)",
    "batched_bcsc(2, 2)",
    "(h, i, j) -> (h: batch, i: compressed, j: compressed)",
    "(h, i, j) -> (h: batch, i: dense, j: hashed)",
    "(h, i, j) -> (h: batch, i: batch, j: compressed)",
]
SHAPES = [(6, 8), (5, 7), (1, 9), (0, 3), (3, 0), (9, 1)]


def dense_of(shape, dtype="float64", seed=0):
    """At most two entries in each block of four along each dimension."""
    rng = np.random.default_rng(seed)
    kept = rng.random(shape) < 0.6
    for axis, extent in enumerate(shape):
        cut = [slice(None)] * len(shape)
        cut[axis] = np.arange(extent) % 4 > 1
        kept[tuple(cut)] = False
    return (rng.integers(1, 9, shape) * kept).astype(dtype)


def steps_of(source, format):
    """The steps of a conversion as `convert.compiled` asks for it."""
    prune = source.format.is_dense or any(level.bounded for level in format.levels)
    expression = _copy(len(source.shape))
    plan = planning.operands_plan(expression, [source], format, prune=prune)
    return plan.plan.steps


def converted(source, format, index_dtype=None):
    """Convert by kernels that the interpreter runs."""
    steps = steps_of(source, format)
    assert not any(isinstance(step, PackStep) for step in steps)
    prune = source.format.is_dense or any(level.bounded for level in format.levels)
    with interpreted(2):
        call = dispatch._find(
            _copy(len(source.shape)), [source], format, prune, index_dtype
        )
        return dispatch._run(call, _copy(len(source.shape)), [source])


def check(dense, source, target, index_dtype=None):
    """A conversion is what NumPy makes of the coordinates, and well-formed."""
    given = sp.array(dense, source)
    format = as_format(target, dense.ndim)
    made = converted(given, format, index_dtype)
    coords = np.array(np.nonzero(dense)).reshape(dense.ndim, -1)
    values = dense[tuple(coords)]
    wanted = index_dtype or narrowest_index_dtype(dense.shape, len(values)).name
    packed, stored = pack_coordinates(format, dense.shape, coords, values, 0, wanted)
    checked = sp.from_buffers(format, dense.shape, made._levels, made.values)
    assert checked.dtype == dense.dtype
    assert np.array_equal(checked.todense(), dense)
    for level, expected in zip(made._levels, packed, strict=True):
        assert {role: b.dtype for role, b in level.items()} == {
            role: b.dtype for role, b in expected.items()
        }
    if "hashed" in target:
        # Where an entry is in its table depends on the order in which they come.
        assert checked.nnz == len(values) or not format.hides or format.pads
        assert len(stored) <= len(made.values) <= 2 * len(stored)
        return
    assert np.array_equal(made.values, stored)
    for level, expected in zip(made._levels, packed, strict=True):
        for role, buffer in expected.items():
            assert np.array_equal(level[role], buffer)


@pytest.mark.parametrize("target", [*HASHED, *GROUPED])
@pytest.mark.parametrize("source", ["csr", "csc", "coo"])
def test_kernels_make_what_numpy_makes(source, target):
    for shape in SHAPES:
        check(dense_of(shape), source, target)
    check(np.zeros((4, 5)), source, target)


@pytest.mark.parametrize("target", SLICED)
@pytest.mark.parametrize("source", ["csf", "coo"])
def test_slices_are_what_numpy_makes(source, target):
    for shape in [(3, 6, 5), (1, 4, 4), (2, 0, 3), (0, 3, 3)]:
        check(dense_of(shape), source, target)
    uneven = dense_of((4, 6, 6))
    uneven[1], uneven[3, 2:] = 0, 0
    check(uneven, source, target)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_every_dtype_and_width(dtype, index_dtype):
    for target in (ROWS, TABLES, "nmg(2, 4, 9)"):
        check(dense_of((6, 8), dtype), "csr", target, index_dtype)
    check(dense_of((3, 4, 6), dtype), "csf", "batched_csr", index_dtype)


@pytest.mark.parametrize("target", [*HASHED, "nmg(2, 4, 9)"])
@pytest.mark.parametrize("source", ["csr", "csc", "coo", "dia", "bitmap", "ell"])
def test_one_kernel_inserts_in_any_order(source, target):
    given = sp.array(dense_of((6, 8)), source)
    steps = [
        step
        for step in steps_of(given, as_format(target, 2))
        if isinstance(step, KernelStep)
    ]
    assert steps[-1].decision.assemble.way is Assembly.ALLOT


def test_only_rows_of_tables_run_in_parallel():
    given = sp.array(dense_of((6, 8)), "csr")
    (rows,) = steps_of(given, Format.parse(ROWS))
    (tables,) = steps_of(given, Format.parse(TABLES))
    assert "parallelize(i)" in rows.decision.schedule
    assert "parallelize" not in tables.decision.schedule
    by_column = sp.array(dense_of((6, 8)), "csc")
    (step,) = steps_of(by_column, Format.parse(ROWS))
    assert "parallelize" not in step.decision.schedule


@pytest.mark.parametrize("target", [ROWS, TABLES])
def test_a_table_has_room_for_what_it_holds_only(target):
    # A hundred products come to each of the entries.
    left, right = np.ones((3, 100)), np.ones((100, 2))
    left[1] = 0
    check_stages(
        Question(
            "ij,jk->ik",
            (sp.array(left, "csr"), sp.array(right, "csr")),
            Format.parse(target),
        )
    )
    one = np.zeros((50, 60))
    one[7] = 1
    made = converted(sp.array(one, "coo"), Format.parse(TABLES))
    assert len(made._levels[0]["crd"]) == 2
    assert len(made._levels[1]["crd"]) == 120


def test_an_entry_without_a_slot_is_named_as_numpy_names_it(monkeypatch):
    dense = np.zeros((4, 6))
    dense[:3, 1] = 1
    given = sp.array(dense, "csr")
    with pytest.raises(PatternError) as by_numpy:
        given.to_format("nmg(2, 4, 1)")
    monkeypatch.setattr(compiled, "_WORTH_COMPILING", 1)
    monkeypatch.setattr(compiled, "try_compiled", _interpreted_copy)
    with pytest.raises(PatternError) as by_kernel:
        given.to_format("nmg(2, 4, 1)")
    assert str(by_kernel.value) == str(by_numpy.value)
    assert "with the entry (0, 1)" in str(by_kernel.value)


def _interpreted_copy(expression, operands, format, *, prune, index_dtype, merging):
    with interpreted(1):
        call = dispatch._find(expression, operands, format, prune, index_dtype, merging)
        return dispatch._run(call, expression, operands)


@pytest.mark.parametrize("target", [ROWS, "nmg(2, 4, 900)", "batched_csr"])
def test_compiled(target, monkeypatch):
    monkeypatch.setattr(compiled, "_WORTH_COMPILING", 1)
    shape = (3, 40, 50) if "batched" in target else (300, 400)
    dense = dense_of(shape)
    made = sp.array(dense, "csf").to_format(target)
    checked = sp.from_buffers(target, shape, made.levels, made.values)
    assert np.array_equal(checked.todense(), dense)
