"""The `prefetch` command: bring gathered rows near before they are used."""

from dataclasses import replace

from sparray.compiler.cin.nodes import Assign, Forall, Stmt
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Prefetch"]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Read a walked operand some positions ahead and prefetch what it selects.

    **Rewrite**: ``∀k s`` → ``∀k[prefetch 8] s``. At position ``p`` the coordinate at
    ``p + 8`` is read, and the part of each dense operand that the open tile would use
    there is brought into the cache; or, around an assignment whose entries are
    scattered, the place where the entry there will go. The processor cannot foresee
    those addresses: they come from memory. The result is the same.

    Attributes
    ----------
    index : str
        The index of a loop that walks an operand, with a tile's loop or an assignment
        inside.
    distance : int
        How many positions ahead.
    """

    index: str
    distance: int

    def __str__(self) -> str:
        return f"prefetch({self.index}, {self.distance})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with the loop marked.

        Raises
        ------
        ScheduleError
            If the distance is not positive, or no loop directly around a vector loop
            or an assignment has that index.
        """
        if self.distance < 1:
            raise ScheduleError(
                f"prefetch: expected a positive distance, got {self.distance}"
            )
        found = []

        def mark(loop: Forall) -> Forall:
            inner = loop.body
            tiled = isinstance(inner, Forall) and inner.vector
            stored = isinstance(inner, Assign) and inner.op is None
            if loop.index != self.index or not (tiled or stored):
                return loop
            found.append(loop)
            return replace(loop, prefetch=self.distance)

        marked = rewrite_loops(statement, mark)
        if not found:
            raise ScheduleError(
                f"prefetch: expected a loop over {self.index} around a vector loop or "
                "an assignment"
            )
        return marked
