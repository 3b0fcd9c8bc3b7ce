"""Walk over loop IR, and which names a statement uses from outside."""

from collections.abc import Iterator
from dataclasses import fields

from sparray.compiler.loop_ir import nodes as ir

__all__ = ["declared", "free_names", "walk"]

Node = ir.Expr | ir.Stmt | ir.Buffer


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, buffers included, in source order."""
    yield node
    for field in fields(node):  # type: ignore[arg-type]
        value = getattr(node, field.name)
        for child in value if isinstance(value, tuple) else (value,):
            if isinstance(child, (ir.Expr, ir.Stmt, ir.Buffer)):
                yield from walk(child)


def declared(node: ir.Stmt) -> dict[str, ir.Var | ir.Buffer]:
    """Return the variables and buffers that a statement declares, in source order."""
    found: dict[str, ir.Var | ir.Buffer] = {}
    for each in walk(node):
        match each:
            case ir.Declare(var=item) | ir.For(var=item) | ir.Parallel(var=item):
                found[item.name] = item
            case ir.Allocate(buffer=item):
                found[item.name] = item
    return found


def free_names(node: ir.Stmt) -> dict[str, ir.Var | ir.Buffer]:
    """Return what a statement uses and does not declare, in order of first use."""
    inside = declared(node)
    used = {n.name: n for n in walk(node) if isinstance(n, (ir.Var, ir.Buffer))}
    return {name: item for name, item in used.items() if name not in inside}
