"""The words and numbers that every view of an array uses."""

from typing import TYPE_CHECKING, Any

from sparray.compiler.loop_ir.dtypes import dtype_kind

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

from sparray.formats.format import Format

__all__ = [
    "count_text",
    "density_text",
    "dimension_names",
    "entries_text",
    "extents_text",
    "has_plain_fill",
    "level_labels",
    "shape_text",
    "value_text",
]

_MOST_EXTENTS = 10
"""Extents that a shape is written out with."""


def dimension_names(format: Format) -> list[str]:
    """Return the name of each dimension, as in the format's string.

    Examples
    --------
    >>> dimension_names(Format.parse("(row, col) -> (col: dense, row: compressed)"))
    ['i', 'j']
    """
    names = str(format).split("->")[0].strip()[1:-1]
    return [name.strip() for name in names.split(",")] if names else []


def level_labels(format: Format) -> list[str]:
    """Return what the format's string says of each level, outermost first.

    Examples
    --------
    >>> level_labels(Format.parse("csc", 2))
    ['j: dense', 'i: compressed']
    """
    text = str(format).split("->")[1].strip()[1:-1]
    labels, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            labels.append(text[start:at].strip())
            start = at + 1
    return [*labels, text[start:].strip()] if text else []


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape; one of many dimensions is cut short.

    Examples
    --------
    >>> shape_text((4, 6))
    '(4, 6)'
    >>> shape_text((2,) * 64)
    '(2, 2, 2, ..., 2) of 64 dimensions'
    """
    if len(shape) <= _MOST_EXTENTS:
        return str(shape)
    first = ", ".join(map(str, shape[:3]))
    return f"({first}, ..., {shape[-1]}) of {len(shape)} dimensions"


def extents_text(extents: tuple[int, ...]) -> str:
    """Return extents as a product; of very many, the first ones.

    Examples
    --------
    >>> extents_text((10_000, 40)), extents_text((2**62,))
    ('10,000 × 40', '4.61e+18')
    """
    shown = extents if len(extents) <= _MOST_EXTENTS else extents[:3]
    texts = [f"{n:,}" if n < 10**12 else f"{n:.3g}" for n in shown]
    if len(shown) < len(extents):
        texts.append(f"... ({len(extents)} dimensions)")
    return " × ".join(texts)


def entries_text(count: int) -> str:
    """Return a number of stored entries in words.

    Examples
    --------
    >>> entries_text(1), entries_text(12345678)
    ('1 stored entry', '12,345,678 stored entries')
    """
    return f"{count:,} stored {'entry' if count == 1 else 'entries'}"


def density_text(nnz: int, size: int) -> str:
    """Return the share of elements that are stored, of sizes beyond a float too.

    Examples
    --------
    >>> density_text(6, 24), density_text(0, 0), density_text(1, 10**400)
    ('0.25', 'none', 'below 1e-300')
    """
    if size == 0:
        return "none"
    density = nnz / size
    return "below 1e-300" if nnz and density < 1e-300 else f"{density:.2g}"


def count_text(count: int) -> str:
    """Return an exact number, or how large it is where digits say no more.

    Examples
    --------
    >>> count_text(12345678), count_text(2**1000)
    ('12,345,678', 'over 10^301')
    """
    return f"{count:,}" if count < 10**15 else f"over 10^{len(str(count)) - 1}"


def value_text(value: Any) -> str:
    """Return a NumPy scalar in a few characters.

    Examples
    --------
    >>> import numpy as np
    >>> value_text(np.float32(0.1)), value_text(np.int8(-3)), value_text(np.True_)
    ('0.1', '-3', 'True')
    """
    kind = dtype_kind(value.dtype)
    if kind == "f":
        return f"{float(value):.4g}"
    return f"{value:.3g}" if kind == "c" else str(value)


def has_plain_fill(array: "SparseArray") -> bool:
    """Whether entries that are not stored are 0, which needs no mention."""
    return bool(array.fill_value == 0)
