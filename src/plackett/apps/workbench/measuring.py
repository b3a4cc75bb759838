"""Measures of refined lists on the judgements that they were fitted to."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.refining import refined_scores
from plackett.apps.workbench.runs import ListMeasures, Ranking, VisibleMeasures, compare_rankings
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import FIRST, RELEVANT_FROM
from plackett.evaluation.evaluate import evaluate

VISIBLE = ("mrr", "ndcg@10")  # measures of the whole list
CUTOFFS = (1, 3, 5, 10, 20)
MAX_LEFT_OUT = 20  # judged documents that are left out in turn, with a refinement each
TOO_FEW = "Measures need a relevant and a non-relevant judged document in this list."
ANNOTATOR_NOTE = "On the documents that the annotator graded; judgements of people are not used as labels here."
MEASURE_NOTE = (
    "On the judged documents only. The refined order was fitted to these judgements, so it should be better here; "
    '"left out" places each document without its own judgement, which is the fair comparison with the base.'
)


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
