"""One ranker on all test queries of several folds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.compare import all_folds
from plackett.evaluation.compare.all_folds import Progress
from plackett.evaluation.compare.comparison import FoldFit
from plackett.evaluation.compare.contestants import contestant_of
from plackett.evaluation.evaluate import evaluate
from plackett.evaluation.select.selection import in_words
from plackett.evaluation.store.settings import Grid
from plackett.evaluation.store.store import not_kept
from plackett.evaluation.table import Evaluation, mean_of_counted
from plackett.metrics.conventions import Convention
from plackett.metrics.measure import Measure
from plackett.validation import count_of


class CrossValidation:
    """The answer of `cross_validate`.

    Attributes
    ----------
    evaluation : Evaluation
        Values of all test queries: those of fold 1, then of fold 2, and so on.
    fold_of : ndarray of shape (n_queries,)
        The fold, from 1, of each of them.
    fits : list of FoldFit
        How each fold was fitted: the chosen setting, its validation value and its seconds.
    queries : Queries
        All test documents, in the same order.
    scores : ndarray of shape (n_docs,)
        Their scores.
    notes : list of str
    """

    def __init__(
        self,
        evaluation: Evaluation,
        fold_of: np.ndarray,
        fits: Sequence[FoldFit],
        queries: Queries,
        scores: np.ndarray,
        notes: Sequence[str] = (),
    ):
        self.evaluation, self.fold_of, self.fits = evaluation, fold_of, list(fits)
        self.queries, self.scores, self.notes = queries, scores, list(notes)

    @property
    def metrics(self) -> list[str]:
        return self.evaluation.metrics

    def mean(self) -> dict[str, float]:
        """The mean of each measure over all test queries that count."""
        return self.evaluation.mean()

    def by_fold(self) -> list[dict[str, float]]:
        """The means of each fold."""
        return [
            {metric: mean_of_counted(self.evaluation[metric][self.fold_of == fit.fold]) for metric in self.metrics}
            for fit in self.fits
        ]

    def __str__(self) -> str:
        width = max(len(metric) for metric in [*self.metrics, "0.0000"])
        first = len(f"fold {len(self.fits)}")
        lines = [f"{'':{first}}  " + "  ".join(f"{metric:>{width}}" for metric in self.metrics) + "  seconds  setting"]
        for fit, means in zip(self.fits, self.by_fold(), strict=True):
            cells = "  ".join(f"{means[metric]:>{width}.4f}" for metric in self.metrics)
            setting = in_words(fit.params) if fit.params else ""
            lines.append(f"{f'fold {fit.fold}':{first}}  {cells}  {fit.seconds:7.1f}  {setting}".rstrip())
        means = self.mean()
        total = sum(fit.seconds for fit in self.fits)
        cells = "  ".join(f"{means[metric]:>{width}.4f}" for metric in self.metrics)
        lines.append(f"{'mean':{first}}  {cells}  {total:7.1f}")
        queries = count_of(len(self.evaluation), "test query", "test queries")
        return "\n".join([*lines, f"{queries}, convention {self.evaluation.convention}", *self.notes])

    def __repr__(self) -> str:
        means = ", ".join(f"{metric} {value:.4f}" for metric, value in self.mean().items())
        return f"CrossValidation({count_of(len(self.fits), 'fold')}, {means})"


def cross_validate(
    ranker: Any,
    data: Any = None,
    *,
    cv: Any = 5,
    grid: Grid | None = None,
    metrics: Sequence[str | Measure] | str = ("ndcg@10", "map"),
    convention: str | Convention = "standard",
    select_by: str | Measure | None = None,
    folder: str | os.PathLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> CrossValidation:
    """Fit a ranker in every fold, choose its setting on validation queries, and measure it on the test queries.

    Parameters
    ----------
    ranker : ranker or str
        A ranker is taken as it is unless there is a grid; a name brings its default grid along. As in ``compare``, a
        ranker is also any estimator of scikit-learn's kind.
    grid : dict of lists, or list of such dicts, default=None
        The settings to choose from.
    data, cv, metrics, convention, select_by, folder, random_state, n_jobs, progress
        As for ``compare``.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.cross_validate(pk.ranker("listmle", l2=0.1), data, cv=4)
    >>> len(result.fits), result.scores.size == data.n_docs
    (4, True)
    """
    contestant = contestant_of(ranker if grid is None else (ranker, grid))
    setup = all_folds.prepare(
        [contestant],
        data,
        cv=cv,
        metrics=metrics,
        convention=convention,
        select_by=select_by,
        folder=folder,
        random_state=random_state,
    )
    outcomes = []
    for outcome in all_folds.run(setup, n_jobs=n_jobs, progress=progress, stops_at_error=True):
        if outcome.error is not None:
            n_failed = f", where all {len(outcome.failed)} settings failed" if len(outcome.failed) > 1 else ""
            outcome.error.add_note(f"(in fold {outcome.fold}{n_failed})")
            raise outcome.error
        outcomes.append(outcome)
    scores = all_folds.scores_of(setup, outcomes)
    return CrossValidation(
        evaluate(setup.queries, scores, metrics=setup.metrics, convention=setup.rules.convention),
        setup.fold_of,
        [outcome.fit for outcome in outcomes if outcome.fit is not None],
        setup.queries,
        scores,
        [*all_folds.notes_on(contestant, outcomes), *(not_kept(contestant) if setup.store is not None else ())],
    )
