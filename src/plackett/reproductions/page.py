"""A paper's results as one self-contained HTML page: tables as printed beside ours, figures, reasons and settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from plackett._tables import Column
from plackett._tables import Table as TextTable
from plackett.report.html import check_extra, rendered, write_page
from plackett.report.plots import Plot
from plackett.reproductions.base import as_text, in_print, rows_table, summary
from plackett.reproductions.drawing import drawn

MARKS = {
    "confirmed": "✓",
    "better": "▲",
    "not confirmed": "✗",
    "undecided": "?",
    "not comparable": "·",
    "made data": "·",
}
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """The part of the page for one table: its values, printed tables, claims, numbers and figures."""

    key: str
    values: Values
    counts: str
    grids: list[str]
    claims: list[Values]
    numbers: list[Values]
    figures: list[Plot]


def write_paper(results: Values, path: str | os.PathLike) -> Path:
    """Write the page of a run, as `base.results` returns it or ``--json`` prints it."""
    return write_page(paper_html(results), path)


def paper_html(results: Values) -> str:
    """Return the page that `write_paper` writes."""
    check_extra("the page of a paper")
    sections = [_section(f"t{place}", table) for place, table in enumerate(results["tables"], start=1)]
    tables = [TextTable([Column("", "text"), Column("", "text")], _settings(results), name="run", title="The run")]
    for section in sections:
        for kind, rows in (("claims", section.claims), ("numbers", section.numbers)):
            title = f"{section.values['title']}: {kind}"
            tables.append(replace(rows_table(rows), name=f"{section.key}-{kind}", title=title))
    return rendered(
        "paper.html", tables, title=results["title"], results=results, sections=sections, marks=MARKS, as_text=as_text
    )


def _section(key: str, values: Values) -> Section:
    texts = in_print(values["rows"])
    rows: list[Values] = [{**row, "in_print": text} for row, text in zip(values["rows"], texts, strict=True)]
    cells = [row for row in rows if row["cell"]]
    names = dict.fromkeys(row["cell"][0] for row in cells)
    grids = [grid_html(name, [row for row in cells if row["cell"][0] == name]) for name in names]
    claims = [row for row in rows if not row["cell"]]
    figures = [drawn(figure, f"{key}-{place}") for place, figure in enumerate(values["figures"])]
    return Section(key, values, summary(values["verdicts"]), grids, claims, cells, figures)


def grid_html(name: str, rows: Iterable[Values]) -> str:
    """Return a printed table as HTML: in each cell our number, the mark of its verdict, and the printed number."""
    cells = {tuple(row["cell"][1:]): row for row in rows}
    columns = dict.fromkeys(column for _, column in cells)
    heads = "".join(f'<th scope="col" class="n">{escape(column)}</th>' for column in columns)
    lines = [
        f'<tr><th scope="row">{escape(line)}</th>{"".join(_cell(cells.get((line, column))) for column in columns)}</tr>'
        for line in dict.fromkeys(line for line, _ in cells)
    ]
    caption = f"<caption>{escape(name)}</caption>" if name else ""
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    return f'<table class="grid">{caption}{head}<tbody>{"".join(lines)}</tbody></table>'


def _cell(row: Values | None) -> str:
    if row is None:
        return "<td></td>"
    kind, mark = row["verdict"].replace(" ", "-"), MARKS[row["verdict"]]
    ours = f"<b>{escape(as_text(row['ours']))}</b> <span class='verdict' title='{row['verdict']}'>{mark}</span>"
    return f'<td class="n v-{kind}">{ours}<br><small>{escape(row["in_print"])}</small></td>'


def _settings(results: Values) -> list[list[str]]:
    seconds = sum(table["seconds"] for table in results["tables"])
    pairs = {
        "command": f"plackett reproduce {results['paper']}{' --quick' if results['quick'] else ''}",
        "date": results["date"].replace("T", " ").replace("+00:00", " UTC"),
        "duration": f"{seconds:,.0f} s on {results['threads']} threads",
        "seed": str(results["seed"]),
        "versions": ", ".join(f"{name} {number}" for name, number in results["versions"].items()),
        **{f"data: {name}": size for name, size in results["data"].items()},
    }
    return [list(pair) for pair in pairs.items()]
