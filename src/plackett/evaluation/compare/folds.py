"""Fits of all contestants in all folds, one after the other or in parallel worker processes.

In each fold the validation queries choose one candidate of a contestant's grid, and its fit scores the test documents.
Test queries are passed without labels, so that no fit can use them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett._progress import Progress, Reporter, is_bar, tell
from plackett._threads import n_threads, results, set_n_threads
from plackett._warnings import recorded
from plackett.data.queries import Queries
from plackett.evaluation import estimators
from plackett.evaluation.compare.comparison import FoldFit
from plackett.evaluation.compare.contestants import Contestant, filled
from plackett.evaluation.compare.insight import FoldInsight, fold_insight
from plackett.evaluation.evaluate import check_judged, evaluate, parse_metrics
from plackett.evaluation.reference_scores import SingleFeature, best_single_features
from plackett.evaluation.select.attempts import Attempt, Judged, attempt
from plackett.evaluation.select.grids import error_line, seeded, with_params
from plackett.evaluation.select.selection import in_words
from plackett.evaluation.splits import Fold, with_validation
from plackett.evaluation.store.keys import data_fingerprint
from plackett.evaluation.store.results import Record, ResultStore
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.monitor import is_better
from plackett.storage.mapped import by_reference
from plackett.validation import check_seed, count_of

WARM_UP_QUERIES = 8


class Criteria(NamedTuple):
    """Measures and seed that hold for every contestant and fold."""

    select_by: Measure
    convention: Convention
    random_state: int
    measures: list[Measure]
    metrics: list[str]  # their names

    @classmethod
    def of(cls, metrics: Any, convention: Any, select_by: Any, random_state: int) -> Criteria:
        measures, names = parse_metrics(metrics)
        chosen = measures[0] if select_by is None else parse_metrics([select_by])[0][0]
        return cls(chosen, get_convention(convention), check_seed(random_state), measures, names)


@dataclass(frozen=True)
class FoldData:
    """The queries of a fold; the test documents have no labels.

    ``fingerprints`` are hashes of the sets; empty if results are not stored. ``labels`` are those of the test documents
    if the importance of features is computed, after the fit; estimators never get them.
    """

    number: int
    train: Queries
    validation: Queries | None
    test: Queries
    fingerprints: Mapping[str, str]
    labels: np.ndarray | None = None

    @classmethod
    def of_fold(cls, number: int, fold: Any, *, is_stored: bool, is_explained: bool) -> FoldData:
        test = fold.test.replace(y=None, comments=None, subtopics=None)
        sets = {"train": fold.train, "validation": fold.validation, "test": test}
        sets |= {"judged": fold.test} if is_explained else {}
        hashes = {role: data_fingerprint(queries) for role, queries in sets.items() if is_stored}
        return cls(number, fold.train, fold.validation, test, hashes, fold.test.labels if is_explained else None)

    def __reduce__(self) -> tuple:
        """Pickle memory-mapped rows as a reference to their file, for worker processes."""
        fields = tuple(getattr(self, field.name) for field in dataclasses.fields(self))
        return FoldData, tuple(map(by_reference, fields))


@dataclass(frozen=True)
class Outcome:
    """The result of one contestant in one fold: a fit and its test scores, or an error and the reason in one line.

    ``failed`` has a line for every candidate that could not be fitted.
    """

    name: str
    fold: int
    fit: FoldFit | None = None
    scores: np.ndarray | None = None
    warnings: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    error: Exception | None = None
    reason: str = ""
    is_stored: bool = False
    insight: FoldInsight | None = None


class Setup(NamedTuple):
    """Everything that a run needs, and all test queries with their labels."""

    contestants: list[Contestant]
    folds: list[FoldData]
    criteria: Criteria
    store: ResultStore
    stores: dict[str, ResultStore]
    queries: Queries
    fold_of: np.ndarray
    notes: list[str]

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures by their names."""
        return dict(zip(self.criteria.metrics, self.criteria.measures, strict=True))

    def rows_of(self, fold: int) -> slice:
        """Return the rows in ``queries`` of the test documents of a fold, counted from 1."""
        sizes = np.cumsum([0, *(one.test.n_docs for one in self.folds)])
        return slice(int(sizes[fold - 1]), int(sizes[fold]))

    def scores_of(self, outcomes: Sequence[Outcome]) -> np.ndarray:
        """Return the scores of all test documents by one contestant, in the order of ``queries``."""
        scores = np.empty(self.queries.n_docs)
        for outcome in outcomes:
            scores[self.rows_of(outcome.fold)] = outcome.scores
        return scores

    def notes_on(self, contestant: Contestant, outcomes: Sequence[Outcome]) -> list[str]:
        """Return remarks on a contestant: failed candidates, warnings, ties, results that were not stored."""
        name, notes = contestant.name, []
        if estimators.predicts_classes(contestant.estimator):
            notes.append(f"{name}: predict returns classes, which tie many documents; a regressor would rank them")
        if getattr(contestant.estimator, "is_frozen", False):
            notes.append(
                f"{name} is already trained and is not fitted; if it was trained on these queries, its "
                "values are optimistic"
            )
        partly = [outcome for outcome in outcomes if outcome.fit is not None and outcome.failed]
        if partly:
            n_failed = sum(len(outcome.failed) for outcome in partly)
            n_fits = sum(outcome.fit.n_candidates for outcome in outcomes if outcome.fit is not None)
            folds = f"fold{'s' if len(partly) > 1 else ''} {', '.join(str(outcome.fold) for outcome in partly)}"
            first = partly[0].failed[0]
            notes.append(f"{name}: {n_failed} of {count_of(n_fits, 'fit')} failed, in {folds}, the first with {first}")
        warned = [text for outcome in outcomes for text in outcome.warnings]
        if warned:
            notes.append(f"{name}: {count_of(len(warned), 'warning')}, the first: {warned[0].splitlines()[0]}")
        return notes + self.stores[name].notes


def prepare(
    contestants: Sequence[Contestant],
    criteria: Criteria,
    folds: list[Fold],
    folder: str | os.PathLike | None,
    missing: Any,
    encoding: str | None,
    *,
    is_explained: bool = False,
) -> Setup:
    """Check the folds, and prepare contestants for their data, before anything is fitted."""
    if any(_needs_validation(contestant) for contestant in contestants):  # all train on the same queries
        folds = [with_validation(fold, random_state=criteria.random_state) for fold in folds]
    store = ResultStore(folder)
    queries = Queries.concat([fold.test for fold in folds])
    for judged in (queries, *(fold.validation for fold in folds if fold.validation is not None)):
        check_judged(judged)
    contestants, notes = filled(contestants, queries, missing=missing, encoding=encoding)
    fold_of = np.repeat(np.arange(1, len(folds) + 1), [fold.test.n_queries for fold in folds])
    prepared = [
        FoldData.of_fold(number, fold, is_stored=folder is not None, is_explained=is_explained)
        for number, fold in enumerate(folds, 1)
    ]
    rules = (criteria.select_by, criteria.convention, criteria.measures[0])
    stores = {one.name: store.with_code(one.name, one.estimator, one.grid, *rules) for one in contestants}
    return Setup(contestants, prepared, criteria, store, stores, queries, fold_of, notes)


def _needs_validation(contestant: Contestant) -> bool:
    candidates = contestant.candidates()
    return len(candidates) > 1 or any(
        estimators.stops_on_validation(with_params(contestant.estimator, params)) for params in candidates
    )


# --- All contestants in all folds -------------------------------------------------------------------------------------


def run(
    setup: Setup, *, n_jobs: int | None, progress: Reporter, stops_at_error: bool = False
) -> dict[str, list[Outcome]]:
    """Return the outcomes of each contestant in every fold; they are the same for any number of jobs."""
    tasks = [
        (contestant, fold, setup.criteria, setup.stores[contestant.name], os.getpid())
        for contestant in setup.contestants
        for fold in setup.folds
    ]
    n_workers = n_parallel(n_jobs, len(tasks))
    answer: dict[str, list[Outcome]] = {contestant.name: [] for contestant in setup.contestants}
    left = [(contestant.name, fold.number) for contestant, fold, *_ in tasks]
    with Progress("comparing", len(tasks), is_shown=is_bar(progress)) as bar:
        bar.show(_running(left, n_workers))
        outcomes = in_workers(run_fold_safely, tasks, n_jobs, is_ordered=stops_at_error)
        for n_done, outcome in enumerate(outcomes, 1):
            answer[outcome.name].append(outcome)
            left.remove((outcome.name, outcome.fold))
            tell(progress, _progress_line(outcome, n_done, len(tasks)))
            bar.advance(_running(left, n_workers))
            if stops_at_error and outcome.error is not None:
                break
    return {name: sorted(outcomes, key=lambda outcome: outcome.fold) for name, outcomes in answer.items()}


def n_parallel(n_jobs: int | None, n_tasks: int) -> int:
    """Return how many tasks run at a time."""
    with importing:
        from joblib import effective_n_jobs

    return max(1, min(effective_n_jobs(n_jobs), n_tasks))


def in_workers(
    function: Callable[..., Any], tasks: Sequence[tuple], n_jobs: int | None, *, is_ordered: bool = False
) -> Iterator[Any]:
    """Yield ``function(*task)`` of each task; worker processes share the threads."""
    with importing:
        from joblib import delayed

    threads = max(1, n_threads() // n_parallel(n_jobs, len(tasks)))
    calls = (delayed(_on_threads)(function, task, threads, os.getpid()) for task in tasks)
    # joblib writes no arrays to temporary files
    return results(calls, is_ordered=is_ordered, n_jobs=n_jobs, max_nbytes=None)


def _on_threads(function: Callable[..., Any], task: tuple, threads: int, parent: int) -> Any:
    if os.getpid() != parent:
        set_n_threads(threads)
    return function(*task)


def _running(left: list[tuple[str, int]], n_workers: int) -> str:
    """Return the fits that run now: tasks are started in order, so these are the first that are left."""
    if not left:
        return ""
    (name, fold), n_others = left[0], min(n_workers, len(left)) - 1
    return f"{name}, fold {fold}" + (f", and {count_of(n_others, 'other')}" if n_others else "")


def _progress_line(outcome: Outcome, n_done: int, n_tasks: int) -> str:
    start = f"{n_done} of {n_tasks}: {outcome.name}, "
    if outcome.fit is None:
        return f"{start}{outcome.reason}"
    candidates = count_of(outcome.fit.n_candidates, "candidate")
    how = "already finished" if outcome.is_stored else f"{candidates} in {outcome.fit.seconds:.1f} s"
    how += f", {len(outcome.failed)} failed" if outcome.failed else ""
    return f"{start}fold {outcome.fold}: {how}"


# --- One contestant in one fold ---------------------------------------------------------------------------------------


def run_fold_safely(
    contestant: Contestant, data: FoldData, criteria: Criteria, store: ResultStore, parent: int
) -> Outcome:
    """`run_fold` with any error as part of the outcome; in a process other than ``parent`` one that can be pickled."""
    try:
        outcome = run_fold(contestant, data, criteria, store)
    except Exception as error:  # a contestant may raise anything; the others continue
        outcome = _failure(contestant, data, error)
    if outcome.error is None or os.getpid() == parent:
        return outcome
    return dataclasses.replace(outcome, error=_picklable(outcome.error))


def _failure(contestant: Contestant, data: FoldData, error: Exception, failed: Sequence[str] = ()) -> Outcome:
    words = error_line(error) if len(failed) < 2 else f"all {len(failed)} candidates failed, the first with {failed[0]}"
    reason = f"fold {data.number}: {words}"
    return Outcome(contestant.name, data.number, failed=tuple(failed), error=error, reason=reason)


def _picklable(error: Exception) -> Exception:
    """Return a copy of a built-in error, and a RuntimeError for others: their constructors may take any arguments."""
    if type(error).__module__ == "builtins" and all(isinstance(part, (str, int, float)) for part in error.args):
        return type(error)(*error.args)
    return RuntimeError(f"{type(error).__name__}: {error}")


def run_fold(contestant: Contestant, data: FoldData, criteria: Criteria, store: ResultStore) -> Outcome:
    """Try every candidate on the validation queries, and score the test documents by the best, the first if equal.

    A candidate that fails is never chosen. If all fail, the error of the first is the outcome. With a store, finished
    results are taken from it and new ones are stored at once. Fits are independent of each other, so the result does
    not depend on which of them were stored. Failed candidates are tried again.
    """
    params = contestant.candidates()
    candidates = [seeded(with_params(contestant.estimator, one), criteria.random_state) for one in params]
    n_candidates = len(candidates)
    hashes = {role: data.fingerprints.get(role) for role in ("train", "validation")}
    store = store.under(fold=data.number, **hashes, select_by=criteria.select_by, convention=criteria.convention)
    key = {"what": "scores", "estimators": candidates, "test": data.fingerprints.get("test")}
    failed: tuple[str, ...] = ()
    record, ranker = store.get(key), None
    is_stored = record is not None
    if record is None:
        attempts, best = _try_all(params, candidates, store, data, criteria)
        finished = [one for one in attempts if one.error is None]
        failed = tuple(f"{in_words(one.trial.params)}: {one.trial.error}" for one in attempts if one.error is not None)
        if best is None:
            return _failure(contestant, data, next(one.error for one in attempts if one.error is not None), failed)
        params, candidates = [one.trial.params for one in finished], [one.estimator for one in finished]
        key["estimators"] = candidates
        record = store.get(key) if failed else None
        is_stored = record is not None
        if record is None:
            record, ranker = _score(best, finished, data, criteria)
            store.put(key, record.values, record.array)
    place, warned = record.values["chosen"], tuple(record.values["warnings"])
    fit = FoldFit(data.number, params[place], n_candidates=n_candidates, **record.values["fit"])
    insight = None if data.labels is None else _insight(ranker, candidates[place], store, data, criteria)
    numbers = (contestant.name, data.number, fit, record.array)
    return Outcome(*numbers, warned, failed, is_stored=is_stored, insight=insight)


def _insight(ranker: Any, chosen: Any, store: ResultStore, data: FoldData, criteria: Criteria) -> FoldInsight:
    """Return why the chosen candidate orders the test documents as it does; if only its scores were stored, fit it."""
    judged, seed = data.fingerprints.get("judged"), criteria.random_state
    store = store.under(estimator=chosen, judged=judged, random_state=seed, measure=criteria.measures[0])
    stored = store.get({"what": "insight"})
    if stored is not None:
        return FoldInsight(**stored.values, drops=np.asarray(stored.array))
    with recorded():  # the warnings of the fit are in its attempt
        fitted = _fit(chosen, data, criteria) if ranker is None else ranker
        found = fold_insight(
            fitted, data.test, np.asarray(data.labels), criteria.measures[0], criteria.convention, seed
        )
    values = found._asdict()
    store.put({"what": "insight"}, values, values.pop("drops"))
    return found


def _try_all(
    params: list[dict[str, Any]], candidates: list[Any], store: ResultStore, data: FoldData, criteria: Criteria
) -> tuple[list[Attempt], Attempt | None]:
    """Return the attempts at all candidates, and the first of the best; only this one keeps its fit."""
    attempts: list[Attempt] = []
    best: Attempt | None = None
    judge = functools.partial(_judge, data=data, criteria=criteria)
    for one, candidate in zip(params, candidates, strict=True):
        tried = attempt(one, candidate, judge, store)
        so_far = None if best is None or math.isnan(best.trial.value) else best.trial.value
        if tried.error is None and (best is None or is_better(tried.trial.value, so_far, criteria.select_by)):
            best = tried
        attempts.append(tried)
        for other in attempts:
            other.fitted = other.fitted if other is best else None
    return attempts, best


def _judge(estimator: Any, data: FoldData, criteria: Criteria) -> Judged:
    """Return the mean on the validation queries, and the seconds of the fit alone."""
    with recorded():
        _warm_up(estimator, data, criteria)
    validation, start = math.nan, time.perf_counter()
    ranker = _fit(estimator, data, criteria)
    seconds = time.perf_counter() - start
    if data.validation is not None:
        scores = estimators.predict(ranker, data.validation)
        table = evaluate(data.validation, scores, metrics=[criteria.select_by], convention=criteria.convention)
        validation = table.mean()[str(criteria.select_by)]
    return Judged(validation, ranker, seconds)


_warm: set[type] = set()  # classes of rankers that were fitted in this process


def _warm_up(estimator: Any, data: FoldData, criteria: Criteria) -> None:
    """Fit a class to a few queries before its first timed fit, which would include imports and the start of threads.

    Only our own rankers: the ``fit`` of other estimators may have side effects.
    """
    if type(estimator) in _warm or not type(estimator).__module__.startswith("plackett."):
        return
    _warm.add(type(estimator))
    few = dataclasses.replace(data, train=data.train[:WARM_UP_QUERIES])
    with contextlib.suppress(Exception):  # the queries may be too few; the timed fit reports real errors
        _fit(estimator, few, criteria)


def _fit(estimator: Any, data: FoldData, criteria: Criteria) -> Any:
    # early stopping uses the measure and convention of the selection
    metric = criteria.select_by.under(criteria.convention)
    return estimators.fit_copy(estimator, data.train, data.validation, metric)


def _score(best: Attempt, finished: list[Attempt], data: FoldData, criteria: Criteria) -> tuple[Record, Any]:
    """Return the test scores of the best candidate and how it was chosen, and its fit."""
    with recorded():  # the warnings of the fit are in its attempt; if only its trial was stored, the fit is the same
        fitted = _fit(best.estimator, data, criteria) if best.fitted is None else best.fitted
        scores = estimators.predict(fitted, data.test)
    seconds = sum(one.trial.seconds for one in finished)
    fit = {"validation": best.trial.value, "seconds": seconds, "history": history_of(fitted)}
    return Record({"chosen": finished.index(best), "fit": fit, "warnings": best.warnings}, scores), fitted


def history_of(ranker: Any) -> list[dict[str, float]] | None:
    """Return the ``history_`` of a fitted ranker as one dict per iteration; None without a ``history_``."""
    history = getattr(ranker, "history_", None)
    columns = {
        str(name): [float(value) for value in values]
        for name, values in (history.items() if isinstance(history, Mapping) else ())
        if isinstance(values, (list, np.ndarray)) and len(values) and all(np.ndim(value) == 0 for value in values)
    }
    length = max(map(len, columns.values()), default=0)
    whole = {name: values for name, values in columns.items() if len(values) == length}
    return [dict(zip(whole, step, strict=True)) for step in zip(*whole.values(), strict=True)] or None


def best_features_of(data: FoldData, criteria: Criteria, store: ResultStore) -> list[SingleFeature]:
    """Return for each measure the feature that ranks the training queries of a fold best."""
    key = {"what": "best feature", "train": data.fingerprints.get("train"), "measures": criteria.measures}
    store = store.under(convention=criteria.convention)
    stored = store.get(key)
    if stored is not None:
        return [SingleFeature(*one) for one in stored.values["features"]]
    lists = JudgedLists.of_queries(data.train)
    features = best_single_features(criteria.measures, lists, criteria.convention, data.train)
    store.put(key, {"features": [list(feature) for feature in features]})
    return features
