"""The `join` command: several nests with one outermost loop become one nest."""

from collections.abc import Callable
from dataclasses import replace

from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Forall,
    Sequence,
    Stmt,
    Where,
    Workspace,
)
from sparray.compiler.cin.rename import renamed
from sparray.compiler.cin.traversal import written
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Join"]


@dataclass(frozen=True, slots=True)
class Join:
    """Hold temporaries for one iteration of the outermost loop, not for all of them.

    **Rewrite**: ``∀i ∀j T[i,j] = x; ∀i ∀j y[i] += T[i,j]`` → ``∀i (∀j y[i] += T[j]
    where ∀j T[j] = x)``.

    Attributes
    ----------
    index : str
        The outermost loop of each statement; of the last one, perhaps in a reduction.
    workspaces : tuple of Workspace
        What holds each temporary, in the order of the statements that make them.
    schedules : tuple of str
        The commands that each of the statements was scheduled by.
    """

    index: str
    workspaces: tuple[Workspace, ...]
    schedules: tuple[str, ...] = ()

    def __str__(self) -> str:
        kinds = [f"{made.name}: {made.kind}" for made in self.workspaces]
        return f"join({'; '.join([self.index, *kinds, *self.schedules])})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the one nest.

        Raises
        ------
        ScheduleError
            If the statement is no sequence of one nest for each workspace and the
            result's, or a nest has another outermost loop.
        """
        wanted = len(self.workspaces) + 1
        if not isinstance(statement, Sequence) or len(statement.statements) != wanted:
            raise ScheduleError(f"join: expected a sequence of {wanted} nests")
        *producers, last = (
            renamed(part, self._of_row) for part in statement.statements
        )
        pairs = list(zip(producers, self.workspaces, strict=True))
        for producer, workspace in pairs:
            if {a.target.tensor for a in written(producer)}.isdisjoint(
                {workspace.name}
            ):
                raise ScheduleError(f"join: expected a nest that makes {workspace}")

        def inside(body: Stmt) -> Stmt:
            for producer, workspace in reversed(pairs):
                body = Where(body, self._body(producer), workspace)
            return body

        made = self._within(last, inside)
        if made is None:
            raise ScheduleError(f"join: expected a loop over {self.index} outermost")
        return made

    def _of_row(self, access: Access) -> Access:
        """Return a temporary's access with the indices that its workspace has."""
        for workspace in self.workspaces:
            if workspace.name == access.tensor:
                return Access(access.tensor, workspace.indices)
        return access

    def _body(self, producer: Stmt) -> Stmt:
        if not isinstance(producer, Forall) or producer.index != self.index:
            raise ScheduleError(f"join: expected a loop over {self.index} outermost")
        return producer.body

    def _within(self, statement: Stmt, inside: Callable[[Stmt], Stmt]) -> Stmt | None:
        """Return a statement whose loop over the index has another body."""
        if isinstance(statement, Forall):
            if statement.index != self.index:
                return None
            return replace(statement, body=inside(statement.body))
        if isinstance(statement, Where) and isinstance(statement.consumer, Assign):
            producer = self._within(statement.producer, inside)
            return None if producer is None else replace(statement, producer=producer)
        return None
