"""Every test query of a comparison, for the components of the page: facts, values, and the lists of some queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from plackett._tables import for_display
from plackett.evaluation.compare.changes import most_changed, places_of, sides
from plackett.evaluation.compare.comparison import Comparison, is_significant
from plackett.evaluation.significance import TIE
from plackett.report.components.payload import comparison_payload, list_payload
from plackett.report.svg import N_LEVELS
from plackett.report.tables import MOST_FOR_ALL_PAIRS
from plackett.validation import count_of, plain

TOP = 10  # documents of a list


def queries_payload(comparison: Comparison, *, queries: Iterable[Any] = ()) -> dict[str, Any] | None:
    """Return all test queries, with the lists of those that changed most and of ``queries``; None without values.

    Parameters
    ----------
    comparison : Comparison
    queries : iterable of ids
        Queries whose lists are shown in any case.

    Returns
    -------
    dict or None
        As `comparison_payload` makes it.
    """
    metric = comparison.metrics[0]
    if not comparison.tables or metric not in comparison.per_query:
        return None
    names, chosen = comparison.ranked(), sides(comparison)
    changed = most_changed(comparison)
    named = [place for place in places_of(comparison.queries, queries) if place not in changed]
    means = comparison.mean()
    return comparison_payload(
        kind=comparison.kind,
        metric=metric,
        rankers=[for_display(name) for name in names],
        queries=_facts(comparison),
        values=np.stack([comparison.tables[name][metric] for name in names], axis=1),
        means=[means[name][metric] for name in names],
        higher_is_better=comparison.is_higher_better(metric),
        a=names.index(chosen.a),
        b=names.index(chosen.b),
        tie=TIE,
        floor={name: table.mean()[metric] for name, table in comparison.reference_scores.items()},
        pairs=_pairs(comparison, names),
        lists={place: _lists(comparison, names, place) for place in [*changed, *named]},
        note=_left_out(comparison, len(changed), len(named)),
    )


def _facts(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the columns that describe the queries."""
    queries = comparison.queries
    columns: list[dict[str, Any]] = [
        {"name": "query", "kind": "text", "values": [_name(key) for key in queries.ids.tolist()]},
        {"name": "documents", "kind": "number", "digits": 0, "values": np.diff(queries.indptr).tolist()},
        {"name": "relevant", "kind": "number", "digits": 0, "values": n_relevant(queries).tolist()},
    ]
    if comparison.n_folds > 1:
        folds = [str(fold) for fold in comparison.fold_of.tolist()]
        columns.append({"name": "fold", "kind": "text", "facet": True, "values": folds})
    return columns


def n_relevant(queries: Any) -> np.ndarray:
    """Return the number of documents with a label above 0, query by query."""
    return np.add.reduceat(np.nan_to_num(queries.labels) > 0, queries.indptr[:-1], dtype=np.int64)


def _pairs(comparison: Comparison, names: Sequence[str]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the differences between contestants; of many contestants, those to the baseline."""
    place = {name: number for number, name in enumerate(names)}
    against = None if len(names) <= MOST_FOR_ALL_PAIRS else comparison.baseline
    found = comparison.differences(against=against)
    if against is None and comparison.baseline:  # these are corrected for fewer pairs, as in the summary
        of_baseline = comparison.differences(against=comparison.baseline)
        found = [pair for pair in found if comparison.baseline not in (pair.a, pair.b)] + of_baseline
    return {
        (place[pair.b], place[pair.a]): {
            "mean": round(pair.mean, 6),
            **{
                key: _finite(value)
                for key, value in (("low", pair.low), ("high", pair.high), ("p", pair.p_random_holm))
            },
            "significant": is_significant(pair),
        }
        for pair in found
        if np.isfinite(pair.mean)
    }


def _finite(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def _lists(comparison: Comparison, names: Sequence[str], place: int) -> dict[str, Any]:
    """Return the top documents of all contestants for one query."""
    queries = comparison.queries
    rows = np.arange(queries.indptr[place], queries.indptr[place + 1])
    tops, places = [], {}
    for name in names:
        scores = comparison.scores[name][rows]
        # equal scores keep the order of the rows
        order = rows[np.argsort(-scores, kind="stable")[: np.count_nonzero(~np.isnan(scores))]].tolist()
        places[name] = {row: rank for rank, row in enumerate(order, start=1)}
        tops.append(order[:TOP])
    number = {row: n for n, row in enumerate(dict.fromkeys(row for top in tops for row in top))}
    documents = [
        {**_document(queries, row, int(rows[0])), "places": [places[name].get(row) for name in names]} for row in number
    ]
    lists = [
        [[number[row], float(comparison.scores[name][row]), []] for row in top]
        for name, top in zip(names, tops, strict=True)
    ]
    return {**list_payload(documents, lists), "length": int(rows.size)}


def _name(key: Any) -> str:
    return for_display(str(plain(key)))


def _document(queries: Any, row: int, first: int) -> dict[str, Any]:
    name = "" if queries.docid is None else _name(queries.docid[row])
    label, level = label_level(queries.labels, row)
    return {"name": name or f"document {row - first + 1}", "label": label, "level": level}


def label_level(labels: np.ndarray, row: int) -> tuple[str, int]:
    """Return the label as text, and its level among all labels, 0 to 4; empty if the document is not judged."""
    if np.isnan(labels[row]):
        return "", 0
    low, high = np.nanmin(labels), np.nanmax(labels)
    share = 0.0 if high == low else (labels[row] - low) / (high - low)
    return f"{labels[row]:g}", round(float(share) * (N_LEVELS - 1))


def _left_out(comparison: Comparison, n_changed: int, n_named: int) -> str:
    n_left = comparison.queries.n_queries - n_changed - n_named
    words = (
        f"The first {TOP} documents are included for the {count_of(n_changed, 'query', 'queries')} that changed most"
    )
    words += " from {} to {}".format(*map(for_display, sides(comparison)))
    words += f" and {count_of(n_named, 'query', 'queries')} named for this file" if n_named else ""
    if not n_left:
        return f"{words}."
    return (
        f"{words}; those of {count_of(n_left, 'other query', 'other queries')} were left out to keep this file small."
    )
