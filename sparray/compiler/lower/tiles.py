"""Lower a tiled loop: one loop per tile size, largest first."""

from sparray.compiler import names
from sparray.compiler.cin.nodes import Tiles
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, less_equal, literal
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Scope, Tile
from sparray.compiler.lower.statement import lower_statement, lowers

__all__ = ["lower_tiles"]


@lowers(Tiles)
def lower_tiles(statement: Tiles, scope: Scope, ctx: Context) -> None:
    """Lower an index cut into tiles of constant sizes.

    **Rewrite**: ``tiles(64, 16, 1)`` of ``j`` → ``j = 0; while j + 64 <= n: body of
    64; while j + 16 <= n: body of 16; while j + 1 <= n: body of 1``. Every size has
    its own body with constant bounds, so that nothing is computed twice and nothing
    past the end.
    """
    b = ctx.builder
    n = ir.Var(names.extent(statement.index))
    start = b.declare(statement.index, literal(0))
    for size in statement.sizes:
        with b.loop_while(less_equal(add(start, literal(size)), n)):
            tile = Tile(statement.index, statement.inner, size, start)
            inside = Scope(scope.coordinates, scope.places, tile, 1)
            lower_statement(statement.body, inside, ctx)
            b.assign(start, add(start, literal(size)))
