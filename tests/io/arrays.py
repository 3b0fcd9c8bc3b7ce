"""Arrays compared, and made from bytes."""

import numpy as np

import sparray as sp


def same(first: sp.SparseArray, second: sp.SparseArray) -> bool:
    """Whether two arrays have the same shape, entries and fill value, bit by bit.

    Formats and dtypes may differ; values are compared in the first one's dtype.
    """
    if first.shape != second.shape:
        return False
    entries = []
    for array in (first, second):
        coords, values = array.to_coords()
        order = np.lexsort(coords[::-1]) if len(coords) else slice(None)
        entries.append((coords[:, order], values[order].astype(first.dtype)))
    (coords, values), (other_coords, other_values) = entries
    fills = np.array([first.fill_value, second.fill_value])
    return (
        np.array_equal(coords, other_coords)
        and np.array_equal(values.view("u1"), other_values.view("u1"))
        and np.array_equal(fills[:1], fills[1:], equal_nan=True)
    )
