import pytest

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
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.nodes import Reduce
from sparray.errors import InternalError

Y, X, S, W = Access("y", ("i",)), Access("x", ("i",)), Access("s", ()), Access("w", ())
V = Access("v", ("j",))
SCALAR = Workspace("w", (), "scalar", "float64")


def each(statement, *indices, parallel=False):
    for number, index in enumerate(reversed(indices)):
        outermost = number == len(indices) - 1
        statement = Forall(index, statement, parallel=parallel and outermost)
    return statement


def where(consumer=None, producer=None, workspace=SCALAR):
    consumer = Assign(Y, W) if consumer is None else consumer
    producer = each(Assign(W, V, "add"), "j") if producer is None else producer
    return Where(consumer, producer, workspace)


ZERO = Literal(0)

BROKEN = [
    (Assign(Y, X), "index 'i' is not bound"),
    (each(Assign(Y, V), "i"), "index 'j' is not bound"),
    (each(Assign(Y, X), "i", "i"), "index 'i' is bound twice"),
    (each(Assign(Y, Apply("add", (Y, X))), "i"), "is read where it is written"),
    (each(Assign(Y, Reduce("add", ("j",), V)), "i"), "expected no Reduce"),
    (each(Assign(Y, X, "sub"), "i"), "operator 'sub' cannot reduce"),
    (Sequence(()), "expected statements in a Sequence"),
    (each(where(producer=Assign(S, ZERO)), "i"), "workspace 'w' is never written"),
    (
        each(where(producer=Sequence((Assign(S, W), Assign(W, ZERO)))), "i"),
        "workspace 'w' is read before it is written",
    ),
    (each(where(consumer=Assign(W, ZERO)), "i"), "'w' is written out of its place"),
    (
        each(Sequence((where(), Assign(Y, W))), "i"),
        "workspace 'w' is read before it is written",
    ),
    (each(Sequence((Assign(W, ZERO), where())), "i"), "is written out of its place"),
    (each(Sequence((where(), where())), "i"), "expected distinct workspaces"),
    (
        each(where(workspace=Workspace("w", (), "heap", "float64")), "i"),
        "expected a workspace kind of scalar, registers, dense, list, hashed, row, ",
    ),
    (
        each(where(workspace=Workspace("w", (), "list", "float64")), "i"),
        "expected 1 indices, got 0",
    ),
    (each(Assign(S, X, "add"), "i", parallel=True), "write the same elements of 's'"),
    (
        Tiles("i", "ii", (4, 1), each(Assign(S, X, "add"), "ii"), parallel=True),
        "tasks of the parallel loop 'i' write the same elements",
    ),
    (
        where(
            consumer=Assign(S, W),
            producer=each(Assign(W, X, "add"), "i", parallel=True),
        ),
        "write the same elements of 'w'",
    ),
    (Tiles("i", "ii", (4,), each(Assign(Y, X), "ii")), "tile sizes that descend to 1"),
    (Tiles("i", "ii", (2, 4, 1), each(Assign(Y, X), "ii")), "that descend to 1"),
    (Tiles("i", "ii", (), each(Assign(Y, X), "ii")), "that descend to 1"),
    (Tiles("i", "ii", (4, 1), Assign(Y, X)), "index 'i' is not bound"),
    (Tiles("i", "ii", (4, 1), each(Assign(Y, X), "i")), "already cut into tiles"),
    (Tiles("i", "i", (4, 1), each(Assign(Y, X), "i")), "is bound already"),
    (each(Tiles("i", "ii", (1,), each(Assign(Y, X), "ii")), "i"), "is bound already"),
    (
        Tiles("i", "ii", (1,), each(Assign(Y, X), "ii", "ii")),
        "is bound twice",
    ),
]


@pytest.mark.parametrize(("statement", "message"), BROKEN)
def test_broken_statements(statement, message):
    with pytest.raises(InternalError) as caught:
        verify(statement)
    assert message in str(caught.value)


REGISTERS = Workspace("r", ("jj",), "registers", "float64")
R = Access("r", ("jj",))
PRODUCT = Apply("mul", (Access("A", ("i", "k")), Access("B", ("k", "j"))))

SOUND = [
    each(Assign(Y, X), "i", parallel=True),
    each(where(), "i", parallel=True),
    Sequence((each(Assign(Y, X), "i"), each(Assign(Y, V, "add"), "i", "j"))),
    Tiles("i", "ii", (4, 1), each(Assign(Y, X), "ii"), parallel=True),
    Tiles("i", "ii", (4, 1), each(where(), "ii"), parallel=True),
    each(
        Tiles(
            "j",
            "jj",
            (16, 4, 1),
            Where(
                each(Assign(Access("out", ("i", "j")), R), "jj"),
                each(Assign(R, PRODUCT, "add"), "k", "jj"),
                REGISTERS,
            ),
        ),
        "i",
        parallel=True,
    ),
    # A workspace made before the parallel loop is shared by its tasks, read-only.
    where(consumer=each(Assign(Y, W), "i", parallel=True)),
]


@pytest.mark.parametrize("statement", SOUND)
def test_sound_statements(statement):
    verify(statement)
