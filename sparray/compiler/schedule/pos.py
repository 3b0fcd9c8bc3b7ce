"""The `pos` command: a loop over an operand's positions, not over coordinates."""

from dataclasses import replace

from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Pos"]


@dataclass(frozen=True, slots=True)
class Pos:
    """Run a loop, or fused loops, over the positions at which an operand is stored.

    **Rewrite**: ``∀i,j s`` → ``∀i,j[pos A] s``: one loop over the positions of the
    level of ``A`` that stores ``j``, one step for each stored entry, whatever the rows
    are. The coordinate ``j`` is read there; ``i`` is that of the level above, which is
    followed upwards: found by a search at the first position, and from then on by
    passing the end of a row. The result is the same where ``A`` alone decides where
    there is work.

    Source: Senanayake et al. 2020, "A sparse iteration space transformation framework
    for sparse tensor algebra", section 4 (pos).

    Attributes
    ----------
    index : str
        The loop, by the index of the outermost one that was fused.
    tensor : str
        The operand.
    """

    index: str
    tensor: str

    def __str__(self) -> str:
        return f"pos({self.index}, {self.tensor})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with the loop over positions.

        Raises
        ------
        ScheduleError
            If no loop has that index and reads the operand, or it is marked by another
            command than `fuse`.
        """
        found = []

        def mark(loop: Forall) -> Forall:
            if loop.index != self.index:
                return loop
            plain = loop == Forall(loop.index, loop.body, fused=loop.fused)
            read = {access.tensor for access in accesses(effective_value(loop.body))}
            if not plain or self.tensor not in read:
                return loop
            found.append(loop)
            return replace(loop, pos=self.tensor)

        marked = rewrite_loops(statement, mark)
        if not found:
            raise ScheduleError(
                f"pos: expected a plain or a fused loop over {self.index}, in which "
                f"{self.tensor} is read"
            )
        return marked
