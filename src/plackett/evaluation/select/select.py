"""Selection of hyperparameters on validation queries or by cross-validation."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Unpack

import numpy as np

from plackett._progress import Progress, is_bar
from plackett.data.judged import Columns, as_judged
from plackett.data.queries import Queries
from plackett.evaluation import estimators
from plackett.evaluation.compare.contestants import Contestant, contestant_of, filled, with_preparation
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.select.attempts import Attempt, Judged, attempt
from plackett.evaluation.select.grids import Grid, seeded, with_params
from plackett.evaluation.select.search import search_candidates
from plackett.evaluation.select.selection import Selection, Trial, in_words
from plackett.evaluation.splits import QueryKFold, as_folds
from plackett.evaluation.store.keys import data_fingerprint
from plackett.evaluation.store.results import ResultStore
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.judged_lists import mean_of_counted
from plackett.metrics.measure import Measure
from plackett.rankers.monitor import is_better
from plackett.validation import check_seed, count_of

DEFAULT_FOLDS = 5


def select(
    ranker: Any,
    data: Any,
    grid: Grid | None = None,
    *,
    validation: Any = None,
    missing: Any = None,
    missing_indicator: bool | None = None,
    encoding: str | None = None,
    cv: Any = None,
    metric: str | Measure = "ndcg@10",
    convention: str | Convention = "standard",
    method: str = "grid",
    n_trials: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int, Trial], None] | bool | None = None,
    folder: str | os.PathLike | None = None,
    **columns: Unpack[Columns],
) -> Selection:
    """Choose the hyperparameters of a ranker that rank held-out queries best, and fit the ranker with them.

    Of equally good candidates the first wins. A candidate that fails is recorded with its error. If all fail,
    ``select`` raises.

    Parameters
    ----------
    ranker : str or ranker
        A name of ``pk.ranker_names()``, or ``"lightgbm"``, ``"xgboost"``, ``"catboost"``; or a ranker, whose parameters
        are kept unless the grid names them. As in ``compare``, a ranker may be any estimator with the interface of
        scikit-learn.
    data : Queries, data frame, path or str
        Training queries, as for ``compare``.
    grid : dict of lists, list of such dicts, or None, default=None
        Values of parameters, including those of the loss (``k`` or ``loss__k``); None takes ``default_grid(name)``.
        With ``method="random"`` values may be distributions of ``scipy.stats``; with ``"optuna"`` only ``uniform``,
        ``loguniform`` and ``randint``.
    validation : as ``data``, default=None
        Queries to choose on. Rankers also use them for early stopping (``patience``).
    missing, missing_indicator, encoding
        Rules for missing values and categories, as for ``compare``.
    cv : int, splitter or list of folds, default=None
        Instead of ``validation``: ``data`` is divided, each part is ranked by a fit to the others, and the mean over
        all queries decides, without early stopping. The best candidate is then fitted to all of ``data``. With neither
        ``validation`` nor ``cv`` there are five parts.
    metric : str or Measure, default="ndcg@10"
    convention : str or Convention, default="standard"
        As in ``evaluate``; the convention of the measure, if any, takes precedence. Early stopping uses the same one.
    method : {"grid", "random", "optuna"}, default="grid"
        Try all candidates of the grid, ``n_trials`` random ones, or those that Optuna proposes (``pip install
        'plackett[tune]'``).
    n_trials : int, default=None
        None means 20. No candidate is fitted twice, so there may be fewer trials.
    random_state : int, default=0
        Seed of the search, and of rankers without their own ``random_state``.
    progress : bool or callable, default=None
        None shows a progress bar on standard error, in terminals and notebooks; False shows nothing. A callable is
        called after every trial instead, with the number of trials so far, their maximum number, and the ``Trial``.
    folder : path, default=None
        Folder in which finished trials are stored, so that an interrupted run can resume.
    **columns
        Columns of a data frame or table, as for ``compare``.

    Examples
    --------
    >>> from plackett import select
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
    contestant = with_preparation(_contestant(ranker, grid), missing, missing_indicator, encoding)
    random_state = check_seed(random_state)
    arguments = (contestant.grid, method, n_trials, measure, random_state)
    search_candidates(contestant.estimator, *arguments)  # raises for wrong ones before the data are read
    judged = as_judged(data, **columns)
    (contestant,), notes = filled([contestant], judged, missing=missing, encoding=encoding)
    candidates = search_candidates(contestant.estimator, contestant.grid, *arguments[1:])
    held_out = None if validation is None else as_judged(validation, **columns)
    judge = _judge(judged, held_out, cv, measure, rules)
    store = ResultStore(folder)
    if folder is not None:
        store = store.with_code(contestant.name, contestant.estimator, contestant.grid, measure, rules)
        store = store.under(metric=measure, convention=rules, **judge.key())
    trials: list[Trial] = []
    best: Attempt | None = None
    first_error: Exception | None = None
    with Progress(f"selecting {contestant.name}", len(candidates), is_shown=is_bar(progress)) as bar:
        for params in candidates:
            bar.show(in_words(params))
            estimator = seeded(with_params(contestant.estimator, params), random_state)
            tried = attempt(params, estimator, judge.judge, store)
            trials.append(tried.trial)
            first_error = first_error or tried.error
            candidates.report(tried.trial.value)
            if is_better(tried.trial.value, None if best is None else best.trial.value, measure):
                best = tried
            if callable(progress):
                progress(len(trials), len(candidates), tried.trial)
            bar.advance()
    if best is None:
        raise _nothing_found(trials, measure, judge) from first_error
    how = (str(measure), rules.name, method, judge.in_words, (*notes, *store.notes))
    return Selection(contestant.name, _ranker(best, judge), best.trial.params, best.trial.value, trials, *how)


def _contestant(ranker: Any, grid: Grid | None) -> Contestant:
    contestant = contestant_of(ranker)
    if grid is not None:
        return Contestant(contestant.name, contestant.estimator, grid)
    if not isinstance(ranker, (str, Contestant, tuple)):
        raise ValueError(
            f'{contestant.name} needs a grid, such as {{"l2": [1, 0.1, 0.01]}}. '
            "Only rankers given by their name have a default grid."
        )
    return contestant


def _ranker(best: Attempt, judge: _Judge) -> Any:
    """Return the fitted ranker, with the warnings of its fit; fit it if the trial was stored or cross-validated."""
    if best.fitted is None:
        return judge.fit(best.estimator)
    for warning in best.caught:
        warnings.warn(warning.message, warning.category, stacklevel=3)
    return best.fitted


def _nothing_found(trials: list[Trial], measure: Measure, judge: _Judge) -> ValueError:
    error = next((trial.error for trial in trials if trial.error), None)
    if error is None:
        return ValueError(f"{measure} has no value on any of the {judge.in_words}, so it cannot choose a candidate.")
    n_failed = sum(trial.error is not None for trial in trials)
    what = "the only candidate" if len(trials) == 1 else f"{n_failed} of {len(trials)} candidates"
    return ValueError(f"{what} failed, and no other has a value. The first error is {error}")


class _Judge(NamedTuple):
    """Values on validation queries, which also stop fits early, or on parts of the data by fits to the others."""

    data: Queries
    validation: Queries | None
    parts: list[tuple[Queries, Queries]]
    measure: Measure
    rules: Convention

    def judge(self, estimator: Any) -> Judged:
        if self.validation is not None:
            fitted = self.fit(estimator)
            return Judged(mean_of_counted(self._values(fitted, self.validation)), fitted)
        values = [self._values(estimators.fit_copy(estimator, others), part) for others, part in self.parts]
        return Judged(mean_of_counted(np.concatenate(values)))

    def fit(self, estimator: Any) -> Any:
        return estimators.fit_copy(estimator, self.data, self.validation, self.measure.under(self.rules))

    def _values(self, fitted: Any, queries: Queries) -> np.ndarray:
        scores = estimators.predict(fitted, queries)
        return evaluate(queries, scores, metrics=[self.measure], convention=self.rules).values[:, 0]

    def key(self) -> dict[str, Any]:
        sets = self.parts if self.validation is None else [(self.data, self.validation)]
        return {"sets": [[data_fingerprint(one) for one in part] for part in sets], "parts": len(self.parts)}

    @property
    def in_words(self) -> str:
        if self.validation is not None:
            return count_of(self.validation.n_queries, "validation query", "validation queries")
        n_queries = sum(test.n_queries for _, test in self.parts)
        return f"{count_of(n_queries, 'query', 'queries')} in {count_of(len(self.parts), 'part')}"


def _judge(data: Queries, validation: Queries | None, cv: Any, measure: Measure, rules: Convention) -> _Judge:
    if validation is not None:
        if cv is not None:
            raise ValueError("pass either validation or cv, not both.")
        return _Judge(data.grouped, validation.grouped, [], measure, rules)
    cv = DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        cv = QueryKFold(int(cv), validation=False)
    parts = [
        (fold.train if fold.validation is None else Queries.concat([fold.train, fold.validation]), fold.test)
        for fold in as_folds(cv, data.grouped)
    ]
    return _Judge(data.grouped, None, parts, measure, rules)
