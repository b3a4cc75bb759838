"""The directive ``{options} VERB``: a table of the options of a command, from their declarations.

A line ``--option: text`` in its body adds to the meaning of an option.
"""

from __future__ import annotations

import click
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from plackett.cli.app import app, load_verb
from plackett.cli.help import long_name, row_of


def rows(words, without=""):
    """Return the names and the meaning of each option of a command, except those of some panels."""
    verb, *name = words.split()
    command = load_verb(verb)
    if isinstance(command, click.Group):
        command = command.commands[" ".join(name)]
    context = click.Context(command, parent=click.Context(app))
    return {
        long_name(param): row_of(param, context)
        for param in command.params
        if param.param_type_name == "option"
        and not getattr(param, "hidden", False)
        and (getattr(param, "panel", None) or "-") not in without
    }


class Options(SphinxDirective):
    """Show the options of a command."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"without": directives.unchanged}  # noqa: RUF012 - as docutils wants it

    def run(self):
        added = dict(line.split(": ", 1) for line in self.content if line)
        table = nodes.table("", nodes.tgroup("", nodes.colspec(colwidth=1), nodes.colspec(colwidth=2), cols=2))
        head, body = nodes.thead(), nodes.tbody()
        head += self._row(nodes.Text("option"), nodes.Text("meaning"))
        for option, (names, meaning) in rows(self.arguments[0], self.options.get("without", "")).items():
            text, _ = self.parse_inline(added.pop(option)) if option in added else ([], [])
            body += self._row(nodes.literal("", names), nodes.Text(f"{meaning} " if text else meaning), *text)
        if added:
            raise self.error(f"plackett {self.arguments[0]} has no option {', '.join(added)}")
        table[0] += [head, body]
        return [table]

    @staticmethod
    def _row(first, *second):
        cells = (nodes.paragraph("", "", *part) for part in ((first,), second))
        return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def setup(app):
    app.add_directive("options", Options)
    return {"parallel_read_safe": True}
