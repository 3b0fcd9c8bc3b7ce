"""The `fuse` command: loops, one directly inside the other, become one."""

from dataclasses import replace

from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Fuse"]


@dataclass(frozen=True, slots=True)
class Fuse:
    """Run two loops, one directly inside the other, as a single one.

    **Rewrite**: ``∀i ∀j s`` → ``∀i,j s``: a loop over the product of the extents, which
    tells ``i`` and ``j`` by division. A loop of few values that is to run in parallel
    gets those of the next one. A fused loop can be fused again: ``∀i,j ∀k s`` →
    ``∀i,j,k s``. Loops that walk an operand become one over its positions, by `Pos`.
    The result is the same.

    Attributes
    ----------
    index, inner : str
        The indices of the loops; of a fused one, that of its outermost loop.
    """

    index: str
    inner: str

    def __str__(self) -> str:
        return f"fuse({self.index}, {self.inner})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with one loop in place of two.

        Raises
        ------
        ScheduleError
            If no loop over the one index stands directly around one over the other, or
            either of them is marked by another command.
        """
        found = []

        def fuse(loop: Forall) -> Forall:
            inner = loop.body
            if loop.index != self.index or not isinstance(inner, Forall):
                return loop
            plain = Forall(loop.index, inner, fused=loop.fused)
            if loop != plain or inner != Forall(self.inner, inner.body):
                return loop
            found.append(loop)
            return replace(loop, body=inner.body, fused=(*loop.fused, self.inner))

        fused = rewrite_loops(statement, fuse)
        if not found:
            raise ScheduleError(
                f"fuse: expected a plain loop over {self.index} directly around one "
                f"over {self.inner}"
            )
        return fused
