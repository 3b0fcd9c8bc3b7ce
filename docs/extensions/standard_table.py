"""Write which functions of the array API standard there are, so that the page is true.

`user/generated/array_api_table.md` is made anew by every build and ignored by git.
"""

from pathlib import Path
from typing import Any

import sparray
from sparray.functions.standard import Row, rows


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def _write(app: Any) -> None:
    path = Path(app.srcdir, "user", "generated", "array_api_table.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = standard_table()
    # A file that is not touched is not read again by the next build.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def standard_table() -> str:
    """Return a table for each section of the standard."""
    lines = []
    section = None
    for row in rows(sparray):
        if row.section != section:
            section = row.section
            lines += ["", f"### {section}", "", "| name | |", "|---|---|"]
        lines.append(f"| `{row.name}` | {_status(row)} |")
    return "\n".join([*lines[1:], ""])


def _status(row: Row) -> str:
    if row.supported:
        return "supported"
    return f"refused: {row.reason}" if row.reason else "not yet"
