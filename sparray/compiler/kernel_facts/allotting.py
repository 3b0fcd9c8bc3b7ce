"""Which levels of a result get room before they are filled."""

from sparray.formats.allotted import Allottable, PlaceInsertable
from sparray.formats.format import Format

__all__ = ["allotted_depths"]


def allotted_depths(format: Format) -> tuple[int, ...]:
    """Return the levels that need a round of their own, outermost first."""
    return tuple(
        depth
        for depth, level in enumerate(format.levels)
        if isinstance(level, Allottable | PlaceInsertable)
    )
