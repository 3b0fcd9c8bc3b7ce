"""Elements of an array whose format is dense: NumPy's own indexing."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_protocols import dense_view
from sparray.functions.indexing.groups import MaskGroup
from sparray.functions.indexing.selection import Selection
from sparray.functions.indexing.selectors import Every, Pick, Selector, Window
from sparray.sparse_array import SparseArray

__all__ = ["elements_of_dense"]


def elements_of_dense(array: SparseArray, selection: Selection) -> npt.NDArray[Any]:
    """Return what a selection selects of an array of a dense format, as a new array."""
    elements = dense_view(array)
    group = selection.group
    grouped = () if group is None else group.dimensions
    for dimension, selector in enumerate(selection.selectors):
        if dimension not in grouped:
            along = (slice(None),) * dimension
            elements = elements[(*along, _index(selector))]
    dimensions: list[int | None] = list(range(array.ndim))
    if group is not None:
        elements = np.moveaxis(elements, grouped, range(len(grouped)))
        index = group.mask if isinstance(group, MaskGroup) else tuple(group.coordinates)
        elements = elements[index]
        elements = elements.reshape(*group.shape, *elements.shape[1:])
        rest = [d for d in dimensions if d not in grouped]
        dimensions = [*[None] * len(group.shape), *rest]
    made = iter(n for n, dimension in enumerate(dimensions) if dimension is None)
    wanted = []
    for axis in selection.axes:
        if axis.source is None:
            wanted.append(next(made))
        elif axis.source >= 0:
            wanted.append(dimensions.index(axis.source))
    points = [n for n in range(elements.ndim) if n not in wanted]
    # What is left is of extent 1: the dimensions of integers.
    ordered = elements.transpose([*wanted, *points])
    return ordered.reshape(selection.shape).copy()


def _index(selector: Selector) -> Any:
    if isinstance(selector, Every):
        return slice(None)
    if isinstance(selector, Window):
        stop = selector.start + selector.step * selector.length
        if selector.length == 0:
            return slice(0, 0)
        return slice(selector.start, None if stop < 0 else stop, selector.step)
    assert isinstance(selector, Pick)
    return selector.coordinates
