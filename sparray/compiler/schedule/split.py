"""The `split` command: a loop over an index becomes loops over its parts."""

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Split"]


@dataclass(frozen=True, slots=True)
class Split:
    """Loop over the parts of an index that an operand's levels store.

    **Rewrite**: ``∀j s`` by ``jq4 jr4`` → ``∀jq4 ∀jr4 s``, where ``j = jq4 * 4 + jr4``
    is known once both are, and ``s`` is skipped where it is outside the extent. By
    ``jmi`` (a diagonal) → ``∀jmi s``, where ``j`` is known once ``i`` is, too.
    """

    index: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"split({self.index}, {' '.join(self.parts)})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with the loop split.

        Raises
        ------
        ScheduleError
            If no loop has that index.
        """
        found = []

        def split(loop: Forall) -> Forall:
            if loop.index != self.index:
                return loop
            found.append(loop)
            made = foralls(self.parts, loop.body)
            if not isinstance(made, Forall):
                raise ScheduleError(f"split: expected parts of {self.index}, got none")
            return made

        made = rewrite_loops(statement, split)
        if not found:
            raise ScheduleError(f"split: expected a loop over {self.index}")
        return made
