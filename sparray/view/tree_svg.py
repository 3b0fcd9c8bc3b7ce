"""The coordinate tree as an image.

Boxes are light with dark text, everything outside them is a middle grey: so the image
is readable on a light and on a dark page without knowing which one it is on.
"""

from collections.abc import Sequence
from html import escape

from sparray.records import dataclass
from sparray.view.tree import CoordinateTree, Placement, TreeLevel, place

__all__ = ["tree_svg"]

_CHARACTER = 7.3
"""Width of a character of the 12-pixel monospace font, in pixels."""
_MARGIN = 12.0
_BOX = 24.0
_LEAST_WIDTH = 26.0
_LEVEL_STEP = 58.0
_LINE = 18.0
_STRIP_STEP = 44.0
_GREY = "#7a7a7a"
_DARK = "#1c1c1c"
_FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"

_COLOURS = (
    ("#cfe2ff", "#3f7fd6"),
    ("#d3f0d0", "#3f9a3a"),
    ("#ffe2c0", "#cf7d1c"),
    ("#e8d7ff", "#8b5fd0"),
    ("#ffd5dd", "#d0506c"),
    ("#cdeeee", "#2c9494"),
)
"""Fill and outline of each level's boxes, again from the first after the last."""
_VALUES = ("#efefef", "#8a8a8a")


@dataclass(frozen=True, slots=True)
class _Strip:
    """A buffer as a row of cells.

    ``items`` is None where a level has no buffer, which ``role`` then says; ``breaks``
    are the cells that begin another fibre than the cell before.
    """

    label: str
    role: str
    items: list[str] | None
    colours: tuple[str, str]
    breaks: frozenset[int] = frozenset()


def tree_svg(tree: CoordinateTree, title: Sequence[str]) -> str:
    """Return the tree with a row of boxes for each level, and the buffers below it."""
    labels = ["values", *(level.label for level in tree.levels)]
    left = _MARGIN + _CHARACTER * max(map(len, labels)) + 16
    top = _MARGIN + _LINE * len(title) + 8
    strips = _strips(tree)
    longest = max(len(strip.role) for strip in strips if strip.items is not None)
    roles = left + _CHARACTER * (2 + longest)
    parts, right, bottom = _tree(tree, left, top)
    for number, strip in enumerate(strips):
        y = bottom + 34 + number * _STRIP_STEP
        drawn, end = _strip(strip, left, roles, y)
        parts += drawn
        right = max(right, end)
    height = bottom + 34 + len(strips) * _STRIP_STEP
    heading = [
        _text(_MARGIN, _MARGIN + 10 + n * _LINE, line, _GREY, bold=n == 0)
        for n, line in enumerate(title)
    ]
    right = max([right, *(_MARGIN + _CHARACTER * len(line) for line in title)])
    width = right + _MARGIN
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="{_FONT}" font-size="12">'
    )
    name = f"<title>{escape(title[0])}</title>"
    return "\n".join([opening, name, *heading, *parts, "</svg>"])


def _tree(
    tree: CoordinateTree, left: float, top: float
) -> tuple[list[str], float, float]:
    """Draw the nodes and edges; return them, the right end and the bottom."""
    slot = _slot(tree)
    placements = place(tree)
    root = left + slot * placements[0].widths[0] / 2
    edges, boxes = (
        [],
        [f'<circle cx="{root:.1f}" cy="{top + 6}" r="4" fill="{_GREY}"/>'],
    )
    y, exit_y = top, top + 10
    for number, level in enumerate(tree.levels):
        y += _LEVEL_STEP if number else _LEVEL_STEP - 12
        above, own = placements[number], placements[number + 1]
        colours = _COLOURS[number % len(_COLOURS)]
        boxes.append(_text(_MARGIN, y + 16, level.label, colours[1]))
        for node, label in enumerate(level.coordinates):
            x = _centre(own, node, left, slot)
            start = _centre(above, level.parents[node], left, slot)
            edges.append(_edge(start, exit_y, x, y))
            boxes += _box(x - slot / 2 + 4, y, slot - 8, label, colours)
            boxes.append(_small(x + slot / 2 - 6, y + 8, str(node), anchor="end"))
        exit_y = y + _BOX
    y = exit_y + 12
    boxes.append(_text(_MARGIN, y + 16, "values", _GREY))
    for node, label in enumerate(tree.leaves):
        x = _centre(placements[-1], node, left, slot)
        edges.append(_edge(x, exit_y, x, y))
        boxes += _box(x - slot / 2 + 4, y, slot - 8, label, _VALUES)
    right = left + slot * placements[0].widths[0]
    return edges + boxes, right, y + _BOX


def _slot(tree: CoordinateTree) -> float:
    """Return the width of a column: its box, and the gap to the next."""
    texts = [text for level in tree.levels for text in level.coordinates]
    most = max((len(level.parents) for level in tree.levels), default=0)
    # Twice, since the coordinate beside a position's number is centred; three pixels
    # keep the number off the outline and off the coordinate.
    number = 2 * (5 * len(str(max(most - 1, 0))) + 3)
    coordinate = _CHARACTER * max(map(len, texts), default=0) + number
    value = _CHARACTER * max(map(len, tree.values), default=0) + 10
    return max(_LEAST_WIDTH, coordinate, value) + 8


def _strips(tree: CoordinateTree) -> list[_Strip]:
    """List the buffers of each level, then the values."""
    strips = []
    breaks: frozenset[int] = frozenset()
    for number, level in enumerate(tree.levels):
        colours = _COLOURS[number % len(_COLOURS)]
        breaks = _breaks(level)
        if not level.buffers:
            role = f"no buffers: extent {level.extent}"
            strips.append(_Strip(level.label, role, None, colours))
        label = level.label
        for role, items in level.buffers.items():
            by_position = role != "pos" and len(items) == len(level.parents)
            marked = breaks if by_position else frozenset()
            strips.append(_Strip(label, role, items, colours, marked))
            label = ""
    strips.append(_Strip("values", "", tree.values, _VALUES, breaks))
    return strips


def _breaks(level: TreeLevel) -> frozenset[int]:
    """Return the positions that begin a fibre of a level that branches."""
    parents = level.parents
    starts = {n for n in range(1, len(parents)) if parents[n] != parents[n - 1]}
    return frozenset() if len(starts) == len(parents) - 1 else frozenset(starts)


def _strip(
    strip: _Strip, left: float, cells: float, y: float
) -> tuple[list[str], float]:
    """Draw one buffer: labels, cells, the index of each cell above it."""
    fill, outline = strip.colours
    colour = _GREY if strip.label == "values" else outline
    parts = [
        _text(_MARGIN, y + 16, strip.label, colour),
        _text(left, y + 16, strip.role, _GREY),
    ]
    items = strip.items or []
    if strip.items == []:
        parts.append(_text(cells, y + 16, "(empty)", _GREY))
    width = max(_LEAST_WIDTH, _CHARACTER * max(map(len, items), default=0) + 10)
    for number, item in enumerate(items):
        x = cells + number * width
        parts += _box(x, y, width, item, (fill, outline), radius=0)
        parts.append(_small(x + width / 2, y - 4, str(number)))
    for number in sorted(strip.breaks):
        x = cells + number * width
        parts.append(
            f'<line x1="{x:.1f}" y1="{y - 3:.1f}" x2="{x:.1f}" '
            f'y2="{y + _BOX + 3:.1f}" stroke="{outline}" stroke-width="3"/>'
        )
    role_end = left + _CHARACTER * len(strip.role)
    return parts, max(role_end, cells + width * len(items))


def _centre(placement: Placement, node: int, left: float, slot: float) -> float:
    return left + slot * (placement.starts[node] + placement.widths[node] / 2)


def _edge(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{_GREY}"/>'
    )


def _box(
    x: float,
    y: float,
    width: float,
    label: str,
    colours: tuple[str, str],
    radius: int = 4,
) -> list[str]:
    fill, outline = colours
    return [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX:g}" '
        f'rx="{radius}" fill="{fill}" stroke="{outline}"/>',
        f'<text x="{x + width / 2:.1f}" y="{y + 16:.1f}" text-anchor="middle" '
        f'fill="{_DARK}">{escape(label)}</text>',
    ]


def _text(x: float, y: float, text: str, colour: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{weight}>{escape(text)}</text>'
    )


def _small(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="8" text-anchor="{anchor}" '
        f'fill="{_GREY}">{escape(text)}</text>'
    )
