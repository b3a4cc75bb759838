"""The directive ``{picture}``: Python code and the figure that it draws, drawn anew whenever the page is read."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from drawing import draw
from sphinx.util.docutils import SphinxDirective


class Picture(SphinxDirective):
    """Show the code of the directive and its figure."""

    has_content = True
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012 - as docutils wants it

    def run(self):
        code = "\n".join(self.content)
        name = f"{self.env.docname.replace('/', '-')}-{self.lineno}"
        path = Path(self.env.srcdir, "_build", "pictures", f"{name}.svg")
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(code, name, path)
        source = nodes.literal_block(code, code, language="python")
        return [nodes.image(uri=f"/_build/pictures/{name}.svg", alt=self.options["alt"]), source]


def setup(app):
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
