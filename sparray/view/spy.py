"""Plot where an array has entries, by matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.convert.objects import array
from sparray.errors import MissingExtraError, SettingError, ShapeError
from sparray.formats.named import format_text
from sparray.view.labels import (
    density_text,
    dimension_names,
    entries_text,
    extents_text,
)
from sparray.view.projection import Projection, entry_cells, project

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sparray.sparse_array import SparseArray

__all__ = ["spy"]

_SQUARES_EXTENT = 100
_SQUARES_MOST = 2500
_MARKERS_MOST = 500
_MARKER_SIZE = 3
"""In points; an entry of a large array would be smaller than a pixel to scale."""
_MOST_RATIO = 4
"""Past this ratio of the extents, equal steps would leave a thread of a plot."""
_ABBREVIATED = 10_000
"""From this extent on, ticks are written as 10k."""
_COLOR = "#3b6fb6"


def spy(
    A: Any,
    ax: "Axes | None" = None,
    *,
    axes: tuple[int, int] | None = None,
    bins: int = 512,
    color: str | None = None,
    cmap: Any = None,
) -> "Axes":
    r"""Plot where an array has stored entries.

    Small arrays show a marker for each entry. Larger ones show cells, coloured by the
    logarithm of the share of their elements that is stored: one entry in a million rows
    is as visible as a dense block, and the two look different.

    Parameters
    ----------
    A : SparseArray or anything that `array` takes
        Any format and any number of dimensions; nothing is made dense. Of a dense
        array, the elements that differ from the fill value.
    ax : matplotlib.axes.Axes, optional
        Where to plot; by default a new figure.
    axes : tuple of int, optional
        The dimensions along the vertical and the horizontal axis, by default the first
        two; the others are projected. An array of one dimension is one row.
    bins : int
        The largest number of cells along an axis; never more than it has pixels, so
        that no entry is lost.
    color : str, optional
        Of the markers and of cells that are one element each.
    cmap : str or matplotlib.colors.Colormap, optional
        Of cells with more than one element.

    Returns
    -------
    matplotlib.axes.Axes
        With the first dimension downwards, as matrices are written.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ShapeError
        If ``axes`` are not two different dimensions of the array.
    SettingError
        If ``bins`` is not positive.

    Notes
    -----
    O(positions): 30 million entries take about a second.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import sparray as sp
    >>> ax = sp.spy(sp.array([[0, 1], [2, 0]]))
    >>> ax.get_title()
    'csr, 2 × 2\n2 stored entries, density 0.5'
    """
    made = array(A, copy=False)
    chosen = _chosen_axes(made, axes)
    if bins < 1:
        raise SettingError(f"bins: expected a positive number, got {bins}")
    plot = _new_axes() if ax is None else ax
    extents = (1 if made.ndim == 1 else made.shape[chosen[0]], made.shape[chosen[1]])
    _frame(plot, made, chosen, extents)
    n_positions = len(made.values)
    if max(extents) <= _SQUARES_EXTENT and n_positions <= _SQUARES_MOST:
        _draw_squares(plot, made, chosen, color)
    elif n_positions <= _MARKERS_MOST:
        _draw_markers(plot, made, chosen, color)
    elif min(extents) > 0:
        _paint(plot, made, chosen, extents, bins, color, cmap)
    return plot


def _chosen_axes(made: "SparseArray", axes: tuple[int, int] | None) -> tuple[int, int]:
    """Return two dimensions counted from 0; the same one twice of a 1-d array."""
    ndim = made.ndim
    if ndim == 0:
        raise ShapeError("A: expected an array of 1 dimension or more, got one of 0")
    if axes is None:
        return (0, min(1, ndim - 1))
    given = tuple(axes)
    counted = [axis % ndim for axis in given if -ndim <= axis < ndim]
    if ndim == 1 or len(given) != 2 or len(set(counted)) != 2:
        raise ShapeError(
            f"axes: expected two different dimensions of an array of {ndim}, "
            f"got {given}"
        )
    return (counted[0], counted[1])


def _new_axes() -> "Axes":
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            f"spy: expected matplotlib to be installed, got none ({error}); "
            "pip install 'sparray-levels[plot]' installs it"
        ) from error
    return plt.subplots()[1]


def _frame(
    plot: "Axes", made: "SparseArray", axes: tuple[int, int], extents: tuple[int, int]
) -> None:
    """Set limits, aspect, ticks, labels and title."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    rows, columns = (max(1, extent) for extent in extents)
    plot.set_xlim(-0.5, columns - 0.5)
    plot.set_ylim(rows - 0.5, -0.5)
    is_thin = max(rows, columns) > _MOST_RATIO * min(rows, columns)
    plot.set_aspect("auto" if is_thin else "equal")
    names = dimension_names(made.format)
    for dimension, axis in ((axes[1], plot.xaxis), (axes[0], plot.yaxis)):
        axis.set_label_text(f"{names[dimension]} (dimension {dimension})")
        axis.set_major_locator(MaxNLocator(6, integer=True))
        if made.shape[dimension] >= _ABBREVIATED:
            axis.set_major_formatter(EngFormatter(sep=""))
    if made.ndim == 1:
        plot.yaxis.set_label_text("")
        plot.yaxis.set_ticks([])
    nnz = made.nnz
    plot.set_title(
        f"{format_text(made.format)}, {extents_text(made.shape)}\n"
        f"{entries_text(nnz)}, density {density_text(nnz, made.size)}",
        fontsize="medium",
    )


def _draw_squares(
    plot: "Axes", made: "SparseArray", axes: tuple[int, int], color: str | None
) -> None:
    """Draw a square for each entry, in units of the data: it grows with the plot."""
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.4, -0.4), (0.4, -0.4), (0.4, 0.4), (-0.4, 0.4)])
    squares = PolyCollection(
        list(_places(made, axes)[:, None, :] + corners),
        facecolors=color or _COLOR,
        linewidths=0,
    )
    plot.add_collection(squares, autolim=False)


def _draw_markers(
    plot: "Axes", made: "SparseArray", axes: tuple[int, int], color: str | None
) -> None:
    """Draw a marker of one size for each entry, whatever the extents."""
    columns, rows = _places(made, axes).T
    plot.plot(
        columns,
        rows,
        linestyle="none",
        marker="s",
        markersize=_MARKER_SIZE,
        markeredgewidth=0,
        color=color or _COLOR,
        scalex=False,
        scaley=False,
    )


def _places(made: "SparseArray", axes: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Return column and row of each entry."""
    places = [np.empty((0, 2))]
    for rows, columns in entry_cells(made, axes, (1, 1)):
        places.append(np.stack([columns, rows], axis=1))
    return np.concatenate(places, dtype=np.float64)


def _paint(
    plot: "Axes",
    made: "SparseArray",
    axes: tuple[int, int],
    extents: tuple[int, int],
    bins: int,
    color: str | None,
    cmap: Any,
) -> None:
    """Draw an image of the density of cells, or of the elements if they fit."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, LogNorm

    most = _most_cells(plot, bins)
    is_pattern = made.ndim <= 2 and all(
        extent <= cells for extent, cells in zip(extents, most, strict=True)
    )
    if is_pattern:
        projection = project(made, axes, most)
        _show(
            plot, projection, projection.counts, cmap=ListedColormap([color or _COLOR])
        )
        return
    mappable = ScalarMappable(LogNorm(0.1, 1), _colormap(cmap))
    bar = plot.figure.colorbar(mappable, ax=plot)
    # The bar took its place from the plot, which has fewer pixels now.
    projection = project(made, axes, _most_cells(plot, bins))
    density = projection.density
    high = float(density.max(initial=0)) or 1.0
    low = float(density.min(initial=high, where=density > 0))
    # A range of at least a decade, so that small differences do not look large.
    mappable.set_clim(min(low, high / 10), high)
    _show(plot, projection, density, cmap=mappable.cmap, norm=mappable.norm)
    label = "stored entries per element"
    if projection.widths != (1, 1):
        label += f", in cells of {extents_text(projection.widths)}"
    bar.set_label(label)


def _show(
    plot: "Axes", projection: Projection, shades: npt.NDArray[Any], **style: Any
) -> None:
    """Add the image; cells without an entry are not painted."""
    limits = plot.get_xlim(), plot.get_ylim()
    aspect = plot.get_aspect()
    rows, columns = projection.counts.shape
    height, width = projection.widths
    plot.imshow(
        np.ma.masked_equal(shades, 0),
        extent=(-0.5, columns * width - 0.5, rows * height - 0.5, -0.5),
        interpolation="nearest",
        aspect=aspect,
        **style,
    )
    # The last cells may reach beyond the shape.
    plot.set_xlim(limits[0])
    plot.set_ylim(limits[1])


def _most_cells(plot: "Axes", bins: int) -> tuple[int, int]:
    """Return how many cells of a pixel or more fit along the two axes."""
    plot.apply_aspect()
    box = plot.get_window_extent()
    rows, columns = (int(0.9 * pixels) for pixels in (box.height, box.width))
    return max(1, min(bins, rows)), max(1, min(bins, columns))


def _colormap(cmap: Any) -> Any:
    """Return a colormap whose ends both show on a white page."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    if cmap is not None:
        return cmap
    return ListedColormap(matplotlib.colormaps["magma_r"](np.linspace(0.25, 1, 256)))
