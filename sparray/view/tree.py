"""The coordinate tree of an array: positions, their coordinates, where each stands."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.errors import UnsupportedError
from sparray.formats.level import Unpacked
from sparray.formats.slices import join_slices
from sparray.records import dataclass
from sparray.view.labels import level_labels, value_text

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["CoordinateTree", "Placement", "TreeLevel", "coordinate_tree", "place"]

PADDING = "–"
"""The label of a position without a coordinate, and of a value that is not visible."""


@dataclass(frozen=True, slots=True)
class TreeLevel:
    """One level of the tree: one node for each position.

    Attributes
    ----------
    label : str
        What the format's string says of the level, as ``"j: compressed"``.
    parents : list of int
        The parent position of each position.
    coordinates : list of str
        The coordinate of each position.
    buffers : dict of str to list of str
        The elements of the level's buffers by role.
    extent : int
        Number of coordinates along the level.
    """

    label: str
    parents: list[int]
    coordinates: list[str]
    buffers: dict[str, list[str]]
    extent: int


@dataclass(frozen=True, slots=True)
class CoordinateTree:
    """The levels of an array, outermost first, and the value of each leaf.

    ``leaves`` are the values with a mark in place of those that are never visible: of
    positions without a coordinate, or outside the shape.
    """

    levels: tuple[TreeLevel, ...]
    values: list[str]
    leaves: list[str]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the nodes of one level stand, in columns of one leaf each.

    Attributes
    ----------
    starts : list of int
        The first column of each node.
    widths : list of int
        The number of columns below it; at least one.
    """

    starts: list[int]
    widths: list[int]


def coordinate_tree(array: "SparseArray", limit: int) -> CoordinateTree:
    """Read the tree off an array by the level functions of its format.

    Raises
    ------
    UnsupportedError
        If a level has more than ``limit`` positions. They are counted before any
        level is unpacked.
    """
    array_levels = array.levels
    labels = level_labels(array.format)
    # What slices do not use is no node: it stands in the buffers alone.
    format, shown, shown_values = array.format, array.levels, array.values
    if format.batch_ndim:
        joined = join_slices(format, array.shape, array_levels, array.values)
        format, shown, shown_values = joined.format, joined.levels, joined.values
    extents = format.level_extents(array.shape)
    counts = [1]
    for level, buffers, extent, label in zip(
        format.levels, shown, extents, labels, strict=True
    ):
        count = level.count(buffers, counts[-1], extent)
        if count > limit:
            raise UnsupportedError(
                f"draw: expected at most {limit} positions in each level, got "
                f"{count:,} in {label!r} of shape {array.shape} "
                "(sparray.spy(A) shows arrays of any size)"
            )
        counts.append(count)
    unpacked = [
        level.unpack(buffers, n_parents, extent)
        for level, buffers, extent, n_parents in zip(
            format.levels, shown, extents, counts[:-1], strict=True
        )
    ]
    levels = tuple(
        TreeLevel(
            label,
            entries.parents.tolist(),
            _coordinate_texts(entries),
            {role: _buffer_texts(buffer) for role, buffer in buffers.items()},
            extent,
        )
        for label, entries, buffers, extent in zip(
            labels, unpacked, array_levels, extents, strict=True
        )
    )
    values = [value_text(value) for value in array.values]
    visible = _visible(array, unpacked).tolist()
    leaves = [
        value_text(value) if is_seen else PADDING
        for value, is_seen in zip(shown_values, visible, strict=True)
    ]
    return CoordinateTree(levels, values, leaves)


def place(tree: CoordinateTree) -> list[Placement]:
    """Give every node its columns: children stand side by side below their parent.

    The first placement is that of the root. Parents need not ascend, as in a level
    whose positions are slots of a table.
    """
    sizes = [1, *(len(level.parents) for level in tree.levels)]
    widths: list[list[int]] = [[1] * sizes[-1]]
    for level, n_parents in zip(
        reversed(tree.levels), reversed(sizes[:-1]), strict=True
    ):
        below = [0] * n_parents
        for parent, width in zip(level.parents, widths[0], strict=True):
            below[parent] += width
        widths.insert(0, [max(1, width) for width in below])
    placements = [Placement([0], widths[0])]
    for level, own in zip(tree.levels, widths[1:], strict=True):
        free = list(placements[-1].starts)
        starts = []
        for parent, width in zip(level.parents, own, strict=True):
            starts.append(free[parent])
            free[parent] += width
        placements.append(Placement(starts, own))
    return placements


def _coordinate_texts(entries: Unpacked) -> list[str]:
    texts = [str(coordinate) for coordinate in entries.coordinates.tolist()]
    if entries.present is None:
        return texts
    present = entries.present.tolist()
    return [
        t if is_there else PADDING for t, is_there in zip(texts, present, strict=True)
    ]


def _buffer_texts(buffer: npt.NDArray[Any]) -> list[str]:
    """Return the elements of a buffer; a mask's are 0 and 1."""
    return [str(int(item)) for item in buffer]


def _visible(array: "SparseArray", unpacked: list[Unpacked]) -> npt.NDArray[np.bool_]:
    """Mark the innermost positions that have coordinates inside the shape."""
    visible = np.ones(1, dtype=np.bool_)
    rows: list[npt.NDArray[np.int64]] = []
    for entries in unpacked:
        rows = [row[entries.parents] for row in rows] + [entries.coordinates]
        visible = visible[entries.parents]
        if entries.present is not None:
            visible = visible & entries.present
    if not rows:
        return visible
    _, inside = array.format.dimension_coordinates(rows, array.shape)
    return visible if inside is None else visible & inside
