"""The `unroll` command: several iterations side by side, each into a sum of its own."""

from dataclasses import replace

from sparray.compiler.cin.effective import target_access
from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Unroll"]


@dataclass(frozen=True, slots=True)
class Unroll:
    """Keep several sums of a reduction, and add them up at its end.

    **Rewrite**: ``∀k w += t`` by 4 → ``∀k[unroll 4] w += t``: iterations 0, 4, 8, ...
    add to one sum, 1, 5, 9, ... to the next. A sum that waits for the one before it
    takes as long as the processor's addition does; four of them overlap. A tile of
    several vectors has as many sums already: only what is missing to the number is
    made. Sums are rounded in another order, the same one in every run.

    Attributes
    ----------
    index : str
        The index of a loop that reduces.
    sums : int
        How many vectors (or numbers) are summed into side by side.
    """

    index: str
    sums: int

    def __str__(self) -> str:
        return f"unroll({self.index}, {self.sums})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with the loop marked.

        Raises
        ------
        ScheduleError
            If the number is less than 2, or no loop over the index reduces.
        """
        if self.sums < 2:
            raise ScheduleError(f"unroll: expected 2 sums or more, got {self.sums}")
        found = []

        def mark(loop: Forall) -> Forall:
            if loop.index != self.index:
                return loop
            if loop.index in target_access(loop.body).indices:
                return loop
            found.append(loop)
            return replace(loop, unroll=self.sums)

        marked = rewrite_loops(statement, mark)
        if not found:
            raise ScheduleError(
                f"unroll: expected a loop over {self.index} that reduces"
            )
        return marked
