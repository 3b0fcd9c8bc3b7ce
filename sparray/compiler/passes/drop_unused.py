"""The pass that drops variables which nothing reads."""

from collections import Counter
from dataclasses import replace

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.traversal import walk

__all__ = ["drop_unused"]


def drop_unused(function: ir.Function) -> ir.Function:
    """Remove declarations of variables that are never read, until none is left.

    **Rewrite**: ``var p = i * n + j; s`` → ``s``, where ``s`` and what follows do not
    read ``p``. Expressions have no side effects, so nothing else changes.
    """
    while True:
        read = _read(function.body)
        body = _drop(function.body, read)
        if body == function.body:
            return function
        function = replace(function, body=body)


def _read(body: ir.Block) -> set[str]:
    """Return the names that some expression reads."""
    uses: Counter[str] = Counter()
    for node in walk(body):
        if isinstance(node, ir.Var):
            uses[node.name] += 1
        elif isinstance(node, ir.Declare | ir.Assign):
            # `walk` visits the variable that is written as well.
            uses[node.var.name] -= 1
    return {name for name, count in uses.items() if count > 0}


def _drop(block: ir.Block, read: set[str]) -> ir.Block:
    kept: list[ir.Stmt] = []
    for statement in block.statements:
        if isinstance(statement, ir.Declare | ir.Assign):
            if statement.var.name in read:
                kept.append(statement)
            continue
        kept.append(_inside(statement, read))
    return ir.Block(tuple(kept))


def _inside(statement: ir.Stmt, read: set[str]) -> ir.Stmt:
    if isinstance(statement, ir.Block):
        return _drop(statement, read)
    if isinstance(statement, ir.For | ir.While | ir.Parallel):
        return replace(statement, body=_drop(statement.body, read))
    if isinstance(statement, ir.If):
        other = statement.otherwise
        return replace(
            statement,
            then=_drop(statement.then, read),
            otherwise=None if other is None else _drop(other, read),
        )
    return statement
