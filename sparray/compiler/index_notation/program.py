"""Several statements, each of which may read what the ones before it made.

The grammar::

    Program ::= Assignment ... , outputs

Tensors are the program's: a name that is assigned is a temporary or a result, every
other one an operand. Indices are their statement's own: ``i`` in two statements need
not run over the same extent.
"""

from collections.abc import Mapping
from dataclasses import field

from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.printer import print_access, print_assignment
from sparray.compiler.index_notation.tokenizer import syntax_error, tokenize
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.index_notation.verify import Shapes, index_extents, verify
from sparray.errors import ExpressionError, ShapeError
from sparray.records import dataclass

__all__ = ["Program", "live_statements", "verify_program"]


@dataclass(frozen=True, slots=True)
class Program:
    """Statements in the order in which they run, and which of them are results.

    Attributes
    ----------
    statements : tuple of Assignment
        Each target is assigned once.
    outputs : tuple of str
        Targets that are results, in the order in which they are returned.
    text : str
        The statements, one per line, which parse back to it. It tells programs apart
        that differ in the type of a number alone, as nodes do not.
    operands : tuple of str
        Tensors that no statement assigns, in order of first appearance.
    """

    statements: tuple[Assignment, ...]
    outputs: tuple[str, ...]
    text: str = field(init=False, repr=False)
    operands: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Print the statements once, and look for operands."""
        text = "\n".join(map(print_assignment, self.statements))
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "operands", self._read())

    def __hash__(self) -> int:
        # A warm call looks programs up: of a text the hash is kept, of nodes it is not.
        return hash(self.text)

    def _read(self) -> tuple[str, ...]:
        made = {statement.target.tensor for statement in self.statements}
        read = (
            access.tensor
            for statement in self.statements
            for access in accesses(statement.value)
        )
        return tuple(dict.fromkeys(name for name in read if name not in made))


def verify_program(program: Program, shapes: Shapes | None = None) -> None:
    """Check that a program has one meaning.

    Parameters
    ----------
    program : Program
        The statements, their reductions explicit.
    shapes : mapping of str to tuple of int, optional
        Shape of each operand.

    Raises
    ------
    ExpressionError
        If a statement has no meaning of its own (`verify`), a tensor is assigned
        twice, read before it is assigned or read with another number of indices than
        it is assigned with, or an output is not assigned or named twice.
    ShapeError
        If extents disagree.
    """
    if not program.statements:
        raise ExpressionError("expected a statement, got none")
    first = {s.target.tensor: s for s in reversed(program.statements)}
    made: dict[str, Access] = {}
    for number, statement in enumerate(program.statements):
        for access in accesses(statement.value):
            if access.tensor in first and access.tensor not in made:
                # A statement that reads its own target is what `verify` refuses.
                if access.tensor != statement.target.tensor:
                    message = f"{access.tensor!r} is read before it is assigned"
                    raise _error(statement, number, access, message)
            _check_dimensions(statement, number, access, made)
        if statement.target.tensor in made:
            message = f"{statement.target.tensor!r} is assigned already"
            raise _error(statement, number, statement.target, message)
        verify(statement)
        made[statement.target.tensor] = statement.target
    _check_outputs(program, made)
    if shapes is not None:
        _check_shapes(program, shapes)


def _check_dimensions(
    statement: Assignment, number: int, access: Access, made: Mapping[str, Access]
) -> None:
    target = made.get(access.tensor)
    if target is not None and len(target.indices) != len(access.indices):
        message = (
            f"{print_access(access)}: expected {len(target.indices)} indices, as "
            f"{print_access(target)} is assigned with, got {len(access.indices)}"
        )
        raise _error(statement, number, access, message)


def _check_outputs(program: Program, made: Mapping[str, Access]) -> None:
    if not program.outputs or len(set(program.outputs)) < len(program.outputs):
        raise ExpressionError(
            f"outputs: expected distinct results, got {program.outputs}"
        )
    for name in program.outputs:
        if name not in made:
            raise ExpressionError(
                f"outputs: expected names that are assigned ({', '.join(made)}), got "
                f"{name!r}"
            )


def _check_shapes(program: Program, shapes: Shapes) -> None:
    known = dict(shapes)
    for name in program.operands:
        if name not in known:
            raise ShapeError(f"tensor {name!r} has no operand")
    for statement in program.statements:
        known.pop(statement.target.tensor, None)
        extents = index_extents(statement, known)
        target = statement.target
        known[target.tensor] = tuple(extents[index] for index in target.indices)


def live_statements(program: Program) -> tuple[Assignment, ...]:
    """Return the statements on which an output depends, in their order."""
    needed = set(program.outputs)
    live = []
    for statement in reversed(program.statements):
        if statement.target.tensor in needed:
            live.append(statement)
            needed |= {access.tensor for access in accesses(statement.value)}
    return tuple(reversed(live))


def _error(
    statement: Assignment, number: int, access: Access, message: str
) -> ExpressionError:
    """Return an error that shows the statement, and where in it the access is."""
    text = print_assignment(statement)
    start = 0
    if access is not statement.target:
        start = next(
            token.start
            for token in tokenize(text)
            if token.start > text.index("=") and token.text == access.tensor
        )
    return syntax_error(text, start, f"statement {number + 1}: {message}")
