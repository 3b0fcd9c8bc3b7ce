"""Nodes of the loop IR: scalar code over flat buffers, with explicit loops.

The whole grammar::

    Function   ::= name(Buffer | Var ...) { Block }
    statement  ::= Block | Declare | Assign | Store | For | While | If | Parallel
                 | Allocate | Renew | Free | Sort | Prefetch | Comment
    expression ::= Literal | Var | Load | Unary | Binary | Select | Cast
                 | Broadcast | ReduceLanes | Search | Lookup

Every expression has a ``dtype`` (a NumPy dtype name) and a number of ``lanes``
(1 for a scalar). Positions, coordinates and sizes are int64 whatever the width
of the buffers they come from. Operators are names of
`sparray.compiler.loop_ir.operators`, plus the `INDEX_OPERATORS` there.
A 16-bit float is loaded, stored, and cast from and to float32; no operator takes one.
"""

from typing import Any

from sparray.records import dataclass

__all__ = [
    "Allocate",
    "Assign",
    "Binary",
    "Block",
    "Broadcast",
    "Buffer",
    "Cast",
    "Comment",
    "Declare",
    "Expr",
    "For",
    "Free",
    "Function",
    "If",
    "Literal",
    "Load",
    "Lookup",
    "Parallel",
    "Prefetch",
    "ReduceLanes",
    "Renew",
    "Search",
    "Select",
    "Sort",
    "Stmt",
    "Store",
    "Unary",
    "Var",
    "While",
]


class Expr:
    """Base of expressions; every subclass has ``dtype`` and ``lanes``."""

    __slots__ = ()
    dtype: str
    lanes: int


class Stmt:
    """Base of statements."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Buffer:
    """A flat array in memory: a parameter, or made by `Allocate`."""

    name: str
    dtype: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant."""

    value: Any
    dtype: str = "int64"
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """A local variable or a scalar parameter."""

    name: str
    dtype: str = "int64"
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """``buffer[index]``, or the ``lanes`` elements that start there."""

    buffer: Buffer
    index: Expr
    lanes: int = 1

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """An operator of one operand; lanes are the operand's."""

    op: str
    operand: Expr
    dtype: str

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.operand.lanes


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """An operator of two operands of one dtype and the same lanes."""

    op: str
    left: Expr
    right: Expr
    dtype: str

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.left.lanes


@dataclass(frozen=True, slots=True)
class Select(Expr):
    """``then if condition else otherwise``; both sides may be evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.then.dtype

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.then.lanes


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """The operand converted to another dtype, as C does."""

    operand: Expr
    dtype: str

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.operand.lanes


@dataclass(frozen=True, slots=True)
class Broadcast(Expr):
    """A scalar repeated in every lane."""

    operand: Expr
    lanes: int

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.operand.dtype


@dataclass(frozen=True, slots=True)
class ReduceLanes(Expr):
    """The lanes of a vector combined by an associative operator to a scalar."""

    op: str
    operand: Expr
    lanes: int = 1

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.operand.dtype


@dataclass(frozen=True, slots=True)
class Search(Expr):
    """The first ``p`` in ``[begin, end)`` with ``buffer[p] >= value``, else ``end``.

    The buffer is ascending in that range. Binary search.
    """

    buffer: Buffer
    begin: Expr
    end: Expr
    value: Expr
    dtype: str = "int64"
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Lookup(Expr):
    """``table[index]``, of numbers that are known when the kernel is made."""

    table: tuple[int, ...]
    index: Expr
    dtype: str = "int64"
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Block(Stmt):
    """Statements in order; variables declared inside end with it."""

    statements: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Declare(Stmt):
    """A new local variable with its first value; names are unique in a function."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """A new value for a declared variable."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Store(Stmt):
    """``buffer[index] = value``, or ``buffer[index] = op(buffer[index], value)``.

    With a value of several lanes, that many elements from ``index`` on.
    """

    buffer: Buffer
    index: Expr
    value: Expr
    op: str | None = None


@dataclass(frozen=True, slots=True)
class For(Stmt):
    """``for var in range(begin, end, step)``; bounds are evaluated once."""

    var: Var
    begin: Expr
    end: Expr
    body: Block
    step: int = 1


@dataclass(frozen=True, slots=True)
class While(Stmt):
    """Repeat the body while the condition holds."""

    condition: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class If(Stmt):
    """One of two blocks."""

    condition: Expr
    then: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class Parallel(Stmt):
    """``count`` independent tasks; task ``var`` may run on any thread.

    Only at the top of a function, or of a `While` there. The body may declare,
    allocate and free; it writes no variable that is declared outside.
    """

    var: Var
    count: Expr
    threads: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Allocate(Stmt):
    """Memory for ``size`` elements, zeroed if asked; a failure ends the function.

    ``tasks`` memory belongs to one task of a `Parallel` loop.
    """

    buffer: Buffer
    size: Expr
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class Renew(Stmt):
    """Other memory for an allocated buffer: ``size`` elements, zeroed if asked.

    What it held is lost, so nothing is copied; a failure ends the function. Also inside
    of loops, where what a step needs is found out: `Free` stands where `Allocate` does.
    """

    buffer: Buffer
    size: Expr
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class Free(Stmt):
    """Give back what `Allocate` took."""

    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Sort(Stmt):
    """Sort ``buffer[0:count]`` ascending, in place.

    ``marks``, if given, is true at these elements, which differ, and nowhere else:
    where they lie close together they are read off the marks.
    """

    buffer: Buffer
    count: Expr
    marks: Buffer | None = None


@dataclass(frozen=True, slots=True)
class Prefetch(Stmt):
    """Bring the cache line with ``buffer[index]`` near; the result is the same."""

    buffer: Buffer
    index: Expr


@dataclass(frozen=True, slots=True)
class Comment(Stmt):
    """A line for the reader of the generated code."""

    text: str


@dataclass(frozen=True, slots=True)
class Function:
    """One entry point: parameters and a body.

    ``reassociate`` allows the C compiler to reorder the reductions in it, which
    only a schedule that vectorises a reduction asks for.
    """

    name: str
    parameters: tuple[Buffer | Var, ...]
    body: Block
    reassociate: bool = False
    documentation: tuple[str, ...] = ()
