"""The `tile` command: the innermost loop in tiles, accumulated in registers."""

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Forall,
    Stmt,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.index_notation.simplify import substitute
from sparray.compiler.schedule.nest import take_apart
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Tile"]


@dataclass(frozen=True, slots=True)
class Tile:
    """Cut the innermost index into tiles and keep a tile's sums in registers.

    **Rewrite**: ``∀i ((∀j out = e(w[j])) where (∀k ∀j w[j] += t))`` →
    ``∀i tiles(j: sizes) ((∀jt out = e(w[jt])) where (∀k ∀jt w[jt] += t))``, the
    loops over ``jt`` in vector instructions.

    Attributes
    ----------
    index : str
        The index to cut: the only one of the workspace, innermost in the producer.
    sizes : tuple of int
        Sizes of tiles, descending, the last one 1.
    """

    index: str
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return f"tile({self.index}, {' '.join(map(str, self.sizes))})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the tiled statement.

        Raises
        ------
        ScheduleError
            If the statement has another shape, or the sizes do not descend to 1.
        """
        nest = take_apart(statement)
        if nest is None or nest.tail != (self.index,) or nest.order[-1] != self.index:
            raise ScheduleError(
                f"tile: expected a workspace over {self.index} that is filled with "
                f"{self.index} innermost"
            )
        descending = all(
            a > b for a, b in zip(self.sizes, self.sizes[1:], strict=False)
        )
        if not self.sizes or self.sizes[-1] != 1 or not descending:
            raise ScheduleError(
                f"tile: expected descending sizes that end in 1, got {self.sizes}"
            )
        inner = f"{self.index}t"
        name = nest.workspace.name
        workspace = Workspace(name, (inner,), "registers", nest.workspace.dtype)
        old, new = Access(name, (self.index,)), Access(name, (inner,))
        value = substitute(nest.value, {old: new})
        consumer = Forall(inner, Assign(nest.target, value), vector=True)
        update = Forall(inner, Assign(new, nest.term, nest.op), vector=True)
        producer = foralls(nest.order[:-1], update)
        body = Where(consumer, producer, workspace)
        return foralls(nest.prefix, Tiles(self.index, inner, self.sizes, body))
