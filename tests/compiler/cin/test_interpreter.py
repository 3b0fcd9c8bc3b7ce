import numpy as np
import pytest

from sparray.compiler.cin.interpreter import run
from sparray.compiler.cin.nodes import (
    Access,
    Apply,
    Assign,
    Forall,
    Literal,
    Sequence,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.errors import InternalError

RNG = np.random.default_rng(5)
ARRAYS = {"A": RNG.random((3, 4)), "B": RNG.random((4, 11)), "D": RNG.random((3, 11))}
EXTENTS = {"i": 3, "j": 11, "k": 4}

A, B, D = Access("A", ("i", "k")), Access("B", ("k", "j")), Access("D", ("i", "j"))
OUT, PRODUCT = Access("out", ("i", "j")), Apply("mul", (A, B))


def each(statement, *indices):
    for index in reversed(indices):
        statement = Forall(index, statement)
    return statement


def with_workspace(kind):
    w = Access("w", ("j",))
    return each(
        Where(
            each(Assign(OUT, w), "j"),
            each(Assign(w, PRODUCT, "add"), "k", "j"),
            Workspace("w", ("j",), kind, "float64"),
        ),
        "i",
    )


def with_scalar():
    w = Access("w", ())
    where = Where(
        Assign(OUT, w),
        each(Assign(w, PRODUCT, "add"), "k"),
        Workspace("w", (), "scalar", "float64"),
    )
    return each(where, "i", "j")


def with_tiles(sizes):
    r = Access("r", ("jj",))
    where = Where(
        each(Assign(OUT, r), "jj"),
        each(Assign(r, PRODUCT, "add"), "k", "jj"),
        Workspace("r", ("jj",), "registers", "float64"),
    )
    return each(Tiles("j", "jj", sizes, where), "i")


SCHEDULES = {
    "inner": each(Assign(OUT, PRODUCT, "add"), "i", "j", "k"),
    "outer": each(Assign(OUT, PRODUCT, "add"), "k", "j", "i"),
    "dense workspace": with_workspace("dense"),
    "list workspace": with_workspace("list"),
    "scalar workspace": with_scalar(),
    "tiles": with_tiles((4, 2, 1)),
    "tiles larger than the extent": with_tiles((16, 1)),
    "parallel rows": Forall("i", each(Assign(OUT, PRODUCT, "add"), "k", "j"), True),
    "parallel tiles": Tiles(
        "i", "ii", (2, 1), each(Assign(OUT, PRODUCT, "add"), "ii", "k", "j"), True
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_of_a_product_gives_the_product(name):
    result = run(SCHEDULES[name], ARRAYS, EXTENTS, "float64")
    expected = evaluate(parse_assignment("out[i,j] = A[i,k] * B[k,j]"), ARRAYS)
    np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("empty", ["i", "j", "k"])
def test_a_dimension_of_length_zero(name, empty):
    extents = {**EXTENTS, empty: 0}
    arrays = {
        "A": np.ones((extents["i"], extents["k"])),
        "B": np.ones((extents["k"], extents["j"])),
    }
    result = run(SCHEDULES[name], arrays, extents, "float64")
    np.testing.assert_array_equal(result, arrays["A"] @ arrays["B"])


def test_a_sequence_adds_to_what_is_there():
    statement = Sequence(
        (
            each(Assign(OUT, PRODUCT, "add"), "i", "k", "j"),
            each(Assign(OUT, D, "add"), "i", "j"),
        )
    )
    expected = ARRAYS["A"] @ ARRAYS["B"] + ARRAYS["D"]
    result = run(statement, ARRAYS, EXTENTS, "float64")
    np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize(("op", "ufunc"), [("min", np.min), ("max", np.max)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_reduction_starts_from_its_identity(op, ufunc, sign):
    arrays = {"D": sign * (1 + ARRAYS["D"])}
    y, w = Access("y", ("i",)), Access("w", ())
    direct = each(Assign(y, D, op), "i", "j")
    producer = each(Assign(w, D, op), "j")
    workspace = Workspace("w", (), "scalar", "float64")
    through = each(Where(Assign(y, w), producer, workspace), "i")
    for statement in (direct, through):
        result = run(statement, arrays, EXTENTS, "float64")
        np.testing.assert_array_equal(result, ufunc(arrays["D"], axis=1))


def test_a_workspace_starts_anew_each_time():
    w = Access("w", ())
    where = Where(
        Assign(Access("y", ("i",)), w),
        Assign(w, Literal(1), "add"),
        Workspace("w", (), "scalar", "int64"),
    )
    result = run(each(where, "i"), {}, {"i": 3}, "int64")
    np.testing.assert_array_equal(result, [1, 1, 1])


def test_values_are_converted_to_the_result_dtype():
    statement = each(Assign(Access("y", ("i",)), Access("x", ("i",)), "add"), "i")
    result = run(statement, {"x": np.array([300.7])}, {"i": 1}, "int64")
    assert result.dtype == np.int64 and result[0] == 300


def test_an_element_that_nothing_writes_is_zero():
    statement = each(Assign(Access("y", ("i", "i")), Literal(2)), "i")
    result = run(statement, {}, {"i": 2}, "float32", target=Access("y", ("i", "i")))
    np.testing.assert_array_equal(result, [[2, 0], [0, 2]])


def test_the_result_of_a_scalar_statement():
    statement = each(Assign(Access("s", ()), D, "add"), "i", "j")
    result = run(statement, ARRAYS, EXTENTS, "float64")
    assert result.shape == ()
    np.testing.assert_allclose(result, ARRAYS["D"].sum())


def test_a_malformed_statement_is_refused():
    with pytest.raises(InternalError, match="is not bound"):
        run(Assign(OUT, D), ARRAYS, EXTENTS, "float64")
