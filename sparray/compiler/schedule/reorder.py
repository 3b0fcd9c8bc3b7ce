"""The `reorder` command: loops in another order."""

from collections.abc import Collection

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import Access, Stmt, Where, Workspace
from sparray.compiler.index_notation.simplify import substitute
from sparray.compiler.names import wholes
from sparray.compiler.schedule.nest import Nest, peel, take_apart
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Reorder"]


@dataclass(frozen=True, slots=True)
class Reorder:
    """Run the loops in the given order, outermost first.

    **Rewrite**: ``∀i ∀j (out = e(w) where ∀k w += t)`` by ``i k j`` →
    ``∀i ((∀j out = e(w[j])) where (∀k ∀j w[j] += t))``: where a reduction's loop
    comes to stand around a loop of the target, the workspace gets that index. In a
    statement of several workspaces every loop stays in its part. The result is the
    same, but for the rounding of sums in another order.
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
        if nest is not None:
            self._check({*nest.prefix, *nest.order})
            return self._move(nest)
        self._check(_indices(statement))
        return self._each(statement)

    def _check(self, indices: Collection[str]) -> None:
        if sorted(self.order) != sorted(indices):
            raise ScheduleError(
                f"reorder: expected each of {' '.join(sorted(indices))} once, got "
                f"{' '.join(self.order)}"
            )

    def _each(self, statement: Stmt) -> Stmt:
        """Reorder the loops of each part for itself: none leaves its part."""
        loops, inner = peel(statement)
        if isinstance(inner, Where):
            consumer, producer = self._each(inner.consumer), self._each(inner.producer)
            inner = Where(consumer, producer, inner.workspace)
        indices = {loop.index for loop in loops}
        return foralls([index for index in self.order if index in indices], inner)

    def _move(self, nest: Nest) -> Stmt:
        reduced = set(nest.order) - set(nest.tail)
        first = min(self.order.index(index) for index in reduced)
        prefix, rest = self.order[:first], self.order[first:]
        # The consumer runs over whole indices, whose parts the producer runs over: but
        # over the parts that are left, where some stand around both.
        around = wholes(prefix)
        late = [index for index in rest if index not in reduced]
        tail = tuple(
            dict.fromkeys(
                part if whole in around else whole
                for part in late
                for whole in wholes([part])
            )
        )
        old = Access(nest.workspace.name, nest.workspace.indices)
        new = Access(nest.workspace.name, tail)
        # More than one index is for `accumulate` to remove: it is never lowered.
        kind = ("scalar", "list")[len(tail)] if len(tail) <= 1 else "dense"
        workspace = Workspace(new.tensor, tail, kind, nest.workspace.dtype)
        value = substitute(nest.value, {old: new})
        return Nest(
            prefix, tail, rest, nest.target, value, nest.term, nest.op, workspace
        ).put_together()


def _indices(statement: Stmt) -> frozenset[str]:
    loops, inner = peel(statement)
    indices = frozenset(loop.index for loop in loops)
    if isinstance(inner, Where):
        return indices | _indices(inner.consumer) | _indices(inner.producer)
    return indices
