"""Which level may stand below which."""

from collections.abc import Sequence

from sparray.formats.level import (
    Arrangeable,
    Arranging,
    Level,
    PositionIterable,
    Sliced,
)
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
    position without an entry. Sliced levels stand above all others.
    """
    for index, level in enumerate(levels):
        above = expressions[index - 1] if index else None
        misplaced = level.misplaced(expressions[index], above)
        if misplaced is not None:
            return index, misplaced
        parent = levels[index - 1] if index else None
        problem = _badly_sliced(level, parent, levels[0]) or _unarranged(level, parent)
        if problem is not None:
            return index, problem
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


def _badly_sliced(level: Level, parent: Level | None, outermost: Level) -> str | None:
    if isinstance(level, Sliced):
        if parent is None or isinstance(parent, Sliced):
            return None
        return (
            f"a {level.name} level stands above all others, got {level} below {parent}"
        )
    if isinstance(outermost, Sliced) and set(level.roles) - set(level.buffer_per):
        return (
            f"a {level.name} level has buffers that do not fall into slices, got "
            f"{level} below {outermost}"
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


def _unarranged(level: Level, parent: Level | None) -> str | None:
    """Say that a level that arranges the one above has none that it can arrange."""
    if not isinstance(level, Arranging) or isinstance(parent, Arrangeable):
        return None
    return (
        f"a {level.name} level needs one above it that it can arrange, as a permuted "
        f"level, got {level} below {parent or 'no level'}"
    )
