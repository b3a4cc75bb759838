"""Values in the words and shapes of the pages: filters and functions of the templates, and charts as coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2

from plackett.apps.workbench import values
from plackett.apps.workbench.records import RankedList, Result
from plackett.validation import count_of

SIGNIFICANT = 0.05
# control characters except tabs and line ends, and bidirectional overrides
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_RANKERS = {
    "bm25": "BM25",
    "jelinek-mercer": "Language model (Jelinek-Mercer)",
    "dirichlet": "Language model (Dirichlet)",
    "absolute-discounting": "Language model (absolute discounting)",
    "tf-idf": "TF-IDF",
    "boolean": "Boolean (and, or, not)",
}


def document_url(docid: str, q: str = "", base: str = "") -> str:
    """Return the address of a document's page."""
    values = (("docid", docid), ("q", q), ("base", base))
    return "/document?" + urlencode({name: value for name, value in values if value}, errors="replace")


def plain(text: str, max_length: int | None = None) -> str:
    r"""Return ``text`` with invisible characters replaced, shortened if it is too long; templates escape it.

    Examples
    --------
    >>> plain("a\x00b" + 9 * "c", 5)
    'a�bc…'
    """
    short_text = text if max_length is None or len(text) <= max_length else text[: max_length - 1] + "…"
    return _INVISIBLE.sub("�", short_text)


def short(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}"


def signed(value: float | None) -> str:
    """Return a number with its sign and two or three digits."""
    if value is None:
        return "–"
    size = abs(value)
    digits = f"{size:.1f}" if size >= 10 else f"{size:.2f}" if size >= 0.01 or not size else f"{size:.1g}"
    return ("+" if value > 0 else "−" if value < 0 else "±") + digits


def fixed(value: float | None, digits: int = 4) -> str:
    """Return a number with fixed decimals."""
    return "–" if value is None else f"{value:.{digits}f}"


def direction(row: Result) -> str:
    """Return the CSS class of a document that moved."""
    return "up" if row.moved > 0 else "down" if row.moved < 0 else "same"


def moved(row: Result) -> str:
    """Return by how many places a document moved."""
    return f"▲ {row.moved}" if row.moved > 0 else f"▼ {-row.moved}" if row.moved < 0 else ""


def moved_in_words(row: Result) -> str:
    """Return the same for screen readers."""
    places = count_of(abs(row.moved), "place")
    return f", up {places}" if row.moved > 0 else f", down {places}" if row.moved < 0 else ""


def counted(ranked: RankedList) -> str:
    """Return the counts of a list."""
    parts = [f"{count_of(ranked.n_found, 'document')} by {ranker_name(ranked.base)}"]
    if ranked.n_judged:
        parts.append(f"{ranked.n_judged} judged")
    if ranked.n_pairs:
        parts.append(count_of(ranked.n_pairs, "pair"))
    if ranked.elsewhere:
        parts.append(f"{len(ranked.elsewhere)} of them not in this list")
    return ", ".join(parts)


def on_labels(ranked: RankedList) -> str:
    """Return NDCG@10 on the labels of the collection, before and after."""
    found = ranked.on_labels
    if found is None:
        return ""
    values = [f"{of['ndcg@10']:.2f}" for of in (found.before, found.after)]
    return f", NDCG@10 {' → '.join(values if ranked.is_refined else values[:1])} on the labels"


def ranker_name(name: str) -> str:
    """Return the displayed name of a base ranker."""
    return _RANKERS.get(name, plain(name, 60))


def method_name(name: str) -> str:
    """Return the displayed name of a refinement method."""
    return "Rocchio" if name == "rocchio" else name


def has_won(summary: dict[str, Any]) -> bool | None:
    """Return whether a trained ranker is significantly better by NDCG@10; None if it was not compared."""
    compared = (summary.get("metrics") or {}).get("ndcg@10")
    if not compared or compared.get("p_value") is None:
        return None
    return compared["difference"] > 0 and compared["p_value"] <= SIGNIFICANT


def step(level: float | str) -> int:
    """Return the colour of a label: 0 to 4."""
    return int(min(max(float(level), 0.0), 4.0))


def when(time: datetime) -> str:
    """Return a time, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def difference(value: float | None) -> str:
    """Return a difference with its sign and four decimals."""
    return "–" if value is None else f"{value:+.4f}".replace("-", "−")


LEFT, RIGHT, TOP, BOTTOM = 26, 314, 8, 130  # edges of the plot area


SPARK_WIDTH, SPARK_HEIGHT = 56, 16


def sparkline(values: Sequence[float | None]) -> str:
    """Return the points of a small line from the oldest value to the newest; "" for fewer than two values.

    It starts at 0 and ends at 1, or at the largest value above 1, so that the lines of a column can be compared.

    Examples
    --------
    >>> sparkline([0.0, None, 1.0])
    '1.0,15.0 55.0,1.0'
    """
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(0.0, *(value for _, value in known)), max(1.0, *(value for _, value in known))
    return " ".join(
        f"{1 + (SPARK_WIDTH - 2) * place / (len(values) - 1):.1f},"
        f"{1 + (SPARK_HEIGHT - 2) * (high - value) / (high - low):.1f}"
        for place, value in known
    )


class HistoryChart(NamedTuple):
    """Means over time: one line and one list of dots per ranker, and ``ticks`` as (value, y)."""

    lines: list[str]
    dots: list[list[tuple[float, float]]]
    ticks: list[tuple[str, float]]
    right: float = RIGHT
    left: float = LEFT + 14


def history_chart(means: Sequence[Sequence[float | None]]) -> HistoryChart:
    """Return the chart of at least two points in time, each with one mean per ranker.

    Examples
    --------
    >>> history_chart([[0.0], [1.0]]).lines
    ['40.0,130.0 314.0,8.0']
    """
    known = [value for point in means for value in point if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    margin = 0.1 * (high - low) or 0.1
    low, high = (low, high) if (low, high) == (0.0, 1.0) else (low - margin, high + margin)
    left = LEFT + 14

    def place(number: int, value: float) -> tuple[float, float]:
        across = left + (RIGHT - left) * number / (len(means) - 1)
        return round(across, 1), round(TOP + (BOTTOM - TOP) * (high - value) / (high - low), 1)

    of_rankers = zip(*means, strict=True)
    dots = [[place(number, value) for number, value in enumerate(of) if value is not None] for of in of_rankers]
    lines = [" ".join(f"{across},{down}" for across, down in of) for of in dots]
    middle = (low + high) / 2
    return HistoryChart(lines, dots, [(f"{value:.2f}", place(0, value)[1]) for value in (high, middle, low)])


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plackett.apps.workbench"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        plain,
        short,
        signed,
        fixed,
        direction,
        moved,
        moved_in_words,
        counted,
        on_labels,
        ranker_name,
        method_name,
        has_won,
        step,
        difference,
    ):
        environment.filters[function.__name__] = function
    environment.filters["when"], environment.filters["count_of"] = when, count_of
    environment.globals["document_url"] = document_url
    environment.globals |= {"limits": values, "significant": SIGNIFICANT, "sparkline": sparkline}
    return environment


TEMPLATES = _environment()
