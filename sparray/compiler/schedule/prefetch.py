"""The `prefetch` command: bring gathered rows near before they are used."""

from dataclasses import dataclass, replace

from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError

__all__ = ["Prefetch"]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Read a walked operand some positions ahead and prefetch what it selects.

    **Rewrite**: ``∀k s`` → ``∀k[prefetch 8] s``. At position ``p`` the coordinate at
    ``p + 8`` is read, and the part of each dense operand that the open tile would use
    there is brought into the cache. The processor cannot foresee those addresses: they
    come from memory. The result is the same.

    Attributes
    ----------
    index : str
        The index of a loop that walks an operand, with a tile's loop inside.
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
            has that index.
        """
        if self.distance < 1:
            raise ScheduleError(
                f"prefetch: expected a positive distance, got {self.distance}"
            )
        found = []

        def mark(loop: Forall) -> Forall:
            inner = loop.body
            if loop.index != self.index or not isinstance(inner, Forall):
                return loop
            if not inner.vector:
                return loop
            found.append(loop)
            return replace(loop, prefetch=self.distance)

        marked = rewrite_loops(statement, mark)
        if not found:
            raise ScheduleError(
                f"prefetch: expected a loop over {self.index} around a vector loop"
            )
        return marked
