"""The `vectorize` command: a reduction's innermost loop in vector instructions."""

from dataclasses import replace

from sparray.compiler.cin.nodes import Assign, Forall, Stmt
from sparray.compiler.names import whole
from sparray.compiler.schedule.annotate import rewrite_loops
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Vectorize", "vectorises_reduction"]


@dataclass(frozen=True, slots=True)
class Vectorize:
    """Let the C compiler reorder the sum of an innermost loop into vector lanes.

    **Rewrite**: ``∀k w += t`` → ``∀k[vector] w += t``. Sums are rounded in another
    order than one after the other, the same one in every run.
    """

    index: str

    def __str__(self) -> str:
        return f"vectorize({self.index})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with the loop marked.

        Raises
        ------
        ScheduleError
            If no innermost loop has that index.
        """
        found = []

        def mark(loop: Forall) -> Forall:
            if loop.index != self.index or not isinstance(loop.body, Assign):
                return loop
            found.append(loop)
            return replace(loop, vector=True)

        marked = rewrite_loops(statement, mark)
        if not found:
            raise ScheduleError(
                f"vectorize: expected an innermost loop over {self.index}"
            )
        return marked


def vectorises_reduction(statement: Stmt) -> bool:
    """Tell whether a vector loop of a statement reduces, outside of tiles.

    A tile's vector loop steps through its target, so its sums keep their order.
    """
    found = []

    def look(loop: Forall) -> Forall:
        body = loop.body
        if loop.vector and isinstance(body, Assign) and body.op is not None:
            if whole(loop.index) not in body.target.indices:
                found.append(loop)
        return loop

    rewrite_loops(statement, look)
    return bool(found)
