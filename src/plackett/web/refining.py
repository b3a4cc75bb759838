"""One list, refined: from a base order and some judgements to a new order, and why each document moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.feedback import Feedback
from plackett.data.queries import Queries
from plackett.rankers.kept_judgements import keep_judged as kept
from plackett.rankers.refinement import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refiner import Refiner
from plackett.rankers.rocchio import RocchioRefiner
from plackett.validation import check_choice, count_of
from plackett.web.collection import Hits

METHODS = ("multiplicative", "linear", "rocchio")
RELEVANT_FROM = 1.0  # the smallest grade that says "relevant"
IN_BETWEEN = 0.5  # where a document without a judgement stands as long as all judgements agree
REASONS = 5  # per document
KEPT = "kept where its judgement puts it"
NO_JUDGEMENTS = "Nothing was judged yet: this is the order of the base ranker."


class Judged(NamedTuple):
    """What a user said of a list: the grade of documents, and pairs (preferred, other)."""

    labels: dict[str, float]
    pairs: list[tuple[str, str]]


class Reason(NamedTuple):
    """Something that is true of a document, and what it added to its score, counted from the mean of the list."""

    text: str
    amount: float


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
    """Judgements by row of a list, as a refiner takes them: labels, or pairs in their place."""

    y: np.ndarray
    pairs: np.ndarray | None
    eta: float
    notes: list[str]


def refine(hits: Hits, judged: Judged, method: str = "multiplicative", keep_judged: bool = False) -> Refined:
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
    keep_judged : bool, default=False
        Whether documents that are judged relevant come first and the others last, whatever the refiner says.
    """
    check_choice(method, "method", METHODS)
    told = told_of(hits, judged, method)
    if not says_something(told) or not hits.feature_names:
        scores = hits.scores.astype(np.float64)
        why: list[list[Reason]] = [[] for _ in hits.docid]
        if told.notes == [] and not hits.feature_names:
            told.notes.append("The list has no features to learn from.")
        return _answer(hits, scores, why, told, keep_judged)
    queries = Queries(hits.X, feature_names=hits.feature_names)
    refiner = refiner_of(method, told.eta)
    # a Queries brings names for the explanation, and is one list as rows without qid are
    refiner.fit(queries, **_feedback(told), base_score=hits.scores)
    explanation = refiner.explain(queries, base_score=hits.scores)
    why = [_reasons(explanation.top(row, None)) for row in range(len(hits.docid))]
    return _answer(hits, refiner.scores_, why, told, keep_judged)


def refiner_of(method: str, eta: float) -> Refiner:
    """An unfitted refiner by the name of its method."""
    if method == "rocchio":
        return RocchioRefiner(relevant_from=RELEVANT_FROM)
    return MultiplicativeRefiner(eta=eta) if method == "multiplicative" else LinearRefiner(eta=eta)


def told_of(hits: Hits, judged: Judged, method: str = "multiplicative") -> Told:
    """What the judgements say of the rows of a list."""
    rows = Queries(np.zeros((len(hits.docid), 0)), docid=np.array(hits.docid, dtype=object)) if hits.docid else None
    pairs = [(better, worse) for better, worse in judged.pairs if better != worse]
    given = [(docid, grade) for docid, grade in judged.labels.items() if grade == grade]
    feedback = Feedback.empty()
    if given:
        feedback += Feedback.from_judgements(["0"] * len(given), *map(list, zip(*given, strict=True)))
    if pairs:
        feedback += Feedback.from_pairs(["0"] * len(pairs), *map(list, zip(*pairs, strict=True)))
    if rows is None or not (given or pairs):
        return Told(np.full(len(hits.docid), np.nan), None, feedback.eta, [NO_JUDGEMENTS] if rows is not None else [])
    found = feedback.for_queries(rows)
    y, notes = found.y, []
    if found.n_unmatched:
        n = count_of(found.n_unmatched, "judgement is", "judgements are")
        notes.append(f"{n} about documents that are not in this list.")
    if feedback.n_contradictory:
        n = count_of(feedback.n_contradictory, "pair of documents", "pairs of documents")
        notes.append(f"The judgements contradict each other about {n}.")
    if not len(found.pairs):
        return Told(_against_unjudged(y, notes), None, found.eta, notes)
    if method == "rocchio":
        return Told(_against_unjudged(_as_labels(y, found.pairs), notes), None, found.eta, notes)
    return Told(y, found.as_pairs()[0], found.eta, notes)


def _against_unjudged(y: np.ndarray, notes: list[str]) -> np.ndarray:
    """Labels of one level say nothing of each other, but of the documents without one."""
    is_judged = ~np.isnan(y)
    if not is_judged.any() or is_judged.all() or np.unique(y[is_judged]).size > 1:
        return y
    notes.append("All judgements agree so far, so the judged documents are compared with those that are not.")
    return np.where(is_judged, np.where(y >= RELEVANT_FROM, RELEVANT_FROM, 0.0), IN_BETWEEN)


def _as_labels(y: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Documents without a label that were only preferred are relevant, those that never were are not."""
    answer = y.copy()
    for rows, others, label in ((pairs[:, 0], pairs[:, 1], RELEVANT_FROM), (pairs[:, 1], pairs[:, 0], 0.0)):
        alone = np.setdiff1d(rows, others)
        answer[alone[np.isnan(y[alone])]] = label
    return answer


def says_something(told: Told) -> bool:
    """Whether there is anything to learn from."""
    return (told.pairs is not None and len(told.pairs) > 0) or not np.isnan(told.y).all()


def _feedback(told: Told) -> dict[str, Any]:
    return {"y": told.y} if told.pairs is None else {"pairs": told.pairs}


def _reasons(parts: Sequence[Any]) -> list[Reason]:
    """What moved a document, as things that are true of it, the largest first."""
    amounts: dict[str, float] = {}
    for part in parts:
        text = _true_of_it(part) if hasattr(part, "stump") else f"{part.feature} = {part.value:.4g}"
        amounts[text] = amounts.get(text, 0.0) + part.contribution
    reasons = [Reason(text, amount) for text, amount in amounts.items() if amount]
    return sorted(reasons, key=lambda reason: -abs(reason.amount))[:REASONS]


def _true_of_it(part: Any) -> str:
    """A stump, or its opposite: a stump speaks for a document where it moves it the way that its weight says."""
    speaks_for_it = part.contribution * part.weight > 0
    feature, sign, limit = part.stump.rsplit(" ", 2)
    return f"{feature} {sign if speaks_for_it else {'>': '≤', '≤': '>'}[sign]} {limit}"


def _answer(hits: Hits, scores: np.ndarray, why: list[list[Reason]], told: Told, keep_judged: bool) -> Refined:
    if keep_judged and hits.docid and told.pairs is None:
        y = np.where(told.y == IN_BETWEEN, np.nan, told.y)
        before, scores = scores, kept(scores, y, relevant_from=RELEVANT_FROM)
        for row in np.flatnonzero(scores != before).tolist():
            why[row] = [Reason(KEPT, float(scores[row] - before[row])), *why[row]][:REASONS]
    order = np.argsort(-scores, kind="stable")
    moves = np.empty(order.size, dtype=np.int64)
    moves[order] = order - np.arange(order.size)  # a row's number is its place in the base order
    return Refined(order.tolist(), scores, moves, why, " ".join(told.notes) or None)
