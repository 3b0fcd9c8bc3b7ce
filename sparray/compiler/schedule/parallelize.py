"""The `parallelize` command: the outermost loop on several threads."""

from dataclasses import dataclass, replace

from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.errors import ScheduleError

__all__ = ["Parallelize"]


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Split the outermost loop over threads, in chunks of equal stored entries.

    **Rewrite**: ``∀i s`` → ``∀i[parallel] s``.
    """

    index: str

    def __str__(self) -> str:
        return f"parallelize({self.index})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with its outermost loop marked.

        Raises
        ------
        ScheduleError
            If the index is not that of the outermost loop.
        """
        if not isinstance(statement, Forall) or statement.index != self.index:
            raise ScheduleError(
                f"parallelize: expected {self.index} to be the outermost loop"
            )
        return replace(statement, parallel=True)
