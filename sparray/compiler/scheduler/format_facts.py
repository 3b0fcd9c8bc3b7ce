"""What formats allow: to be assembled, searched, placed or walked."""

from sparray.formats.allotted import Allottable, MarkArranging, PlaceInsertable
from sparray.formats.format import Format
from sparray.formats.level import (
    Appendable,
    Insertable,
    Locatable,
    PositionIterable,
    Preparable,
    Searchable,
)
from sparray.formats.slotted import Slotted

__all__ = [
    "can_allot",
    "can_assemble",
    "can_place",
    "can_search",
    "has_blocks",
    "is_coordinate_list",
    "may_be_unwalkable",
    "slotted_leaf",
    "takes_parts",
]


def is_coordinate_list(format: Format) -> bool:
    """Tell whether every entry has one position, the same in every level.

    Each level has a dimension: lists of parts are no lists of coordinates.
    """
    if not format.is_plain:
        return False
    first, *rest = format.levels or (None,)
    if not isinstance(first, PositionIterable) or first.branchless:
        return False
    if not first.compact:
        # Its positions are slots, some of them for no entry.
        return False
    if any(not level.branchless for level in rest):
        return False
    return not rest or not first.unique


def can_assemble(format: Format) -> bool:
    """Tell whether kernels can make a format: full levels first, then appended ones.

    One that gives its fibres slots can only be the innermost level, below full ones.
    """
    full = [level.full for level in format.levels]
    return (
        format.is_plain
        and format.batch_ndim == 0
        and full == sorted(full, reverse=True)
        and all(
            isinstance(level, Insertable if level.full else Appendable)
            for level in format.levels
            if level is not slotted_leaf(format)
        )
    )


def takes_parts(format: Format) -> bool:
    """Tell whether kernels scatter entries, none of them zero, into parts of fibres.

    The innermost level gives slots to a block of a dimension; zeros need none there.
    """
    return not format.is_plain and slotted_leaf(format) is not None


def slotted_leaf(format: Format) -> Slotted | None:
    """Return the innermost level if it gives slots to fibres below full levels."""
    if format.n_levels < 2:
        return None
    *above, leaf = format.levels
    if isinstance(leaf, Slotted) and all(level.full for level in above):
        return leaf
    return None


def can_place(format: Format) -> bool:
    """Tell whether every level has room for all entries before any is known."""
    return format.batch_ndim == 0 and all(
        isinstance(level, Preparable) for level in format.levels
    )


def can_allot(format: Format) -> bool:
    """Tell whether every level has room, or gets it once its entries are counted.

    One that is arranged stands above the one that decides its order.
    """
    levels = format.levels
    for level, below in zip(levels, (*levels[1:], None), strict=True):
        if isinstance(level, PlaceInsertable) != isinstance(below, MarkArranging):
            return False
        if not isinstance(level, Preparable | Allottable | PlaceInsertable):
            if not isinstance(level, MarkArranging):
                return False
    return format.batch_ndim == 0 and not can_place(format)


def can_search(format: Format) -> bool:
    """Tell whether each level, once it is sorted, finds a coordinate that is known."""
    return format.is_plain and all(
        isinstance(level, Locatable | Searchable) for level in format.levels
    )


def has_blocks(format: Format) -> bool:
    """Tell whether a format stores blocks: one level is appended to, none other stores.

    A block may be a part of a row, a row, or a diagonal.
    """
    listed = [
        depth
        for depth, level in enumerate(format.levels)
        if level.roles or not isinstance(level, Preparable)
    ]
    if len(listed) != 1 or format.batch_ndim:
        return False
    appended = format.levels[listed[0]]
    return (
        listed[0] < format.n_levels - 1
        and isinstance(appended, Appendable)
        and not appended.branchless
        and appended.unique
        and appended.ordered
    )


def may_be_unwalkable(format: Format) -> bool:
    """Tell whether there may be no loops that visit each entry of a format.

    A level stores the difference of two dimensions, or repeats coordinates in no order
    above a level that does not list entries.
    """
    if any(len(part.dimensions) > 1 for part in format.expressions):
        return True
    loose = any(not level.ordered and not level.unique for level in format.levels)
    return loose and not is_coordinate_list(format)
