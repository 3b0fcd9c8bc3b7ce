"""Coordinates that are not an index alone: constants, windows, sums of indices.

A dimension of an access may have one of these in place of an index::

    2, -1                  a constant; a negative one counts from the end, as in Python
    i in 2:10:2            a window: i runs over the slice, counted from 0
    i + 2, 2*i + k - 1     a sum of indices, each times an integer, and of an integer

They are kept as text, printed as a user would write them, so that an access remains a
tensor and a tuple of names. What is common to all three is an *affine* coordinate: a
first coordinate, and a step for each index. Before anything is compiled, the first
coordinates are taken out (`sparray.compiler.index_notation.canonical.symbolize`):
``i in 2:10:2`` becomes ``2*i+@1``, and ``@1`` is a parameter of the kernel, so that all
windows of one step share it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = [
    "Affine",
    "affine",
    "affine_text",
    "bases",
    "is_affine",
    "is_unit_step",
    "rename_coordinate",
    "window_text",
]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WINDOW = re.compile(rf"({_NAME}) in (-?\d*):(-?\d*)(?::(-?\d*))?")
_TERM = re.compile(rf"([+-]?)(?:(\d+)\*)?(?:({_NAME})|(\d+)|(@\d+))")


@dataclass(frozen=True, slots=True)
class Affine:
    """``first + step * index + ...``, or the coordinates of a slice.

    Attributes
    ----------
    terms : tuple of (str, int)
        Each index with its step, which is not 0.
    first : int
        The coordinate where every index is 0; of a constant, as it was written.
    window : tuple of int or None, optional
        Start, stop and step of a slice, which decides ``first``.
    symbol : str
        ``"@1"`` where ``first`` is a parameter; empty otherwise.
    """

    terms: tuple[tuple[str, int], ...]
    first: int = 0
    window: tuple[int | None, int | None, int | None] | None = None
    symbol: str = ""


def is_affine(coordinate: str) -> bool:
    """Tell whether a coordinate of an access is not simply an index."""
    return not coordinate.isidentifier()


@lru_cache(maxsize=4096)
def affine(coordinate: str) -> Affine | None:
    """Return what the text of a coordinate says; None for an index."""
    if not is_affine(coordinate):
        return None
    window = _WINDOW.fullmatch(coordinate)
    if window is not None:
        start, stop, step = (
            int(part) if part else None for part in window.groups()[1:]
        )
        return Affine(
            ((window[1], 1 if step is None else step),), window=(start, stop, step)
        )
    steps: dict[str, int] = {}
    first, symbol, place = 0, "", 0
    while place < len(coordinate):
        found = _TERM.match(coordinate, place)
        if found is None or (place and not found[1]):
            raise InternalError(f"expected a coordinate, got {coordinate!r}")
        sign = -1 if found[1] == "-" else 1
        if found[3] is not None:
            steps[found[3]] = sign * int(found[2] or 1)
        elif found[4] is not None:
            first = sign * int(found[4])
        else:
            symbol = found[5]
        place = found.end()
    return Affine(tuple(steps.items()), first, None, symbol)


@lru_cache(maxsize=4096)
def bases(coordinate: str) -> tuple[str, ...]:
    """Return the indices that a coordinate is made of: itself, if it is an index."""
    made = affine(coordinate)
    return (coordinate,) if made is None else tuple(i for i, _ in made.terms)


def is_unit_step(coordinate: str, index: str) -> bool:
    """Tell whether a coordinate grows by one with an index."""
    made = affine(coordinate)
    return coordinate == index if made is None else (index, 1) in made.terms


def affine_text(
    terms: Iterable[tuple[str, int]], first: int = 0, symbol: str = ""
) -> str:
    """Return the text of a sum, that of the index alone if it is nothing more.

    Terms of the same index are added up, in the order of their first appearance.
    """
    steps: dict[str, int] = {}
    for index, step in terms:
        steps[index] = steps.get(index, 0) + step
    text = ""
    for index, step in steps.items():
        if step == 0:
            continue
        sign = "-" if step < 0 else "+" if text else ""
        factor = "" if abs(step) == 1 else f"{abs(step)}*"
        text += f"{sign}{factor}{index}"
    if symbol:
        return f"{text}+{symbol}" if text else symbol
    if first or not text:
        text += f"+{first}" if text and first >= 0 else str(first)
    return text


def window_text(index: str, window: tuple[int | None, int | None, int | None]) -> str:
    """Return the text of a window."""
    parts = window if window[2] is not None else window[:2]
    slice_ = ":".join("" if part is None else str(part) for part in parts)
    return f"{index} in {slice_}"


def rename_coordinate(coordinate: str, names: Mapping[str, str]) -> str:
    """Return a coordinate with its indices renamed."""
    made = affine(coordinate)
    if made is None:
        return names[coordinate]
    if made.window is not None:
        return window_text(names[made.terms[0][0]], made.window)
    terms = [(names[index], step) for index, step in made.terms]
    return affine_text(terms, made.first, made.symbol)
