"""Choosing between settings of a ranker, on queries that it is not trained on and that it is not tested on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from plackett._warnings import recorded
from plackett.data.queries import Queries
from plackett.evaluation.compare.contestants import Contestant, contestant_of
from plackett.evaluation.compare.cost import measured
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.select import estimators
from plackett.evaluation.select.proposals import proposals
from plackett.evaluation.select.selection import Selection, Trial
from plackett.evaluation.splits import QueryKFold, as_folds
from plackett.evaluation.store import fingerprints, recognition
from plackett.evaluation.store.runs import RunStore
from plackett.evaluation.store.settings import Grid, fit_setting, in_one_line, seeded, with_setting
from plackett.evaluation.table import mean_of_counted
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.measure import Measure
from plackett.rankers.monitor import is_better
from plackett.validation import check_seed, count_of

DEFAULT_FOLDS = 5


def select(
    ranker: Any,
    data: Queries,
    grid: Grid | None = None,
    *,
    validation: Queries | None = None,
    cv: Any = None,
    metric: str | Measure = "ndcg@10",
    convention: str | Convention = "standard",
    method: str = "grid",
    n_trials: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int, Trial], None] | None = None,
    store: RunStore | str | os.PathLike | None = None,
) -> Selection:
    """The setting of a ranker that ranks held-out queries best, and the ranker fitted with it.

    Parameters
    ----------
    ranker : str or ranker
        A name of ``pk.ranker_names()``, or ``"lightgbm"``, ``"xgboost"``, ``"catboost"``; or a ranker, whose parameters
        hold where the grid says nothing. As in ``compare``, a ranker is also any estimator of scikit-learn's kind.
    data : Queries
        To train on.
    grid : dict of lists, list of such dicts, or None, default=None
        Values of parameters, also those of the loss (``k`` or ``loss__k``); None takes ``default_grid(name)``. For
        ``method="random"`` values may be distributions of ``scipy.stats``; for ``"optuna"`` its ``uniform``,
        ``loguniform`` and ``randint``.
    validation : Queries, default=None
        Queries that decide. They also end iterations and rounds early, as the ranker's ``patience`` says.
    cv : int, splitter or list of folds, default=None
        Instead of ``validation``: ``data`` are divided; each part is ranked by a fit to the others, and the mean over
        all queries decides. Nothing ends early. The best setting is then fitted to all of ``data``. With neither,
        there are five parts.
    metric : str or Measure, default="ndcg@10"
    convention : str or Convention, default="standard"
        As in ``evaluate``; a convention that the measure carries wins. Early stopping goes by the same one.
    method : {"grid", "random", "optuna"}, default="grid"
        Try all settings; or ``n_trials`` at random; or those that Optuna proposes (``pip install 'plackett[tune]'``).
    n_trials : int, default=None
        20 where nothing is said. Listed values at random never make the same setting twice, nor does Optuna fit one
        twice, so that there may be fewer.
    random_state : int, default=0
        For the draws, and for rankers that have no seed of their own.
    progress : callable, default=None
        Called after every setting with how many there were, how many there will be at most, and the ``Trial``.
    store : RunStore or path, default=None
        A folder in which finished trials are kept, so that a run that was stopped goes on where it was.

    Returns
    -------
    Selection
        ``best_``, ``best_params``, ``best_value`` and ``trials``. Of equal ones the first wins. A setting that fails is
        recorded with its error, and the others go on; when all fail, that is an error.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(60, n_features=8, random_state=0)
    >>> found = select("ranksvm", data[:40], {"l2": [1, 0.1, 0.01]}, validation=data[40:])
    >>> found
    Selection(ranksvm, l2=0.01: ndcg@10 0.3120)
    >>> found.best_
    LinearRanker(l2=0.01, loss='hinge', random_state=0)
    """
    measure = Measure.parse(metric)
    rules = measure.convention or get_convention(convention)
    contestant = _contestant(ranker, grid)
    random_state = check_seed(random_state)
    settings = proposals(contestant.estimator, contestant.grid, method, n_trials, measure, random_state)
    judge = _judge(data, validation, cv, measure, rules)
    shelf = _Shelf(store, judge)
    trials: list[Trial] = []
    best: _Attempt | None = None
    first_error: Exception | None = None
    for params in settings:
        estimator = seeded(with_setting(contestant.estimator, params), random_state)
        attempt = shelf.get(params, estimator)
        if attempt is None:
            attempt = _try(params, estimator, judge)
            shelf.put(attempt)
        trials.append(attempt.trial)
        first_error = first_error or attempt.error
        settings.tell(attempt.trial.value)
        if is_better(attempt.trial.value, None if best is None else best.trial.value, measure):
            best = attempt
        if progress is not None:
            progress(len(trials), len(settings), attempt.trial)
    if best is None:
        raise _nothing_found(trials, measure, judge) from first_error
    return Selection(
        contestant.name,
        best.ranker(judge),
        best.trial.params,
        best.trial.value,
        trials,
        str(measure),
        rules.name,
        method,
        judge.in_words,
        tuple(shelf.notes),
    )


def _contestant(ranker: Any, grid: Grid | None) -> Contestant:
    contestant = contestant_of(ranker)
    if grid is not None:
        return Contestant(contestant.name, contestant.estimator, grid)
    if not isinstance(ranker, (str, Contestant, tuple)):
        raise ValueError(
            f'grid is needed for {contestant.name}: say what to choose from, such as {{"l2": [1, 0.1, 0.01]}}. '
            "Only rankers that are given by their name have a default grid."
        )
    return contestant


# --- One setting ------------------------------------------------------------------------------------------------------


class _Attempt:
    """A trial with what came of it: the fitted ranker or the error, and warnings for whoever gets the ranker."""

    def __init__(self, trial: Trial, estimator: Any):
        self.trial, self.estimator = trial, estimator
        self.fitted: Any = None
        self.error: Exception | None = None
        self.warnings: list[warnings.WarningMessage] = []

    def ranker(self, judge: _ValidationSet | _Folds) -> Any:
        """The fitted ranker, which is fitted now if it is not at hand."""
        if self.fitted is None:
            return judge.fit(self.estimator)
        for one in self.warnings:
            warnings.warn(one.message, one.category, stacklevel=3)
        return self.fitted


def _try(params: dict[str, Any], estimator: Any, judge: _ValidationSet | _Folds) -> _Attempt:
    value, fitted, error = np.nan, None, None
    with measured() as cost, recorded() as caught:  # those about settings that lose are dropped
        try:
            value, fitted = judge.judge(estimator)
        except Exception as problem:  # anything may go wrong in a ranker; other settings may be right
            error = problem
    words = None if error is None else in_one_line(error)
    attempt = _Attempt(Trial(params, value, cost.seconds, words), estimator)
    attempt.fitted, attempt.error, attempt.warnings = fitted, error, caught
    return attempt


def _nothing_found(trials: list[Trial], measure: Measure, judge: _ValidationSet | _Folds) -> ValueError:
    error = next((trial.error for trial in trials if trial.error), None)
    if error is None:
        return ValueError(
            f"{measure} has no value on any of the {judge.in_words}, so that nothing can be chosen by it."
        )
    n_failed = sum(trial.error is not None for trial in trials)
    what = "the only setting" if len(trials) == 1 else f"{n_failed} of {len(trials)} settings"
    return ValueError(f"{what} failed, and no other has a value. The first error is {error}")


# --- Who decides ------------------------------------------------------------------------------------------------------


class _ValidationSet:
    """Validation queries."""

    def __init__(self, train: Queries, validation: Queries, measure: Measure, rules: Convention):
        self.train, self.validation, self.measure, self.rules = train, validation, measure, rules
        self.in_words = count_of(validation.n_queries, "validation query", "validation queries")

    def judge(self, estimator: Any) -> tuple[float, Any]:
        fitted = self.fit(estimator)
        return mean_of_counted(_values(fitted, self.validation, self.measure, self.rules)), fitted

    def fit(self, estimator: Any) -> Any:
        return fit_setting(estimator, {}, self.train, self.validation, self.measure.under(self.rules))

    def key(self) -> dict[str, Any]:
        return {"sets": [fingerprints.of_data(self.train), fingerprints.of_data(self.validation)]}


class _Folds:
    """Parts of the training queries, each ranked by a fit to the others."""

    def __init__(self, data: Queries, cv: Any, measure: Measure, rules: Convention):
        if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
            cv = QueryKFold(int(cv), validation=False)
        self.data, self.measure, self.rules = data, measure, rules
        self.parts = [
            (fold.train if fold.validation is None else Queries.concat([fold.train, fold.validation]), fold.test)
            for fold in as_folds(cv, data)
        ]
        n_queries = sum(test.n_queries for _, test in self.parts)
        self.in_words = f"{count_of(n_queries, 'query', 'queries')} in {count_of(len(self.parts), 'part')}"

    def judge(self, estimator: Any) -> tuple[float, Any]:
        values = [
            _values(fit_setting(estimator, {}, others), part, self.measure, self.rules) for others, part in self.parts
        ]
        return mean_of_counted(np.concatenate(values)), None

    def fit(self, estimator: Any) -> Any:
        return fit_setting(estimator, {}, self.data)

    def key(self) -> dict[str, Any]:
        return {"folds": [[fingerprints.of_data(one) for one in part] for part in self.parts]}


def _judge(
    data: Queries, validation: Queries | None, cv: Any, measure: Measure, rules: Convention
) -> _ValidationSet | _Folds:
    for name, queries in {"data": data, "validation": validation}.items():
        if queries is not None and not isinstance(queries, Queries):
            raise TypeError(f"{name} is a {type(queries).__name__}; a Queries is needed: pk.Queries(X, y, qid).")
    data, validation = data.grouped, None if validation is None else validation.grouped
    if validation is None:
        return _Folds(data, DEFAULT_FOLDS if cv is None else cv, measure, rules)
    if cv is not None:
        raise ValueError("either validation or cv decides; give one of them.")
    return _ValidationSet(data, validation, measure, rules)


def _values(fitted: Any, queries: Queries, measure: Measure, rules: Convention) -> np.ndarray:
    return evaluate(queries, estimators.predict(fitted, queries), metrics=[measure], convention=rules).values[:, 0]


# --- What is known already --------------------------------------------------------------------------------------------


TRIAL = {"value": float, "seconds": float}  # what a record holds


class _Shelf:
    """Where trials stand in a store; without a store all are missing. Trials that failed are tried again."""

    def __init__(self, store: RunStore | str | os.PathLike | None, judge: _ValidationSet | _Folds):
        self._store = store if store is None or isinstance(store, RunStore) else RunStore(store)
        self._common: dict[str, Any] = {}
        self.notes: list[str] = []
        if self._store is not None:
            self._common = {
                "what": "trial",
                "metric": recognition.of_value(judge.measure),
                "convention": recognition.of_value(vars(judge.rules)),
                **judge.key(),
            }

    def get(self, params: dict[str, Any], estimator: Any) -> _Attempt | None:
        key = self._key(estimator)
        stored = None if self._store is None or key is None else self._store.get(key, TRIAL)
        if stored is None:
            return None
        return _Attempt(Trial(params, stored.values["value"], stored.values["seconds"]), estimator)

    def put(self, attempt: _Attempt) -> None:
        key = self._key(attempt.estimator)
        if self._store is not None and key is not None and attempt.error is None:
            self._store.put(key, {"value": attempt.trial.value, "seconds": attempt.trial.seconds})

    def _key(self, estimator: Any) -> dict[str, Any] | None:
        if self._store is None:
            return None
        try:
            code, own = fingerprints.of_code(estimator), recognition.of_value(estimator)
        except recognition.Unrecognisable as problem:
            note = f"not kept in the folder: {problem}"
            self.notes += [note] if note not in self.notes else []
            return None
        return {**self._common, "estimator": own, "code": code}
