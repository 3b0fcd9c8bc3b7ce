"""The `pack` command: a panel of a dense operand in a contiguous buffer."""

from dataclasses import dataclass, replace

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
from sparray.compiler.index_notation.simplify import accesses, substitute
from sparray.compiler.names import whole
from sparray.compiler.schedule.annotate import rewrite_assignments
from sparray.errors import ScheduleError

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
        if isinstance(statement, Forall) and statement.index == self.index:
            return self._pack(statement)
        if isinstance(statement, Forall | Tiles):
            return replace(statement, body=self.apply(statement.body))
        raise ScheduleError(
            f"pack: expected a loop over {self.index} around all that reads "
            f"{self.tensor}"
        )

    def _pack(self, statement: Forall) -> Stmt:
        access, path = self._find(statement)
        tiles = [loop for loop in path if isinstance(loop, Tiles)]
        inner = {loop.inner: loop.index for loop in tiles}
        indices = tuple(
            loop.index
            for loop in path
            if isinstance(loop, Forall)
            and whole(inner.get(loop.index, loop.index)) in access.indices
        )
        if not indices:
            raise ScheduleError(
                f"pack: expected {self.tensor} to depend on a loop from {self.index} "
                "inwards"
            )
        buffer = Access(f"{self.tensor}p", indices)
        workspace = Workspace(buffer.tensor, indices, "dense", self.dtype)
        producer = _marked(foralls(indices, Assign(buffer, access)), set(inner))

        def read(assign: Assign) -> Assign:
            return replace(assign, value=substitute(assign.value, {access: buffer}))

        used = [loop for loop in tiles if loop.inner in indices]
        if not used:
            return Where(rewrite_assignments(statement, read), producer, workspace)
        (tile,) = used
        inside = _without(statement, tile)
        body = Where(rewrite_assignments(inside, read), producer, workspace)
        return replace(tile, body=body)

    def _find(self, statement: Stmt) -> tuple[Access, list[Forall | Tiles]]:
        """Return the access, and the loops around the one place that reads it."""
        path: list[Forall | Tiles] = []
        while not isinstance(statement, Assign):
            if isinstance(statement, Forall | Tiles):
                path.append(statement)
                statement = statement.body
                continue
            if not isinstance(statement, Where):
                break
            sides = [statement.producer, statement.consumer]
            found = [side for side in sides if self._reads(side)]
            if len(found) != 1:
                break
            statement = found[0]
        if isinstance(statement, Assign):
            for access in accesses(statement.value):
                if access.tensor == self.tensor:
                    return access, path
        raise ScheduleError(
            f"pack: expected {self.tensor} to be read in one place from {self.index} "
            "inwards"
        )

    def _reads(self, statement: Stmt) -> bool:
        found: list[Access] = []

        def look(assign: Assign) -> Assign:
            found.extend(a for a in accesses(assign.value) if a.tensor == self.tensor)
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
    raise ScheduleError("pack: expected tiles around the sums that they hold")
