"""Values in the words and shapes of the pages: filters and functions of the templates, and charts as coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import jinja2

from plackett.apps.workbench import values
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


def ranker_name(name: str) -> str:
    """Return the displayed name of a base ranker."""
    return _RANKERS.get(name, plain(name, 60))


def verdict(summary: dict[str, Any]) -> str:
    """Return "won" or "lost" if a trained ranker is significantly better or worse by NDCG@10, else "equal".

    "" means that it was not compared.
    """
    compared = (summary.get("metrics") or {}).get("ndcg@10")
    if not compared or compared.get("p_value") is None:
        return ""
    return "equal" if compared["p_value"] > SIGNIFICANT else "won" if compared["difference"] > 0 else "lost"


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals; one that would be shown as 0 as an upper limit."""
    return "< 0.001" if value is not None and value < 0.0005 else fixed(value, 3)


def step(level: float | str) -> int:
    """Return the colour of a label: 0 to 4."""
    return int(min(max(float(level), 0.0), 4.0))


def when(time: datetime) -> str:
    """Return a time, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def difference(value: float | None) -> str:
    """Return a difference with its sign and four decimals."""
    return "–" if value is None else f"{value:+.4f}".replace("-", "−")


def points(
    values: Sequence[float | None], low: float, high: float, box: tuple[float, float, float, float]
) -> list[tuple[float, float]]:
    """Return values as points from the left of a box to its right, without those that are missing.

    The box is its left, top, right and bottom.

    Examples
    --------
    >>> points([0.0, None, 1.0], 0.0, 1.0, (1, 1, 55, 15))
    [(1.0, 15.0), (55.0, 1.0)]
    """
    left, top, right, bottom = box
    width, height = (right - left) / (len(values) - 1), (bottom - top) / (high - low)
    known = [(number, value) for number, value in enumerate(values) if value is not None]
    return [(round(left + width * number, 1), round(top + height * (high - value), 1)) for number, value in known]


def sparkline(values: Sequence[float | None]) -> list[tuple[float, float]]:
    """Return the points of a small line from the oldest value to the newest; none for fewer than two values.

    It starts at 0 and ends at 1, or at the largest value above 1, so that the lines of a column can be compared.
    """
    known = [value for value in values if value is not None]
    return points(values, min(0.0, *known), max(1.0, *known), (1, 1, 55, 15)) if len(known) > 1 else []


def history_chart(means: Sequence[Sequence[float | None]]) -> dict[str, list[Any]]:
    """Return a chart of at least two points in time: the points of each mean, and ticks as (value, y).

    Examples
    --------
    >>> history_chart([[0.0], [1.0]])["lines"]
    [[(40.0, 130.0), (314.0, 8.0)]]
    """
    known = [value for point in means for value in point if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    margin = 0.0 if (low, high) == (0.0, 1.0) else 0.1 * (high - low) or 0.1
    low, high, box = low - margin, high + margin, (40, 8, 314, 130)
    ticks = [(f"{value:.2f}", points([value, None], low, high, box)[0][1]) for value in (high, (low + high) / 2, low)]
    return {"lines": [points(of, low, high, box) for of in zip(*means, strict=True)], "ticks": ticks}


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plackett.apps.workbench"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (plain, short, signed, fixed, ranker_name, verdict, p_value, step, difference, when, count_of)
    environment.filters |= {function.__name__: function for function in filters}
    environment.globals |= {"limits": values, "significant": SIGNIFICANT, "sparkline": sparkline}
    environment.globals["document_url"] = document_url
    return environment


TEMPLATES = _environment()
