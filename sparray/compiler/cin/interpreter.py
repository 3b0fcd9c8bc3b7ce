"""CIN on dense NumPy arrays in plain Python loops: the oracle for schedules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import (
    Access,
    Apply,
    Assign,
    Expr,
    Forall,
    Literal,
    Sequence,
    Stmt,
    Tiles,
    Where,
)
from sparray.compiler.cin.traversal import workspace_names, written
from sparray.compiler.cin.verify import verify
from sparray.compiler.index_notation.affine import affine
from sparray.compiler.index_notation.apply import apply_operator, reduction_identity
from sparray.compiler.loop_ir.dtypes import widened
from sparray.compiler.names import (
    Block,
    Diagonal,
    derived,
    first,
    quotient,
    remainder,
)
from sparray.errors import InternalError

__all__ = ["run"]

Array = NDArray[Any]


def run(
    statement: Stmt,
    arrays: Mapping[str, Array],
    extents: Mapping[str, int],
    dtype: DTypeLike,
    *,
    target: Access | None = None,
) -> Array:
    """Run a CIN statement.

    Parameters
    ----------
    statement : Stmt
        The statement; it is verified first.
    arrays : mapping of str to ndarray
        Each operand, dense.
    extents : mapping of str to int
        Number of values of each index; inner indices of `Tiles` need none.
    dtype : dtype-like
        The result's dtype.
    target : Access, optional
        The result; by default the first tensor written that is no workspace.

    Returns
    -------
    ndarray
        The result, over the extents of its indices.

    Raises
    ------
    InternalError
        If the statement is malformed.

    Notes
    -----
    The result and each workspace start as 0, or as the identity of the one operator
    that reduces into them; a workspace does so at each execution of its `Where`,
    whatever its kind.
    """
    verify(statement)
    workspaces = workspace_names(statement)
    results = [
        a.target for a in written(statement) if a.target.tensor not in workspaces
    ]
    result = results[0] if target is None else target
    shape = tuple(extents[i] for i in result.indices)
    initial = _initial(statement, result.tensor, dtype)
    out: Array = np.full(shape, initial, dtype=dtype)
    machine = _Machine({**arrays, result.tensor: out}, dict(extents))
    machine.execute(statement)
    return out


def _initial(statement: Stmt, tensor: str, dtype: DTypeLike) -> Any:
    assignments = [a for a in written(statement) if a.target.tensor == tensor]
    ops = {a.op for a in assignments if a.op is not None}
    if len(ops) == 1:
        return reduction_identity(ops.pop(), dtype)
    return np.zeros((), dtype=dtype)[()]


@dataclass(slots=True)
class _Machine:
    """The memory of one run.

    ``coordinates`` holds the value of every bound index, ``tiles`` for the inner
    index of each open tile its index, start and size.
    """

    arrays: dict[str, Array]
    extents: dict[str, int]
    coordinates: dict[str, int] = field(default_factory=dict)
    tiles: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    @singledispatchmethod
    def execute(self, statement: Stmt) -> None:
        raise InternalError(f"expected a CIN statement, got {statement!r}")

    @execute.register
    def _(self, statement: Assign) -> None:
        array = self.arrays[statement.target.tensor]
        place = self.place(statement.target)
        value = self.value(statement.value)
        if statement.op is not None:
            value = apply_operator(statement.op, widened(array[place]), value)
        with np.errstate(all="ignore"):
            array[place] = np.asarray(value).astype(array.dtype)

    @execute.register
    def _(self, statement: Forall) -> None:
        index = statement.index
        if statement.fused:
            # Over positions too: where the operand stores nothing, there is no work.
            self.execute(foralls([index, *statement.fused], statement.body))
            return
        if index not in self.tiles:
            for value in range(self.extent(index)):
                self.coordinates[index] = value
                if self.complete(index):
                    self.execute(statement.body)
            # A later loop over another part must not find this one bound.
            self.coordinates.pop(index, None)
            return
        outer, start, size = self.tiles[index]
        for value in range(size):
            self.coordinates[index] = value
            self.coordinates[outer] = start + value
            self.execute(statement.body)

    @execute.register
    def _(self, statement: Tiles) -> None:
        start, extent = 0, self.extents[statement.index]
        while start < extent:
            size = next(s for s in statement.sizes if start + s <= extent)
            self.tiles[statement.inner] = (statement.index, start, size)
            self.execute(statement.body)
            start += size
        self.tiles.pop(statement.inner, None)

    @execute.register
    def _(self, statement: Where) -> None:
        workspace = statement.workspace
        shape = [self.length(index) for index in workspace.indices]
        if workspace.fill is not None:
            initial = np.asarray(workspace.fill.value).astype(workspace.dtype)[()]
        else:
            initial = _initial(statement.producer, workspace.name, workspace.dtype)
        array = np.full(shape, initial, dtype=workspace.dtype)
        self.arrays[workspace.name] = array
        self.execute(statement.producer)
        self.execute(statement.consumer)
        del self.arrays[workspace.name]

    @execute.register
    def _(self, statement: Sequence) -> None:
        for part in statement.statements:
            self.execute(part)

    def extent(self, index: str) -> int:
        part = derived(index)
        if part is None:
            return self.extents[index]
        if isinstance(part, Diagonal):
            return self.extents[part.row] + self.extents[part.column] - 1
        blocks = -(-self.extents[part.base] // part.size)
        return part.size if part.is_remainder else blocks

    def complete(self, index: str) -> bool:
        """Bind the index of which this is the last part; False outside its extent."""
        part = derived(index)
        if isinstance(part, Block):
            pair = (quotient(part.base, part.size), remainder(part.base, part.size))
            if not set(pair) <= set(self.coordinates):
                return True
            outer, inner = (self.coordinates[name] for name in pair)
            self.coordinates[part.base] = outer * part.size + inner
            return self.coordinates[part.base] < self.extents[part.base]
        for name in list(self.coordinates):
            whole = derived(name)
            if isinstance(whole, Diagonal) and index in (name, whole.row):
                if whole.row in self.coordinates:
                    lowest = self.extents[whole.row] - 1
                    row = self.coordinates[whole.row]
                    column = self.coordinates[name] + row - lowest
                    self.coordinates[whole.column] = column
                    return 0 <= column < self.extents[whole.column]
        return True

    def length(self, index: str) -> int:
        return self.tiles[index][2] if index in self.tiles else self.extent(index)

    def place(self, access: Access) -> tuple[int, ...]:
        return tuple(map(self.coordinate, access.indices))

    def coordinate(self, index: str) -> int:
        made = affine(index)
        if made is None:
            return self.coordinates[index]
        steps = (self.coordinates[base] * step for base, step in made.terms)
        return self.extents[first(index)] + sum(steps)

    def value(self, expr: Expr) -> Any:
        if isinstance(expr, Access):
            return widened(self.arrays[expr.tensor][self.place(expr)])
        if isinstance(expr, Literal):
            return widened(expr.value)
        if isinstance(expr, Apply):
            return apply_operator(expr.op, *map(self.value, expr.operands))
        raise InternalError(f"expected an expression of CIN, got {expr!r}")
