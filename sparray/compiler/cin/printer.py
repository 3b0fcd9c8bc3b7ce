"""CIN -> text for readers: one line, or indented lines where that is too long."""

from functools import singledispatch

from sparray.compiler.cin.nodes import Assign, Forall, Sequence, Stmt, Tiles, Where
from sparray.compiler.index_notation.printer import print_access, print_expression
from sparray.compiler.loop_ir.operators import operator
from sparray.errors import InternalError

__all__ = ["print_statement"]

# Generated code shows this text in indented comments.
_WIDTH = 80


def print_statement(statement: Stmt) -> str:
    """Print a CIN statement.

    Parameters
    ----------
    statement : Stmt
        Any statement.

    Returns
    -------
    str
        For example ``∀i[parallel] (∀j out[i,j] = w[j] where[list float64] ∀k ∀j w[j]
        += A[i,k] * B[k,j])``; equal statements print equally and different ones
        differently. `Where` and `Sequence` stand in parentheses; the tiles of ``j``
        with the inner index ``jj`` are ``∀j[tiles jj of 16, 4, 1]``.
    """
    return "\n".join(_lines(statement, _WIDTH))


def _lines(statement: Stmt, width: int) -> list[str]:
    flat = _flat(statement)
    return [flat] if len(flat) <= width else _broken(statement, width)


@singledispatch
def _flat(statement: Stmt) -> str:
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@_flat.register
def _(statement: Assign) -> str:
    symbol = ""
    if statement.op is not None:
        symbol = operator(statement.op).symbol or statement.op
    target = print_access(statement.target)
    return f"{target} {symbol}= {print_expression(statement.value)}"


@_flat.register(Forall)
@_flat.register(Tiles)
def _(statement: Forall | Tiles) -> str:
    return f"{_head(statement)} {_flat(statement.body)}"


@_flat.register
def _(statement: Where) -> str:
    consumer, producer = _flat(statement.consumer), _flat(statement.producer)
    return f"({consumer} {_where(statement)} {producer})"


@_flat.register
def _(statement: Sequence) -> str:
    return f"({'; '.join(map(_flat, statement.statements))})"


@singledispatch
def _broken(statement: Stmt, width: int) -> list[str]:
    return [_flat(statement)]


@_broken.register(Forall)
@_broken.register(Tiles)
def _(statement: Forall | Tiles, width: int) -> list[str]:
    head = _head(statement)
    first, *others = _lines(statement.body, width - len(head) - 1)
    return [f"{head} {first}", *others]


@_broken.register
def _(statement: Where, width: int) -> list[str]:
    consumer = _indented(statement.consumer, width)
    producer = _indented(statement.producer, width)
    return ["(", *consumer, _where(statement), *producer, ")"]


@_broken.register
def _(statement: Sequence, width: int) -> list[str]:
    lines: list[str] = []
    for part in statement.statements:
        lines += _indented(part, width)
        lines[-1] += ";"
    lines[-1] = lines[-1].removesuffix(";")
    return ["(", *lines, ")"]


def _indented(statement: Stmt, width: int) -> list[str]:
    return [f"  {line}" for line in _lines(statement, width - 2)]


def _head(statement: Forall | Tiles) -> str:
    notes = []
    if isinstance(statement, Tiles):
        sizes = ", ".join(map(str, statement.sizes))
        notes.append(f"tiles {statement.inner} of {sizes}")
    if isinstance(statement, Forall) and statement.pos:
        notes.append(f"pos {statement.pos}")
    if isinstance(statement, Forall) and statement.block:
        notes.append(f"blocks of {statement.block}")
    if statement.parallel:
        chunks = statement.chunks if isinstance(statement, Forall) else "entries"
        notes.append("parallel" if chunks == "entries" else f"parallel by {chunks}")
    if isinstance(statement, Forall) and statement.vector:
        notes.append("vector")
    if isinstance(statement, Forall) and statement.prefetch:
        notes.append(f"prefetch {statement.prefetch}")
    if isinstance(statement, Forall) and statement.unroll > 1:
        notes.append(f"unroll {statement.unroll}")
    head = f"∀{statement.index}"
    if isinstance(statement, Forall):
        head = ",".join([head, *statement.fused])
    return f"{head}[{'; '.join(notes)}]" if notes else head


def _where(statement: Where) -> str:
    workspace = statement.workspace
    fill = ""
    if workspace.fill is not None and not workspace.fill.is_zero:
        fill = f" fill {workspace.fill}"
    among = f" among {workspace.among}" if workspace.among else ""
    return f"where[{workspace.kind}{among} {workspace.dtype}{fill}]"
