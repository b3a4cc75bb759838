"""Components of pages: a table of queries, an A-against-B scatter, and lists side by side.

The report inlines their scripts and style sheet, the workbench serves them as files. They have no dependencies, work
under a content security policy without inline code, insert all data as text, and follow the colours of their page.

Scripts
-------
Each is an ES module; ``comparison.js`` imports the others.

``mountTable(element, table, options)`` in ``table.js``
    A table that can be filtered and sorted. ``table`` is ``{caption, columns, rows}``; a column is ``{name, kind,
    digits, better, facet, first}`` with ``kind`` "text" or "number". ``digits`` are decimals; ``better`` (1 or -1)
    colours signed differences; ``facet`` adds a menu of the column's values; ``first`` is the direction of the first
    sort. Options: ``open(row)`` is called for a clicked row, or Enter on it; ``sort`` is ``{column, direction}``;
    ``noun`` is [one, many]; ``changed(rows)`` is called with the row numbers that pass the filters. Returns ``{update,
    keep, select, rows}``: ``update(table)`` replaces columns and rows, ``keep(test)`` hides rows, ``select(row)`` marks
    one.
``mountScatter(element, scatter, options)`` in ``scatter.js``
    ``scatter`` is ``{x: {name, values}, y: {name, values}, names, floor, better}``; ``floor`` is a list of ``{name,
    value}`` drawn as dashed lines. Options: ``open(row)``, ``pick(rows)`` for a dot of several queries. Returns
    ``{update, select}``. Everything it shows is also in the table, so its dots need not be reachable by keyboard.
``mountLists(element, lists, options)`` in ``lists.js``
    Two lists of one query side by side, as `list_payload` makes them. Options: ``title``, ``close()``.
``mountComparison(element, payload, options)`` in ``comparison.js``
    All of them: two menus for A and B, the table beside the scatter, and the lists of the open query. ``payload`` is
    made by `comparison_payload`. Option ``lists(row, a, b)`` returns the lists of a query, or a promise of them;
    by default they come from ``payload.lists``. Options ``a`` and ``b`` are the initial choice. Returns ``{open}``.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
SCRIPTS = ("dom.js", "table.js", "scatter.js", "lists.js", "comparison.js")  # each after what it imports
SHEET = "components.css"


def script() -> str:
    """Return all scripts as one module, for pages that cannot load files."""
    parts = ((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return "".join(re.sub(r"^import .*\n", "", part, flags=re.M) for part in parts)


def sheet() -> str:
    """Return the style sheet."""
    return (FOLDER / SHEET).read_text(encoding="utf-8")
