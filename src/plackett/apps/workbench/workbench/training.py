"""Training of a ranker on the judgements of a collection, with a cross-validated comparison."""

from __future__ import annotations

import io
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.records import Judged, Judgement, Preference
from plackett.apps.workbench.workbench.pooled_judgements import graded_hits, pool_judgements
from plackett.apps.workbench.workbench.refining import labels_of_pairs
from plackett.data.queries import Queries
from plackett.evaluation.compare.cross_validate import CrossValidation, cross_validate
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.significance import bootstrap_interval, randomisation
from plackett.evaluation.splits import QueryKFold
from plackett.rankers.base import Ranker
from plackett.rankers.linear.ranker import LinearRanker
from plackett.validation import count_of

METRICS = ("ndcg@5", "ndcg@10", "map")
MIN_QUERIES = 3
N_FOLDS = 5
MIN_QUERIES_TO_TUNE = 10  # with fewer, the validation sets would be too small
PENALTIES = (0.01, 0.1, 1.0)
FEW_QUERIES = 20  # below this number, differences are rarely significant
FEATURES_SHOWN = 10

Progress = Callable[[float, str], None]


class Cancelled(Exception):
    """The training was cancelled; nothing was saved."""


class TooFewJudgements(ValueError):
    """There are too few judgements to train on."""


class Trained(NamedTuple):
    """A trained ranker and its comparison with the base ranker.

    Attributes
    ----------
    ranker : Ranker
        Fitted on all judged lists.
    data : bytes
        Its model file, for ``plackett.load``.
    summary : dict
        A JSON object: "base", "n_queries", "n_documents", "n_from_preferences" (documents whose label comes from
        preferences), "n_folds", "metrics" (for each the means "base" and "trained", their "difference" with the ends
        "low" and "high" of its 95 % interval, and the "p_value" of a randomisation test over queries), "features" (the
        strongest, with their coefficients), "notes", "seconds".
    queries : list of str
        The queries that it was trained on.
    """

    ranker: Ranker
    data: bytes
    summary: dict[str, Any]
    queries: list[str]


def train(
    collection: Collection,
    judgements: Iterable[Judgement],
    preferences: Iterable[Preference] = (),
    *,
    base: str = "",
    ranker: Ranker | None = None,
    metrics: tuple[str, ...] = METRICS,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Trained:
    """Train a ranker on all judgements, and compare it with the base ranker by cross-validation.

    A list is a query with its judged documents. The label is the mean grade of all users, or without grades the label
    that preferences imply (``labels_of_pairs``). Lists with a single label have no order to learn and are skipped. The
    metrics are computed on judged documents only.

    Parameters
    ----------
    collection : Collection
    judgements, preferences : iterables, as the store returns them
    base : str, default=""
        The base ranker to compare with; "" means the first.
    ranker : Ranker, default=None
        An unfitted ranker; None means ``LinearRanker("listmle")`` on scaled columns, with a penalty that is tuned on
        validation queries if there are enough queries.
    metrics : tuple of str, default=("ndcg@5", "ndcg@10", "map")
    progress : callable, default=None
        Called with a share from 0 to 1 and a message.
    cancel : threading.Event, default=None
        Once it is set, the training raises ``Cancelled``, at the latest after the current fit.

    Returns
    -------
    Trained

    Raises
    ------
    TooFewJudgements, Cancelled
    """
    start = time.perf_counter()

    def report(share: float, message: str) -> None:
        if cancel is not None and cancel.is_set():
            raise Cancelled("the training was cancelled.")
        if progress is not None:
            progress(share, message)

    report(0.0, "Reading the judgements")
    lists, scores, n_from_preferences = _training_lists(
        collection, pool_judgements(judgements, preferences), base, report
    )
    n_folds = min(N_FOLDS, lists.n_queries)
    is_tuned = ranker is None and lists.n_queries >= MIN_QUERIES_TO_TUNE
    model = LinearRanker("listmle", l2=PENALTIES[1], normalize="zscore") if ranker is None else ranker
    folds = iter(range(1, n_folds + 1))
    report(0.3, f"Training on {count_of(lists.n_queries, 'query', 'queries')}, part 1 of {n_folds}")
    validated = cross_validate(
        model,
        lists,
        cv=QueryKFold(n_folds, validation=is_tuned),
        grid={"l2": list(PENALTIES)} if is_tuned else None,
        metrics=list(metrics),
        progress=lambda _: report(0.3 + 0.6 * next(folds) / n_folds, "Comparing on held-out queries"),
    )
    report(0.9, "Training on all queries")
    if is_tuned:
        model.set_params(l2=_most_frequent_penalty(validated))
    model.fit(lists)
    buffer = io.BytesIO()
    model.save(buffer)
    summary = {
        "base": base or collection.base_rankers()[0],
        "n_queries": lists.n_queries,
        "n_documents": lists.n_docs,
        "n_from_preferences": n_from_preferences,
        "n_folds": n_folds,
        "metrics": _compared(validated, lists, scores, metrics),
        "features": _strongest_features(model, collection.feature_names),
        "notes": _notes(lists, n_from_preferences, validated),
        "seconds": round(time.perf_counter() - start, 3),
    }
    report(1.0, "Done")
    return Trained(model, buffer.getvalue(), summary, [str(one) for one in lists.ids.tolist()])


def _training_lists(
    collection: Collection, by_query: dict[str, Judged], base: str, report: Progress
) -> tuple[Queries, np.ndarray, int]:
    """Return judged lists with features, their base scores, and the number of labels from preferences."""
    inferred = {query: labels_of_pairs(judged.labels, judged.pairs) for query, judged in by_query.items()}
    labelled = {query: {**judged.labels, **inferred[query]} for query, judged in by_query.items()}
    useful = {query: labels for query, labels in labelled.items() if len(set(labels.values())) > 1}
    _check_enough(len(useful))
    parts, scores, n_inferred = [], [], 0
    for number, (query, labels) in enumerate(useful.items(), 1):
        report(0.3 * number / len(useful), f"Features of query {number} of {len(useful)}")
        hits = graded_hits(collection, query, labels, base)
        if hits is not None and len({labels[docid] for docid in hits.docid}) > 1:
            y, qid = [labels[docid] for docid in hits.docid], [query] * len(hits.docid)
            parts.append(Queries(hits.X, y, qid, docid=hits.docid, feature_names=collection.feature_names))
            scores.append(hits.scores)
            n_inferred += len(inferred[query].keys() & set(hits.docid))
    _check_enough(len(parts))
    return Queries.concat(parts), np.concatenate(scores), n_inferred


def _check_enough(n_queries: int) -> None:
    if n_queries < MIN_QUERIES:
        raise TooFewJudgements(
            f"there {'is' if n_queries == 1 else 'are'} {count_of(n_queries, 'query', 'queries')} with documents of "
            f"different grades; training needs {MIN_QUERIES}. Judge relevant and non-relevant results of more queries."
        )


def _most_frequent_penalty(validated: CrossValidation) -> float:
    """Return the penalty that most folds chose; the largest if several tie."""
    chosen = [fit.params["l2"] for fit in validated.fits]
    return max(PENALTIES, key=lambda value: (chosen.count(value), value))


def _compared(
    validated: CrossValidation, lists: Queries, scores: np.ndarray, metrics: tuple[str, ...]
) -> dict[str, dict[str, float | None]]:
    base = evaluate(lists, scores, metrics=list(metrics))
    place = {key: number for number, key in enumerate(lists.ids.tolist())}
    order = [place[key] for key in validated.queries.ids.tolist()]
    compared = {}
    for metric in metrics:
        trained, own = validated.evaluation[metric], base[metric][order]
        low, high = bootstrap_interval(trained - own)
        values = {
            "base": own.mean(),
            "trained": trained.mean(),
            "difference": (trained - own).mean(),
            "low": low,
            "high": high,
            "p_value": randomisation(trained, own),
        }
        compared[metric] = {name: float(value) if math.isfinite(value) else None for name, value in values.items()}
    return compared


def _strongest_features(ranker: Any, names: list[str]) -> list[list[Any]]:
    coef = getattr(ranker, "coef_", None)
    if not isinstance(coef, np.ndarray) or coef.shape != (len(names),):
        return []
    order = np.argsort(-np.abs(coef), kind="stable")[:FEATURES_SHOWN]
    return [[names[column], float(coef[column])] for column in order.tolist() if coef[column]]


def _notes(lists: Queries, n_from_preferences: int, validated: CrossValidation) -> list[str]:
    notes = ["Measured on judged documents only, each query with a ranker that was trained without it."]
    if n_from_preferences:
        n = count_of(n_from_preferences, "document has its label", "documents have their labels")
        notes.append(
            f"{n} from preferences: relevant if preferred in all its pairs, not relevant if preferred in none."
        )
    if lists.n_queries < FEW_QUERIES:
        n = count_of(lists.n_queries, "query", "queries")
        notes.append(f"With {n} only a large difference is significant; {FEW_QUERIES} or more are better.")
    return [*notes, *validated.notes]
