"""The `collect` command: what keeps sums whose coordinates come in no order."""

from dataclasses import replace

from sparray.compiler.cin.nodes import Stmt, Where
from sparray.compiler.cin.traversal import rebuilt, walk
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["COLLECTED", "Collect"]

COLLECTED = ("list", "hashed")
"""Kinds of workspaces that list the coordinates which they hold."""


@dataclass(frozen=True, slots=True)
class Collect:
    """Keep sums in a list or in a hash table.

    **Rewrite**: ``∀i ((∀j out = w[j]) where[list] (∀k ∀j w[j] += t))`` by ``hashed`` →
    the same with ``where[hashed]``. Both hold the coordinates that were met, in the
    order in which they came, and give them in their own order; a list has an element
    for every value of ``j``, marked where there is a sum, a table slots for as many as
    one iteration of ``i`` can bring, which is counted before it. The result is the
    same.

    A list ``among`` the entries of an operand ``M``, by which the sums are multiplied,
    or which masks them: → ``where[list among M]``. The coordinates of its row are
    marked before the sums, and others are passed over.

    Attributes
    ----------
    kind : str
        ``"list"`` or ``"hashed"``.
    among : str
        The operand, if any.
    """

    kind: str
    among: str = ""

    @classmethod
    def named(cls, kind: str) -> "Collect | None":
        """Return the command for ``"list among M"`` and the like; None for others."""
        kept, _, among = kind.partition(" among ")
        return cls(kept, among) if kept in COLLECTED else None

    def __str__(self) -> str:
        return f"collect({self.kind}{self.among and f', {self.among}'})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with such workspaces.

        Raises
        ------
        ScheduleError
            If no workspace lists coordinates, or the kind is unknown.
        """
        if self.kind not in COLLECTED:
            raise ScheduleError(
                f"collect: expected {' or '.join(COLLECTED)}, got {self.kind!r}"
            )
        if self.among and self.kind != "list":
            raise ScheduleError(
                f"collect: expected a list among the entries of an operand, got "
                f"{self.kind}"
            )
        if not any(_collects(inside) for inside in walk(statement)):
            raise ScheduleError(
                "collect: expected a loop of the result inside that of a sum, whose "
                "workspace lists coordinates"
            )
        return self._changed(statement)

    def _changed(self, statement: Stmt) -> Stmt:
        made = rebuilt(statement, self._changed)
        if isinstance(made, Where) and _collects(made):
            workspace = replace(made.workspace, kind=self.kind, among=self.among)
            return replace(made, workspace=workspace)
        return made


def _collects(statement: Stmt) -> bool:
    return isinstance(statement, Where) and statement.workspace.kind in COLLECTED
