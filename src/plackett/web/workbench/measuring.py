"""Is the refined list better, and do the people who judge agree: with each other, and with themselves?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett.data.feedback.feedback import Feedback
from plackett.evaluation.agreement import grade_agreement
from plackett.evaluation.evaluate import evaluate
from plackett.validation import count_of
from plackett.web.collections.base import Hits
from plackett.web.workbench.refining import RELEVANT_FROM, Judged, refined_scores

if TYPE_CHECKING:
    from plackett.web.store.records import Judgement, Preference

CUTOFFS = (1, 3, 5, 10, 20)
MOST_LEFT_OUT = 20  # judged documents that are placed without their own judgement, a refinement each
SHOWN = 20  # disputed documents
TOO_FEW = "Measures need a document that is judged relevant and one that is not, both in this list."
HONEST = (
    "On the judged documents only. The refined order has seen these judgements, so it should be better here; "
    '"left out" places each document without its own judgement, which is the fair comparison with the base.'
)


class ListMeasures(NamedTuple):
    """Measures of one list on its judged documents.

    Attributes
    ----------
    metrics : list of str
        Such as "p@3" and "ndcg@3", for cut-offs below the number of judged documents; empty where there are too few.
    base, refined, left_out : dict of float
        By metric: the base order, the refined order, and the order in which each document is placed by a refinement
        that does not know its judgement. ``left_out`` is empty where it was not asked for.
    n_judged, n_relevant : int
        Documents of the list.
    note : str
        What these numbers say, and what they do not.
    """

    metrics: list[str]
    base: dict[str, float]
    refined: dict[str, float]
    left_out: dict[str, float]
    n_judged: int
    n_relevant: int
    note: str


def measure_list(
    hits: Hits, judged: Judged, method: str = "multiplicative", *, leave_one_out: bool = True
) -> ListMeasures:
    """P@k and NDCG@k of base and refined order on the judged documents of a list.

    Parameters
    ----------
    hits : Hits
    judged : Judged
        Grades count as labels, preferences only for the refinement.
    method : as in ``refine``
    leave_one_out : bool, default=True
        Whether ``left_out`` is computed, which takes one refinement for each judged document, of 20 at most.
    """
    rows = np.array([row for row, docid in enumerate(hits.docid) if docid in judged.labels], dtype=np.int64)
    labels = np.array([judged.labels[hits.docid[row]] for row in rows.tolist()])
    n_relevant = int((labels >= RELEVANT_FROM).sum())
    if not 0 < n_relevant < rows.size:
        return ListMeasures([], {}, {}, {}, rows.size, n_relevant, TOO_FEW)
    metrics = [f"{name}@{k}" for k in CUTOFFS if k < rows.size for name in ("p", "ndcg")]
    base = evaluate(labels, hits.scores[rows], qid=0, metrics=metrics).mean()
    refined = evaluate(labels, refined_scores(hits, judged, method)[rows], qid=0, metrics=metrics).mean()
    left_out: dict[str, float] = {}
    note = HONEST
    if leave_one_out:
        places = np.array([-_mean_place(hits.scores, row) for row in rows.tolist()])
        chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, MOST_LEFT_OUT)).astype(np.int64))
        for place in chosen.tolist():
            places[place] = -_place_without(hits, judged, method, int(rows[place]))
        left_out = evaluate(labels, places, qid=0, metrics=metrics).mean()
        if chosen.size < rows.size:
            note += (
                f" {chosen.size} of {rows.size} documents were left out in turn; the others are at their base place."
            )
    return ListMeasures(metrics, base, refined, left_out, rows.size, n_relevant, note)


def _place_without(hits: Hits, judged: Judged, method: str, row: int) -> float:
    """Where a document lands when nothing is known about it."""
    docid = hits.docid[row]
    others = Judged(
        {name: grade for name, grade in judged.labels.items() if name != docid},
        [pair for pair in judged.pairs if docid not in pair],
    )
    return _mean_place(refined_scores(hits, others, method), row)


def _mean_place(scores: np.ndarray, row: int) -> float:
    """The place of a document, from 0; equal scores share the mean of their places, as measures average them."""
    return float((scores > scores[row]).sum() + 0.5 * ((scores == scores[row]).sum() - 1))


class Dispute(NamedTuple):
    """A document that users graded differently."""

    query: str
    docid: str
    grades: dict[str, float]


class Agreement(NamedTuple):
    """How far users agree on the documents that several of them judged.

    ``equal`` is the share of pairs of users who gave the same grade; ``alpha`` is Krippendorff's alpha with squared
    differences, 1 for perfect agreement, 0 for what chance would give. None: nothing to compare.
    """

    n_shared: int
    n_pairs: int
    equal: float | None
    alpha: float | None
    disputed: list[Dispute]


class Contradictions(NamedTuple):
    """What users said against themselves.

    Attributes
    ----------
    changed : int
        Documents that one user gave different grades for the same query.
    opposite : int
        Pairs of documents of which one user preferred each to the other, or preferred the one with the lower grade.
    circles : int
        Groups of three documents or more that one user preferred to each other in a circle.
    """

    changed: int
    opposite: int
    circles: int


class Summary(NamedTuple):
    """All judgements of a collection in numbers; ``grades`` counts each grade, by its text."""

    n_users: int
    n_queries: int
    n_documents: int
    n_judgements: int
    n_preferences: int
    grades: dict[str, int]
    agreement: Agreement
    contradictions: Contradictions


def summarise(judgements: Iterable[Judgement], preferences: Iterable[Preference] = (), n_changed: int = 0) -> Summary:
    """Counts, agreement and contradictions of what users said, as the store tells it.

    Parameters
    ----------
    judgements, preferences : iterables, as the store gives them
    n_changed : int, default=0
        Grades that were replaced before these judgements were made of the log.
    """
    graded, preferred = list(judgements), list(preferences)
    users = {one.user for one in graded} | {one.user for one in preferred}
    queries = {one.query for one in graded} | {one.query for one in preferred}
    latest: dict[tuple[str, str, str], Judgement] = {}
    changed: set[tuple[str, str, str]] = set()
    for one in sorted(graded, key=lambda one: one.time):
        key = (one.query, one.docid, one.user)
        if key in latest and latest[key].grade != one.grade:
            changed.add(key)
        latest[key] = one
    documents = {one.docid for one in graded} | {docid for one in preferred for docid in (one.docid, one.other)}
    counts = Counter(f"{one.grade:g}" for one in latest.values())
    opposite, circles = _against_themselves(list(latest.values()), preferred)
    return Summary(
        n_users=len(users),
        n_queries=len(queries),
        n_documents=len(documents),
        n_judgements=len(latest),
        n_preferences=len(preferred),
        grades=dict(sorted(counts.items(), key=lambda item: float(item[0]))),
        agreement=_agreement(list(latest.values())),
        contradictions=Contradictions(n_changed + len(changed), opposite, circles),
    )


def _agreement(latest: list[Judgement]) -> Agreement:
    by_document: dict[tuple[str, str], dict[str, float]] = {}
    for one in latest:
        by_document.setdefault((one.query, one.docid), {})[one.user] = one.grade
    units = np.repeat(np.arange(len(by_document)), [len(grades) for grades in by_document.values()])
    found = grade_agreement(units, [grade for grades in by_document.values() for grade in grades.values()])
    disputed = [
        Dispute(query, docid, grades) for (query, docid), grades in by_document.items() if len(set(grades.values())) > 1
    ]
    disputed.sort(key=lambda one: (min(one.grades.values()) - max(one.grades.values()), one.query, one.docid))
    return Agreement(found.n_units, found.n_pairs, _known(found.equal), _known(found.alpha), disputed[:SHOWN])


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _against_themselves(graded: list[Judgement], preferred: list[Preference]) -> tuple[int, int]:
    """Opposite pairs and circles, user by user."""
    opposite = circles = 0
    for user in dict.fromkeys(one.user for one in preferred):
        own = [one for one in preferred if one.user == user and one.docid != one.other]
        grades = [one for one in graded if one.user == user]
        feedback = Feedback.from_pairs(
            [one.query for one in own], [one.docid for one in own], [one.other for one in own]
        ) + Feedback.from_judgements(
            [one.query for one in grades], [one.docid for one in grades], [one.grade for one in grades]
        )
        opposite += feedback.n_contradictory
        for query in dict.fromkeys(one.query for one in own):
            circles += sum(1 for _ in _circles([(one.docid, one.other) for one in own if one.query == query]))
    return opposite, circles


def _circles(pairs: list[tuple[str, str]]) -> Iterator[int]:
    """The sizes of the groups of three or more in which every document is, step by step, preferred to every other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {docid: place for place, docid in enumerate(dict.fromkeys(docid for pair in pairs for docid in pair))}
    better, worse = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    graph = coo_array((np.ones(len(pairs)), (better, worse)), shape=(len(number), len(number)))
    groups = connected_components(graph.tocsr(), directed=True, connection="strong")[1]
    yield from (int(size) for size in np.bincount(groups) if size > 2)


def words_on(summary: Summary) -> str:
    """A summary in one sentence."""
    parts = [
        count_of(summary.n_judgements, "judgement"),
        count_of(summary.n_preferences, "preference"),
        f"{count_of(summary.n_queries, 'query', 'queries')} by {count_of(summary.n_users, 'user')}",
    ]
    return f"{parts[0]} and {parts[1]} on {parts[2]}."
