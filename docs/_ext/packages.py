"""The directive ``{packages}``: the tree of packages as ``tools/source_tree.py`` prints it."""

from __future__ import annotations

import runpy
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

TOOL = Path(__file__).parents[2] / "tools" / "source_tree.py"


class Packages(Directive):
    """Show the tree of packages."""

    def run(self):
        lines = runpy.run_path(str(TOOL))["lines"]()
        return [nodes.literal_block("", "\n".join(lines), language="text")]


def setup(app):
    app.add_directive("packages", Packages)
    return {"parallel_read_safe": True}
