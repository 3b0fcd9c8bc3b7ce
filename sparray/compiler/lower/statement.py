"""Dispatch from a CIN statement to the module that lowers its kind."""

from collections.abc import Callable
from typing import Any

from sparray.compiler.cin.nodes import Stmt
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Scope
from sparray.errors import InternalError

__all__ = ["lower_statement", "lowers"]

_Lowering = Callable[[Any, Scope, Context], None]
_LOWERINGS: dict[type[Stmt], _Lowering] = {}


def lowers(kind: type[Stmt]) -> Callable[[_Lowering], _Lowering]:
    """Register the function that lowers one kind of statement."""

    def register(function: _Lowering) -> _Lowering:
        _LOWERINGS[kind] = function
        return function

    return register


def lower_statement(statement: Stmt, scope: Scope, ctx: Context) -> None:
    """Emit the loop IR of a statement at a place of the loop nest."""
    function = _LOWERINGS.get(type(statement))
    if function is None:
        raise InternalError(f"expected a CIN statement, got {statement!r}")
    function(statement, scope, ctx)
