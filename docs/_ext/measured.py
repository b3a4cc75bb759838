"""Directives for recorded benchmarks: ``{peers}``, a bar chart of some results, and ``{measured}``, tables of all."""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from recorded import RECORD, chart, rows_of, table


class Recorded(Directive):
    """A directive that needs the record."""

    def html(self, rows):
        raise NotImplementedError

    def read(self, name):
        environment = self.state.document.settings.env
        path = Path(environment.srcdir, name)
        environment.note_dependency(str(path))
        return json.loads(path.read_text(encoding="utf-8"))

    def run(self):
        return [nodes.raw("", self.html(rows_of(self.read(RECORD))), format="html")]


class Peers(Recorded):
    """``{peers} FILE``: the chart of the results that a file selects."""

    required_arguments = 1

    def html(self, rows):
        return chart(rows, self.read(self.arguments[0])["rows"])


class Measured(Recorded):
    """``{measured} NAME``: the results of one benchmark."""

    required_arguments = 1

    def html(self, rows):
        return table(rows, self.arguments[0])


def setup(app):
    app.add_directive("peers", Peers)
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}
