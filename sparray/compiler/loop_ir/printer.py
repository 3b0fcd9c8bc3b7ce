"""Loop IR as pseudo-code for people: same text for equal functions."""

from collections.abc import Iterator
from functools import singledispatch

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.operators import INDEX_OPERATORS, OPERATORS
from sparray.errors import InternalError

__all__ = ["print_expression", "print_function", "print_statement"]

_INFIX = INDEX_OPERATORS | {
    name: row.symbol
    for name, row in OPERATORS.items()
    if row.arity == 2 and row.symbol is not None
}


def print_function(function: ir.Function) -> str:
    """Return a function as indented pseudo-code, ending in a newline."""
    lines = [f"# {line}" for line in function.documentation]
    parameters = ", ".join(map(_parameter, function.parameters))
    suffix = " reassociate" if function.reassociate else ""
    lines.append(f"function {function.name}({parameters}){suffix}")
    lines += _indented(function.body)
    return "\n".join(lines) + "\n"


def print_statement(statement: ir.Stmt) -> str:
    """Return a statement as pseudo-code, lines joined by newlines."""
    return "\n".join(_lines(statement))


@singledispatch
def print_expression(node: ir.Expr) -> str:
    """Return an expression as text, every operation in parentheses."""
    raise InternalError(f"expected an expression of the loop IR, got {node!r}")


@print_expression.register
def _(node: ir.Literal) -> str:
    plain = node.dtype in ("int64", "bool") and node.lanes == 1
    return str(node.value) if plain else f"{_type(node)}({node.value})"


@print_expression.register
def _(node: ir.Var) -> str:
    return node.name


@print_expression.register
def _(node: ir.Load) -> str:
    index = print_expression(node.index)
    lanes = f" : {node.lanes} lanes" if node.lanes > 1 else ""
    return f"{node.buffer.name}[{index}{lanes}]"


@print_expression.register
def _(node: ir.Unary) -> str:
    return f"{node.op}({print_expression(node.operand)})"


@print_expression.register
def _(node: ir.Binary) -> str:
    left, right = print_expression(node.left), print_expression(node.right)
    if node.op in _INFIX:
        return f"({left} {_INFIX[node.op]} {right})"
    return f"{node.op}({left}, {right})"


@print_expression.register
def _(node: ir.Select) -> str:
    parts = map(print_expression, (node.condition, node.then, node.otherwise))
    return f"select({', '.join(parts)})"


@print_expression.register
def _(node: ir.Cast) -> str:
    return f"{node.dtype}({print_expression(node.operand)})"


@print_expression.register
def _(node: ir.Broadcast) -> str:
    return f"broadcast({print_expression(node.operand)}, {node.lanes})"


@print_expression.register
def _(node: ir.ReduceLanes) -> str:
    return f"reduce_{node.op}({print_expression(node.operand)})"


@print_expression.register
def _(node: ir.Search) -> str:
    parts = map(print_expression, (node.begin, node.end, node.value))
    return f"search({node.buffer.name}, {', '.join(parts)})"


@print_expression.register
def _(node: ir.Lookup) -> str:
    return f"[{', '.join(map(str, node.table))}][{print_expression(node.index)}]"


@singledispatch
def _lines(node: ir.Stmt) -> Iterator[str]:
    raise InternalError(f"expected a statement of the loop IR, got {node!r}")


@_lines.register
def _(node: ir.Block) -> Iterator[str]:
    for statement in node.statements:
        yield from _lines(statement)


@_lines.register
def _(node: ir.Declare) -> Iterator[str]:
    yield f"var {node.var.name}: {_type(node.var)} = {print_expression(node.value)}"


@_lines.register
def _(node: ir.Assign) -> Iterator[str]:
    yield f"{node.var.name} = {print_expression(node.value)}"


@_lines.register
def _(node: ir.Store) -> Iterator[str]:
    index, value = print_expression(node.index), print_expression(node.value)
    target = f"{node.buffer.name}[{index}]"
    if node.value.lanes > 1:
        target = f"{node.buffer.name}[{index} : {node.value.lanes} lanes]"
    if node.op is None:
        yield f"{target} = {value}"
    else:
        yield f"{target} {_INFIX.get(node.op, node.op)}= {value}"


@_lines.register
def _(node: ir.For) -> Iterator[str]:
    begin, end = print_expression(node.begin), print_expression(node.end)
    step = f" step {node.step}" if node.step != 1 else ""
    yield f"for {node.var.name} in {begin} .. {end}{step}:"
    yield from _indented(node.body)


@_lines.register
def _(node: ir.While) -> Iterator[str]:
    yield f"while {print_expression(node.condition)}:"
    yield from _indented(node.body)


@_lines.register
def _(node: ir.If) -> Iterator[str]:
    yield f"if {print_expression(node.condition)}:"
    yield from _indented(node.then)
    if node.otherwise is not None:
        yield "else:"
        yield from _indented(node.otherwise)


@_lines.register
def _(node: ir.Parallel) -> Iterator[str]:
    count, threads = print_expression(node.count), print_expression(node.threads)
    yield f"parallel {node.var.name} in 0 .. {count} on {threads} threads:"
    yield from _indented(node.body)


@_lines.register
def _(node: ir.Allocate) -> Iterator[str]:
    zeroed = " zeroed" if node.zeroed else ""
    size = print_expression(node.size)
    yield f"allocate {node.buffer.name}: {node.buffer.dtype}[{size}]{zeroed}"


@_lines.register
def _(node: ir.Renew) -> Iterator[str]:
    zeroed = " zeroed" if node.zeroed else ""
    size = print_expression(node.size)
    yield f"renew {node.buffer.name}: {node.buffer.dtype}[{size}]{zeroed}"


@_lines.register
def _(node: ir.Free) -> Iterator[str]:
    yield f"free {node.buffer.name}"


@_lines.register
def _(node: ir.Sort) -> Iterator[str]:
    marks = "" if node.marks is None else f" marked in {node.marks.name}"
    yield f"sort {node.buffer.name}[0 .. {print_expression(node.count)}]{marks}"


@_lines.register
def _(node: ir.Prefetch) -> Iterator[str]:
    yield f"prefetch {node.buffer.name}[{print_expression(node.index)}]"


@_lines.register
def _(node: ir.Comment) -> Iterator[str]:
    for text in node.text.splitlines():
        yield f"# {text}"


def _indented(block: ir.Block) -> list[str]:
    return [f"    {line}" for line in _lines(block)] or ["    pass"]


def _type(node: ir.Expr) -> str:
    return node.dtype if node.lanes == 1 else f"{node.dtype}x{node.lanes}"


def _parameter(item: ir.Buffer | ir.Var) -> str:
    if isinstance(item, ir.Var):
        return f"{item.name}: {item.dtype}"
    out = "out " if item.writable else ""
    return f"{out}{item.name}: {item.dtype}[]"
