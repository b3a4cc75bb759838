"""Evaluation of relevance feedback: rankings before and after refinement, on all and on unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from plackett._tables import Column, Table, json_value, notebook_html
from plackett.data.queries import Queries
from plackett.evaluation.evaluate import Evaluation, evaluate
from plackett.evaluation.significance import paired_t
from plackett.metrics.conventions import Convention
from plackett.metrics.measure import Measure
from plackett.rankers.refinement.base_score import as_base_score, is_column
from plackett.rankers.refinement.judgements import as_relevance
from plackett.validation import check_positive_int, count_of

DEFAULT_METRICS = ("p@1", "p@5", "p@10", "ndcg@10", "map")
BASE = "base"
SORTED = "judged sorted"
REFINED = "refined"
FULL = "full"
RESIDUAL = "residual"

Metrics = Sequence[str | Measure] | str | Measure


@dataclass(eq=False, repr=False)
class FeedbackResult:
    """Measures of a base ranking and of its refinements, query by query.

    Attributes
    ----------
    tables : dict of str to dict of str to Evaluation
        ``tables["residual"]["base"]``: for each kind of list ("full", all documents; "residual", those that were not
        judged) the table of each ranking, "base" first.
    scores : dict of str to ndarray of shape (n_docs,)
        The scores of each ranking, in the order of ``queries.X``.
    queries : Queries
        The lists, with the labels by which they were measured.
    judged : ndarray of bool of shape (n_docs,)
        The documents whose labels the refiners were given.
    notes : list of str
        Remarks on the data, such as skipped queries.

    Examples
    --------
    >>> from plackett.evaluation import relevance_feedback
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, n_features=5, random_state=0)
    >>> result = relevance_feedback(lists, 0, pk.MultiplicativeRefiner(), n_judged=5, relevant_from=2)
    >>> list(result.tables["residual"]), int(result.judged.sum())
    (['base', 'refined'], 100)
    """

    tables: dict[str, dict[str, Evaluation]]
    scores: dict[str, np.ndarray]
    queries: Queries
    judged: np.ndarray
    notes: list[str] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        return next(iter(self.tables.values()))[BASE].metrics

    def p_values(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the p-values of the difference of each refinement from the base, for each kind of list.

        Two-sided paired t-test over the queries that count for both; 1 if no query differs, NaN for fewer than two.
        """
        return {
            kind: {
                name: {metric: paired_t(table[metric], rankings[BASE][metric]) for metric in self.metrics}
                for name, table in rankings.items()
                if name != BASE
            }
            for kind, rankings in self.tables.items()
        }

    def rows(self) -> list[tuple[str, dict[str, float]]]:
        """Return the rows of the summary: the means, with p-values below those of each refinement."""
        answer = []
        for kind, p_values in self.p_values().items():
            for name, table in self.tables[kind].items():
                answer.append((f"{kind}: {name}", table.mean()))
                answer += [("  p-value", p_values[name])] if name in p_values else []
        return answer

    def to_dict(self, *, per_query: bool = True) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes None."""
        lists: dict[str, Any] = {}
        for kind, p_values in self.p_values().items():
            lists[kind] = {name: table.to_dict(per_query=per_query) for name, table in self.tables[kind].items()}
            for name, found in p_values.items():
                lists[kind][name]["p_values"] = json_value(found)
        counts = {"n_queries": self.queries.n_queries, "n_judged": int(self.judged.sum())}
        return {**counts, "lists": lists, "notes": self.notes}

    def to_table(self) -> Table:
        """Return the means as a `Table`, with p-values below those of each refinement."""
        columns = [Column("list: ranking", "text"), *map(Column, self.metrics)]
        return Table(columns, [[name, *(row[metric] for metric in self.metrics)] for name, row in self.rows()])

    def __str__(self) -> str:
        return "\n".join([self.to_table().to_text(), *self.notes])

    def _repr_html_(self) -> str:
        return notebook_html(self.to_table())

    def __repr__(self) -> str:
        queries = count_of(self.queries.n_queries, "query", "queries")
        rankings = [name for name in next(iter(self.tables.values())) if name != BASE]
        return f"FeedbackResult({queries}, {', '.join(self.tables)}; base and {', '.join(rankings)})"


def relevance_feedback(
    queries: Queries,
    base: Any,
    refiner: Any,
    *,
    n_judged: int = 10,
    relevant_from: float | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    pseudo: bool = False,
    pin_judged: bool = False,
) -> FeedbackResult:
    """Judge the first documents of a base ranking, refine it, and evaluate both.

    The judgements are the labels of the queries. On the full list a refiner improves simply by sorting the judged
    documents. On the residual list, which omits them, it improves only by what it learned. A query whose documents are
    all judged has no residual list and is skipped there.

    Parameters
    ----------
    queries : Queries
        With a label for every document.
    base : int, str, array-like, ranker, model, Run or dict
        The base ranking, as for ``as_base_score``. Equal scores keep the order of the rows.
    refiner : refiner, or dict of str to refiner
        Such as ``MultiplicativeRefiner()``, or several by name. Copies are fitted.
    n_judged : int, default=10
        Documents judged in each query, from the top.
    relevant_from : float, default=None
        Labels of at least this become 1 and others 0, for judgements and measures. None keeps the labels.
    metrics, convention : as in ``evaluate``
    pseudo : bool, default=False
        Pseudo-relevance feedback: the first ``n_judged`` documents of the base ranking count as relevant and as many of
        the last as not relevant (of each at most half the list). Only full lists are evaluated.
    pin_judged : bool, default=False
        Whether documents judged relevant (1 or more) come first and other judged documents last, by
        :meth:`plackett.Queries.pin_judged`. One more ranking, "judged sorted", pins them in the base ranking: it shows
        what the judgements gain without learning. Residual lists are the same.

    Examples
    --------
    >>> from plackett.evaluation import relevance_feedback
    >>> from plackett import MultiplicativeRefiner, datasets
    >>> queries = datasets.make_web_like(40, n_features=10, random_state=0)
    >>> print(relevance_feedback(queries, 0, MultiplicativeRefiner(), relevant_from=2, metrics="p@10,map"))
    list: ranking        p@10     map
    full: base         0.2525  0.2668
    full: refined      0.3725  0.3917
      p-value          0.0000  0.0000
    residual: base     0.2160  0.2427
    residual: refined  0.2450  0.2660
      p-value          0.1428  0.0290
    1 query has no relevant document, or is too short, and counts 0 (full)
    1 query has no relevant document, or is too short, and counts 0 (residual)
    """
    check_positive_int(n_judged, "n_judged")
    if pseudo and pin_judged:
        raise ValueError("pin_judged=True pins judged documents, but with pseudo=True there are no judgements.")
    labels = as_relevance(queries.labels, relevant_from)
    lists = _with_labels(queries, labels)
    scores = as_base_score(base, queries)
    judgements = _judgements_by_rank(lists, scores, n_judged, pseudo=pseudo)
    judged = np.zeros(lists.n_docs, dtype=bool) if pseudo else ~np.isnan(judgements)
    parts = {FULL: np.ones(lists.n_docs, dtype=bool)} | ({} if pseudo else {RESIDUAL: ~judged})
    # a column is passed as such: refiners then know that the base score is among the features
    known = base if is_column(base) else scores
    return measure_refinements(
        lists, known, judgements, judged, refiner, parts, metrics, convention, pin_judged=pin_judged
    )


def measure_refinements(
    queries: Queries,
    base: Any,
    judgements: np.ndarray,
    judged: np.ndarray,
    refiner: Any,
    parts: Mapping[str, np.ndarray],
    metrics: Metrics,
    convention: str | Convention,
    notes: Sequence[str] = (),
    *,
    pin_judged: bool = False,
) -> FeedbackResult:
    """Evaluate the base and each refinement on each part of the documents."""
    refiners = dict(refiner) if isinstance(refiner, Mapping) else {REFINED: refiner}
    own = [BASE, SORTED] if pin_judged else [BASE]
    if not refiners or set(own) & set(refiners):
        named = " or ".join(f'"{name}"' for name in own)
        raise ValueError(f"refiner names {sorted(map(str, refiners))}; pass at least one, and none of them {named}.")
    scores = dict.fromkeys(own, as_base_score(base, queries))
    tables: dict[str, dict[str, Evaluation]] = {kind: {} for kind in parts}
    for name, one in {**dict.fromkeys(own), **refiners}.items():
        if one is not None:
            unlabelled = _with_labels(queries, None)
            scores[str(name)] = clone(one).fit(unlabelled, judgements, base_score=base).scores_
        if pin_judged and name != BASE:
            scores[str(name)] = queries.pin_judged(scores[str(name)], judgements)
        for kind, is_measured in parts.items():  # the base comes first: errors are raised before the fits
            lists, own_scores = _rows(queries, is_measured), scores[str(name)][is_measured]
            tables[kind][str(name)] = evaluate(lists, own_scores, metrics=metrics, convention=convention)
    notes = list(notes)
    for kind in parts:
        n_gone = queries.n_queries - len(tables[kind][BASE])
        if n_gone:
            gone = count_of(n_gone, "query has no document that was", "queries have no document that was")
            notes.append(f"{gone} not judged and {'is' if n_gone == 1 else 'are'} left out ({kind})")
        notes += [f"{note} ({kind})" for note in tables[kind][BASE].notes]
    return FeedbackResult(tables, scores, queries, judged, notes)


def _judgements_by_rank(queries: Queries, scores: np.ndarray, n_judged: int, *, pseudo: bool) -> np.ndarray:
    """Return the labels of the first documents, or pseudo-labels; NaN for other documents."""
    query_of, indptr = queries.query_of_row, queries.grouped.indptr
    order = np.lexsort((-scores, query_of))  # stable: equal scores keep the order of the rows
    places = np.empty(queries.n_docs, dtype=np.int64)
    places[order] = np.arange(queries.n_docs) - indptr[:-1][query_of[order]]
    if not pseudo:
        return np.where(places < n_judged, queries.labels, np.nan)
    lengths = np.diff(indptr)[query_of]
    n_guessed = np.minimum(n_judged, lengths // 2)
    return np.select([places >= lengths - n_guessed, places < n_guessed], [0.0, 1.0], np.nan)


def _with_labels(queries: Queries, labels: np.ndarray | None) -> Queries:
    """Return the same documents with other labels."""
    return queries.replace(y=labels, docid=queries.docid, comments=None)


def _rows(queries: Queries, is_kept: np.ndarray) -> Queries:
    """Return some documents without their features; queries without such documents are left out."""
    if not is_kept.any():
        raise ValueError("every document of every query is judged; nothing is left to evaluate. Lower n_judged.")
    docid = None if queries.docid is None else queries.docid[is_kept]
    return Queries(np.zeros((int(is_kept.sum()), 0)), queries.labels[is_kept], queries.qid[is_kept], docid=docid)
