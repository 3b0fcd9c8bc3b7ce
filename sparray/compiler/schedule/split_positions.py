"""The `split` command on a loop over positions: blocks of equal stored entries."""

from dataclasses import replace

from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["SplitPositions"]


@dataclass(frozen=True, slots=True)
class SplitPositions:
    """Run a loop over positions block by block, each of so many stored entries.

    **Rewrite**: ``∀i,j[pos A] s`` → ``∀i,j[pos A; blocks of 256] s``. In parallel, the
    blocks are the chunks. The result is the same.

    Attributes
    ----------
    index : str
        The loop over positions.
    size : int
        Entries of a block.
    """

    index: str
    size: int

    def __str__(self) -> str:
        return f"split({self.index}, {self.size})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with blocks of positions.

        Raises
        ------
        ScheduleError
            If no loop over positions has that index, or it has blocks already.
        """
        found = []

        def split(loop: Forall) -> Forall:
            if loop.index != self.index or not loop.pos or loop.block:
                return loop
            found.append(loop)
            return replace(loop, block=self.size)

        made = rewrite_loops(statement, split)
        if not found:
            raise ScheduleError(
                f"split: expected a loop over positions of {self.index}, without blocks"
            )
        return made
