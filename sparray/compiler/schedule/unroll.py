"""The `unroll` command: several iterations side by side, each with a sum of its own."""

from dataclasses import replace

from sparray.compiler.cin.effective import target_access
from sparray.compiler.cin.nodes import Forall, Stmt, Where
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Unroll", "sums_in_vectors"]


@dataclass(frozen=True, slots=True)
class Unroll:
    """Keep several sums of a reduction, and add them up at its end.

    **Rewrite**: ``∀k w += t`` by 4 → ``∀k[unroll 4] w += t``: iterations 0, 4, 8, ...
    add to one sum, 1, 5, 9, ... to the next. A sum that waits for the one before it
    takes as long as the processor's addition does; four of them overlap. A tile of
    several vectors has as many sums already: only what is missing to the number is
    made. Sums are rounded in another order, the same one in every run.

    A loop that does not reduce may be right around a sum that is vectorized: ``∀j
    (s where ∀k[vector] w += t)`` by 4 → ``∀j[unroll 4] (s where ∀k[vector] w += t)``:
    the sums of four ``j`` run side by side in one loop over ``k``, so that what they
    share is loaded once for all four.

    Attributes
    ----------
    index : str
        The index of a loop that reduces, or is around a sum in vectors.
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
            If the number is less than 2, or no loop over the index reduces or stands
            around a sum in vectors.
        """
        if self.sums < 2:
            raise ScheduleError(f"unroll: expected 2 sums or more, got {self.sums}")
        found = []

        def mark(loop: Forall) -> Forall:
            if loop.index != self.index:
                return loop
            reduces = loop.index not in target_access(loop.body).indices
            if not reduces and not sums_in_vectors(loop):
                return loop
            found.append(loop)
            return replace(loop, unroll=self.sums)

        marked = rewrite_loops(statement, mark)
        if not found:
            raise ScheduleError(
                f"unroll: expected a loop over {self.index} that reduces, or is right "
                "around a sum in vectors"
            )
        return marked


def sums_in_vectors(loop: Forall) -> bool:
    """Tell whether each iteration is one sum in vectors, and what is made of it."""
    body = loop.body
    return (
        isinstance(body, Where)
        and body.workspace.kind == "scalar"
        and isinstance(body.producer, Forall)
        and body.producer.vector
    )
