"""The directive ``drawing``: the coordinate tree of an array that the page makes.

Its content is an expression, whose value `sparray.draw` draws. It is evaluated with the
names that the doctests above it have given to things, so that what is drawn is what
the page speaks of::

    ```{drawing}
    A.to_format("csc")
    ```
"""

import doctest
import io
from contextlib import nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import sparray as sp

__all__ = ["drawn", "setup"]


class DrawingDirective(SphinxDirective):
    """Show the image of an array's coordinate tree and buffers."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the image, as part of the page: it needs no file of its own."""
        expression = "\n".join(self.content)
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        before, found, _ = page.partition(f"{{drawing}}\n{expression}\n")
        if not found:
            raise self.error(f"drawing: expected to find {expression!r} in the page")
        figure = f'<div class="drawing">\n{drawn(expression, before)}\n</div>'
        return [nodes.raw("", figure, format="html")]


def drawn(expression: str, before: str) -> str:
    """Return the SVG of an expression's value, after the doctests of a text."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(before):
        code = compile(example.source, "<page>", "single")
        # An example may be there to show what is raised.
        expected = nullcontext() if example.exc_msg is None else suppress(Exception)
        with redirect_stdout(io.StringIO()), expected:
            exec(code, names)
    return sp.draw(eval(expression, names)).svg


def setup(app: Any) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("drawing", DrawingDirective)
    return {"parallel_read_safe": True}
