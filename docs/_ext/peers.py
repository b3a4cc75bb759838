"""The directive ``{peers}``: a bar chart of a recorded benchmark run, as a table that any reader can read."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive


def as_number(value):
    return f"{value:g}"


def chart(run):
    """Return the HTML of a run: a row for each comparison, with a bar on a logarithmic scale."""
    longest = math.log10(max(row["faster"][1] for row in run["rows"]))
    lines = [
        '<table class="peers"><thead><tr><th scope="col">what</th><th scope="col">compared with</th>'
        '<th scope="col">times faster (logarithmic scale)</th></tr></thead><tbody>'
    ]
    for row in run["rows"]:
        low, high = row["faster"]
        shown = as_number(low) if low == high else f"{as_number(low)}–{as_number(high)}"
        width = max(1.0, 72 * math.log10((low + high) / 2) / longest)
        about = escape(", ".join(row[key] for key in ("command", "date", "machine")))
        lines.append(
            f'<tr title="{about}"><th scope="row">{escape(row["what"])}</th>'
            f"<td>{escape(row['peer'])}</td>"
            f'<td class="bar"><span style="width:{width:.1f}%"></span>{shown} ×</td></tr>'
        )
    return "\n".join([*lines, "</tbody></table>"])


class Peers(Directive):
    """``{peers} FILE``: the chart of a file of measured ratios."""

    required_arguments = 1

    def run(self):
        environment = self.state.document.settings.env
        path = Path(environment.srcdir, self.arguments[0])
        environment.note_dependency(str(path))
        run = json.loads(path.read_text(encoding="utf-8"))
        return [nodes.raw("", chart(run), format="html")]


def setup(app):
    app.add_directive("peers", Peers)
    return {"parallel_read_safe": True}
