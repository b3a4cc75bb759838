"""Refinement of one list: the new order, the reasons why documents moved, and measures of both orders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.reason_words import Reason, reason_words
from plackett.apps.workbench.runs import ListMeasures, Ranking, VisibleMeasures, compare_rankings
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import FIRST, RELEVANT_FROM
from plackett.data.feedback.feedback import Feedback
from plackett.data.queries import Queries
from plackett.evaluation.evaluate import evaluate
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from plackett.validation import count_of

UNJUDGED_LABEL = 0.5  # label of documents without a grade if all grades agree; graded documents then have 0 or 1
REASONS = 5  # per document
QID = "list"  # the query of feedback on one list
PINNED = "pinned by its judgement"
NO_JUDGEMENTS = "Nothing is judged yet: this is the order of the base ranker."
NO_GRADES = "Only graded documents are pinned first or last; preferences alone pin no document."
VISIBLE = ("mrr", "ndcg@10")  # measures of the whole list
CUTOFFS = (1, 3, 5, 10, 20)
MAX_LEFT_OUT = 20  # judged documents that are left out in turn, with a refinement each
TOO_FEW = "Measures need a relevant and a non-relevant judged document in this list."
ANNOTATOR_NOTE = "On the documents that the annotator graded; judgements of people are not used as labels here."
MEASURE_NOTE = (
    "On the judged documents only. The refined order was fitted to these judgements, so it should be better here; "
    '"left out" places each document without its own judgement, which is the fair comparison with the base.'
)
_STUMP = re.compile(r"(.+) ([>≤]) (\S+)", re.DOTALL)


class Refined(NamedTuple):
    """A list in its refined order: rows of the hits, best first.

    ``scores``, ``moves`` (places that a row moved up) and ``why`` (the strongest reasons of its move, largest first)
    follow the rows of the hits. ``against`` are the rows that the reasons compare with, -1 for the mean of the list.
    """

    order: list[int]
    scores: np.ndarray
    moves: np.ndarray
    why: list[list[Reason]]
    against: list[int]
    note: str | None


class RowFeedback(NamedTuple):
    """Judgements by row of a list: grades (NaN without one), and what a refiner learns from.

    That is the labels ``y``, or ``pairs``: preferences, and those that the labels imply; None for the default ``eta``.
    """

    grades: np.ndarray
    y: np.ndarray
    pairs: np.ndarray | None
    eta: float | None
    notes: list[str]


def refine(hits: Hits, judged: Judged, method: str = "multiplicative", pin_judged: bool = False) -> Refined:
    """Return a list refined by its judgements.

    Judged documents are compared with each other. If all of them have the same grade, they are compared with the
    unjudged documents: relevant ones count as better than these, others as worse. "rocchio" only distinguishes relevant
    from other documents; the preferred one of a pair is relevant.

    ``pin_judged`` pins documents graded relevant first, and other graded documents last. Preferences pin no document;
    they affect the order of equal grades and of documents without a grade.
    """
    feedback = _row_feedback(hits, judged, method)
    queries = Queries(hits.X, feature_names=hits.feature_names)
    scores, against = hits.scores.astype(np.float64), np.full(len(hits.docid), -1)
    why: list[list[Reason]] = [[] for _ in hits.docid]
    refiner = _fitted(queries, hits.scores, feedback, method)
    if refiner is not None:
        scores = refiner.scores_
        against = against if pin_judged else passed_rows(scores)
        why = reasons(refiner, queries, hits.scores, against)
    if pin_judged and hits.docid:
        before, one_list = scores, Queries(np.zeros((len(hits.docid), 0)))
        scores = one_list.pin_judged(scores, feedback.grades, relevant_from=RELEVANT_FROM)
        if np.isnan(feedback.grades).all() and (feedback.pairs is not None or not np.isnan(feedback.y).all()):
            feedback.notes.append(NO_GRADES)
        for row in np.flatnonzero(scores != before).tolist():
            why[row] = [_reason(PINNED, float(scores[row] - before[row])), *why[row]][:REASONS]
    order = np.argsort(-scores, kind="stable")
    moves = np.empty(order.size, dtype=np.int64)
    moves[order] = order - np.arange(order.size)  # rows are in base order
    return Refined(order.tolist(), scores, moves, why, against.tolist(), " ".join(feedback.notes) or None)


def passed_rows(scores: np.ndarray) -> np.ndarray:
    """Return for each row of a base order the one that explains its move; -1 for a row that stays.

    A row that moved up is compared with the best of those that it overtook, a row that moved down with the last of
    those that overtook it.

    Examples
    --------
    >>> passed_rows(np.array([1.0, 0.0, 2.0]))
    array([2, 2, 0])
    """
    order, against = np.argsort(-scores, kind="stable"), np.full(scores.size, -1)
    for place, row in enumerate(order.tolist()):
        overtaken, overtaking = order[place + 1 :][order[place + 1 :] < row], order[:place][order[:place] > row]
        if row > place and overtaken.size:
            against[row] = overtaken[0]
        elif row < place and overtaking.size:
            against[row] = overtaking[-1]
    return against


def reasons(refiner: Any, queries: Queries, base_score: np.ndarray, against: np.ndarray, n: int = REASONS):
    """Return the ``n`` largest contributions to the score of each row, minus those of the row that it is compared with.

    -1 in ``against`` stands for the mean of the list. A stump and its opposite are one contribution, with the text that
    is true of the document: ``bm25 > 3.2`` or ``bm25 ≤ 3.2``.
    """
    found = refiner.explain(queries, base_score=base_score)
    names, is_rocchio = list(found.feature_names), isinstance(refiner, RocchioRefiner)
    amounts = np.array(found.contributions if is_rocchio else found.contributions.toarray())
    is_true = amounts > 0  # a stump adds to the score of a document that it is true of
    for part, name in enumerate([] if is_rocchio else names):
        if (other := _opposite(name)) in names[:part]:
            amounts[:, names.index(other)] += amounts[:, part]
            amounts[:, part] = 0.0

    def text_of(row: int, part: int) -> str:
        if is_rocchio:
            return f"{names[part]} = {found.values[row, part]:.4g}"
        return names[part] if is_true[row, part] else _opposite(names[part])

    amounts -= np.where(against[:, None] >= 0, amounts[against], 0.0)
    order = np.argsort(-np.abs(amounts), axis=1, kind="stable")[:, :n].tolist()
    return [
        [_reason(text_of(row, part), float(amounts[row, part])) for part in parts if amounts[row, part]]
        for row, parts in enumerate(order)
    ]


def _reason(text: str, amount: float) -> Reason:
    return Reason(text, reason_words(text, amount > 0), amount)


def _opposite(stump: str) -> str:
    name, sign, limit = _STUMP.fullmatch(stump).groups()  # type: ignore[union-attr]
    return f"{name} {'≤' if sign == '>' else '>'} {limit}"


def refined_scores(hits: Hits, judged: Judged, method: str = "multiplicative") -> np.ndarray:
    """Return only the scores of ``refine``, which is faster."""
    refiner = _fitted(Queries(hits.X), hits.scores, _row_feedback(hits, judged, method), method)
    return hits.scores.astype(np.float64) if refiner is None else refiner.scores_


def labels_of_pairs(labels: Mapping[str, float], pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Return the labels that preferences imply for documents without a grade.

    Documents that were preferred in all their pairs are relevant, with at least the grade of every graded document
    that they were preferred to. Documents that lost all their pairs are not relevant. Others get no label.
    """
    winners, losers = ({pair[side] for pair in pairs} for side in (0, 1))
    implied: dict[str, float] = {}
    for better, worse in pairs:
        if better not in losers and better not in labels:
            implied[better] = max(implied.get(better, RELEVANT_FROM), labels.get(worse, 0.0))
        if worse not in winners and worse not in labels:
            implied[worse] = 0.0
    return implied


def _fitted(
    queries: Queries, base: np.ndarray, feedback: RowFeedback, method: str
) -> MultiplicativeRefiner | LinearRefiner | RocchioRefiner | None:
    """Return a refiner fitted on the list, or None if there is nothing to learn."""
    judgements: dict[str, Any] = {"y": feedback.y} if feedback.pairs is None else {"pairs": feedback.pairs}
    if feedback.pairs is None and np.isnan(feedback.y).all():
        return None
    if not queries.n_features:
        feedback.notes.append("The list has no features to learn from.")
        return None
    if method == "rocchio":
        return RocchioRefiner(relevant_from=RELEVANT_FROM).fit(queries, **judgements, base_score=base)
    kind: Any = {"multiplicative": MultiplicativeRefiner, "linear": LinearRefiner}[method]
    return kind(**({} if feedback.eta is None else {"eta": feedback.eta})).fit(queries, **judgements, base_score=base)


def feedback_of(judged: Judged) -> Feedback:
    """Return the preferences and the grades of a list."""
    labels, pairs = judged
    feedback = Feedback.from_pairs([QID] * len(pairs), *map(list, zip(*pairs, strict=True)))
    return feedback + Feedback.from_judgements([QID] * len(labels), list(labels), list(labels.values()))


def _row_feedback(hits: Hits, judged: Judged, method: str = "multiplicative") -> RowFeedback:
    """Return the judgements by row of a list."""
    row_of = {docid: row for row, docid in enumerate(hits.docid)}
    labels = {docid: grade for docid, grade in judged.labels.items() if docid in row_of}
    pairs = [pair for pair in judged.pairs if pair[0] in row_of and pair[1] in row_of]
    grades, notes = np.full(len(row_of), np.nan), []
    grades[[row_of[docid] for docid in labels]] = list(labels.values())
    if not (judged.labels or judged.pairs):
        notes.append(NO_JUDGEMENTS)
    if n_elsewhere := len(judged.labels) + len(judged.pairs) - len(labels) - len(pairs):
        notes.append(f"{count_of(n_elsewhere, 'judgement is', 'judgements are')} about documents not in this list.")
    if not pairs:
        return RowFeedback(grades, _refinable_labels(grades, notes), None, None, notes)
    pooled = feedback_of(Judged(labels, pairs))
    if pooled.n_contradictory:
        n = count_of(pooled.n_contradictory, "pair of documents", "pairs of documents")
        notes.append(f"The judgements contradict each other about {n}.")
    if method == "rocchio":
        y = grades.copy()
        for docid, label in labels_of_pairs(labels, pairs).items():
            y[row_of[docid]] = label
        return RowFeedback(grades, _refinable_labels(y, notes), None, pooled.eta, notes)
    rows = Queries(np.zeros((len(row_of), 0)), qid=[QID] * len(row_of), docid=hits.docid)
    found, y = pooled.for_queries(rows), _refinable_labels(grades, notes)
    # only the preferences of a document without a grade count, which may contradict the label
    y[np.setdiff1d(found.pairs, np.flatnonzero(~np.isnan(grades)))] = np.nan
    return RowFeedback(grades, y, found._replace(y=y).as_pairs()[0], pooled.eta, notes)


def _refinable_labels(y: np.ndarray, notes: list[str]) -> np.ndarray:
    """Return the labels; if all are equal, label the unjudged documents too, so that there are pairs to learn from."""
    is_judged = ~np.isnan(y)
    if not is_judged.any() or is_judged.all() or np.unique(y[is_judged]).size > 1:
        return y.copy()
    notes.append("All judgements agree so far, so the judged documents are compared with the unjudged ones.")
    return np.where(is_judged, np.where(y >= RELEVANT_FROM, RELEVANT_FROM, 0.0), UNJUDGED_LABEL)


def measure_list(
    hits: Hits, judged: Judged, method: str = "multiplicative", annotated: dict[str, float] | None = None
) -> ListMeasures:
    """Return P@k and NDCG@k of base and refined order on the judged documents of a list.

    Measures are empty if there are too few judgements; cut-offs are below the number of judged documents. ``left_out``
    takes one refinement for each of up to 20 judged documents. Grades of an imported annotator (``annotated``) are
    measured on instead of those of ``judged``, which only refine the list then; the refinement does not know them, so
    that nothing is left out.
    """
    grades = judged.labels if annotated is None else annotated
    rows = np.array([row for row, docid in enumerate(hits.docid) if docid in grades], dtype=np.int64)
    labels = np.array([grades[hits.docid[row]] for row in rows.tolist()])
    n_relevant = int((labels >= RELEVANT_FROM).sum())
    after = refined_scores(hits, judged, method)
    shown = visible(hits, after, grades) if n_relevant else None
    if not 0 < n_relevant < rows.size:
        return ListMeasures([], {}, {}, {}, rows.size, n_relevant, TOO_FEW, shown)
    metrics = [f"{name}@{k}" for k in CUTOFFS if k < rows.size for name in ("p", "ndcg")]
    base = evaluate(labels, hits.scores[rows], qid=0, metrics=metrics).mean()
    refined = evaluate(labels, after[rows], qid=0, metrics=metrics).mean()
    left_out: dict[str, float] = {}
    note = MEASURE_NOTE if annotated is None else ANNOTATOR_NOTE
    if annotated is None:
        ranks = rankdata(-hits.scores)[rows]  # ties share the mean of their places
        chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, MAX_LEFT_OUT)).astype(np.int64))
        for place in chosen.tolist():
            ranks[place] = _left_out_rank(hits, judged, method, int(rows[place]))
        left_out = evaluate(labels, -ranks, qid=0, metrics=metrics).mean()
        if chosen.size < rows.size:
            note += (
                f" {chosen.size} of {rows.size} documents were left out in turn; the others are at their base place."
            )
    return ListMeasures(metrics, base, refined, left_out, rows.size, n_relevant, note, shown)


def visible(hits: Hits, after: np.ndarray, labels: dict[str, float]) -> VisibleMeasures:
    """Return measures of the whole list before and after, by the rules of the scoreboard."""
    orders = {"before": hits.scores, "after": after}
    rankings = {order: {"": Ranking(hits.docid, scores.tolist())} for order, scores in orders.items()}
    means = compare_rankings({"": labels}, rankings, VISIBLE).mean()
    is_judged = np.array([docid in labels for docid in hits.docid])
    n_before, n_after = (int(is_judged[np.argsort(-scores, kind="stable")[:FIRST]].sum()) for scores in orders.values())
    return VisibleMeasures(min(FIRST, is_judged.size), n_before, n_after, means["before"], means["after"])


def _left_out_rank(hits: Hits, judged: Judged, method: str, row: int) -> float:
    """Return the rank of a document after a refinement without its judgements."""
    docid = hits.docid[row]
    labels = {name: grade for name, grade in judged.labels.items() if name != docid}
    others = Judged(labels, [pair for pair in judged.pairs if docid not in pair])
    return rankdata(-refined_scores(hits, others, method))[row]
