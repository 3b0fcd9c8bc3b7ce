"""Which level may stand below which."""

from collections.abc import Sequence

from sparray.formats.level import Level, PositionIterable

__all__ = ["broken_link"]


def broken_link(levels: Sequence[Level]) -> tuple[int, str] | None:
    """Return the first level that cannot stand where it does, and why.

    Notes
    -----
    Below a level that is not unique, several positions are one coordinate. A level
    whose positions are walked takes all of them together; one that locates a
    coordinate by arithmetic would find only the first. A branchless level has one
    entry per parent position: its parent must give every entry its own position,
    so it is not unique, or is branchless itself.
    """
    for index, level in enumerate(levels):
        parent = levels[index - 1] if index else None
        if parent is not None and not parent.unique:
            if not isinstance(level, PositionIterable):
                return index, (
                    f"a {level.name} level cannot stand below a level that is "
                    f"nonunique, got {level} below {parent}"
                )
        elif level.branchless and (parent is None or not parent.branchless):
            below = "no level" if parent is None else str(parent)
            return index, (
                f"a {level.name} level needs a level above it that is nonunique or "
                f"a singleton, got {level} below {below}"
            )
    return None
