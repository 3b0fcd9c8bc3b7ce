"""Sections as HTML: titles that open and close, tables, nothing from elsewhere.

Every text of a section is escaped where it enters the page; there is no other way in.
The page's own colours and fonts are kept.
"""

from html import escape

from sparray.view.section import Section, Table

__all__ = ["page_html", "section_html"]

_PRE = (
    'style="margin:2px 0 6px;padding:0;background:none;border:none;color:inherit;'
    'font-family:monospace;white-space:pre-wrap;font-size:inherit"'
)
_DETAILS = 'style="margin:2px 0 2px 14px"'
_SUMMARY = 'style="cursor:pointer;font-weight:bold"'
_CELL = "border:none;background:none;padding:1px 10px 1px 0;white-space:pre"
_HEADER = 'style="{cell};text-align:{align};opacity:0.7;font-weight:normal"'
_VALUE = 'style="{cell};text-align:{align};font-family:monospace"'
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family:sans-serif;font-size:14px;margin:20px">
{body}
</body>
</html>
"""


def page_html(*sections: Section) -> str:
    """Return a whole page that shows sections; the first one's title is its own."""
    title = escape(sections[0].title) if sections else ""
    body = "\n".join(map(section_html, sections))
    return _PAGE.format(title=title, body=body)


def section_html(section: Section) -> str:
    """Return a section as an element that a page may hold.

    Examples
    --------
    >>> "1 &lt; 2" in section_html(Section("1 < 2"))
    True
    """
    body = "".join(
        (
            _lines(section.lines),
            _table(section.table) if section.table is not None else "",
            *map(section_html, section.inside),
        )
    )
    state = " open" if section.is_open else ""
    return (
        f"<details {_DETAILS}{state}><summary {_SUMMARY}>{escape(section.title)}"
        f"</summary>{body}</details>"
    )


def _lines(lines: tuple[str, ...]) -> str:
    return f"<pre {_PRE}>{escape(chr(10).join(lines))}</pre>" if lines else ""


def _table(table: Table) -> str:
    head = _row("th", _HEADER, table.header, table.numbers)
    body = "".join(_row("td", _VALUE, row, table.numbers) for row in table.rows)
    return (
        f'<table style="border-collapse:collapse;margin:2px 0 6px">{head}{body}</table>'
    )


def _row(tag: str, style: str, cells: tuple[str, ...], numbers: frozenset[int]) -> str:
    made = []
    for n, cell in enumerate(cells):
        filled = style.format(cell=_CELL, align="right" if n in numbers else "left")
        made.append(f"<{tag} {filled}>{escape(cell)}</{tag}>")
    return f"<tr>{''.join(made)}</tr>"
