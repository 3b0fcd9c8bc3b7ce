"""A document as a tree of sections: written once, shown as text or as HTML."""

from dataclasses import field

from sparray.records import dataclass

__all__ = ["Section", "Table", "section_text"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; the first column may be indented, numbers stand right."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Section:
    """A title with what stands below it.

    Attributes
    ----------
    title : str
        One line.
    lines : tuple of str
        Text; a line may have line breaks.
    table : Table or None
        Below the lines.
    inside : tuple of Section
        Below the table.
    is_open : bool
        Whether HTML shows it at first.
    in_text : bool
        Whether text has it: sources are long.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    inside: tuple["Section", ...] = field(default=())
    is_open: bool = True
    in_text: bool = True


def section_text(section: Section) -> str:
    """Return a section as text, what stands below its title indented.

    Examples
    --------
    >>> print(section_text(Section("fruit", ("apples",), inside=(Section("more"),))))
    fruit
      apples
      more
    """
    return "\n".join(_lines(section))


def _lines(section: Section) -> list[str]:
    below = [line for text in section.lines for line in text.splitlines()]
    if section.table is not None:
        below += _table_lines(section.table)
    for inner in section.inside:
        if inner.in_text:
            below += _lines(inner)
    return [section.title, *(f"  {line}".rstrip() for line in below)]


def _table_lines(table: Table) -> list[str]:
    rows = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if n in table.numbers else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
