"""The `pack` command: a panel of a dense operand in a contiguous buffer."""

from sparray.compiler.cin.nodes import Access, Assign, Stmt
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.schedule.annotate import rewrite_assignments
from sparray.compiler.schedule.panel import Panel
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Pack"]


@dataclass(frozen=True, slots=True)
class Pack:
    """Copy what loops read of an operand into a buffer, before they run.

    **Rewrite**: ``∀i tiles(j: sizes) ((∀jt out = w[jt]) where (∀k ∀jt w[jt] += A[i,k] *
    B[k,j]))`` by ``B`` before ``i`` → ``tiles(j: sizes) ((∀i (∀jt out = w[jt]) where
    (∀k ∀jt w[jt] += A[i,k] * Bp[k,jt])) where (∀k ∀jt Bp[k,jt] = B[k,j]))``. Without
    tiles, ``∀i s`` → ``(∀i s[Bp for B]) where (∀k ∀j Bp[k,j] = B[k,j])``. The buffer
    has an element for each step of the loops, from ``i`` inwards, that the operand
    depends on, so the innermost of them reads it without a stride, and rows that are
    far apart in the operand share pages and cache sets no more. The result is the same.

    Attributes
    ----------
    tensor : str
        The operand: all its levels are located and hold every coordinate.
    index : str
        The loop before which it is copied.
    dtype : str
        In which the operand's values are computed.
    """

    tensor: str
    index: str
    dtype: str

    def __str__(self) -> str:
        return f"pack({self.tensor}, {self.index})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement that reads the buffer.

        Raises
        ------
        ScheduleError
            If no loop has that index, or the loops inside it do not read the operand,
            in one place, at different elements.
        """
        found: list[Access] = []

        def look(assign: Assign) -> Assign:
            found.extend(a for a in accesses(assign.value) if a.tensor == self.tensor)
            return assign

        rewrite_assignments(statement, look)
        if not found:
            raise ScheduleError(
                f"pack: expected {self.tensor} to be read in one place from "
                f"{self.index} inwards"
            )
        name = f"{self.tensor}p"
        panel = Panel("pack", found[0], self.tensor, self.index, name, self.dtype)
        return panel.put(statement)
