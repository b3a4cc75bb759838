"""One list, refined: from a base order and some judgements to a new order, and why each document moved."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plackett.data.feedback.feedback import ETA, Feedback
from plackett.data.queries import Queries
from plackett.rankers.refinement.kept_judgements import pin_judged as kept
from plackett.rankers.refinement.reasons import Reason, strongest_reasons
from plackett.rankers.refinement.refinement import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from plackett.validation import check_choice, count_of
from plackett.web.collections.base import Hits

METHODS = ("multiplicative", "linear", "rocchio")
RELEVANT_FROM = 1.0  # the smallest grade that says "relevant"
IN_BETWEEN = 0.5  # label of documents without a grade as long as all grades agree; grades are then 0 or 1
REASONS = 5  # per document
KEPT = "kept where its judgement puts it"
NO_JUDGEMENTS = "Nothing was judged yet: this is the order of the base ranker."
NO_GRADES = "Only graded documents are kept first or last; preferences alone fix no place."
Name = TypeVar("Name", bound=Hashable)  # of a document


class Judged(NamedTuple):
    """What a user said of a list: the grade of documents, and pairs (preferred, other)."""

    labels: dict[str, float]
    pairs: list[tuple[str, str]]


class Refined(NamedTuple):
    """A list in its new order.

    Attributes
    ----------
    order : list of int
        Rows of the hits, the best first.
    scores : ndarray of shape (n_docs,)
        Refined scores of the rows of the hits.
    moves : ndarray of int of shape (n_docs,)
        Places that each row went up; negative where it went down.
    why : list of list of Reason
        For each row what moved it most, the largest first.
    note : str or None
        What a user should know, in a sentence or two.
    """

    order: list[int]
    scores: np.ndarray
    moves: np.ndarray
    why: list[list[Reason]]
    note: str | None


class Told(NamedTuple):
    """Judgements by row of a list.

    Attributes
    ----------
    grades : ndarray of shape (n_docs,)
        As the user gave them; NaN for documents without a grade.
    y : ndarray of shape (n_docs,)
        Labels for a refiner.
    pairs : ndarray of int of shape (n_pairs, 2), or None
        What a refiner takes in place of ``y``: preferences, and those that the labels imply.
    eta : float
    notes : list of str
    """

    grades: np.ndarray
    y: np.ndarray
    pairs: np.ndarray | None
    eta: float
    notes: list[str]


def refine(hits: Hits, judged: Judged, method: str = "multiplicative", pin_judged: bool = False) -> Refined:
    """The list in the order that its judgements suggest.

    Judged documents are compared with each other. As long as all of them have the same grade, they are compared with
    the documents that nobody judged: one that is liked is better than these, one that is not is worse.

    Parameters
    ----------
    hits : Hits
    judged : Judged
        Documents that are not in the list are left out, and counted in the note.
    method : {"multiplicative", "linear", "rocchio"}, default="multiplicative"
        "rocchio" knows relevant and other documents only; of preferences it takes the first as relevant.
    pin_judged : bool, default=False
        Whether documents that are graded relevant come first and those graded otherwise last, whatever the refiner
        says. Preferences fix no place; they count in the order of equal grades, and of documents without a grade.
    """
    check_choice(method, "method", METHODS)
    told = _told(hits, judged, method)
    queries = Queries(hits.X, feature_names=hits.feature_names)
    refiner = _fitted(queries, hits.scores, told, method)
    if refiner is None:
        return _answer(hits, hits.scores.astype(np.float64), [[] for _ in hits.docid], told, pin_judged)
    why = strongest_reasons(refiner, queries, REASONS, base_score=hits.scores)
    return _answer(hits, refiner.scores_, why, told, pin_judged)


def refined_scores(hits: Hits, judged: Judged, method: str = "multiplicative") -> np.ndarray:
    """The scores of ``refine`` alone, in less time."""
    check_choice(method, "method", METHODS)
    refiner = _fitted(Queries(hits.X), hits.scores, _told(hits, judged, method), method)
    return hits.scores.astype(np.float64) if refiner is None else refiner.scores_


def labels_of_pairs(labels: Mapping[Name, float], pairs: Sequence[tuple[Name, Name]]) -> dict[Name, float]:
    """What preferences say of documents without a grade, for those who learn from labels only.

    Documents that were only ever preferred are relevant, and as good as the best graded one that they were preferred
    to; those that were only ever beaten are not relevant. Of documents that won and lost, nothing is said.
    """
    winners, losers = ({pair[side] for pair in pairs} for side in (0, 1))
    answer: dict[Name, float] = {}
    for better, worse in pairs:
        if better not in losers and better not in labels:
            answer[better] = max(answer.get(better, RELEVANT_FROM), labels.get(worse, 0.0))
        if worse not in winners and worse not in labels:
            answer[worse] = 0.0
    return answer


def _fitted(
    queries: Queries, base: np.ndarray, told: Told, method: str
) -> MultiplicativeRefiner | LinearRefiner | RocchioRefiner | None:
    """A refiner that has learned the list, or None where there is nothing to learn."""
    feedback: dict[str, Any] = {"y": told.y} if told.pairs is None else {"pairs": told.pairs}
    if told.pairs is None and np.isnan(told.y).all():
        return None
    if not queries.n_features:
        told.notes.append("The list has no features to learn from.")
        return None
    if method == "rocchio":
        return RocchioRefiner(relevant_from=RELEVANT_FROM).fit(queries, **feedback, base_score=base)
    kind = MultiplicativeRefiner if method == "multiplicative" else LinearRefiner
    return kind(eta=told.eta).fit(queries, **feedback, base_score=base)


def _told(hits: Hits, judged: Judged, method: str = "multiplicative") -> Told:
    """What the judgements say of the rows of a list."""
    row_of = {docid: row for row, docid in enumerate(hits.docid)}
    grades, notes = np.full(len(hits.docid), np.nan), []
    n_elsewhere = sum(docid not in row_of for docid in judged.labels)
    for docid, grade in judged.labels.items():
        if docid in row_of:
            grades[row_of[docid]] = grade
    pairs = [(better, worse) for better, worse in judged.pairs if better in row_of and worse in row_of]
    n_elsewhere += len(judged.pairs) - len(pairs)
    if not (judged.labels or judged.pairs):
        notes.append(NO_JUDGEMENTS)
    if n_elsewhere:
        notes.append(f"{count_of(n_elsewhere, 'judgement is', 'judgements are')} about documents not in this list.")
    if not pairs:
        return Told(grades, _against_unjudged(grades, notes), None, ETA["judgements"], notes)
    return _told_by_pairs(hits, grades, pairs, method, notes)


def _told_by_pairs(hits: Hits, grades: np.ndarray, pairs: list[tuple[str, str]], method: str, notes: list[str]) -> Told:
    """Preferences, and the labels as preferences among them."""
    one = "list"
    graded = np.flatnonzero(~np.isnan(grades))
    feedback = Feedback.from_pairs([one] * len(pairs), *map(list, zip(*pairs, strict=True)))
    docid = [hits.docid[row] for row in graded.tolist()]
    feedback += Feedback.from_judgements([one] * graded.size, docid, grades[graded])
    if feedback.n_contradictory:
        n = count_of(feedback.n_contradictory, "pair of documents", "pairs of documents")
        notes.append(f"The judgements contradict each other about {n}.")
    n_docs = len(hits.docid)
    found = feedback.for_queries(Queries(np.zeros((n_docs, 0)), qid=[one] * n_docs, docid=hits.docid))
    if method == "rocchio":
        known, y = {row: grades[row] for row in graded.tolist()}, grades.copy()
        for row, label in labels_of_pairs(known, found.pairs.tolist()).items():
            y[row] = label
        return Told(grades, _against_unjudged(y, notes), None, found.eta, notes)
    y = _against_unjudged(grades, notes)
    y[np.setdiff1d(found.pairs, graded)] = np.nan  # compared by their preferences only, which may say otherwise
    return Told(grades, y, found._replace(y=y).as_pairs()[0], found.eta, notes)


def _against_unjudged(y: np.ndarray, notes: list[str]) -> np.ndarray:
    """Labels of one level say nothing of each other, but of the documents without one."""
    is_judged = ~np.isnan(y)
    if not is_judged.any() or is_judged.all() or np.unique(y[is_judged]).size > 1:
        return y.copy()
    notes.append("All judgements agree so far, so the judged documents are compared with those that are not.")
    return np.where(is_judged, np.where(y >= RELEVANT_FROM, RELEVANT_FROM, 0.0), IN_BETWEEN)


def _answer(hits: Hits, scores: np.ndarray, why: list[list[Reason]], told: Told, pin_judged: bool) -> Refined:
    if pin_judged and hits.docid:
        before, scores = scores, kept(scores, told.grades, relevant_from=RELEVANT_FROM)
        if np.isnan(told.grades).all() and (told.pairs is not None or not np.isnan(told.y).all()):
            told.notes.append(NO_GRADES)
        for row in np.flatnonzero(scores != before).tolist():
            why[row] = [Reason(KEPT, float(scores[row] - before[row])), *why[row]][:REASONS]
    order = np.argsort(-scores, kind="stable")
    moves = np.empty(order.size, dtype=np.int64)
    moves[order] = order - np.arange(order.size)  # a row's number is its place in the base order
    return Refined(order.tolist(), scores, moves, why, " ".join(told.notes) or None)
