"""Where an index points to: from coordinates of a result to those of the array."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.formats.coordinates import equal_neighbours
from sparray.functions.indexing.groups import MaskGroup
from sparray.functions.indexing.selection import Selection
from sparray.functions.indexing.selectors import Among, Every, Matched, Pick, Selector

__all__ = ["is_selected", "targets"]

Coordinates = npt.NDArray[np.int64]


def is_selected(
    coords: Mapping[int, npt.NDArray[Any]] | Coordinates, selection: Selection
) -> npt.NDArray[np.bool_]:
    """Mark the entries of an array that a selection has.

    Parameters
    ----------
    coords : int64[ndim, n]
        Of the entries.
    selection : Selection
        Of an array of that shape.
    """
    n = len(coords[0]) if len(coords) else 1
    marked = np.ones(n, bool)
    for dimension, selector in enumerate(selection.selectors):
        if not isinstance(selector, Every | Among):
            marked &= _mask(selector.match(coords[dimension]), n)
    group = selection.group
    if group is not None:
        rows = [coords[dimension][marked] for dimension in group.dimensions]
        marked[marked] = _mask(group.match(rows), len(rows[0]))
    return marked


def _mask(matched: Matched, n: int) -> npt.NDArray[np.bool_]:
    taken = matched.taken
    if taken is None:
        return np.ones(n, bool)
    if taken.dtype == np.bool_:
        return taken
    mask = np.zeros(n, bool)
    mask[taken] = True
    return mask


def targets(
    coords: Coordinates, selection: Selection
) -> tuple[Coordinates, npt.NDArray[np.bool_]]:
    """Return where elements of a result come from in the array.

    Parameters
    ----------
    coords : int64[result's ndim, n]
        Of the elements.
    selection : Selection
        What the result is of.

    Returns
    -------
    places : int64[ndim, n]
        Coordinates in the array.
    last : bool[n]
        Whether the index names the place for the last time: as in NumPy, that
        element is the one that stays when several are assigned to one place.
    """
    n = coords.shape[1]
    places = np.zeros((len(selection.selectors), n), np.int64)
    last = np.ones(n, bool)
    for dimension, selector in enumerate(selection.selectors):
        if not isinstance(selector, Every | Pick | Among):
            places[dimension] = selector.start
    for axis, row in zip(selection.axes, coords, strict=True):
        if axis.source is None or axis.source < 0:
            continue
        places[axis.source] = _along(selection.selectors[axis.source], row)
        selector = selection.selectors[axis.source]
        if isinstance(selector, Pick):
            last &= _last_of(selector.coordinates)[row]
    group = selection.group
    if group is not None:
        labels = np.zeros(n, np.int64)
        for axis, row in zip(selection.axes, coords, strict=True):
            if axis.source is None:
                labels += row * axis.below
        named = (
            np.array(np.nonzero(group.mask))
            if isinstance(group, MaskGroup)
            else group.coordinates
        )
        places[list(group.dimensions)] = named[:, labels]
        last &= _last_of(*named)[labels]
    return places, last


def _along(selector: Selector, row: Coordinates) -> Coordinates:
    if isinstance(selector, Pick):
        return selector.coordinates[row]
    if isinstance(selector, Every | Among):
        return row
    places: Coordinates = selector.start + selector.step * row
    return places


def _last_of(*rows: Coordinates) -> npt.NDArray[np.bool_]:
    """Mark the last one of equal points."""
    last = np.ones(len(rows[0]), bool)
    order = np.lexsort(rows)
    repeats = equal_neighbours([row[order] for row in rows], len(order))
    # The sort is stable: of equal points those that come later stand behind.
    last[order[:-1][repeats[1:]]] = False
    return last
