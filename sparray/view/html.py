"""An array as HTML: what a notebook shows."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from sparray._kernels.sizes import byte_text
from sparray.view.labels import (
    density_text,
    entries_text,
    has_plain_fill,
    shape_text,
    value_text,
)
from sparray.view.summary import buffer_sizes
from sparray.view.thumbnail import thumbnail

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["html"]

_MOST_ROWS = 12
_MOST_COLUMNS = 12
_MOST_POSITIONS = 2**21
"""Up to this many are counted within a tenth of a second."""

_PLAIN = "border:none;background:none;padding:1px 8px"
_LABEL = f'style="{_PLAIN};text-align:left;opacity:0.7;font-weight:normal"'
_VALUE = f'style="{_PLAIN};text-align:left"'
_STORED = f'style="{_PLAIN};text-align:right;font-weight:bold"'
_ABSENT = f'style="{_PLAIN};text-align:right;opacity:0.35"'


def html(array: "SparseArray") -> str:
    """Return a table of facts, beside it the values or where they are.

    Small arrays of up to two dimensions show their elements, stored ones in bold;
    others show a picture of the first two dimensions, if counting is quick. The
    page's own colours are kept, and nothing is loaded.
    """
    facts = "".join(
        f"<tr><th {_LABEL}>{escape(name)}</th><td {_VALUE}>{escape(text)}</td></tr>"
        for name, text in _facts(array)
    )
    table = f'<table style="border-collapse:collapse">{facts}</table>'
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start">'
        f"{table}{_picture(array)}</div>"
    )


def _facts(array: "SparseArray") -> list[tuple[str, str]]:
    """List what is said of the array in words."""
    nnz = array.nnz
    name = array.format.name
    text = str(array.format)
    facts = [
        ("SparseArray", text if name is None else f"{name}: {text}"),
        ("shape", shape_text(array.shape)),
        ("dtype", str(array.dtype)),
        ("stored", f"{entries_text(nnz)}, density {density_text(nnz, array.size)}"),
    ]
    if not has_plain_fill(array):
        fill = value_text(array.dtype.type(array.fill_value))
        facts.append(("fill value", fill))
    sizes = ", ".join(f"{name} {size}" for name, size in buffer_sizes(array))
    return [*facts, ("memory", f"{byte_text(array.nbytes)}: {sizes}")]


def _picture(array: "SparseArray") -> str:
    """Return the elements, a thumbnail, or nothing."""
    if array.size == 0:
        return ""
    if array.ndim <= 2:
        rows, columns = (1, 1, *array.shape)[-2:]
        if rows <= _MOST_ROWS and columns <= _MOST_COLUMNS:
            return _grid(array, rows, columns)
    if len(array.values) > _MOST_POSITIONS:
        return ""
    return thumbnail(array)


def _grid(array: "SparseArray", rows: int, columns: int) -> str:
    """Return all elements as a table; repeated entries are written as a sum."""
    coords, values = array.to_coords()
    # An array of no or one dimension is one row.
    places = np.zeros((2, len(values)), dtype=np.int64)
    places[2 - array.ndim :] = coords
    cells = [[""] * columns for _ in range(rows)]
    for row, column, value in zip(*places.tolist(), values, strict=True):
        above = cells[row][column]
        text = value_text(value)
        cells[row][column] = f"{above} + {text}" if above else text
    fill = escape(value_text(array.dtype.type(array.fill_value)))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td {_STORED}>{escape(text)}</td>"
            if text
            else f"<td {_ABSENT}>{fill}</td>"
            for text in line
        )
        + "</tr>"
        for line in cells
    )
    return f'<table style="border-collapse:collapse">{body}</table>'
