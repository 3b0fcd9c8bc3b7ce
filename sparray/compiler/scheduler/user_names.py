"""A user's names for what the compiler renamed: of schedules, and of messages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sparray.compiler import names
from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Expr,
    Forall,
    Stmt,
    Tiles,
)
from sparray.compiler.cin.traversal import rebuilt
from sparray.compiler.index_notation.affine import rename_coordinate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_access
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    substitute,
)
from sparray.compiler.schedule.accumulate import Accumulate
from sparray.compiler.schedule.assemble import Assemble
from sparray.compiler.schedule.collect import Collect
from sparray.compiler.schedule.fuse import Fuse
from sparray.compiler.schedule.pack import Pack
from sparray.compiler.schedule.pos import Pos
from sparray.compiler.schedule.precompute import Precompute
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.split import Split
from sparray.errors import ExpressionError
from sparray.records import dataclass

if TYPE_CHECKING:
    from sparray.compiler.scheduler.decision import Command, Decision

__all__ = ["UserNames"]


@dataclass(frozen=True, slots=True)
class UserNames:
    """What a user calls indices and tensors.

    Attributes
    ----------
    text : str
        The expression as the user wrote it.
    indices : mapping of str to str
        Canonical index -> the user's.
    tensors : mapping of str to str
        Canonical operand, and the result -> the user's, with indices where one tensor
        is read in several ways.
    """

    text: str
    indices: Mapping[str, str]
    tensors: Mapping[str, str]

    def index(self, canonical: str) -> str:
        """Return the user's name of an index, or of a part of one."""
        part = names.derived(canonical)
        if isinstance(part, names.Block):
            kind = "in" if part.is_remainder else "out"
            return f"{self.index(part.base)}_{kind}"
        if isinstance(part, names.Diagonal):
            return f"{self.index(part.column)}-{self.index(part.row)}"
        return self.indices.get(canonical, canonical)

    def command(self, command: "Command | Assemble") -> str:
        """Return a command as `sparray.schedule` reads it."""
        if isinstance(command, Assemble):
            source = command.source and self.tensors.get(command.source, command.source)
            return str(replace(command, source=source))
        if isinstance(command, Split):
            part = names.derived(command.parts[0])
            by = self.index(command.parts[0])
            if isinstance(part, names.Block):
                by = str(part.size)
            return f"split({self.index(command.index)}, {by})"
        return str(self.renamed(command))

    def renamed(self, command: "Command") -> "Command":
        """Return a command with the user's names; a split stays as it is."""
        if isinstance(command, Split | Accumulate):
            return command
        if isinstance(command, Collect):
            among = self.tensors.get(command.among, command.among)
            return replace(command, among=among)
        if isinstance(command, Reorder):
            return replace(command, order=tuple(map(self.index, command.order)))
        if isinstance(command, Fuse):
            command = replace(command, inner=self.index(command.inner))
        if isinstance(command, Precompute):
            command = replace(command, value=self.expression(command.value))
        if isinstance(command, Pack | Pos):
            tensor = self.tensors.get(command.tensor, command.tensor)
            command = replace(command, tensor=tensor)
        return replace(command, index=self.index(command.index))

    def expression(self, value: Expr) -> Expr:
        """Return an expression with the user's names, to be printed."""
        return substitute(value, {a: self._access(a) for a in accesses(value)})

    def parse(self, text: str, whole: Expr) -> Expr:
        """Return what a user's part of an expression is in canonical names.

        Raises
        ------
        ExpressionError
            If the text cannot be read, or reads what the whole expression does not.
        """
        made = parse_assignment(f"precomputed = {text}").value
        indices = dict.fromkeys(i for a in accesses(made) for i in a.indices)
        if indices:
            target = f"precomputed[{','.join(indices)}]"
            made = parse_assignment(f"{target} = {text}").value
        known = {self._access(access): access for access in accesses(whole)}
        for access in accesses(made):
            if access not in known:
                raise ExpressionError(
                    f"expected a part of {self.text}, got {print_access(access)}"
                )
        return substitute(made, known)

    def schedule(self, decision: "Decision") -> str:
        """Return all commands of a kernel as `sparray.schedule` reads them."""
        return ".".join(map(self.command, (*decision.commands, decision.assemble)))

    def statement(self, statement: Stmt) -> Stmt:
        """Return a statement with the user's names, to be printed."""
        if isinstance(statement, Assign):
            value = self.expression(statement.value)
            return Assign(self._access(statement.target), value, statement.op)
        if isinstance(statement, Forall | Tiles):
            body, index = self.statement(statement.body), self.index(statement.index)
            if isinstance(statement, Tiles):
                return replace(statement, index=index, body=body)
            fused = tuple(map(self.index, statement.fused))
            pos = self.tensors.get(statement.pos, statement.pos).partition("[")[0]
            return replace(statement, index=index, body=body, fused=fused, pos=pos)
        return rebuilt(statement, self.statement)

    def _access(self, access: Access) -> Access:
        tensor = self.tensors.get(access.tensor, access.tensor).partition("[")[0]
        users = {i: self.index(i) for i in free_indices(access)}
        coordinates = (rename_coordinate(i, users) for i in access.indices)
        return Access(tensor, tuple(coordinates))
