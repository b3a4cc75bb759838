"""Cross-validation of one ranker."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from plackett._progress import Reporter
from plackett._tables import Column, Table, notebook_html
from plackett.data.judged import Columns
from plackett.data.queries import Queries
from plackett.evaluation.compare.comparison import FoldFit
from plackett.evaluation.compare.contestants import contestant_of, with_preparation
from plackett.evaluation.compare.folds import Criteria, prepare, run
from plackett.evaluation.evaluate import Evaluation, evaluate
from plackett.evaluation.select.grids import Grid
from plackett.evaluation.select.selection import in_words
from plackett.evaluation.splits import as_folds
from plackett.metrics.conventions import Convention
from plackett.metrics.judged_lists import mean_of_counted
from plackett.metrics.measure import Measure
from plackett.validation import count_of


@dataclass(eq=False, repr=False)
class CrossValidation:
    """The result of `cross_validate`.

    Attributes
    ----------
    evaluation : Evaluation
        Values of all test queries: those of fold 1, then of fold 2, and so on.
    fold_of : ndarray of shape (n_queries,)
        The fold, from 1, of each of them.
    fits : list of FoldFit
        How each fold was fitted: the chosen hyperparameters, their validation value, and seconds.
    queries : Queries
        All test documents, in the same order.
    scores : ndarray of shape (n_docs,)
        Their scores.
    notes : list of str
        Remarks, such as warnings of fits and failed candidates.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> pk.cross_validate(pk.ranker("listmle", l2=0.1), data, cv=4, metrics="ndcg@10")
    CrossValidation(4 folds, ndcg@10 0.3669)
    """

    evaluation: Evaluation
    fold_of: np.ndarray
    fits: list[FoldFit]
    queries: Queries
    scores: np.ndarray
    notes: list[str] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        return self.evaluation.metrics

    def mean(self) -> dict[str, float]:
        """Return the mean of each measure over all test queries that count."""
        return self.evaluation.mean()

    def by_fold(self) -> list[dict[str, float]]:
        """Return the means of each fold."""
        return [
            {metric: mean_of_counted(self.evaluation[metric][self.fold_of == fit.fold]) for metric in self.metrics}
            for fit in self.fits
        ]

    def to_table(self) -> Table:
        """Return the means of each fold and of all test queries as a `Table`."""
        means = [*self.by_fold(), self.mean()]
        names = [*(f"fold {fit.fold}" for fit in self.fits), "mean"]
        seconds = [fit.seconds for fit in self.fits]
        chosen = [*(in_words(fit.params) if fit.params else "" for fit in self.fits), ""]
        columns = [
            Column("", "text"),
            *map(Column, self.metrics),
            Column("seconds", digits=1),
            Column("chosen", "text"),
        ]
        rows = [
            [name, *row.values(), time, params]
            for name, row, time, params in zip(names, means, [*seconds, sum(seconds)], chosen, strict=True)
        ]
        return Table(columns, rows)

    def __str__(self) -> str:
        queries = count_of(len(self.evaluation), "test query", "test queries")
        size = f"{queries}, convention {self.evaluation.convention}"
        return "\n".join([self.to_table().to_text(), size, *self.notes])

    def _repr_html_(self) -> str:
        return notebook_html(self.to_table(), after=self.notes)

    def __repr__(self) -> str:
        means = ", ".join(f"{metric} {value:.4f}" for metric, value in self.mean().items())
        return f"CrossValidation({count_of(len(self.fits), 'fold')}, {means})"


def cross_validate(
    ranker: Any,
    data: Any = None,
    *,
    missing: Any = None,
    missing_indicator: bool | None = None,
    encoding: str | None = None,
    cv: Any = 5,
    grid: Grid | None = None,
    metrics: Sequence[str | Measure] | str = ("ndcg@10", "map"),
    convention: str | Convention = "standard",
    select_by: str | Measure | None = None,
    folder: str | os.PathLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Reporter = None,
    **columns: Unpack[Columns],
) -> CrossValidation:
    """Fit a ranker in every fold, choose its hyperparameters on validation queries, and evaluate it on test queries.

    Parameters
    ----------
    ranker : ranker or str
        A name gets its default grid; a ranker without ``grid`` is used as given. As in ``compare``, a ranker may be
        any estimator with the interface of scikit-learn.
    grid : dict of lists, or list of such dicts, default=None
        Hyperparameters to choose from.
    data, missing, missing_indicator, encoding, cv, metrics, convention, select_by
        As for ``compare``.
    folder, random_state, n_jobs, progress, **columns
        As for ``compare``.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.cross_validate(pk.ranker("listmle", l2=0.1), data, cv=4)
    >>> len(result.fits), result.scores.size == data.n_docs
    (4, True)
    """
    contestant = contestant_of(ranker if grid is None else (ranker, grid))
    contestant = with_preparation(contestant, missing, missing_indicator, encoding)
    criteria = Criteria.of(metrics, convention, select_by, random_state)
    setup = prepare([contestant], criteria, as_folds(cv, data, **columns), folder, missing, encoding)
    (contestant,) = setup.contestants
    outcomes = []
    for outcome in run(setup, n_jobs=n_jobs, progress=progress, stops_at_error=True)[contestant.name]:
        if outcome.error is not None:
            n_failed = f", where all {len(outcome.failed)} candidates failed" if len(outcome.failed) > 1 else ""
            outcome.error.add_note(f"(in fold {outcome.fold}{n_failed})")
            raise outcome.error
        outcomes.append(outcome)
    scores = setup.scores_of(outcomes)
    return CrossValidation(
        evaluate(setup.queries, scores, metrics=setup.measures, convention=criteria.convention),
        setup.fold_of,
        [outcome.fit for outcome in outcomes if outcome.fit is not None],
        setup.queries,
        scores,
        setup.notes + setup.notes_on(contestant, outcomes),
    )
