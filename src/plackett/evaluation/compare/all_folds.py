"""Every contestant in every fold: prepared once, run one after the other or side by side, put together again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import n_threads, results
from plackett.data.queries import Queries
from plackett.evaluation.compare.contestants import Contestant
from plackett.evaluation.compare.one_fold import FoldData, Outcome, Rules, attempt, fold_data
from plackett.evaluation.evaluate import _parse_metrics, check_judged
from plackett.evaluation.select.estimators import gives_classes, stops_on_validation
from plackett.evaluation.splits import as_folds, with_validation
from plackett.evaluation.store.runs import RunStore
from plackett.evaluation.store.settings import with_setting
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.measure import Measure
from plackett.validation import check_seed, count_of

Progress = Callable[[str], Any]


class Setup(NamedTuple):
    """What a run needs: contestants, folds, rules, a place for results; and all test queries, with labels."""

    contestants: list[Contestant]
    folds: list[FoldData]
    rules: Rules
    metrics: list[str]
    store: RunStore | None
    queries: Queries
    fold_of: np.ndarray

    def rows_of(self, fold: int) -> slice:
        """The rows in ``queries`` of the test documents of a fold, counted from 1."""
        sizes = np.cumsum([0, *(one.test.n_docs for one in self.folds)])
        return slice(int(sizes[fold - 1]), int(sizes[fold]))


def prepare(
    contestants: Sequence[Contestant],
    data: Any,
    *,
    cv: Any,
    metrics: Any,
    convention: str | Convention,
    select_by: str | Measure | None,
    folder: str | os.PathLike | None,
    random_state: int,
) -> Setup:
    """Everything checked before anything is fitted."""
    measures, names = _parse_metrics(metrics)
    rules = Rules(
        select_by=measures[0] if select_by is None else _parse_metrics([select_by])[0][0],
        convention=get_convention(convention),
        random_state=check_seed(random_state),
        measures=measures,
    )
    folds = as_folds(cv, data)
    if any(_needs_validation(contestant) for contestant in contestants):  # all train on the same queries
        folds = [with_validation(fold, random_state=random_state) for fold in folds]
    store = None if folder is None else RunStore(folder)
    queries = Queries.concat([fold.test for fold in folds])
    for judged in (queries, *(fold.validation for fold in folds if fold.validation is not None)):
        check_judged(judged)  # an error now rather than after all the fits
    fold_of = np.repeat(np.arange(1, len(folds) + 1), [fold.test.n_queries for fold in folds])
    prepared = [fold_data(number, fold, is_stored=store is not None) for number, fold in enumerate(folds, 1)]
    return Setup(list(contestants), prepared, rules, names, store, queries, fold_of)


def _needs_validation(contestant: Contestant) -> bool:
    settings = contestant.settings()
    return len(settings) > 1 or any(
        stops_on_validation(with_setting(contestant.estimator, setting)) for setting in settings
    )


def run(setup: Setup, *, n_jobs: int | None, progress: Progress | None, stops_at_error: bool = False) -> list[Outcome]:
    """The outcome of every contestant in every fold, in that order, whatever the number of jobs."""
    from joblib import effective_n_jobs

    tasks = [(contestant, fold) for contestant in setup.contestants for fold in setup.folds]
    n_workers = max(1, min(effective_n_jobs(n_jobs), len(tasks)))
    threads, parent = max(1, n_threads() // n_workers), os.getpid()
    answer = []
    for outcome in _outcomes(setup, tasks, n_jobs, threads, parent):
        answer.append(outcome)
        if progress is not None:
            progress(_told(outcome, len(answer), len(tasks)))
        if stops_at_error and outcome.error is not None:
            break
    return answer


def _outcomes(setup: Setup, tasks: list, n_jobs: int | None, threads: int, parent: int) -> Iterator[Outcome]:
    from joblib import delayed

    calls = (
        delayed(attempt)(contestant, fold, setup.rules, setup.store, threads, parent) for contestant, fold in tasks
    )
    # None: joblib writes no arrays to temporary files
    return results(calls, n_jobs=n_jobs, max_nbytes=None)


def _told(outcome: Outcome, n_done: int, n_tasks: int) -> str:
    start = f"{n_done} of {n_tasks}: {outcome.name}, "
    if outcome.fit is None:
        return f"{start}{outcome.reason}"
    settings = count_of(outcome.fit.n_settings, "setting")
    how = "already finished" if outcome.is_stored else f"{settings} in {outcome.fit.seconds:.1f} s"
    how += f", {len(outcome.failed)} failed" if outcome.failed else ""
    return f"{start}fold {outcome.fold}: {how}"


def in_order(setup: Setup, outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by contestant, each fold after the other."""
    answer: dict[str, list[Outcome]] = {contestant.name: [] for contestant in setup.contestants}
    for outcome in outcomes:
        answer[outcome.name].append(outcome)
    return answer


def scores_of(setup: Setup, outcomes: Sequence[Outcome]) -> np.ndarray:
    """One contestant's scores of all test documents, in the order of ``setup.queries``."""
    scores = np.empty(setup.queries.n_docs)
    for outcome in outcomes:
        scores[setup.rows_of(outcome.fold)] = outcome.scores
    return scores


def notes_on(contestant: Contestant, outcomes: Sequence[Outcome]) -> list[str]:
    """What a reader of a contestant's numbers should know: settings that failed, warnings of its fits, many ties."""
    name, notes = contestant.name, []
    if gives_classes(contestant.estimator):
        notes.append(f"{name}: predict gives classes, which tie many documents; a regressor would rank them")
    partly = [outcome for outcome in outcomes if outcome.fit is not None and outcome.failed]
    if partly:
        n_failed = sum(len(outcome.failed) for outcome in partly)
        n_fits = sum(outcome.fit.n_settings for outcome in outcomes if outcome.fit is not None)
        folds = f"fold{'s' if len(partly) > 1 else ''} {', '.join(str(outcome.fold) for outcome in partly)}"
        first = partly[0].failed[0]
        notes.append(f"{name}: {n_failed} of {count_of(n_fits, 'fit')} failed, in {folds}, the first with {first}")
    told = [text for outcome in outcomes for text in outcome.warnings]
    if told:
        notes.append(f"{name}: {count_of(len(told), 'warning')}, the first: {told[0].splitlines()[0]}")
    return notes
