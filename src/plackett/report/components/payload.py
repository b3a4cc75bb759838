"""The JSON that the components show."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plackett._tables import plain_id

DIGITS = 4  # decimals of measures


def comparison_payload(
    *,
    metric: str,
    rankers: Sequence[str],
    queries: Sequence[Mapping[str, Any]],
    values: np.ndarray,
    means: Sequence[float],
    higher_is_better: bool = True,
    a: int = 0,
    b: int = 1,
    tie: float = 1e-9,
    floor: Mapping[str, float] | None = None,
    pairs: Mapping[tuple[int, int], Mapping[str, Any]] | None = None,
    features: Sequence[str] = (),
    lists: Mapping[int, Mapping[str, Any]] | None = None,
    unexplained: Mapping[int, str] | None = None,
    note: str = "",
    kind: str = "ranker",
) -> dict[str, Any]:
    """Return the payload of ``mountComparison``.

    Parameters
    ----------
    metric : str
    rankers : sequence of str
    queries : sequence of mappings
        Columns that describe the queries, the first with their ids: ``name``, ``values``, and what a column of
        ``mountTable`` has (``kind``, ``digits``, ``facet``).
    values : ndarray of shape (n_queries, n_rankers)
        NaN where a query has no value.
    means : sequence of float
        The mean of each ranker.
    higher_is_better : bool, default=True
    a, b : int
        The rankers that are shown first; differences are B minus A.
    tie : float, default=1e-9
        Differences up to this size are ties.
    floor : mapping of str to float, default=None
        Reference scores by name.
    pairs : mapping of (a, b) to mapping, default=None
        For pairs of rankers: ``mean``, ``low``, ``high`` and ``p`` (corrected) of B minus A.
    features : sequence of str
        Names that the numbers in the reasons of `list_payload` refer to.
    lists : mapping of int to mapping, default=None
        The `list_payload` of each query, by row, with one list for each ranker.
    unexplained : mapping of int to str, default=None
        Why the lists of a ranker have no reasons, by ranker.
    note : str
        What was left out.
    kind : str, default="ranker"
        What is compared.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.report.components.payload import comparison_payload
    >>> queries = [{"name": "query", "values": ["wings", "boats"]}]
    >>> values = np.array([[0.5, 1.0], [0.2, 0.1]])
    >>> shown = comparison_payload(metric="p@5", rankers=["a", "b"], queries=queries, values=values, means=[0.35, 0.55])
    >>> shown["queries"], shown["values"]
    ([['wings'], ['boats']], [[0.5, 1.0], [0.2, 0.1]])
    """
    columns = [{key: value for key, value in column.items() if key != "values"} for column in queries]
    facts = [list(map(_cell, column["values"])) for column in queries]
    return {
        "kind": kind,
        "metric": metric,
        "better": 1 if higher_is_better else -1,
        "tie": tie,
        "rankers": list(rankers),
        "means": rounded(means),
        "a": a,
        "b": b,
        "columns": columns,
        "queries": [list(row) for row in zip(*facts, strict=True)],
        "values": [rounded(row) for row in np.asarray(values, dtype=np.float64)],
        "floor": [{"name": name, "value": rounded([value])[0]} for name, value in (floor or {}).items()],
        "pairs": {f"{one},{other}": dict(pair) for (one, other), pair in (pairs or {}).items()},
        "features": list(features),
        "lists": {str(row): one for row, one in (lists or {}).items()},
        "unexplained": {str(ranker): reason for ranker, reason in (unexplained or {}).items()},
        "note": note,
    }


def list_payload(documents: Sequence[Mapping[str, Any]], lists: Sequence[Sequence[Sequence[Any]]]) -> dict[str, Any]:
    """Return the lists of one query, as ``mountLists`` shows them.

    Parameters
    ----------
    documents : sequence of mappings
        The documents of all the lists: ``name``, ``label`` (text; empty if not judged), ``level`` (0 to 4, the colour
        of the label), ``places`` (the rank in each whole list, from 1, or None), and if known ``title`` and ``href``.
    lists : sequence of lists
        For each ranker its top documents, best first: number in ``documents``, score, and reasons, each
        (feature or its number, value, contribution).

    Examples
    --------
    >>> from plackett.report.components.payload import list_payload
    >>> documents = [{"name": "d1", "label": "1", "level": 1, "places": [1, None]}]
    >>> list_payload(documents, [[(0, 2.34567, [("bm25", 3.0, 0.5)])], []])["lists"]
    [[[0, 2.346, [['bm25', 3.0, 0.5]]]], []]
    """
    return {
        "documents": [dict(document) for document in documents],
        "lists": [
            [
                [doc, short(score), [[feature, short(value), short(amount)] for feature, value, amount in reasons]]
                for doc, score, reasons in top
            ]
            for top in lists
        ],
    }


def rounded(values: Any, digits: int = DIGITS) -> list[float | None]:
    """Return numbers with a few decimals; None for numbers that are not finite."""
    return [round(float(value), digits) if math.isfinite(value) else None for value in values]


def short(value: Any) -> Any:
    """Return a number with four significant digits; None if it is not finite; other values are unchanged."""
    if not isinstance(value, (float, np.floating)):
        return plain_id(value)
    return float(f"{value:.4g}") if math.isfinite(value) else None


def json_script(payload: Any) -> str:
    """Return JSON that can be embedded in a ``<script>`` element."""
    return json.dumps(payload, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _cell(value: Any) -> Any:
    plain_value = plain_id(value)
    return None if isinstance(plain_value, float) and not math.isfinite(plain_value) else plain_value
