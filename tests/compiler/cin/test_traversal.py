"""Statements are gone through, and rebuilt, whatever their kind."""

import pytest

from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Forall,
    Sequence,
    Stmt,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.cin.traversal import children, rebuilt, walk
from sparray.errors import InternalError

MAKE = Assign(Access("w1", ()), Access("A", ("i", "k")), "add")
USE = Assign(Access("y", ("i",)), Access("w1", ()))
PLACE = Where(USE, Forall("k", MAKE), Workspace("w1", (), "scalar", "float64"))
ALL = Forall("i", Sequence((PLACE, Tiles("i", "it", (2, 1), USE))), parallel=True)


def test_a_producer_comes_before_its_consumer():
    found = [s for s in walk(ALL) if isinstance(s, Assign)]
    assert found == [MAKE, USE, USE]
    assert children(PLACE) == (Forall("k", MAKE), USE)


def test_what_is_rebuilt_of_its_own_parts_is_equal():
    for statement in walk(ALL):
        assert rebuilt(statement, lambda part: part) == statement


def test_each_part_is_replaced_and_the_rest_stays():
    other = Assign(Access("z", ()), Access("A", ("i", "k")))
    made = rebuilt(PLACE, lambda part: other if part == USE else part)
    assert made == Where(other, PLACE.producer, PLACE.workspace)
    assert rebuilt(ALL, lambda part: other) == Forall("i", other, parallel=True)


def test_other_nodes_are_refused():
    with pytest.raises(InternalError, match="expected a CIN statement"):
        list(walk(Stmt()))
