"""What all users together say: one grade for a document of a query, and judged lists with features."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from plackett.data.queries import Queries
from plackett.web.collections.base import Collection, Hits
from plackett.web.workbench.refining import Judged

if TYPE_CHECKING:
    from plackett.web.store.records import Judgement, Preference

NONE_LEFT = "none of the judged documents is in this collection any more."


def merged(judgements: Iterable[Judgement], preferences: Iterable[Preference] = ()) -> dict[str, Judged]:
    """By query what all users together say: the mean grade of each document, and every preference once."""
    grades: dict[str, dict[str, list[float]]] = {}
    pairs: dict[str, dict[tuple[str, str], None]] = {}
    for one in judgements:
        grades.setdefault(one.query, {}).setdefault(one.docid, []).append(one.grade)
    for pair in preferences:
        pairs.setdefault(pair.query, {})[pair.docid, pair.other] = None
    return {
        query: Judged(
            {docid: math.fsum(given) / len(given) for docid, given in grades.get(query, {}).items()},
            list(pairs.get(query, ())),
        )
        for query in dict.fromkeys([*grades, *pairs])
    }


def judged_lists(collection: Collection, by_query: dict[str, Judged], base: str = "") -> tuple[Queries, np.ndarray]:
    """The graded documents of every query as judged lists with features, and their base scores."""
    found = [(query, graded_hits(collection, query, judged, base)) for query, judged in by_query.items()]
    lists = [(query, hits) for query, hits in found if hits is not None and hits.docid]
    if not lists:
        raise ValueError(NONE_LEFT)
    labels = [by_query[query].labels[docid] for query, hits in lists for docid in hits.docid]
    qid = [query for query, hits in lists for _ in hits.docid]
    docid = [one for _, hits in lists for one in hits.docid]
    X = np.concatenate([hits.X for _, hits in lists])
    queries = Queries(X, labels, qid, docid=docid, feature_names=collection.feature_names)
    return queries, np.concatenate([hits.scores for _, hits in lists])


def graded_hits(collection: Collection, query: str, judged: Judged, base: str) -> Hits | None:
    """The graded documents that are still there, with features; None where the base ranker cannot read the query."""
    try:
        return collection.score(query, list(judged.labels), base)
    except ValueError:
        return None
