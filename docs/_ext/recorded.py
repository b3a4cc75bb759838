"""Recorded benchmark results as HTML: a bar chart of some, and tables of all.

``python -m benchmarks.record`` writes the record.
"""

from __future__ import annotations

import math
from html import escape

RECORD = "figures/bench.json"


def rows_of(record):
    """Return all results, each with what is known of its run: the date, the commit and the machine."""
    found = []
    for run in record["runs"]:
        machine = run["machine"]
        about = {
            "date": run["time"][:10],
            "commit": run["commit"],
            "machine": f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}",
        }
        found += [{**row, **about} for row in run["peers"]]
    return found


def chosen(rows, selection):
    """Return what the chart shows: for each entry of the selection, its result and ratio, largest ratio first."""
    found = []
    for entry in selection:
        beginning, peer = entry["result"]
        matches = [
            row
            for row in rows
            if row["benchmark"] == entry["benchmark"] and row["what"].startswith(beginning) and row["peer"] == peer
        ]
        if len(matches) != 1 or not matches[0]["peer_seconds"]:
            raise ValueError(f"{RECORD} has {len(matches)} results for {entry['result']}, not one with a time.")
        (row,) = matches
        found.append((row["peer_seconds"] / row["seconds"], entry, row))
    return sorted(found, key=lambda one: -one[0])


def chart(rows, selection):
    """Return HTML: a row for each comparison, with a bar on a logarithmic scale."""
    shown = chosen(rows, selection)
    longest = math.log10(shown[0][0])
    lines = [
        '<table class="peers"><thead><tr><th scope="col">what</th><th scope="col">compared with</th>'
        '<th scope="col">times faster (logarithmic scale)</th></tr></thead><tbody>'
    ]
    for ratio, entry, row in shown:
        width = max(1.0, 72 * math.log10(ratio) / longest)
        about = escape(f"python -m benchmarks {row['benchmark']}, {row['date']}, {row['machine']}")
        lines.append(
            f'<tr title="{about}"><th scope="row">{escape(entry["what"])}</th>'
            f"<td>{escape(entry['peer'])}</td>"
            f'<td class="bar"><span style="width:{width:.1f}%"></span>{ratio:.3g} ×</td></tr>'
        )
    return "\n".join([*lines, "</tbody></table>"])


def quantity(value, unit):
    """Return a time in a readable unit, or another quantity with its unit."""
    if unit != "s":
        return f"{value:,.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 0.9995:
            return f"{value * factor:,.3g} {name}" if value * factor < 1000 else f"{value:,.0f} {name}"
    return f"{value * 1e9:.3g} ns"


def table(rows, name):
    """Return HTML: all results of one benchmark, and below them how they were measured."""
    rows = [row for row in rows if row["benchmark"] == name]
    if not rows:
        raise ValueError(f"{RECORD} has no results of the benchmark {name!r}.")
    lines = [
        '<div class="table-wrapper"><table class="measured docutils"><thead><tr><th scope="col">what</th>'
        '<th scope="col">plackett</th><th scope="col">compared with</th><th scope="col">its value</th>'
        '<th scope="col">ratio</th><th scope="col">note</th></tr></thead><tbody>'
    ]
    for row in rows:
        unit, theirs = row["unit"], row["peer_seconds"]
        cells = [
            quantity(row["seconds"], unit),
            row["peer"],
            quantity(theirs, unit) if theirs is not None else "not measured" if row["peer"] else "",
            f"{theirs / row['seconds']:.3g}" if theirs is not None else "",
            row["note"],
        ]
        lines.append(f'<tr><th scope="row">{escape(row["what"])}</th>')
        lines += [f"<td>{escape(cell)}</td>" for cell in cells]
    runs = dict.fromkeys(f"{row['date']}, commit {row['commit']}, {row['machine']}" for row in rows)
    source = f"<code>python -m benchmarks {name}</code>; {escape('; '.join(runs))}"
    return "\n".join([*lines, f'</tbody></table></div><p class="source">{source}</p>'])
