"""Recorded runs of ``plackett reproduce`` (``make reproductions``): counts, tables, and a page for each paper.

``{verdicts}`` is the table of the counts of verdicts, and ``{reproduced} PAPER ITEM`` the printed tables of an item
beside ours, or the means behind its curves, or our results that are not in print. ``:table:`` chooses one table,
``:lines:`` its lines, and ``:rows:`` adds rows that no printed table has, by the beginnings of their names. Semicolons
separate lines and rows.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

from plackett.reproductions import PAPERS
from plackett.reproductions.base import as_text, in_print
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


def printed(run, item, table=None, lines=(), others=()):
    """Return the tables of an item as HTML: our numbers, marks of their verdicts, and printed numbers; or means."""
    (found,) = (one for one in run["tables"] if one["item"] == item)
    rows = [{**row, "in_print": text} for row, text in zip(found["rows"], in_print(found["rows"]), strict=True)]
    cells = [row for row in rows if row["cell"] and (not lines or row["cell"][1] in lines)]
    names = [table] if table else list(dict.fromkeys(row["cell"][0] for row in cells))
    grids = [grid_html(name, [row for row in cells if row["cell"][0] == name]) for name in names]
    grids = grids or means(rows) or [results_html(rows)]
    added = [next(row for row in rows if row["what"].startswith(name)) for name in others]
    below = "".join(f"<p>{escape(row['what'])}: {escape(as_text(row['ours']))}</p>" for row in added)
    about = "quick" if run["quick"] else "full"
    source = f'<p class="source">{escape(found["protocol"])} A {about} run of {run["date"][:10]}.</p>'
    return f'<div class="table-wrapper">{"".join(grids)}</div>{below}{source}'


def means(rows):
    """Return the means behind the curves of a figure, which are not in print, as an HTML table for each list."""
    tables = {}
    for row in rows:
        if row["printed"] == "a curve":
            name, _, kind = row["what"].rpartition(", ")
            measures = [part.split("@") for part in row["reason"].split("; ")]  # "P@1, 5; NDCG@5"
            heads = tuple(f"{measure}@{k}" for measure, cuts in measures for k in cuts.split(", "))
            tables.setdefault((kind, heads), {})[name] = row["ours"].replace(";", ",").split(", ")
    return [means_html(kind, heads, lines) for (kind, heads), lines in tables.items()]


def means_html(kind, heads, lines):
    """Return a table of means, one line for each ranking."""
    shown = [
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td class=n>{value}</td>" for value in values)}</tr>'
        for name, values in lines.items()
    ]
    top = "".join(f'<th scope="col" class="n">{escape(head)}</th>' for head in heads)
    head = f"<caption>{escape(kind)}</caption><thead><tr><td></td>{top}</tr></thead>"
    return f'<table class="grid">{head}<tbody>{"".join(shown)}</tbody></table>'


def results_html(rows):
    """Return a table of results that are not in print, with their reasons."""
    shown = [
        f'<tr><th scope="row">{escape(row["what"])}</th><td class="n">{escape(as_text(row["ours"]))}</td>'
        f"<td>{escape(row['reason'])}</td></tr>"
        for row in rows
    ]
    return f'<table class="grid"><tbody>{"".join(shown)}</tbody></table>'


def as_table(lines):
    """Return rows, the first of them the heading, as an HTML table."""
    table = f"<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody>"
    return f'<div class="table-wrapper"><table class="verdicts docutils">{table}</table></div>'


def partition(text):
    """Return the parts of the text between semicolons."""
    return text.split("; ")


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
    option_spec: ClassVar = {"table": str, "lines": partition, "rows": partition}

    def html(self, found):
        paper, _, item = " ".join(self.arguments).partition(" ")
        options = (self.options.get(name, ()) for name in ("table", "lines", "rows"))
        return printed(found[paper], item, *options)


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
