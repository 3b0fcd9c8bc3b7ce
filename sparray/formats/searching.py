"""Search a level's coordinates, where they are one buffer in ascending order."""

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import equal, less, literal
from sparray.formats.level import LevelView, Located

__all__ = ["search_coordinates"]


def search_coordinates(
    view: LevelView, begin: ir.Expr, end: ir.Expr, coordinate: ir.Expr
) -> Located:
    """Return the first position of a coordinate among ``crd[begin:end]``."""
    position = ir.Var(view.fresh("place"))
    found = ir.Var(view.fresh("found"), "bool")
    after = ir.Var(view.fresh("after"))
    searched = view.search("crd", begin, after, coordinate)
    same = equal(view.load("crd", position), coordinate)
    setup = (
        ir.Declare(after, end),
        ir.Declare(position, searched),
        ir.Declare(found, literal(False)),
        # Past the end there may be no element to compare with.
        ir.If(less(position, after), ir.Block((ir.Assign(found, same),))),
    )
    return Located(position, found, setup)
