"""Recorded runs of ``plackett reproduce`` (``make reproductions``): counts, tables, and a page for each paper.

``{verdicts}`` is the table of the counts of verdicts, and ``{reproduced} PAPER ITEM`` a printed table beside ours.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

from plackett.reproductions import PAPERS
from plackett.reproductions.base import in_print
from plackett.reproductions.page import grid_html, write_paper

FOLDER = "reproductions"


def runs(docs):
    """Return the recorded runs by name, in the order of the command line."""
    return {name: json.loads(Path(docs, FOLDER, f"{name}.json").read_text(encoding="utf-8")) for name in PAPERS}


def verdicts(found):
    """Return the counts of verdicts of each run as an HTML table, with links to the pages."""
    heads = ["", "run", "rows", *next(iter(found.values()))["verdicts"]]
    lines = ["<tr>" + "".join(f'<th scope="col">{escape(head)}</th>' for head in heads) + "</tr>"]
    for name, run in found.items():
        counts = run["verdicts"].values()
        link = f'<a href="{FOLDER}/{name}.html"><code>{name}</code></a>'
        about = f"{'quick' if run['quick'] else 'full'}, {run['date'][:10]}"
        cells = [about, sum(counts), *(count or "" for count in counts)]
        lines.append(f'<tr><th scope="row">{link}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    return as_table(lines)


def printed(run, item):
    """Return the printed tables of an item as HTML: our numbers, marks of their verdicts, and printed numbers."""
    (table,) = (table for table in run["tables"] if table["item"] == item)
    rows = [{**row, "in_print": text} for row, text in zip(table["rows"], in_print(table["rows"]), strict=True)]
    names = dict.fromkeys(row["cell"][0] for row in rows if row["cell"])
    grids = [grid_html(name, [row for row in rows if row["cell"] and row["cell"][0] == name]) for name in names]
    about = "quick" if run["quick"] else "full"
    source = f'<p class="source">{escape(table["protocol"])} A {about} run of {run["date"][:10]}.</p>'
    return f'<div class="table-wrapper">{"".join(grids)}</div>{source}'


def as_table(lines):
    """Return rows, the first of them the heading, as an HTML table."""
    table = f"<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody>"
    return f'<div class="table-wrapper"><table class="verdicts docutils">{table}</table></div>'


class Verdicts(Directive):
    """``{verdicts}``: the table of counts."""

    def html(self, found):
        return verdicts(found)

    def run(self):
        environment = self.state.document.settings.env
        for name in PAPERS:
            environment.note_dependency(str(Path(environment.srcdir, FOLDER, f"{name}.json")))
        return [nodes.raw("", self.html(runs(environment.srcdir)), format="html")]


class Reproduced(Verdicts):
    """``{reproduced} PAPER ITEM``: the printed tables of an item."""

    required_arguments, final_argument_whitespace, optional_arguments = 1, True, 1

    def html(self, found):
        paper, _, item = " ".join(self.arguments).partition(" ")
        return printed(found[paper], item)


def write_pages(app, error):
    """Write the page of each run beside the others of the site."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir, FOLDER)
        folder.mkdir(exist_ok=True)
        for name, run in runs(app.srcdir).items():
            write_paper(run, folder / f"{name}.html")


def setup(app):
    app.add_directive("verdicts", Verdicts)
    app.add_directive("reproduced", Reproduced)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True}
