"""A source builder for the loop IR, and helpers that fold constants.

The builder keeps a stack of open blocks, so that code which makes code is
indented like the code it makes::

    b = Builder()
    n = ir.Var("n")
    total = b.declare("total", ir.Literal(0.0, "float64"))
    with b.loop("i", literal(0), n) as i:
        b.assign(total, ir.Binary("add", total, ir.Load(x, i), "float64"))
    body = b.block()
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.dtypes import computed_dtype, is_half
from sparray.errors import InternalError

__all__ = [
    "Builder",
    "Names",
    "add",
    "cast",
    "equal",
    "less",
    "less_equal",
    "literal",
    "logical_and",
    "minimum",
    "mul",
    "sub",
]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class Names:
    """Unique names of one function, shared by every builder that makes a part.

    Parameters
    ----------
    taken : iterable of str
        Names that are in use already, such as the parameters'.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, hint: str) -> str:
        """Return ``hint``, or ``hint_2``, ``hint_3``, ... if it is in use."""
        name, n = hint, 1
        while name in self._taken:
            n += 1
            name = f"{hint}_{n}"
        self._taken.add(name)
        return name


class Builder:
    """Collect statements into nested blocks.

    Parameters
    ----------
    names : Names or iterable of str
        Where fresh names come from. Pass the same `Names` to several builders of
        one function; an iterable of names starts a new one with these taken.
    """

    def __init__(self, names: Names | Iterable[str] = ()) -> None:
        self.names = names if isinstance(names, Names) else Names(names)
        self._blocks: list[list[ir.Stmt]] = [[]]

    def fresh(self, hint: str) -> str:
        """Return a name that is unused in the function and take it."""
        return self.names.fresh(hint)

    def emit(self, *statements: ir.Stmt) -> None:
        """Append statements to the innermost open block."""
        self._blocks[-1].extend(statements)

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._blocks)

    @contextmanager
    def capture(self) -> Iterator[list[ir.Stmt]]:
        """Give what is emitted meanwhile, which is not appended to any block."""
        self._blocks.append([])
        try:
            yield self._blocks[-1]
        finally:
            self._blocks.pop()

    def comment(self, text: str) -> None:
        """Append a line for the reader of the generated code."""
        self.emit(ir.Comment(text))

    def declare(self, hint: str, value: ir.Expr) -> ir.Var:
        """Append a `Declare` of a fresh variable with the value's dtype and lanes."""
        var = ir.Var(self.fresh(hint), value.dtype, value.lanes)
        self.emit(ir.Declare(var, value))
        return var

    def assign(self, var: ir.Var, value: ir.Expr) -> None:
        """Append ``var = value``."""
        self.emit(ir.Assign(var, value))

    def increment(self, var: ir.Var, by: ir.Expr | None = None) -> None:
        """Append ``var = var + by`` for an int64 variable; ``by`` is 1 if None."""
        self.assign(var, add(var, literal(1) if by is None else by))

    def store(
        self, buffer: ir.Buffer, index: ir.Expr, value: ir.Expr, op: str | None = None
    ) -> None:
        """Append ``buffer[index] = value``, or an update by an operator."""
        self.emit(ir.Store(buffer, index, value, op))

    def allocate(
        self, hint: str, dtype: str, size: ir.Expr, *, zeroed: bool = False
    ) -> ir.Buffer:
        """Append an `Allocate` of a fresh writable buffer."""
        buffer = ir.Buffer(self.fresh(hint), dtype, writable=True)
        self.emit(ir.Allocate(buffer, size, zeroed))
        return buffer

    def renew(self, buffer: ir.Buffer, size: ir.Expr, *, zeroed: bool = False) -> None:
        """Append a `Renew`."""
        self.emit(ir.Renew(buffer, size, zeroed))

    def free(self, buffer: ir.Buffer) -> None:
        """Append a `Free`."""
        self.emit(ir.Free(buffer))

    @contextmanager
    def loop(
        self, hint: str, begin: ir.Expr, end: ir.Expr, step: int = 1
    ) -> Iterator[ir.Var]:
        """Open the body of a `For` and give its fresh variable."""
        var = ir.Var(self.fresh(hint))
        with self._scope(lambda body: ir.For(var, begin, end, body, step)):
            yield var

    @contextmanager
    def loop_by_groups(
        self, hint: str, begin: ir.Expr, end: ir.Expr, size: int
    ) -> Iterator[tuple[ir.Var, ir.Var, ir.Var]]:
        """Open the body of a `For` over whole groups of a range.

        Gives its variable, the first of a group, and the range that is left: where it
        begins and ends.
        """
        first, last = self.declare("first", begin), self.declare("last", end)
        groups = ir.Binary("floordiv", sub(last, first), literal(size), "int64")
        rest = self.declare("rest", add(first, mul(literal(size), groups)))
        with self.loop(hint, first, rest, step=size) as var:
            yield var, rest, last

    @contextmanager
    def parallel(self, hint: str, count: ir.Expr, threads: ir.Expr) -> Iterator[ir.Var]:
        """Open the body of a `Parallel` and give its fresh task variable."""
        var = ir.Var(self.fresh(hint))
        with self._scope(lambda body: ir.Parallel(var, count, threads, body)):
            yield var

    @contextmanager
    def loop_while(self, condition: ir.Expr) -> Iterator[None]:
        """Open the body of a `While`."""
        with self._scope(lambda body: ir.While(condition, body)):
            yield

    @contextmanager
    def branch(self, condition: ir.Expr) -> Iterator[None]:
        """Open the ``then`` block of an `If`."""
        with self._scope(lambda body: ir.If(condition, body)):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Open the ``otherwise`` block of the `If` that was just closed."""
        block = self._blocks[-1]
        last = block[-1] if block else None
        if not isinstance(last, ir.If) or last.otherwise is not None:
            raise InternalError(f"expected a branch before otherwise, got {last!r}")
        block.pop()
        with self._scope(lambda body: ir.If(last.condition, last.then, body)):
            yield

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Open a plain `Block`; what is declared inside ends with it."""
        with self._scope(lambda body: body):
            yield

    def block(self) -> ir.Block:
        """Return everything emitted so far; no scope may be open."""
        if len(self._blocks) != 1:
            raise InternalError(
                f"expected every block to be closed, got {len(self._blocks) - 1} open"
            )
        return ir.Block(tuple(self._blocks[0]))

    @contextmanager
    def _scope(self, close: Callable[[ir.Block], ir.Stmt]) -> Iterator[None]:
        self._blocks.append([])
        yield
        body = ir.Block(tuple(self._blocks.pop()))
        self.emit(close(body))


def literal(value: Any, dtype: str | None = None) -> ir.Literal:
    """Return a constant: bool, int64 or float64 by its Python type if no dtype."""
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int64"
        else:
            dtype = "float64"
    return ir.Literal(value, dtype)


def add(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a + b`` of int64 operands; ``x + 0`` is ``x``."""
    if _is_int(a, 0):
        return b
    if _is_int(b, 0):
        return a
    return _fold("add", a, b, lambda x, y: x + y)


def sub(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a - b`` of int64 operands; ``x - 0`` is ``x``, ``x - x`` is 0."""
    if _is_int(b, 0):
        return a
    if a == b:
        return literal(0)
    return _fold("sub", a, b, lambda x, y: x - y)


def mul(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a * b`` of int64 operands; ``x * 1`` is ``x``, ``x * 0`` is 0."""
    if _is_int(a, 0) or _is_int(b, 0):
        return literal(0)
    if _is_int(a, 1):
        return b
    if _is_int(b, 1):
        return a
    return _fold("mul", a, b, lambda x, y: x * y)


def minimum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return the smaller of two int64 operands; of ``x`` and ``x`` it is ``x``."""
    if a == b:
        return a
    return _fold("min", a, b, min)


def less(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a < b`` of int64 operands."""
    return _compare("lt", a, b, lambda x, y: x < y, if_same=False)


def less_equal(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a <= b`` of int64 operands."""
    return _compare("le", a, b, lambda x, y: x <= y, if_same=True)


def equal(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a == b`` of int64 operands."""
    return _compare("eq", a, b, lambda x, y: x == y, if_same=True)


def logical_and(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return ``a and b`` of bool operands; both sides may be evaluated."""
    for this, other in ((a, b), (b, a)):
        if isinstance(this, ir.Literal):
            return other if this.value else literal(False)
    return a if a == b else ir.Binary("and", a, b, "bool")


def cast(a: ir.Expr, dtype: str) -> ir.Expr:
    """Return ``a`` as another dtype; ``a`` itself if it has that dtype.

    A 16-bit float comes from float32, and goes to it; what was widened and is rounded
    again is the value that it was.
    """
    if a.dtype == dtype:
        return a
    if is_half(a.dtype) and dtype != computed_dtype(a.dtype):
        return cast(ir.Cast(a, computed_dtype(a.dtype)), dtype)
    if not is_half(dtype):
        return ir.Cast(a, dtype)
    if isinstance(a, ir.Cast) and a.operand.dtype == dtype:
        return a.operand
    return ir.Cast(cast(a, computed_dtype(dtype)), dtype)


def _is_int(a: ir.Expr, value: int) -> bool:
    return isinstance(a, ir.Literal) and a.dtype == "int64" and a.value == value


def _fold(
    op: str, a: ir.Expr, b: ir.Expr, evaluate: Callable[[int, int], int]
) -> ir.Expr:
    if isinstance(a, ir.Literal) and isinstance(b, ir.Literal):
        value = evaluate(a.value, b.value)
        # A constant that wraps around stays an expression: C and NumPy agree on it.
        if _INT64_MIN <= value <= _INT64_MAX:
            return literal(value)
    return ir.Binary(op, a, b, "int64")


def _compare(
    op: str,
    a: ir.Expr,
    b: ir.Expr,
    evaluate: Callable[[int, int], bool],
    *,
    if_same: bool,
) -> ir.Expr:
    if isinstance(a, ir.Literal) and isinstance(b, ir.Literal):
        return literal(evaluate(a.value, b.value))
    if a == b:
        return literal(if_same)
    return ir.Binary(op, a, b, "bool")
