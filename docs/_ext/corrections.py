"""Corrections of what the theme and Sphinx write: names of landmarks, keyboard access, links from the source."""

from __future__ import annotations

import re
from pathlib import Path

REPLACED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="Contents" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',  # it can be scrolled by keyboard
}
# viewcode takes all names of a file for those of one module, so that some anchors do not exist; pages always do
BACK = re.compile(r'(<a class="viewcode-back" href="[^"#]*)#[^"]*"')


def correct(app, error):
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = before = path.read_text(encoding="utf-8")
        for old, new in REPLACED.items():
            text = text.replace(old, new)
        text = BACK.sub(r'\1"', text)
        if text != before:
            path.write_text(text, encoding="utf-8")


def only_our_source(app, module):
    """Link no source of other packages, such as functools."""
    return None if module.partition(".")[0] == "plackett" else ("", {})


def setup(app):
    app.connect("build-finished", correct)
    app.connect("viewcode-find-source", only_our_source)
    return {"parallel_read_safe": True}
