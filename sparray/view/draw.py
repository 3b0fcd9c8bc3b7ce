"""Draw the coordinate tree of a small array, as text and as SVG."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparray.convert.objects import array
from sparray.errors import SettingError
from sparray.formats.named import format_text
from sparray.view.labels import (
    entries_text,
    has_plain_fill,
    shape_text,
    value_text,
)
from sparray.view.tree import coordinate_tree
from sparray.view.tree_svg import tree_svg
from sparray.view.tree_text import tree_text

__all__ = ["Drawing", "draw"]


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """The coordinate tree of an array; a notebook shows it, `print` prints it.

    Attributes
    ----------
    text : str
        The tree and the buffers in characters.
    svg : str
        The same as an image, without external resources; readable on light and dark
        backgrounds.
    """

    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file: ``.svg`` the image, ``.txt`` the text.

        Raises
        ------
        SettingError
            If the name ends otherwise.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in (".svg", ".txt"):
            raise SettingError(
                f"path: expected a name that ends in .svg or .txt, got {str(path)!r}"
            )
        content = self.svg if suffix == ".svg" else self.text + "\n"
        Path(path).write_text(content, encoding="utf-8")


def draw(A: Any, *, limit: int = 64) -> Drawing:
    """Draw the coordinate tree of a small array and the buffers that store it.

    Each level is a row with one node for each of its positions, which shows the
    position's coordinate and stands below its parent position. The buffers follow:
    those of each level by role, then the values.

    Parameters
    ----------
    A : SparseArray or anything that `array` takes
        Any format and any number of dimensions.
    limit : int
        The largest number of positions that a level may have.

    Returns
    -------
    Drawing
        With ``.text``, ``.svg`` and ``.save(path)``.

    Raises
    ------
    UnsupportedError
        If a level has more than ``limit`` positions; `spy` shows arrays of any size.

    Examples
    --------
    >>> import sparray as sp
    >>> print(sp.draw(sp.array([[0, 7, 0], [0, 0, 0], [5, 0, 6]], format="csr")))
    csr: (i, j) -> (i: dense, j: compressed)
    shape (3, 3), int64, 3 stored entries
    <BLANKLINE>
                   ●
                   ├──┬──┐
    i: dense       0  1  2
                   │     ├──┐
    j: compressed  1     0  2
    values         7     5  6
    <BLANKLINE>
    i: dense       no buffers: extent 3
    j: compressed  pos  0 1 1 3
                   crd  1 0 2
    values              7 5 6
    """
    made = array(A, copy=False)
    tree = coordinate_tree(made, limit)
    name = format_text(made.format)
    full = str(made.format)
    facts = f"shape {shape_text(made.shape)}, {made.dtype}, {entries_text(made.nnz)}"
    if not has_plain_fill(made):
        facts += f", fill value {value_text(made.dtype.type(made.fill_value))}"
    title = [full if name == full else f"{name}: {full}", facts]
    return Drawing(tree_text(tree, title), tree_svg(tree, title))
