"""Statements of the loop IR as lines of Cython."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch

from sparray.compiler.codegen.cython.expressions import expression, index_of
from sparray.compiler.codegen.cython.names import checked_name, comment_line
from sparray.compiler.codegen.cython.support import Support
from sparray.compiler.codegen.cython.types import c_type, type_name
from sparray.compiler.loop_ir import nodes as ir
from sparray.errors import InternalError

__all__ = ["Writer", "statement"]

_IN_PLACE = {"add": "+=", "sub": "-=", "mul": "*="}


@dataclass(slots=True)
class Writer:
    """Lines of one C-level function while it is printed.

    Attributes
    ----------
    support : Support
        Requirements of the module.
    parallel : callable
        Prints a `Parallel` statement; the function's printer outlines its body.
    lines : list of str
        What is printed so far.
    locals : dict of str to list of str
        Names by type. Cython declares at the top of a function only.
    workspaces : dict of str to str
        Element type by name of each buffer that the function allocates.
    depth : int
        Indentation of the next line.
    """

    support: Support
    parallel: Callable[[ir.Parallel, "Writer"], None]
    lines: list[str] = field(default_factory=list)
    locals: dict[str, list[str]] = field(default_factory=dict)
    workspaces: dict[str, str] = field(default_factory=dict)
    depth: int = 1

    def line(self, text: str) -> None:
        """Append a line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def local(self, name: str, type_: str) -> str:
        """Declare a local variable and return its name."""
        self.locals.setdefault(type_, []).append(name)
        return name

    def body(self, block: ir.Block) -> None:
        """Print a block one level deeper."""
        self.depth += 1
        start = len(self.lines)
        statement(block, self)
        if all(line.lstrip().startswith("#") for line in self.lines[start:]):
            self.line("pass")
        self.depth -= 1

    def leave_if(self, condition: str) -> None:
        """Give back every workspace and report failure under a condition.

        Workspaces that are not held are NULL, which may be freed.
        """
        self.line(f"if {condition}:")
        self.depth += 1
        for name in self.workspaces:
            self.line(f"sp_free({name})")
        self.line("return 1")
        self.depth -= 1


@singledispatch
def statement(node: ir.Stmt, out: Writer) -> None:
    """Print a statement."""
    raise InternalError(f"expected a statement of the loop IR, got {node!r}")


@statement.register
def _(node: ir.Block, out: Writer) -> None:
    for each in node.statements:
        statement(each, out)


@statement.register
def _(node: ir.Declare, out: Writer) -> None:
    out.support.vector(node.var.dtype, node.var.lanes)
    name = out.local(
        checked_name(node.var.name), type_name(node.var.dtype, node.var.lanes)
    )
    out.line(f"{name} = {index_of(node.value, out.support)}")


@statement.register
def _(node: ir.Assign, out: Writer) -> None:
    out.line(f"{checked_name(node.var.name)} = {index_of(node.value, out.support)}")


@statement.register
def _(node: ir.Store, out: Writer) -> None:
    lanes = node.value.lanes
    if lanes > 1:
        _store_lanes(node, out)
        return
    target = expression(ir.Load(node.buffer, node.index), out.support)
    numeric = c_type(node.buffer.dtype).kind != "bool"
    if node.op in _IN_PLACE and numeric:
        value = index_of(node.value, out.support)
        out.line(f"{target} {_IN_PLACE[node.op]} {value}")
        return
    out.line(f"{target} = {index_of(_stored_value(node), out.support)}")


@statement.register
def _(node: ir.For, out: Writer) -> None:
    var = out.local(checked_name(node.var.name), "int64_t")
    begin, end = (index_of(e, out.support) for e in (node.begin, node.end))
    bounds = f"{begin}, {end}"
    if node.step != 1:
        bounds = f"{bounds}, {int(node.step)}"
    elif node.begin == ir.Literal(0):
        bounds = end
    out.line(f"for {var} in range({bounds}):")
    out.body(node.body)


@statement.register
def _(node: ir.While, out: Writer) -> None:
    out.line(f"while {index_of(node.condition, out.support)}:")
    out.body(node.body)


@statement.register
def _(node: ir.If, out: Writer) -> None:
    out.line(f"if {index_of(node.condition, out.support)}:")
    out.body(node.then)
    if node.otherwise is not None:
        out.line("else:")
        out.body(node.otherwise)


@statement.register
def _(node: ir.Parallel, out: Writer) -> None:
    out.parallel(node, out)


@statement.register
def _(node: ir.Renew, out: Writer) -> None:
    # Freed first: nothing is kept, and both need not fit in memory at once.
    statement(ir.Free(node.buffer), out)
    statement(ir.Allocate(node.buffer, node.size, node.zeroed), out)


@statement.register
def _(node: ir.Allocate, out: Writer) -> None:
    out.support.allocates = True
    name = checked_name(node.buffer.name)
    element = out.support.scalar(node.buffer.dtype)
    size = index_of(node.size, out.support)
    out.line(
        f"{name} = <{element}*>sp_allocate({size}, sizeof({element}), "
        f"{int(node.zeroed)})"
    )
    out.leave_if(f"{name} == NULL")


@statement.register
def _(node: ir.Free, out: Writer) -> None:
    name = checked_name(node.buffer.name)
    out.line(f"sp_free({name})")
    out.line(f"{name} = NULL")


@statement.register
def _(node: ir.Sort, out: Writer) -> None:
    element = c_type(node.buffer.dtype)
    out.support.sorts.add((element.code, element.name))
    count = index_of(node.count, out.support)
    given = checked_name(node.buffer.name)
    if node.marks is None:
        out.line(f"sp_sort_{element.code}({given}, {count})")
        return
    out.support.sorts_marked = True
    marks = checked_name(node.marks.name)
    out.line(f"sp_sort_marked_{element.code}({given}, {marks}, {count})")


@statement.register
def _(node: ir.Prefetch, out: Writer) -> None:
    name = out.support.define(
        "sp_prefetch",
        "#define sp_prefetch(p) __builtin_prefetch(p)",
        "void sp_prefetch(const void* p)",
    )
    address = f"{checked_name(node.buffer.name)} + {index_of(node.index, out.support)}"
    out.line(f"{name}({address})")


@statement.register
def _(node: ir.Comment, out: Writer) -> None:
    for text in node.text.splitlines():
        out.line(comment_line(text))


def _store_lanes(node: ir.Store, out: Writer) -> None:
    lanes = node.value.lanes
    vector = out.support.vector(node.buffer.dtype, lanes)
    element = c_type(node.buffer.dtype)
    code = f"{element.code}x{lanes}"
    store = out.support.define(
        f"sp_store_{code}",
        f"#define sp_store_{code}(p, v) (*({vector} *)(p) = (v))",
        f"void sp_store_{code}({element.name}* p, {vector} v)",
    )
    value = index_of(_stored_value(node), out.support)
    index = index_of(node.index, out.support)
    out.line(f"{store}({checked_name(node.buffer.name)} + {index}, {value})")


def _stored_value(node: ir.Store) -> ir.Expr:
    if node.op is None:
        return node.value
    dtype = node.buffer.dtype
    before = ir.Load(node.buffer, node.index, node.value.lanes)
    return ir.Binary(node.op, before, node.value, dtype)
