"""Measures of refined lists, and the agreement of users with each other and with themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.records import Judged, Judgement, Preference
from plackett.apps.workbench.refining import RELEVANT_FROM, refined_scores
from plackett.apps.workbench.schemas.collection import (
    AgreementResponse,
    ContradictionsResponse,
    DisputeResponse,
    SummaryResponse,
)
from plackett.apps.workbench.schemas.lists import MeasureResponse, VisibleMeasures
from plackett.data.feedback.feedback import Feedback
from plackett.evaluation.agreement import grade_agreement
from plackett.evaluation.evaluate import evaluate
from plackett.validation import count_of

CUTOFFS = (1, 3, 5, 10, 20)
FIRST_PAGE = 10  # documents
VISIBLE = ("mrr", "ndcg@10")  # measures of the whole list
MAX_LEFT_OUT = 20  # judged documents that are left out in turn, with a refinement each
DISPUTES_SHOWN = 20
TOO_FEW = "Measures need a relevant and a non-relevant judged document in this list."
ANNOTATOR_NOTE = "On the documents that the annotator graded; judgements of people are not used as labels here."
MEASURE_NOTE = (
    "On the judged documents only. The refined order was fitted to these judgements, so it should be better here; "
    '"left out" places each document without its own judgement, which is the fair comparison with the base.'
)


def measure_list(
    hits: Hits,
    judged: Judged,
    method: str = "multiplicative",
    *,
    leave_one_out: bool = True,
    annotated: dict[str, float] | None = None,
) -> MeasureResponse:
    """Return P@k and NDCG@k of base and refined order on the judged documents of a list.

    Parameters
    ----------
    hits : Hits
    judged : Judged
        Grades are labels; preferences only affect the refinement.
    method : as in ``refine``
    leave_one_out : bool, default=True
        Whether ``left_out`` is computed, which takes one refinement for each of up to 20 judged documents.
    annotated : dict, default=None
        Grades of an imported annotator to measure on instead of those of ``judged``, which only refine the
        list then. There is no ``left_out``: the refinement does not know these grades.

    Returns
    -------
    MeasureResponse
        ``metrics`` such as "p@3" and "ndcg@3", for cut-offs below the number of judged documents, and by metric the
        values of the base order, of the refined order, and of the order in which each document is placed by a
        refinement without its judgement (``left_out``). All are empty if there are too few judgements.
    """
    grades = judged.labels if annotated is None else annotated
    rows = np.array([row for row, docid in enumerate(hits.docid) if docid in grades], dtype=np.int64)
    labels = np.array([grades[hits.docid[row]] for row in rows.tolist()])
    n_relevant = int((labels >= RELEVANT_FROM).sum())
    after = refined_scores(hits, judged, method)
    visible = _visible(hits, grades, after) if n_relevant else None
    if not 0 < n_relevant < rows.size:
        return MeasureResponse(
            metrics=[],
            base={},
            refined={},
            left_out={},
            n_judged=rows.size,
            n_relevant=n_relevant,
            note=TOO_FEW,
            visible=visible,
        )
    metrics = [f"{name}@{k}" for k in CUTOFFS if k < rows.size for name in ("p", "ndcg")]
    base = evaluate(labels, hits.scores[rows], qid=0, metrics=metrics).mean()
    refined = evaluate(labels, after[rows], qid=0, metrics=metrics).mean()
    left_out: dict[str, float] = {}
    note = MEASURE_NOTE if annotated is None else ANNOTATOR_NOTE
    if leave_one_out and annotated is None:
        places = np.array([-_mean_place(hits.scores, row) for row in rows.tolist()])
        chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, MAX_LEFT_OUT)).astype(np.int64))
        for place in chosen.tolist():
            places[place] = -_left_out_place(hits, judged, method, int(rows[place]))
        left_out = evaluate(labels, places, qid=0, metrics=metrics).mean()
        if chosen.size < rows.size:
            note += (
                f" {chosen.size} of {rows.size} documents were left out in turn; the others are at their base place."
            )
    return MeasureResponse(
        metrics=metrics,
        base=base,
        refined=refined,
        left_out=left_out,
        n_judged=rows.size,
        n_relevant=n_relevant,
        note=note,
        visible=visible,
    )


def _visible(hits: Hits, grades: dict[str, float], after: np.ndarray) -> VisibleMeasures:
    """Return measures of the list as it is shown, before and after."""
    labels = np.array([grades.get(docid, 0.0) for docid in hits.docid])
    is_judged = np.array([docid in grades for docid in hits.docid])
    n_first = min(FIRST_PAGE, labels.size)
    judged, values = [], []
    for scores in (hits.scores, after):
        order = np.argsort(-scores, kind="stable")  # as the list is shown: ties keep the base order
        judged.append(int(is_judged[order[:n_first]].sum()))
        places = np.empty(order.size)
        places[order] = -np.arange(order.size)
        values.append(evaluate(labels, places, qid=0, metrics=list(VISIBLE)).mean())
    return VisibleMeasures(
        n_first=n_first, judged_before=judged[0], judged_after=judged[1], before=values[0], after=values[1]
    )


def _left_out_place(hits: Hits, judged: Judged, method: str, row: int) -> float:
    """Return the place of a document after a refinement without its judgements."""
    docid = hits.docid[row]
    others = Judged(
        {name: grade for name, grade in judged.labels.items() if name != docid},
        [pair for pair in judged.pairs if docid not in pair],
    )
    return _mean_place(refined_scores(hits, others, method), row)


def _mean_place(scores: np.ndarray, row: int) -> float:
    """Return the place of a document, from 0; ties share the mean of their places."""
    return float((scores > scores[row]).sum() + 0.5 * ((scores == scores[row]).sum() - 1))


def summarise(
    judgements: Iterable[Judgement], preferences: Iterable[Preference] = (), n_changed: int = 0
) -> SummaryResponse:
    """Return counts, agreement and contradictions of judgements.

    Parameters
    ----------
    judgements, preferences : iterables, as the store returns them
    n_changed : int, default=0
        Replaced grades that are not among ``judgements``.

    Returns
    -------
    SummaryResponse
        ``grades`` has the count of each grade. ``agreement`` is about documents that several users judged: ``equal`` is
        the share of pairs of users with the same grade, ``alpha`` Krippendorff's alpha with squared differences, 1 for
        perfect agreement and 0 for chance; both are None if there is nothing to compare. ``contradictions`` are those
        of single users: ``changed`` grades, ``opposite`` preferences (or a preference for the lower grade), and
        ``circles``, the cycles of preferences between three or more documents.
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
    opposite, circles = _contradictions(list(latest.values()), preferred)
    n_judgements = count_of(len(latest), "judgement")
    n_queries, n_users = count_of(len(queries), "query", "queries"), count_of(len(users), "user")
    return SummaryResponse(
        n_users=len(users),
        n_queries=len(queries),
        n_documents=len(documents),
        n_judgements=len(latest),
        n_preferences=len(preferred),
        grades=dict(sorted(counts.items(), key=lambda item: float(item[0]))),
        agreement=agreement_of(list(latest.values())),
        contradictions=ContradictionsResponse(changed=n_changed + len(changed), opposite=opposite, circles=circles),
        words=f"{n_judgements} and {count_of(len(preferred), 'preference')} on {n_queries} by {n_users}.",
    )


def _grades_by_document(latest: list[Judgement]) -> dict[tuple[str, str], dict[str, float]]:
    by_document: dict[tuple[str, str], dict[str, float]] = {}
    for one in latest:
        by_document.setdefault((one.query, one.docid), {})[one.user] = one.grade
    return by_document


def disputes(latest: list[Judgement]) -> list[DisputeResponse]:
    """Return the documents that users graded differently, the largest differences first."""
    found = [
        DisputeResponse(query=query, docid=docid, grades=grades)
        for (query, docid), grades in _grades_by_document(latest).items()
        if len(set(grades.values())) > 1
    ]
    found.sort(key=lambda one: (min(one.grades.values()) - max(one.grades.values()), one.query, one.docid))
    return found


def agreement_of(latest: list[Judgement]) -> AgreementResponse:
    """Return the agreement of users on the documents that several of them judged."""
    by_document = _grades_by_document(latest)
    units = np.repeat(np.arange(len(by_document)), [len(grades) for grades in by_document.values()])
    found = grade_agreement(units, [grade for grades in by_document.values() for grade in grades.values()])
    return AgreementResponse(
        n_shared=found.n_units,
        n_pairs=found.n_pairs,
        equal=None if np.isnan(found.equal) else found.equal,
        alpha=None if np.isnan(found.alpha) else found.alpha,
        disputed=disputes(latest)[:DISPUTES_SHOWN],
    )


def _contradictions(graded: list[Judgement], preferred: list[Preference]) -> tuple[int, int]:
    """Return the numbers of opposite pairs and of cycles, user by user."""
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
            circles += sum(1 for _ in _cycles([(one.docid, one.other) for one in own if one.query == query]))
    return opposite, circles


def _cycles(pairs: list[tuple[str, str]]) -> Iterator[int]:
    """Yield the sizes of strongly connected components of three or more documents."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {docid: place for place, docid in enumerate(dict.fromkeys(docid for pair in pairs for docid in pair))}
    better, worse = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    graph = coo_array((np.ones(len(pairs)), (better, worse)), shape=(len(number), len(number)))
    groups = connected_components(graph.tocsr(), directed=True, connection="strong")[1]
    yield from (int(size) for size in np.bincount(groups) if size > 2)
