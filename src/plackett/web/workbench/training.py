"""From all judgements of a collection to a ranker, compared with the base ranker on queries that it has not seen."""

from __future__ import annotations

import io
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.compare.cross_validate import CrossValidation, cross_validate
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.significance import bootstrap_interval, randomisation
from plackett.evaluation.splits import QueryKFold
from plackett.rankers.base import Ranker
from plackett.rankers.linear.ranker import LinearRanker
from plackett.validation import count_of
from plackett.web.collections.base import Collection
from plackett.web.workbench.pool import judged_lists, merged
from plackett.web.workbench.refining import Judged, labels_of_pairs

if TYPE_CHECKING:
    from plackett.web.store.records import Judgement, Preference

METRICS = ("ndcg@5", "ndcg@10", "map")
FEWEST_QUERIES = 3
N_FOLDS = 5
CHOOSES_FROM = 10  # queries; with fewer, parts to choose on would be too small
STRENGTHS = (0.01, 0.1, 1.0)  # of the penalty
FEW = 20  # queries, below which nothing is told apart
FEATURES_SHOWN = 10

Progress = Callable[[float, str], None]


class Cancelled(Exception):
    """The training was cancelled; nothing was kept."""


class TooFewJudgements(ValueError):
    """There is not enough to learn from; the message says what is missing."""


class Trained(NamedTuple):
    """A ranker and how it compares.

    Attributes
    ----------
    ranker : Ranker
        Fitted on all judged lists.
    data : bytes
        Its file, as ``plackett.load`` reads it.
    summary : dict
        Ready for JSON: "base", "n_queries", "n_documents", "n_from_preferences" (those of the documents whose label
        came from preferences), "n_folds", "metrics" (for each the means "base" and "trained", their "difference" with
        "low" and "high", the ends of its 95 % interval, and the "p_value" of a randomisation test over queries),
        "features" (the strongest, with their coefficients), "notes", "seconds".
    """

    ranker: Ranker
    data: bytes
    summary: dict[str, Any]


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
    """A ranker trained on all judgements, cross-validated against the base ranker.

    A list is a query with its judged documents. The label is the mean grade of all users; where nobody gave one, it is
    what preferences say (``labels_of_pairs``). Lists of one document, or of one label, say nothing about an order and
    are left out. The means compared are over judged documents only.

    Parameters
    ----------
    collection : Collection
    judgements, preferences : iterables, as the store gives them
    base : str, default=""
        The base ranker that it is compared with; "" means the first.
    ranker : Ranker, default=None
        Unfitted; None means ``LinearRanker("listmle")`` on scaled columns, with a penalty that is chosen on held-back
        queries where there are enough of them.
    progress : callable, default=None
        Called with a share from 0 to 1 and some words.
    cancel : threading.Event, default=None
        Once it is set, the training ends with ``Cancelled``, at the latest after the fit that is under way.

    Raises
    ------
    TooFewJudgements, Cancelled
    """
    start = time.perf_counter()
    tell = _Teller(progress, cancel)
    tell(0.0, "Looking at the judgements")
    lists, scores, n_from_preferences = _lists(collection, merged(judgements, preferences), base, tell)
    n_folds = min(N_FOLDS, lists.n_queries)
    is_choosing = ranker is None and lists.n_queries >= CHOOSES_FROM
    model = LinearRanker("listmle", l2=STRENGTHS[1], normalize="zscore") if ranker is None else ranker
    done = iter(range(1, n_folds + 1))
    tell(0.3, f"Training on {count_of(lists.n_queries, 'query', 'queries')}, part 1 of {n_folds}")
    validated = cross_validate(
        model,
        lists,
        cv=QueryKFold(n_folds, validation=is_choosing),
        grid={"l2": list(STRENGTHS)} if is_choosing else None,
        metrics=list(metrics),
        progress=lambda _: tell(0.3 + 0.6 * next(done) / n_folds, "Comparing on queries that it has not seen"),
    )
    tell(0.9, "Training on all queries")
    if is_choosing:
        model.set_params(l2=_most_chosen(validated))
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
        "features": _strongest(model, collection.feature_names),
        "notes": _notes(lists, n_from_preferences, validated),
        "seconds": round(time.perf_counter() - start, 3),
    }
    tell(1.0, "Done")
    return Trained(model, buffer.getvalue(), summary)


class _Teller:
    """Tells progress, and stops where that is wished."""

    def __init__(self, progress: Progress | None, cancel: threading.Event | None):
        self._progress, self._cancel = progress, cancel

    def __call__(self, share: float, words: str) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled("the training was cancelled.")
        if self._progress is not None:
            self._progress(share, words)


def _lists(
    collection: Collection, by_query: dict[str, Judged], base: str, tell: _Teller
) -> tuple[Queries, np.ndarray, int]:
    """Judged lists with features, the base scores of their documents, and how many have a label from preferences."""
    inferred = {query: labels_of_pairs(judged.labels, judged.pairs) for query, judged in by_query.items()}
    labelled = {query: {**judged.labels, **inferred[query]} for query, judged in by_query.items()}
    useful = {query: labels for query, labels in labelled.items() if len(set(labels.values())) > 1}
    _check_enough(len(useful))
    parts, scores, n_inferred = [], [], 0
    for number, (query, labels) in enumerate(useful.items(), 1):
        tell(0.3 * number / len(useful), f"Features of query {number} of {len(useful)}")
        try:
            queries, base_scores = judged_lists(collection, {query: Judged(labels, [])}, base)
        except ValueError:  # none of its documents is there any more
            continue
        if np.unique(queries.labels).size > 1:
            parts.append(queries)
            scores.append(base_scores)
            assert queries.docid is not None  # judged lists name their documents
            n_inferred += len(inferred[query].keys() & set(queries.docid.tolist()))
    _check_enough(len(parts))
    return Queries.concat(parts), np.concatenate(scores), n_inferred


def _check_enough(n_queries: int) -> None:
    if n_queries < FEWEST_QUERIES:
        raise TooFewJudgements(
            f"there {'is' if n_queries == 1 else 'are'} {count_of(n_queries, 'query', 'queries')} with documents of "
            f"different grades; training needs {FEWEST_QUERIES}. Judge a good and a bad result of some more queries."
        )


def _most_chosen(validated: CrossValidation) -> float:
    """The penalty that most folds chose; of several the strongest."""
    chosen = [fit.params["l2"] for fit in validated.fits]
    return max(STRENGTHS, key=lambda value: (chosen.count(value), value))


def _compared(
    validated: CrossValidation, lists: Queries, scores: np.ndarray, metrics: tuple[str, ...]
) -> dict[str, dict[str, float | None]]:
    base = evaluate(lists, scores, metrics=list(metrics))
    place = {key: number for number, key in enumerate(lists.ids.tolist())}
    order = [place[key] for key in validated.queries.ids.tolist()]
    answer = {}
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
        answer[metric] = {name: float(value) if math.isfinite(value) else None for name, value in values.items()}
    return answer


def _strongest(ranker: Any, names: list[str]) -> list[list[Any]]:
    coef = getattr(ranker, "coef_", None)
    if not isinstance(coef, np.ndarray) or coef.shape != (len(names),):
        return []
    order = np.argsort(-np.abs(coef), kind="stable")[:FEATURES_SHOWN]
    return [[names[column], float(coef[column])] for column in order.tolist() if coef[column]]


def _notes(lists: Queries, n_from_preferences: int, validated: CrossValidation) -> list[str]:
    notes = ["Measured on judged documents only, each query by a ranker that was trained without it."]
    if n_from_preferences:
        n = count_of(n_from_preferences, "document has its label", "documents have their labels")
        notes.append(
            f"{n} from preferences: what was only ever preferred is relevant, what was only ever beaten is not."
        )
    if lists.n_queries < FEW:
        n = count_of(lists.n_queries, "query", "queries")
        notes.append(f"With {n} only a large difference can be told from chance; {FEW} or more say much more.")
    return [*notes, *validated.notes]
