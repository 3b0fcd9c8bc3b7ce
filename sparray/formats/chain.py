"""Which level may stand below which."""

from collections.abc import Sequence

from sparray.formats.level import Arrangeable, Arranging, Level, PositionIterable
from sparray.formats.level_expression import LevelExpression

__all__ = ["broken_link"]


def broken_link(
    levels: Sequence[Level], expressions: Sequence[LevelExpression]
) -> tuple[int, str] | None:
    """Return the first level that cannot stand where it does, and why.

    Notes
    -----
    Below a level that is not unique, several positions are one coordinate. A level
    whose positions are walked takes all of them together, if they stand side by side;
    one that locates a coordinate by arithmetic would find only the first. A branchless
    level has one entry per parent position: its parent must give every entry its own
    position, so it is not unique, or is branchless itself; and it must have no
    position without an entry.
    """
    for index, level in enumerate(levels):
        above = expressions[index - 1] if index else None
        misplaced = level.misplaced(expressions[index], above)
        if misplaced is not None:
            return index, misplaced
        parent = levels[index - 1] if index else None
        if isinstance(level, Arranging) and not isinstance(parent, Arrangeable):
            return index, (
                f"a {level.name} level needs a level above it that it can arrange, "
                f"as a permuted one, got {level} below {parent or 'no level'}"
            )
        if parent is not None and not parent.unique:
            problem = _below_nonunique(level, parent)
            if problem is not None:
                return index, problem
        elif level.branchless and (parent is None or not parent.branchless):
            below = "no level" if parent is None else str(parent)
            return index, (
                f"a {level.name} level needs a level above it that is nonunique or "
                f"a singleton, got {level} below {below}"
            )
    return None


def _below_nonunique(level: Level, parent: Level) -> str | None:
    if not isinstance(level, PositionIterable) or not level.compact:
        return (
            f"a {level.name} level cannot stand below a level that is "
            f"nonunique, got {level} below {parent}"
        )
    if level.branchless and not parent.compact:
        return (
            f"a {level.name} level cannot stand below a level that has unused "
            f"positions, got {level} below {parent}"
        )
    return None
