"""Sphinx settings. Everything the site needs is in it: it builds and reads without a network."""

from __future__ import annotations

import plackett

project = "plackett"
author = "The plackett developers"
copyright = author
version = release = plackett.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"plackett {version}"
html_show_sphinx = False
html_copy_source = False


def _keep_colons(app, what, name, obj, options, lines):
    """Napoleon takes what stands before a colon in a property's docstring for its type."""
    if what in ("attribute", "property") and lines:
        lines[0] = lines[0].replace(": ", " – ")


def setup(app):
    app.connect("autodoc-process-docstring", _keep_colons, priority=100)
