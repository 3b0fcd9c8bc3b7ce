"""The coordinate tree of an array: positions, their coordinates, where each stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from sparray.errors import UnsupportedError
from sparray.formats.level import IntArray
from sparray.view.labels import level_labels, value_text

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["CoordinateTree", "Placement", "TreeLevel", "coordinate_tree", "place"]

PADDING = "–"
"""The label of a position whose coordinate lies outside the shape."""


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
    buffers : mapping of str to ndarray
        The level's buffers by role.
    extent : int
        Number of coordinates along the level.
    """

    label: str
    parents: list[int]
    coordinates: list[str]
    buffers: Mapping[str, IntArray]
    extent: int


@dataclass(frozen=True, slots=True)
class CoordinateTree:
    """The levels of an array, outermost first, and the value of each leaf."""

    levels: tuple[TreeLevel, ...]
    values: list[str]


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
    format = array.format
    labels = level_labels(format)
    extents = [array.shape[dimension] for dimension in format.order]
    counts = [1]
    for level, buffers, extent, label in zip(
        format.levels, array.levels, extents, labels, strict=True
    ):
        count = level.count(buffers, counts[-1], extent)
        if count > limit:
            raise UnsupportedError(
                f"draw: expected at most {limit} positions in each level, got "
                f"{count:,} in {label!r} of shape {array.shape} "
                "(sparray.spy(A) shows arrays of any size)"
            )
        counts.append(count)
    levels = []
    for level, buffers, extent, label, n_parents in zip(
        format.levels, array.levels, extents, labels, counts[:-1], strict=True
    ):
        unpacked = level.unpack(buffers, n_parents, extent)
        levels.append(
            TreeLevel(
                label,
                unpacked.parents.tolist(),
                _coordinate_texts(unpacked.coordinates, extent),
                buffers,
                extent,
            )
        )
    return CoordinateTree(tuple(levels), [value_text(v) for v in array.values])


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


def _coordinate_texts(coordinates: npt.NDArray[Any], extent: int) -> list[str]:
    return [
        str(coordinate) if 0 <= coordinate < extent else PADDING
        for coordinate in coordinates.tolist()
    ]
