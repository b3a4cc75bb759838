"""Judgements pooled over users: one grade per query and document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from plackett.apps.workbench.collections.base import Collection, Hits
from plackett.apps.workbench.people import Settlement
from plackett.apps.workbench.store import Judged, Judgement, Preference

NO_DOCUMENTS = "none of the judged documents is in this collection any more."


def pool_judgements(judgements: Iterable[Judgement], preferences: Iterable[Preference] = ()) -> dict[str, Judged]:
    """Return by query the judgements of all users: the mean grade of each document, and each preference once."""
    grades: dict[str, dict[str, list[float]]] = {}
    pairs: dict[str, dict[tuple[str, str], None]] = {}
    for one in judgements:
        grades.setdefault(one.query, {}).setdefault(one.docid, []).append(one.grade)
    for pair in preferences:
        pairs.setdefault(pair.query, {})[pair.docid, pair.other] = None
    return {
        query: Judged(
            {docid: math.fsum(values) / len(values) for docid, values in grades.get(query, {}).items()},
            list(pairs.get(query, ())),
        )
        for query in dict.fromkeys([*grades, *pairs])
    }


def settled_judgements(
    judgements: Iterable[Judgement], settled: Mapping[tuple[str, str], Settlement]
) -> Iterator[Judgement]:
    """Yield judgements, with one settled grade instead of those that users disagreed about."""
    seen = set()
    for one in judgements:
        key = (one.query, one.docid)
        if key not in settled:
            yield one
        elif key not in seen:
            seen.add(key)
            yield Judgement(settled[key].user, one.query, one.docid, settled[key].grade, settled[key].time)


def graded_hits(collection: Collection, query: str, labels: Iterable[str], base: str) -> Hits | None:
    """Return the graded documents that still exist, with features; None if none is left or the query is invalid."""
    try:
        hits = collection.score(query, list(labels), base)
    except ValueError:  # the base ranker cannot parse the query
        return None
    return hits if hits.docid else None
