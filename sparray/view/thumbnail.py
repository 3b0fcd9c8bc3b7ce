"""A small picture of where an array has entries, as SVG without any library."""

from typing import TYPE_CHECKING

import numpy as np

from sparray.view.projection import project

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["thumbnail"]

_CELLS = 48
_SIDE = 144
_COLOUR = "#4a86e8"
_FRAME = "#8a8a8a"


def thumbnail(array: "SparseArray") -> str:
    """Return the first two dimensions with cells the darker, the more is stored.

    The colour is one that shows on light and on dark pages, its opacity grows with the
    logarithm of the density, from a third to all of it.
    """
    axes = (0, 1) if array.ndim > 1 else (0, 0)
    projection = project(array, axes, (_CELLS, _CELLS))
    counts, density = projection.counts, projection.density
    rows, columns = counts.shape
    cell = _SIDE / max(rows, columns, 1)
    opacity = np.ones(counts.shape)
    stored = counts > 0
    if stored.any():
        logarithm = np.log(density, where=stored, out=np.zeros(counts.shape))
        low, high = logarithm[stored].min(), logarithm[stored].max()
        if high > low:
            opacity = 1 / 3 + 2 / 3 * (logarithm - low) / (high - low)
    boxes = [
        f'<rect x="{column * cell:.4g}" y="{row * cell:.4g}" width="{cell:.4g}" '
        f'height="{cell:.4g}" fill-opacity="{opacity[row, column]:.2g}"/>'
        for row, column in np.argwhere(stored).tolist()
    ]
    width, height = columns * cell, rows * cell
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2:.0f}" '
        f'height="{height + 2:.0f}" viewBox="-1 -1 {width + 2:.4g} {height + 2:.4g}" '
        f'role="img" aria-label="stored entries">'
        f'<g fill="{_COLOUR}" shape-rendering="crispEdges">{"".join(boxes)}</g>'
        f'<rect width="{width:.4g}" height="{height:.4g}" fill="none" '
        f'stroke="{_FRAME}"/></svg>'
    )
