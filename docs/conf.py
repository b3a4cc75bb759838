"""Sphinx settings. The site needs no network, neither to build nor to read."""

from __future__ import annotations

import sys
from pathlib import Path

import plackett

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "plackett"
author = "The plackett developers"
copyright = author
version = release = plackett.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    # the files of _ext
    "citations",
    "corrections",
    "docstrings",
    "formulas",
    "mathml",
    "live_report",
    "measured",
    "not_on_pypi",
    "options",
    "packages",
    "pictures",
    "reference",
    "reproduced",
    "rooms",
    "site_search",
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results"]  # included by results.md
myst_enable_extensions = ["deflist", "dollarmath", "colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = False  # reference.py writes the pages
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings describe the types in more detail
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Attributes"]  # left unchanged: see docstrings.list_attributes
napoleon_use_param = False  # words in types ("qid") must not become links
viewcode_line_numbers = True

html_theme = "furo"
html_title = "plackett"
html_favicon = html_logo = "../src/plackett/apps/workbench/static/icon.svg"  # of the workbench, too
html_show_sphinx = False
html_copy_source = False
html_use_index = False  # the reference lists every name
html_static_path = ["_static"]
templates_path = ["_templates"]
html_additional_pages = {"search": "search.html"}
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
is_on_pypi = False
# the colours of the workbench and the reports
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1d5fa8",
        "color-brand-content": "#1d5fa8",
        "color-brand-visited": "#1d5fa8",
        "color-background-secondary": "#f7f7f5",
        "color-foreground-muted": "#5d646c",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7db4f0",
        "color-brand-content": "#7db4f0",
        "color-brand-visited": "#7db4f0",
        "color-background-primary": "#14171a",
        "color-background-secondary": "#1c2024",
        "color-foreground-muted": "#a3abb4",
    },
}
