"""Training of a ranker on the judgements of a collection, with a cross-validated comparison."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from plackett.apps.workbench.collections.base import CANDIDATES, Collection
from plackett.apps.workbench.jobs import Report
from plackett.apps.workbench.refining import labels_of_pairs
from plackett.apps.workbench.runs import UNJUDGED, Ranking, compare_rankings, finite, share_judged, shares_in_words
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import FROZEN_DEPTH, RELEVANT_FROM
from plackett.data.queries import Queries
from plackett.evaluation.select.select import select
from plackett.evaluation.splits import QueryKFold
from plackett.rankers.base import Ranker
from plackett.rankers.linear.ranker import LinearRanker
from plackett.validation import count_of

METRICS = ("ndcg@10", "ndcg@5", "map")  # the first decides
MIN_QUERIES = 3
N_FOLDS = 5
MIN_QUERIES_TO_TUNE = 10  # with fewer, the validation sets would be too small
PENALTIES = (0.01, 0.1, 1.0)
FEW_QUERIES = 20  # below this number, differences are rarely significant
FEATURES_SHOWN = 10


class TooFewJudgements(ValueError):
    """There are too few judgements to train on."""


class Trained(NamedTuple):
    """A trained ranker, and its comparison with the base ranker as a JSON object.

    ``files`` are the model files of the ranker and of those that were each trained without some of the queries;
    ``fold_of`` has by query that was trained on the number of the one that was trained without it, from 1.
    """

    files: list[bytes]
    summary: dict[str, Any]
    fold_of: dict[str, int]


class _Lists(NamedTuple):
    """The lists to train on, with counts for the notes.

    ``n_outside`` of ``n_relevant`` relevant documents are not among the candidates that a ranker reorders.
    """

    queries: Queries
    n_from_preferences: int
    n_relevant: int
    n_outside: int


def train(
    collection: Collection,
    by_query: Mapping[str, Judged],
    *,
    base: str = "",
    base_ranking: Callable[[str], Ranking] | None = None,
    report: Report = lambda share, message: None,
) -> Trained:
    """Train a ranker on judgements by query, and compare it with ``base`` on queries that it was not trained on.

    A list is a query with the documents that a trained ranker reorders, the first ones of the collection's default
    ranker. The label of a document is its grade, or without one the label that preferences imply
    (``labels_of_pairs``), or else 0: documents without a judgement count as not relevant. Lists with a single label
    have no order to learn and are skipped.

    Both rankers are measured on all queries with a grade by ``compare_rankings``, as on the scoreboard. The ranker is
    linear, on scaled columns, with a penalty that is tuned on validation queries if there are enough.
    ``TooFewJudgements`` is raised, and what ``report`` raises to end the training.
    """
    start = time.perf_counter()
    report(0.0, "Reading the judgements")
    lists = _training_lists(collection, by_query, report)
    n_queries = lists.queries.n_queries
    n_folds = min(N_FOLDS, n_queries)
    is_tuned = n_queries >= MIN_QUERIES_TO_TUNE
    model = LinearRanker("listmle", l2=PENALTIES[1], normalize="zscore")
    folds, chosen = [], []
    fold_of: dict[str, int] = {}
    for number, fold in enumerate(QueryKFold(n_folds, validation=is_tuned).folds(lists.queries), 1):
        words = f"Training on {count_of(n_queries, 'query', 'queries')}, part {number} of {n_folds}"
        report(0.3 + 0.4 * (number - 1) / n_folds, words)
        if is_tuned:
            found = select(model, fold.train, {"l2": list(PENALTIES)}, validation=fold.validation, progress=False)
            folds.append(found.best_)
            chosen.append(found.best_params["l2"])
        else:
            folds.append(clone(model).fit(fold.train))
        fold_of |= dict.fromkeys(map(str, fold.test.ids.tolist()), number)
    report(0.7, "Training on all queries")
    if is_tuned:  # the penalty that most folds chose; the largest if several tie
        model.set_params(l2=max(PENALTIES, key=lambda value: (chosen.count(value), value)))
    models = [model.fit(lists.queries), *folds]
    base = base or collection.base_rankers()[0]
    rankers: dict[str, Callable[[str], Ranking]] = {
        "base": base_ranking or partial(ranking_of, collection, base=base),
        "trained": lambda query: ranking_of(collection, query, "trained", models[fold_of.get(query, 0)]),
    }
    measured = _measured(by_query, rankers, report)
    strongest = np.argsort(-np.abs(model.coef_), kind="stable")[:FEATURES_SHOWN].tolist()
    summary = {
        "base": base,
        "n_queries": n_queries,
        "n_documents": lists.queries.n_docs,
        "n_from_preferences": lists.n_from_preferences,
        "n_folds": n_folds,
        **measured,
        "features": [[collection.feature_names[one], float(model.coef_[one])] for one in strongest if model.coef_[one]],
        "notes": _notes(collection, lists, measured, base),
        "seconds": round(time.perf_counter() - start, 3),
    }
    report(1.0, "Done")
    return Trained([_saved(one) for one in models], summary, fold_of)


def ranking_of(collection: Collection, query: str, base: str, ranker: Ranker | None = None) -> Ranking:
    """Return the ranking of a query by a base ranker or another fitted one, as deep as it is measured."""
    hits = collection.find(query, base, FROZEN_DEPTH, ranker=ranker)
    return Ranking(hits.docid, hits.scores.tolist())


def _saved(ranker: Ranker) -> bytes:
    buffer = io.BytesIO()
    ranker.save(buffer)
    return buffer.getvalue()


def _training_lists(collection: Collection, by_query: Mapping[str, Judged], report: Report) -> _Lists:
    """Return the lists in which documents have different labels."""
    parts, n_inferred, n_relevant, n_outside = [], 0, 0, 0
    for number, (query, judged) in enumerate(by_query.items(), 1):
        report(0.3 * number / len(by_query), f"Features of query {number} of {len(by_query)}")
        inferred = labels_of_pairs(judged.labels, judged.pairs)
        labels = {**judged.labels, **inferred}
        try:
            hits = collection.find(query, k=CANDIDATES)
        except ValueError:  # the default ranker cannot parse the query
            continue
        relevant = {docid for docid, label in labels.items() if label >= RELEVANT_FROM and docid in collection}
        n_relevant += len(relevant)
        n_outside += len(relevant.difference(hits.docid))
        y = [labels.get(docid, 0.0) for docid in hits.docid]
        if len(set(y)) > 1:
            qid = [query] * len(y)
            parts.append(Queries(hits.X, y, qid, docid=hits.docid, feature_names=collection.feature_names))
            n_inferred += len(inferred.keys() & set(hits.docid))
    if len(parts) < MIN_QUERIES:
        raise TooFewJudgements(
            f"there {'is' if len(parts) == 1 else 'are'} {count_of(len(parts), 'query', 'queries')} with documents of "
            f"different grades among the first {CANDIDATES} of {collection.base_rankers()[0]}; training needs "
            f"{MIN_QUERIES}. Judge relevant and non-relevant results of more queries."
        )
    return _Lists(Queries.concat(parts), n_inferred, n_relevant, n_outside)


def _measured(
    by_query: Mapping[str, Judged], rankers: Mapping[str, Callable[[str], Ranking]], report: Report
) -> dict[str, Any]:
    """Return the number of queries, means and differences by measure, and the judged share of each first ten.

    All are empty if no document has a grade.
    """
    labels = {query: judged.labels for query, judged in by_query.items() if judged.labels}
    rankings: dict[str, dict[str, Ranking]] = {name: {} for name in rankers}
    for number, query in enumerate(list(labels)):
        report(0.75 + 0.2 * number / len(labels), f"Comparing on query {number + 1} of {len(labels)}")
        try:
            found = {name: ranking(query) for name, ranking in rankers.items()}
        except ValueError:  # the base ranker cannot parse the query: it is left out, as on the scoreboard
            del labels[query]
            continue
        for name, ranking in found.items():
            rankings[name][query] = ranking
    if not labels:
        return {"n_measured": 0, "metrics": {}, "judged": {}}
    report(0.95, "Measuring")
    compared = compare_rankings(labels, rankings, METRICS)
    means, metrics = compared.mean(), {}
    for metric in compared.metrics:
        (difference,) = compared.differences(metric, against="base")
        metrics[metric] = {name: finite(means[name][metric]) for name in rankers} | {
            "difference": finite(difference.mean),
            "low": finite(difference.low),
            "high": finite(difference.high),
            "p_value": finite(difference.p_random),
        }
    shares = {name: share_judged(labels, of) for name, of in rankings.items()}
    return {"n_measured": len(labels), "metrics": metrics, "judged": shares}


def _notes(collection: Collection, lists: _Lists, measured: dict[str, Any], base: str) -> list[str]:
    notes = ["No document has a grade, so there is nothing to measure on."]
    if measured["n_measured"]:
        n, shares = count_of(measured["n_measured"], "query", "queries"), measured["judged"]
        notes = [f"Measured on {n}, each with a ranker that was trained without it. {UNJUDGED}"]
        notes += filter(None, shares_in_words({base: shares["base"], "the trained ranker": shares["trained"]})[:1])
    if lists.n_outside:
        notes.append(
            f"{lists.n_outside} of {lists.n_relevant} relevant documents are not among the first {CANDIDATES} of "
            f"{collection.base_rankers()[0]}, which is what the ranker reorders: it cannot find them."
        )
    if lists.n_from_preferences:
        n = count_of(lists.n_from_preferences, "document has its label", "documents have their labels")
        notes.append(
            f"{n} from preferences: relevant if preferred in all its pairs, not relevant if preferred in none."
        )
    if lists.queries.n_queries < FEW_QUERIES:
        n = count_of(lists.queries.n_queries, "query", "queries")
        notes.append(f"With {n} only a large difference is significant; {FEW_QUERIES} or more are better.")
    return notes
