"""The `precompute` command: a part of the expression, computed before loops run."""

from sparray.compiler.cin.nodes import Expr, Stmt
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.schedule.panel import Panel
from sparray.records import dataclass

__all__ = ["Precompute"]


@dataclass(frozen=True, slots=True)
class Precompute:
    """Compute a part of the expression into a workspace, before a loop.

    **Rewrite**: ``∀i ∀k w += A[i,k] * f(x[k])`` by ``f(x[k])`` before ``i`` → ``(∀i ∀k
    w += A[i,k] * t1[k]) where (∀k t1[k] = f(x[k]))``. The workspace has an element for
    each step of the loops, from ``i`` inwards, that the part depends on. What it reads
    are dense operands, so it has a value everywhere. The result is the same.

    Attributes
    ----------
    value : Expr
        The part, as it stands in the statement.
    index : str
        The loop before which it is computed.
    name : str
        The workspace's name.
    dtype : str
        In which the part is computed.
    """

    value: Expr
    index: str
    name: str
    dtype: str

    def __str__(self) -> str:
        return f"precompute({print_expression(self.value)}, {self.index})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement that reads the workspace.

        Raises
        ------
        ScheduleError
            If no loop has that index, or the part is not read, in one place, inside it.
        """
        shown = print_expression(self.value)
        given = "precompute", self.value, shown, self.index, self.name, self.dtype
        return Panel(*given).put(statement)
