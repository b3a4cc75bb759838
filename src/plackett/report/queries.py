"""Every test query of a comparison, for the components of the page: facts, values, and the lists of some queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from plackett._tables import for_display
from plackett.evaluation.compare.comparison import Comparison, places_of
from plackett.evaluation.significance import TIE
from plackett.evaluation.slicing import group_of, n_relevant
from plackett.report.components.payload import comparison_payload, list_payload, rounded
from plackett.report.tables import MOST_FOR_ALL_PAIRS
from plackett.validation import count_of, plain

TOP = 10  # documents of a list
MOST_LEVELS = 5  # colours of labels


def queries_payload(
    comparison: Comparison, *, queries: Iterable[Any] = (), groups: Mapping[Hashable, Any] | None = None
) -> dict[str, Any] | None:
    """Return all test queries, with the lists of those that changed most and of ``queries``; None without values.

    It is made by `comparison_payload`. Reference scores are among the contestants, without lists.
    """
    metric = comparison.metrics[0]
    if not comparison.tables:
        return None
    ranked, references = comparison.ranked(), list(comparison.reference_scores)
    names, tables = [*ranked, *references], comparison.all_tables
    a, b = comparison.sides()
    changed = comparison.most_changed()
    named = [place for place in places_of(comparison.queries, queries) if place not in changed]
    explained = [part for insight in comparison.insights.values() for part in insight.reasons.values()]
    names_of_features = dict.fromkeys(reason.feature for reasons in explained for reason in reasons)
    features = {name: number for number, name in enumerate(names_of_features)}
    problems = {place: why for place, name in enumerate(ranked) if (why := _problem(comparison, name))}
    return comparison_payload(
        kind=comparison.kind,
        metric=metric,
        rankers=[for_display(name) for name in names],
        queries=_facts(comparison, groups),
        values=np.stack([tables[name][metric] for name in names], axis=1),
        means=[tables[name].mean()[metric] for name in names],
        higher_is_better=comparison.is_higher_better(metric),
        a=names.index(a),
        b=names.index(b),
        tie=TIE,
        floor={name: table.mean()[metric] for name, table in comparison.reference_scores.items()},
        pairs=_pairs(comparison, names),
        features=[for_display(name) for name in features],
        lists={place: _lists(comparison, ranked, place, features) for place in [*changed, *named]},
        unexplained=problems | {names.index(name): "A reference score has no list." for name in references},
        note=_left_out(comparison, len(changed), len(named)),
    )


def _problem(comparison: Comparison, name: str) -> str:
    """Return why the lists of a contestant have no reasons; empty if they have some."""
    insight = comparison.insights.get(name)
    return "" if insight is None else for_display(insight.problem, 300)


def _facts(comparison: Comparison, groups: Mapping[Hashable, Any] | None) -> list[dict[str, Any]]:
    """Return the columns that describe the queries."""
    queries = comparison.queries
    columns: list[dict[str, Any]] = [
        {"name": "query", "kind": "text", "values": [_name(key) for key in queries.ids.tolist()]},
        {"name": "documents", "kind": "number", "digits": 0, "values": np.diff(queries.indptr).tolist()},
        {"name": "relevant", "kind": "number", "digits": 0, "values": n_relevant(queries).tolist()},
    ]
    if groups:
        found = [for_display(group) for group in group_of(queries.ids.tolist(), groups)]
        columns.append({"name": "group", "kind": "text", "facet": True, "values": found})
    if comparison.n_folds > 1:
        folds = [str(fold) for fold in comparison.fold_of.tolist()]
        columns.append({"name": "fold", "kind": "text", "facet": True, "values": folds})
    return columns


def _pairs(comparison: Comparison, names: Sequence[str]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the differences between contestants; with many contestants, only those from the baseline."""
    place = {name: number for number, name in enumerate(names)}
    found = comparison.against_baseline()  # corrected for fewer pairs than the others, as in the summary
    if len(names) <= MOST_FOR_ALL_PAIRS:
        found = [pair for pair in comparison.differences() if comparison.baseline not in (pair.a, pair.b)] + found
    for reference in comparison.reference_scores:
        found = [*found, *comparison.differences(against=reference)]
    return {
        (place[pair.b], place[pair.a]): {
            "mean": round(pair.mean, 6),
            **dict(zip(("low", "high", "p"), rounded((pair.low, pair.high, pair.p_random_holm), 6), strict=True)),
            "significant": pair.is_significant,
        }
        for pair in found
        if np.isfinite(pair.mean)
    }


def _lists(comparison: Comparison, names: Sequence[str], place: int, features: Mapping[str, int]) -> dict[str, Any]:
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
    documents = []
    for row in number:
        label, level = label_level(queries.labels, row)
        document = ("" if queries.docid is None else _name(queries.docid[row])) or f"document {row - int(rows[0]) + 1}"
        ranks = [places[name].get(row) for name in names]
        documents.append({"name": document, "label": label, "level": level, "places": ranks})
    lists = [
        [[number[row], float(comparison.scores[name][row]), _reasons(comparison, name, row, features)] for row in top]
        for name, top in zip(names, tops, strict=True)
    ]
    return {**list_payload(documents, lists), "length": int(rows.size)}


def _reasons(comparison: Comparison, name: str, row: int, features: Mapping[str, int]) -> list[tuple[Any, ...]]:
    reasons = comparison.insights[name].reasons.get(row, []) if name in comparison.insights else []
    return [(features[feature], value, amount) for feature, value, amount in reasons]


def _name(key: Any) -> str:
    return for_display(str(plain(key)))


def label_level(labels: np.ndarray, row: int) -> tuple[str, int]:
    """Return the label as text, and its level among all labels, 0 to 4; empty if the document is not judged."""
    if np.isnan(labels[row]):
        return "", 0
    low, high = np.nanmin(labels), np.nanmax(labels)
    share = 0.0 if high == low else (labels[row] - low) / (high - low)
    return f"{labels[row]:g}", round(float(share) * (MOST_LEVELS - 1))


def _left_out(comparison: Comparison, n_changed: int, n_named: int) -> str:
    n_left = comparison.queries.n_queries - n_changed - n_named
    reasons = ", each with its strongest contributions" if comparison.insights else ""
    if not n_left:
        return f"The first {TOP} documents are included for every query{reasons}."
    a, b = map(for_display, comparison.sides())
    changed = f"that changed most from {a} to {b}" if a != b else "listed first"
    words = f"The first {TOP} documents are included for the {count_of(n_changed, 'query', 'queries')} {changed}"
    words += f" and {count_of(n_named, 'query', 'queries')} more, hardest or requested" if n_named else ""
    words += reasons
    return (
        f"{words}; those of {count_of(n_left, 'other query', 'other queries')} were left out to keep this file small."
    )
