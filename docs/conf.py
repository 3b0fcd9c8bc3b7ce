"""Sphinx configuration; the package must be installed, or importable from here."""

import re
import sys
from pathlib import Path
from typing import Any

import sparray

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "extensions"))

project = "sparray"
author = "sparray developers"
copyright = "the sparray developers"
version = release = sparray.__version__

extensions = [
    "drawing",
    "myst_parser",
    "numpydoc",
    "printed_stages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "standard_table",
]
exclude_patterns = ["_build", "templates", "developer/generated/*", "user/generated/*"]
default_role = "autolink"
templates_path = ["templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_css_files = ["wide.css"]
html_static_path = ["static"]
html_title = "sparray"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
}
pygments_style = "default"


def setup(app: Any) -> None:
    """Connect what is too small for an extension."""
    app.connect("source-read", _close_doctests)


def _close_doctests(app: Any, name: str, source: list[str]) -> None:
    # A doctest ends with an empty line, which a reader has no use for, and says where
    # there is another one.
    text = re.sub(r"\n\n```\n", "\n```\n", source[0])
    source[0] = re.sub(r"^<BLANKLINE>$", "", text, flags=re.MULTILINE)
