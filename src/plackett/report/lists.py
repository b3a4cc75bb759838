"""The top documents of two contestants for the same query, side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett._tables import MISSING
from plackett.evaluation.compare.comparison import Comparison
from plackett.report.svg import N_LEVELS
from plackett.report.tables import hardest_queries

TOP = 10
LARGEST_CHANGES = 3
IDEAL = "ideal order"


class Place(NamedTuple):
    """One document of a list: its place, name and label, and its place in the other list as text."""

    place: int
    name: str
    label: str
    level: int
    move: str


class RankedList(NamedTuple):
    """The top of a list, with the name of its contestant."""

    name: str
    value: float
    places: list[Place]


class ListPair(NamedTuple):
    """One query, ranked by two contestants; ``fold`` is 0 where there are no folds."""

    qid: str
    fold: int
    n_docs: int
    mean: float
    before: RankedList
    after: RankedList


class Chosen(NamedTuple):
    """The contestants whose lists are shown: ``after`` is the best, ``before`` the baseline or the runner-up."""

    before: str
    after: str


def chosen(comparison: Comparison) -> Chosen:
    """Return the best contestant and the baseline, or the runner-up if the baseline is the best.

    A single contestant is shown with the ideal order.
    """
    order = comparison.ranked()
    best = order[0]
    if comparison.baseline != best:
        return Chosen(comparison.baseline, best)
    return Chosen(order[1], best) if len(order) > 1 else Chosen(best, IDEAL)


def hardest_lists(comparison: Comparison) -> list[ListPair]:
    """Return the hardest queries, each with its two lists."""
    if not comparison.tables:
        return []
    return [_pair(comparison, chosen(comparison), query.qid, query.mean) for query in hardest_queries(comparison)]


def changed_lists(comparison: Comparison) -> tuple[list[ListPair], list[ListPair]]:
    """Return the queries that gain most from ``before`` to ``after``, and those that lose most."""
    if len(comparison) < 2:
        return [], []
    who, metric = chosen(comparison), comparison.metrics[0]
    sign = 1.0 if comparison.is_higher_better(metric) else -1.0
    gain = sign * (comparison.tables[who.after][metric] - comparison.tables[who.before][metric])
    ids = comparison.queries.ids.tolist()
    order = [place for place in np.argsort(-gain, kind="stable").tolist() if not np.isnan(gain[place])]
    most = [place for place in order[:LARGEST_CHANGES] if gain[place] > 0]
    least = [place for place in order[::-1][:LARGEST_CHANGES] if gain[place] < 0]
    means = np.array([table[metric] for table in comparison.tables.values()])
    gained, lost = (
        [_pair(comparison, who, ids[place], float(np.nanmean(means[:, place]))) for place in places]
        for places in (most, least)
    )
    return gained, lost


def _pair(comparison: Comparison, who: Chosen, qid: Any, mean: float) -> ListPair:
    queries = comparison.queries
    query = queries.ids.tolist().index(qid)
    rows = np.arange(queries.indptr[query], queries.indptr[query + 1])
    orders = {}
    for name in who:
        # equal scores keep the order of the rows
        scores = comparison.gains[rows] if name == IDEAL else comparison.scores[name][rows]
        orders[name] = rows[np.argsort(-scores, kind="stable")[: np.count_nonzero(~np.isnan(scores))]]
    lists = []
    for name, other, word in ((who.before, who.after, "→"), (who.after, who.before, "was")):
        place_in_other = {row: place for place, row in enumerate(orders[other].tolist(), start=1)}
        value = np.nan if name == IDEAL else comparison.tables[name][comparison.metrics[0]][query]
        places = [
            Place(
                place,
                _doc_name(queries, row, rows[0]),
                *_label(queries.labels, row),
                "=" if place == place_in_other.get(row) else f"{word} {place_in_other.get(row, MISSING)}",
            )
            for place, row in enumerate(orders[name][:TOP].tolist(), start=1)
        ]
        lists.append(RankedList(name, float(value), places))
    fold = int(comparison.fold_of[query]) if comparison.fits else 0
    return ListPair(str(qid), fold, rows.size, mean, *lists)


def _doc_name(queries: Any, row: int, first: int) -> str:
    name = "" if queries.docid is None else str(queries.docid[row])
    return name or f"document {row - first + 1}"


def _label(labels: np.ndarray, row: int) -> tuple[str, int]:
    """Return the label as text, and its level among all labels, 0 to 4; a dash if the document is not judged."""
    if np.isnan(labels[row]):
        return MISSING, 0
    low, high = np.nanmin(labels), np.nanmax(labels)
    share = 0.0 if high == low else (labels[row] - low) / (high - low)
    return f"{labels[row]:g}", round(float(share) * (N_LEVELS - 1))
