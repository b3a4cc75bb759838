"""Fits along a grid of penalties, each started from the previous one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._lazy import importing
from plackett.metrics.measure import Measure
from plackett.rankers.monitor import FitMonitor
from plackett.validation import check_numbers

if TYPE_CHECKING:
    from plackett.rankers.linear.ranker import LinearRanker

DEFAULT_L2: tuple[float, ...] = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)


@dataclass
class L2Path:
    """Fitted rankers along a grid of penalties, from strong to weak.

    Attributes
    ----------
    l2 : ndarray of shape (n,)
        Strengths of the penalty, the largest first.
    rankers : list of fitted rankers
        One for each strength.
    coef : ndarray of shape (n, n_features)
        Their ``coef_``; for kernel rankers, their ``dual_coef_``.
    objective : ndarray of shape (n,)
        Their ``objective_``, the value that was reached, including the penalty.
    n_iter : ndarray of shape (n,)
        Their numbers of iterations; each fit starts at the coefficients of the one before.
    measure : Measure or None
        The validation measure; None without a validation set.
    validation : ndarray of shape (n,), or None without a validation set
        Mean of the measure on the validation set, for each ranker.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(20, 10, 4, random_state=0)
    >>> path = pk.LinearRanker().l2_path(data, l2=[1.0, 0.1])
    >>> path.l2, path.coef.shape
    (array([1. , 0.1]), (2, 4))
    """

    l2: np.ndarray
    rankers: list[LinearRanker]
    measure: Measure | None
    validation: np.ndarray | None

    @property
    def coef(self) -> np.ndarray:
        name = "coef_" if hasattr(self.rankers[0], "coef_") else "dual_coef_"
        return np.array([getattr(ranker, name) for ranker in self.rankers])

    @property
    def objective(self) -> np.ndarray:
        return np.array([ranker.objective_ for ranker in self.rankers])

    @property
    def n_iter(self) -> np.ndarray:
        return np.array([ranker.n_iter_ for ranker in self.rankers])

    @property
    def best(self) -> LinearRanker:
        """The ranker that is best on the validation set; ties go to the strongest penalty."""
        if self.validation is None or self.measure is None:
            raise ValueError("the path was fitted without a validation set; pass eval_set to l2_path.")
        values = self.validation if self.measure.higher_is_better else -self.validation
        return self.rankers[int(np.argmax(values))]

    def ranker(self, l2: float) -> LinearRanker:
        """Return the fitted ranker of one strength on the path."""
        place = int(np.argmin(np.abs(self.l2 - l2)))
        if not np.isclose(self.l2[place], l2):
            raise KeyError(f"the path has no l2={l2:g}; it has {', '.join(f'{value:g}' for value in self.l2)}.")
        return self.rankers[place]

    def __len__(self) -> int:
        return len(self.rankers)


def fit_path(template: LinearRanker, X, y, qid, l2, sample_weight, eval_set, eval_metric) -> L2Path:
    """Fit ``LinearRanker.l2_path``; data are checked, scaled and sorted once for all fits."""
    with importing:
        from sklearn.base import clone

    strengths = np.sort(check_numbers(DEFAULT_L2 if l2 is None else np.atleast_1d(l2), "l2"))[::-1]
    if strengths.size == 0 or strengths[-1] < 0:
        raise ValueError("l2 must hold at least one number, and none below 0.")
    first = clone(template).set_params(l2=float(strengths[0]))
    first.check_parameters()
    training, monitor = first._prepare_fit(X, y, qid, sample_weight, eval_set, eval_metric)
    objective, validation = first._objective(training), monitor.validation
    scorer = None if validation is None else first._validation_scorer(validation.queries, objective)
    start, rankers, means = np.zeros(objective.size), [], []
    for strength in strengths.tolist():
        ranker = _copy_of(first, strength)
        objective.penalty.l2 = 0.0 if objective.loss.is_scale_free else strength
        monitor = FitMonitor(is_shown=bool(ranker.verbose))
        ranker._minimize(objective, monitor, start)
        ranker._keep_record(monitor)
        start = ranker._last_coef(objective)
        rankers.append(ranker)
        if validation is not None and scorer is not None:
            means.append(validation.mean(scorer.scores(start)))
    measure = None if validation is None else validation.measure
    return L2Path(strengths, rankers, measure, np.array(means) if validation is not None else None)


def _copy_of(prepared: LinearRanker, l2: float) -> LinearRanker:
    with importing:
        from sklearn.base import clone

    ranker: Any = clone(prepared).set_params(l2=l2)
    for name, value in vars(prepared).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(ranker, name, value)
    return ranker
