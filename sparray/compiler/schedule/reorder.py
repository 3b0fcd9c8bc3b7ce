"""The `reorder` command: loops in another order."""

from dataclasses import dataclass

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import Access, Stmt, Workspace
from sparray.compiler.index_notation.simplify import substitute
from sparray.compiler.schedule.nest import Nest, peel, take_apart
from sparray.errors import ScheduleError

__all__ = ["Reorder"]


@dataclass(frozen=True, slots=True)
class Reorder:
    """Run the loops in the given order, outermost first.

    **Rewrite**: ``∀i ∀j (out = e(w) where ∀k w += t)`` by ``i k j`` →
    ``∀i ((∀j out = e(w[j])) where (∀k ∀j w[j] += t))``: where a reduction's loop
    comes to stand around a loop of the target, the workspace gets that index. The
    result is the same, but for the rounding of sums in another order.
    """

    order: tuple[str, ...]

    def __str__(self) -> str:
        return f"reorder({' '.join(self.order)})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the reordered statement.

        Raises
        ------
        ScheduleError
            If the order does not name each loop of the statement once.
        """
        nest = take_apart(statement)
        loops, inner = peel(statement)
        indices = [loop.index for loop in loops]
        if nest is not None:
            indices = [*nest.prefix, *nest.order]
        kept = [index for index in self.order if index in indices]
        if sorted(kept) != sorted(indices) or len(set(self.order)) != len(self.order):
            raise ScheduleError(
                f"reorder: expected each of {' '.join(indices)} once, got "
                f"{' '.join(self.order)}"
            )
        if nest is None:
            return foralls(kept, inner)
        return self._move(nest)

    def _move(self, nest: Nest) -> Stmt:
        reduced = set(nest.order) - set(nest.tail)
        first = min(self.order.index(index) for index in reduced)
        prefix, rest = self.order[:first], self.order[first:]
        tail = tuple(index for index in rest if index not in reduced)
        old = Access(nest.workspace.name, nest.workspace.indices)
        new = Access(nest.workspace.name, tail)
        # More than one index is for `accumulate` to remove: it is never lowered.
        kind = ("scalar", "list")[len(tail)] if len(tail) <= 1 else "dense"
        workspace = Workspace(new.tensor, tail, kind, nest.workspace.dtype)
        value = substitute(nest.value, {old: new})
        return Nest(
            prefix, tail, rest, nest.target, value, nest.term, nest.op, workspace
        ).put_together()
