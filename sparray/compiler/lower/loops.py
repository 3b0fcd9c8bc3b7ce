"""Lower a loop, on one thread or on several, wherever it stands."""

from sparray.compiler.cin.nodes import Forall
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.forall import lower_forall
from sparray.compiler.lower.parallel import lower_parallel
from sparray.compiler.lower.parallel_positions import lower_parallel_positions
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lowers

__all__ = ["lower_loop", "lower_parallel_loop"]


@lowers(Forall)
def lower_loop(statement: Forall, scope: Scope, ctx: Context) -> None:
    """Lower a loop in a task, or one on threads after what it reads is packed."""
    if statement.parallel:
        lower_parallel_loop(statement, scope, ctx, inner=True)
    else:
        lower_forall(statement, scope, ctx)


def lower_parallel_loop(
    statement: Forall, scope: Scope, ctx: Context, *, inner: bool = False
) -> None:
    """Emit a parallel loop; an ``inner`` one is in a task itself."""
    if statement.pos:
        lower_parallel_positions(statement, scope, ctx, inner=inner)
    else:
        lower_parallel(statement, scope, ctx, inner=inner)
