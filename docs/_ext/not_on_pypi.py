"""A line below the first command of a page that installs plackett by name, until the package index has it."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

COMMAND = re.compile(r"\bpip install\b.*\bplackett\b")


class NotOnPyPI(SphinxTransform):
    """Say below the first command of a page how to install until the first release."""

    default_priority = 210

    def apply(self):
        for place in self.document.findall(lambda node: isinstance(node, (nodes.literal, nodes.literal_block))):
            if not self.config.is_on_pypi and COMMAND.search(place.astext()):
                break
        else:
            return
        while not isinstance(place.parent, (nodes.section, nodes.container, nodes.document)):
            place = place.parent
        below = place.next_node(descend=False, siblings=True)
        if below is not None and "not on PyPI yet" in below.astext():
            return
        line = nodes.paragraph("", "", classes=["not-on-pypi"])
        line += nodes.Text("plackett is not on PyPI yet. Until it is, install it from a checkout: ")
        line += nodes.literal("", "pip install .")
        line += nodes.Text(", with the same extras in brackets.")
        place.parent.insert(place.parent.index(place) + 1, line)


def setup(app):
    app.add_config_value("is_on_pypi", False, "env")
    app.add_transform(NotOnPyPI)
    return {"parallel_read_safe": True}
