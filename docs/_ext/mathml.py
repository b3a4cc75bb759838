"""Formulas as MathML, which browsers set themselves: pages need no script and no network."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert


def inline(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(self, node):
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}
