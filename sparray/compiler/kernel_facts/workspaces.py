"""The workspaces of a statement, and the memory that they take."""

from collections.abc import Iterator

from sparray.compiler.cin.nodes import Stmt, Tiles, Where
from sparray.compiler.cin.traversal import walk, written

__all__ = [
    "LISTED",
    "LISTED_BYTES",
    "SLOTS_PER_SUM",
    "SLOT_BYTES",
    "largest_tiles",
    "list_workspaces",
    "update_operator",
    "workspaces",
]


LISTED = frozenset({"list", "hashed"})
"""Kinds of workspaces that list the coordinates which they hold."""


LISTED_BYTES = 9
"""Of a coordinate in a list workspace beside its value: a mark and an int64."""


def largest_tiles(statement: Stmt) -> Iterator[tuple[str, int]]:
    """Yield the inner index of each `Tiles` of a statement, with its largest size."""
    for inside in walk(statement):
        if isinstance(inside, Tiles):
            yield inside.inner, inside.sizes[0]


def list_workspaces(statement: Stmt) -> Iterator[Where]:
    """Yield every `Where` of a statement whose workspace lists its coordinates."""
    return (w for w in workspaces(statement) if w.workspace.kind in LISTED)


def workspaces(statement: Stmt) -> Iterator[Where]:
    """Yield every `Where` of a statement."""
    return (inside for inside in walk(statement) if isinstance(inside, Where))


SLOT_BYTES = 12
"""Of a slot beside its value: a coordinate, and a quarter of what two lists hold."""


SLOTS_PER_SUM = 4
"""A table at most a quarter full has 1.2 probes a search, and a branch that is foreseen
(SpGEMM of rows of 256 products: 1.4 times as fast as half full)."""


def update_operator(statement: Where) -> str | None:
    """Return the operator that updates a workspace; None if it is only assigned."""
    name = statement.workspace.name
    ops = (a.op for a in written(statement.producer) if a.target.tensor == name)
    return next((op for op in ops if op is not None), None)
