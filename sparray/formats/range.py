"""The range level: the coordinates of one diagonal, given by the level above."""

from typing import ClassVar

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal, minimum, sub
from sparray.errors import InternalError
from sparray.formats.grid import Grid
from sparray.formats.level import Bounds, LevelView
from sparray.formats.level_expression import Difference, Dimension, LevelExpression
from sparray.records import dataclass

__all__ = ["Range"]


@dataclass(frozen=True, slots=True)
class Range(Grid):
    """The coordinates ``i`` for which ``j = (j - i) + i`` lies in the shape.

    ====== ======
    buffer length
    ====== ======
    none
    ====== ======

    It stands below a level that stores ``j - i``, and stores ``i``. Position ``p`` of
    parent ``q`` and coordinate ``i`` is ``q * extent + i``: a diagonal has a position
    for every ``i``, and those outside the shape are never visible.

    With ``c`` the coordinate of the level above, ``n`` the extent of ``i`` and ``d``
    that of ``j - i``, the range is ``[max(0, n - 1 - c), min(n, d - c))``.
    """

    name: ClassVar[str] = "range"
    compact: ClassVar[bool] = False

    def misplaced(
        self, expression: LevelExpression, above: LevelExpression | None
    ) -> str | None:
        if (
            isinstance(above, Difference)
            and isinstance(expression, Dimension)
            and expression.dimension == above.other
        ):
            return None
        return (
            "a range level stores i below a level that stores j - i, expected such a "
            "level above it, got none"
        )

    def coordinates(self, view: LevelView, parent: ir.Expr) -> Bounds:
        if view.above is None or view.above_extent is None:
            raise InternalError(
                "range level: expected a view that knows the level above, got none"
            )
        first = sub(sub(view.extent, literal(1)), view.above)
        begin = ir.Binary("max", first, literal(0), "int64")
        return Bounds(begin, minimum(view.extent, sub(view.above_extent, view.above)))
