"""The coordinate tree as text."""

from collections.abc import Sequence

from sparray.view.tree import CoordinateTree, Placement, TreeLevel, place

__all__ = ["tree_text"]

_ROOT = "●"


def tree_text(tree: CoordinateTree, title: Sequence[str]) -> str:
    """Return the title, the tree with a row for each level, and the buffers."""
    cells = [text for level in tree.levels for text in level.coordinates]
    cell = 2 + max(map(len, [_ROOT, *cells, *tree.leaves]))
    gutter = 2 + max(map(len, ["values", *(level.label for level in tree.levels)]))
    placements = place(tree)
    rows = [_row(" " * gutter, [_ROOT], placements[0], cell)]
    for level, own in zip(tree.levels, placements[1:], strict=True):
        if level.parents:
            rows.append(" " * gutter + _branches(level, own, cell))
        rows.append(_row(level.label.ljust(gutter), level.coordinates, own, cell))
    rows.append(_row("values".ljust(gutter), tree.leaves, placements[-1], cell))
    blocks = [*title, "", *rows, "", *_buffer_lines(tree, gutter)]
    return "\n".join(line.rstrip() for line in blocks)


def _row(gutter: str, texts: Sequence[str], placement: Placement, cell: int) -> str:
    """Write a text at the column of each node."""
    columns = dict(zip(placement.starts, texts, strict=True))
    last = max(placement.starts, default=-1)
    return gutter + "".join(columns.get(n, "").ljust(cell) for n in range(last + 1))


def _branches(level: TreeLevel, own: Placement, cell: int) -> str:
    """Draw the lines from the nodes above to their children.

    Nodes further up that have no children have columns too.
    """
    children: dict[int, list[int]] = {}
    for parent, start in zip(level.parents, own.starts, strict=True):
        children.setdefault(parent, []).append(start * cell)
    line = [" "] * (cell * (max(own.starts) + 1))
    for columns in children.values():
        first, last = min(columns), max(columns)
        line[first : last + 1] = "─" * (last + 1 - first)
        for column in columns:
            line[column] = "┬"
        line[last] = "┐"
        line[first] = "├" if last > first else "│"
    return "".join(line)


def _buffer_lines(tree: CoordinateTree, gutter: int) -> list[str]:
    """List the buffers of each level, then the values."""
    roles = [role for level in tree.levels for role in level.buffers]
    widest = max(map(len, roles), default=-2) + 2
    lines = []
    for level in tree.levels:
        label = level.label
        if not level.buffers:
            lines.append(f"{label.ljust(gutter)}no buffers: extent {level.extent}")
        for role, buffer in level.buffers.items():
            items = " ".join(buffer) or "(empty)"
            lines.append(f"{label.ljust(gutter)}{role.ljust(widest)}{items}")
            label = ""
    values = "values".ljust(gutter) + " " * widest
    return [*lines, values + (" ".join(tree.values) or "(empty)")]
