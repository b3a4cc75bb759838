"""A comparison as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett._tables import Table, for_display
from plackett.evaluation.compare.comparison import Comparison, places_of
from plackett.metrics.conventions import CONVENTIONS
from plackett.report import components, plots
from plackett.report.components.payload import json_script
from plackett.report.queries import queries_payload
from plackett.report.tables import HARDEST, features_table, tables
from plackett.report.verdict import cards, recommendation
from plackett.storage.opening import write_bytes
from plackett.validation import count_of


def write_report(
    comparison: Comparison,
    path: str | os.PathLike,
    *,
    title: str | None = None,
    queries: Iterable[Any] = (),
    groups: Mapping[Hashable, Any] | None = None,
) -> Path:
    """Write a comparison as one self-contained HTML file.

    It shows the summary with significance marks and intervals; every test query in a table that can be filtered and
    sorted, beside a scatter of two rankers; the two lists of a query, with reasons if the comparison has them
    (``compare(..., explain=True)``); slices of the queries, important features, learning curves, the data, the settings
    and the versions. Every table can be downloaded as Markdown, LaTeX, CSV or JSON. The page follows the light or dark
    theme of the browser, fits small screens, and prints. The same comparison gives the same bytes. Needs
    ``pip install 'plackett[report]'``.

    Parameters
    ----------
    comparison : plackett.evaluation.compare.comparison.Comparison
        Returned by :func:`plackett.compare`.
    path : str or path
        The file to write; an existing file is replaced.
    title : str, default=None
        The heading; None uses the number of rankers.
    queries : iterable of query ids, default=()
        Queries whose lists are included in addition to those of the 50 queries that changed most.
    groups : mapping of query id to group, default=None
        Groups of queries, such as their intent or language, for the slices and the filter.

    Examples
    --------
    >>> from plackett import write_report
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(10, 5, 3, random_state=0)
    >>> comparison = pk.compare("regression,listmle", data, cv=2, metrics="ndcg@10")
    >>> write_report(comparison, "report.html").name
    'report.html'
    """
    return write_page(report_html(comparison, title=title, queries=queries, groups=groups), path)


def report_html(
    comparison: Comparison,
    *,
    title: str | None = None,
    queries: Iterable[Any] = (),
    groups: Mapping[Hashable, Any] | None = None,
) -> str:
    """Return the page that `write_report` writes."""
    check_extra("write_report")
    with importing:
        from markupsafe import Markup

    every = tables(comparison, groups=groups)
    hardest = [query.qid for query in comparison.hardest(HARDEST)]
    payload = queries_payload(comparison, queries=[*queries, *hardest], groups=groups)
    if payload is not None:
        payload["hardest"] = places_of(comparison.queries, hardest)
    command = str(comparison.settings.get("command") or "")
    corrected = comparison.corrected  # answers instead of people alone, on whom verdicts and headline rest
    headline = comparison.headline() if corrected is None else [table.title for table in corrected.tables()]
    return rendered(
        "report.html",
        every,
        has_components=True,
        title=for_display(title, 300) if title else f"Comparison of {count_of(len(comparison), comparison.kind)}",
        comparison=comparison,
        metric=comparison.metrics[0],
        recommendation=for_display(recommendation(comparison), 600) if corrected is None else "",
        headline=[for_display(sentence, 600) for sentence in headline],
        cards=cards(comparison, groups=groups) if corrected is None else [],
        sizes=sizes(comparison),
        origin=origin(comparison),
        command=for_display(command, len(command)),
        convention=CONVENTIONS.get(comparison.convention),
        by_k=plots.metric_by_k(comparison),
        gaps=plots.query_differences(comparison),
        curves=plots.learning_curves(comparison),
        by_size=plots.sizes(comparison),
        importance=importance(comparison),
        queries="" if payload is None else Markup(json_script(payload)),
    )


def check_extra(needed_for: str) -> None:
    """Raise an error if packages that reports need are not installed, before anything is computed."""
    for package in ("jinja2", "matplotlib"):
        import_optional(package, extra="report", needed_for=needed_for)


def rendered(template: str, every: Iterable[Table], *, has_components: bool = False, **values: Any) -> str:
    """Return a page with its downloadable tables, its style sheet and its script.

    ``has_components`` adds the style sheet and the scripts of `plackett.report.components`.
    """
    with importing:
        import jinja2

    loader = jinja2.PackageLoader("plackett.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["for_display"] = for_display
    safe = environment.filters["safe"]
    sheet, script = (loader.get_source(environment, name)[0] for name in ("report.css", "report.js"))
    if has_components:
        sheet, script = sheet + components.sheet(), components.script() + script
    by_name = {table.name: table for table in every}
    files = {name: list(downloads(table)) for name, table in by_name.items()}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values |= {"sheet_text": safe(sheet), "script": safe(script), "script_hash": digest}
    return environment.get_template(template).render(tables=by_name, downloads=files, **values)


def write_page(text: str, path: str | os.PathLike) -> Path:
    """Write a page as UTF-8, and return its path."""
    target = Path(path)
    # ids that are not valid UTF-8 in their file cannot be encoded, only escaped
    with write_bytes(target) as file:
        file.write(text.encode("utf-8", errors="backslashreplace"))
    return target


def importance(comparison: Comparison) -> list[tuple[str, Table]]:
    """Return a table of the important features of each contestant, the best contestant first."""
    whole = features_table(comparison)
    return [
        (name, Table(whole.columns[1:], [row[1:] for row in whole.rows if row[0] == name], name=f"features-{place}"))
        for place, name in enumerate(dict.fromkeys(row[0] for row in whole.rows), start=1)
    ]


def origin(comparison: Comparison) -> list[str]:
    """Return the data, date, seed and version of the run, as far as they are known."""
    settings = comparison.settings
    version = (settings.get("versions") or {}).get("plackett")
    parts = [
        str(settings.get("data") or ""),
        f"run {str(settings['date']).replace('T', ' ').replace('+00:00', ' UTC')}" if settings.get("date") else "",
        f"seed {settings['random_state']}" if settings.get("random_state") is not None else "",
        f"plackett {version}" if version else "",
    ]
    return [for_display(part, 300) for part in parts if part]


class Size(NamedTuple):
    """A size at the head of the page, such as the number of queries."""

    value: str
    name: str


def sizes(comparison: Comparison) -> list[Size]:
    """Return the sizes at the head of the page."""
    n_features = comparison.description.get("n_features")
    return as_sizes(
        (len(comparison), comparison.kind, f"{comparison.kind}s"),
        (comparison.queries.n_queries, "test query", "test queries"),
        (comparison.queries.n_docs, "test document", "test documents"),
        (n_features or None, "feature", "features"),
        (comparison.n_folds if comparison.fits else None, "fold", "folds"),
    )


def as_sizes(*counts: tuple[int | None, str, str]) -> list[Size]:
    """Return numbers with their nouns, without those that are None."""
    return [Size(f"{n:,}", one if n == 1 else many) for n, one, many in counts if n is not None]


class Download(NamedTuple):
    """A table as a file inside the page."""

    format: str
    file: str
    address: str


def downloads(table: Table) -> Iterator[Download]:
    """Yield the table in each format as a data URL."""
    for name, ending, kind, text in (
        ("Markdown", "md", "text/markdown", table.to_markdown()),
        ("LaTeX", "tex", "application/x-tex", table.to_latex()),
        ("CSV", "csv", "text/csv", table.to_csv()),
        ("JSON", "json", "application/json", table.to_json()),
    ):
        content = base64.b64encode(text.encode("utf-8", errors="backslashreplace")).decode()
        yield Download(name, f"{table.name}.{ending}", f"data:{kind};charset=utf-8;base64,{content}")
