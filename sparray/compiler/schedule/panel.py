"""Hold what loops read of an expression in a dense workspace, made before they run."""

from dataclasses import replace

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Expr,
    Forall,
    Stmt,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.index_notation.traversal import (
    accesses,
    children,
    replace_children,
    walk,
)
from sparray.compiler.names import whole
from sparray.compiler.schedule.annotate import rewrite_assignments
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Panel"]


@dataclass(frozen=True, slots=True)
class Panel:
    """A workspace with what an expression is at each step of some loops.

    Attributes
    ----------
    command : str
        Whose it is, for messages.
    value : Expr
        The expression.
    shown : str
        The expression in messages.
    index : str
        The loop before which it is made.
    name : str
        The workspace's name.
    dtype : str
        Its dtype.
    """

    command: str
    value: Expr
    shown: str
    index: str
    name: str
    dtype: str

    def put(self, statement: Stmt) -> Stmt:
        """Return the statement that reads the workspace in place of the expression.

        Raises
        ------
        ScheduleError
            If no loop has that index, or the loops inside it do not read the
            expression, in one place, at different elements.
        """
        if isinstance(statement, Forall) and statement.index == self.index:
            return self._before(statement)
        if isinstance(statement, Forall | Tiles):
            return replace(statement, body=self.put(statement.body))
        raise ScheduleError(
            f"{self.command}: expected a loop over {self.index} around all that reads "
            f"{self.shown}"
        )

    def _before(self, statement: Forall) -> Stmt:
        path = self._find(statement)
        tiles = [loop for loop in path if isinstance(loop, Tiles)]
        inner = {loop.inner: loop.index for loop in tiles}
        read = {i for access in accesses(self.value) for i in access.indices}
        indices = tuple(
            loop.index
            for loop in path
            if isinstance(loop, Forall)
            and whole(inner.get(loop.index, loop.index)) in read
        )
        if not indices:
            raise ScheduleError(
                f"{self.command}: expected {self.shown} to depend on a loop from "
                f"{self.index} inwards"
            )
        buffer = Access(self.name, indices)
        workspace = Workspace(self.name, indices, "dense", self.dtype)
        producer = _marked(foralls(indices, Assign(buffer, self.value)), set(inner))

        def take(assign: Assign) -> Assign:
            return replace(assign, value=self._replaced(assign.value, buffer))

        used = [loop for loop in tiles if loop.inner in indices]
        if not used:
            return Where(rewrite_assignments(statement, take), producer, workspace)
        (tile,) = used
        inside = _without(statement, tile)
        body = Where(rewrite_assignments(inside, take), producer, workspace)
        return replace(tile, body=body)

    def _replaced(self, expr: Expr, buffer: Access) -> Expr:
        if expr == self.value:
            return buffer
        parts = tuple(self._replaced(child, buffer) for child in children(expr))
        return replace_children(expr, parts) if parts else expr

    def _find(self, statement: Stmt) -> list[Forall | Tiles]:
        """Return the loops around the one place that reads the expression."""
        path: list[Forall | Tiles] = []
        while not isinstance(statement, Assign):
            if isinstance(statement, Forall | Tiles):
                path.append(statement)
                statement = statement.body
                continue
            if not isinstance(statement, Where):
                break
            sides = [statement.producer, statement.consumer]
            found = [side for side in sides if self._is_read(side)]
            if len(found) != 1:
                break
            statement = found[0]
        if isinstance(statement, Assign) and self._is_read(statement):
            return path
        raise ScheduleError(
            f"{self.command}: expected {self.shown} to be read in one place from "
            f"{self.index} inwards"
        )

    def _is_read(self, statement: Stmt) -> bool:
        found: list[Expr] = []

        def look(assign: Assign) -> Assign:
            found.extend(node for node in walk(assign.value) if node == self.value)
            return assign

        rewrite_assignments(statement, look)
        return bool(found)


def _marked(statement: Stmt, inner: set[str]) -> Stmt:
    """Return loops, those over a tile in vectors."""
    if not isinstance(statement, Forall):
        return statement
    body = _marked(statement.body, inner)
    return replace(statement, body=body, vector=statement.index in inner)


def _without(statement: Stmt, tile: Tiles) -> Stmt:
    """Return loops without the tiles in them, whose body is left in its place."""
    if statement is tile:
        return tile.body
    if isinstance(statement, Forall | Tiles):
        return replace(statement, body=_without(statement.body, tile))
    raise ScheduleError("expected tiles around the sums that they hold")
