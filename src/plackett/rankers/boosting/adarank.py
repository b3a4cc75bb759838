"""AdaRank: boosts single features towards a measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plackett._arrays import column_of
from plackett._threads import map_blocks
from plackett.data.queries import Queries
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.base import TrainingSet
from plackett.rankers.boosting.base import SAME, Boosted, weight_of_edge
from plackett.rankers.linear_scores import LinearScores
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers.linear import LinearScorer
from plackett.scorers.models import check_steps
from plackett.validation import check_choice, check_number, check_positive_int

ROUNDS_WITHOUT_RISE = 10  # of the training measure, after which the fit ends
# With a cooldown of 1 the two strongest features alternate until the training measure stops rising. On the validation
# folds of MQ2008 and OHSUMED the mean MAP rises with the cooldown, up to about a quarter of the features.
FEATURES_PER_ROUND = 4
LONGEST_COOLDOWN = 10


@dataclass(eq=False, repr=False, kw_only=True)
class AdaRank(Boosted, LinearScores):
    """Boosts single features towards a measure: scores are ``X @ coef_`` (Xu and Li 2007).

    Every query has a weight P. A round takes the feature whose rankings have the largest weighted mean ``Σ P E`` of
    the measure, gives it the weight ``α = ½ ln(Σ P (1 + E) / Σ P (1 - E))``, adds α times the feature to the scores,
    and sets P proportional to ``exp(-E)`` of the scores so far: badly ranked queries count more in the next round.

    A feature ranks in descending order or, with a negative α, in ascending order. After a feature is chosen, it is left
    out for some rounds. Ties go to the first feature, descending before ascending. E is the measure itself where higher
    is better, divided by the value of the query's best or worst order if it would leave ``[-1, 1]``, as for DCG. Where
    lower is better, E goes from 1 for the query's best order to -1 for its worst. Equal scores count with the mean over
    their orders, so the order of the rows has no influence, unless the measure sets ``ties`` or a ``convention``.
    Queries for which all orders have the same value (one document, equal labels, none relevant) are ignored.

    The fit ends when the training measure has not risen by ``tol`` in the last 10 rounds. Without a validation set, the
    rounds up to the best one on the training set are kept.

    Scores are sums of columns: use ``normalize`` if the columns have different scales.

    Parameters
    ----------
    metric : str or Measure, default="map"
        The measure to boost, any of this library.
    n_rounds : int, default=500
        Maximum number of rounds.
    tol : float or None, default=1e-4
        Smallest rise of the training measure that counts. None never ends the fit by the training measure.
    patience : int or None, default=None
        With ``eval_set``, the fit ends after this many rounds without a better value of its measure; None never ends it
        early.
    directions : {"both", "descending"}, default="both"
        Whether a feature may also rank in ascending order, its smallest value first.
    cooldown : int or None, default=None
        Rounds for which a feature is left out after it was chosen; 1 only forbids it twice in a row. None takes a
        quarter of the number of features, at least 1 and at most 10. With a short cooldown two strong features
        alternate and others are never chosen.
    normalize, verbose, missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The sum of α over the rounds of each column, after encoding and ``normalize``.
    intercept_ : float
        Always 0.
    steps_ : structured array of shape (n_steps,)
        The rounds that were kept, in order: ``"feature"`` (its column) and ``"weight"`` (α, negative where the feature
        ranks in ascending order).
    n_iter_ : int
        Rounds run.
    stop_reason_ : str
        Why no further round was run, such as ``"n_rounds reached"`` or ``"the training measure no longer rises"``.
    history_ : dict of lists
        For every round ``"feature"``, ``"alpha"``, ``"edge"`` (``Σ P E`` of the feature), ``"train"`` (the mean of the
        measure on the training set, by the weights of the queries) and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The round, from 1, with the best value of the validation measure, and that value. Later rounds are not kept.
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import AdaRank
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = AdaRank("ndcg@10", normalize="query-minmax").fit(data.X, data.y, qid=data.qid)
    >>> scores = ranker.predict(data.X, qid=data.qid)
    """

    metric: Any = field(default="map", kw_only=False)
    n_rounds: int = param(500, check_positive_int)
    tol: float | None = param(1e-4, check_number, least=0.0)
    patience: int | None = None
    directions: str = param("both", check_choice, choices=("both", "descending"))
    cooldown: int | None = param(None, check_positive_int)
    normalize: Any = None
    verbose: bool = False

    @property
    def _n_columns(self) -> int:
        return self.coef_.size

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes that no fit sets."""
        super().check_loaded()
        check_steps(self, self.STEP_FIELDS, self._n_columns)

    def _check_parameters(self) -> None:
        Measure.parse(self.metric)

    def _learn(self, training: TrainingSet, monitor: FitMonitor) -> None:
        queries = training.queries
        weights = np.ones(queries.n_queries) if training.weights is None else training.weights
        target = _Target(Measure.parse(self.metric), queries, weights)
        sign_of_measure = 1.0 if target.measure.higher_is_better else -1.0
        candidates = target.of_features(queries.X, has_ascending=self.directions == "both")
        scorer = LinearScorer(queries.X)
        held: Any = None if monitor.validation is None else LinearScorer(monitor.validation.queries.X)
        cooldown = self.cooldown or min(LONGEST_COOLDOWN, max(1, queries.n_features // FEATURES_PER_ROUND))
        counted = weights[target.is_counted]
        P = counted / max(counted.sum(), 1e-300)
        coef = np.zeros(queries.n_features)
        steps: list[tuple[int, float]] = []
        best, n_best, risen, n_risen = -np.inf, 0, -np.inf, 0  # the training measure and rounds, of the best and by tol
        with monitor.run("n_rounds", self.n_rounds, ("feature", "alpha", "edge", "train"), shown=("train",)):
            reason = None if counted.any() else monitor.stop("all orders of every query have the same value")
            while reason is None and monitor.n_iter < self.n_rounds:
                edges = candidates @ P
                edges[:, [chosen for chosen, _ in steps[-cooldown:]]] = -np.inf
                feature, sign, edge = _best_feature(edges)
                if edge <= SAME:
                    monitor.stop("no other feature has a positive mean of the measure")
                    break
                alpha = sign * weight_of_edge(edge)
                steps.append((feature, alpha))
                coef[feature] += alpha
                scores = scorer.scores(coef)
                if not np.isfinite(scores).all():
                    raise ValueError("the scores overflowed; scale the columns (normalize=).")
                mean, values = target.of_scores(scores)
                reason = monitor.record(
                    lambda: held.scores(coef),
                    feature=feature,
                    alpha=alpha,
                    edge=edge,
                    train=mean,
                )
                value = sign_of_measure * mean
                if value > best + SAME:
                    best, n_best = value, monitor.n_iter
                if self.tol is not None and value > risen + self.tol:
                    risen, n_risen = value, monitor.n_iter
                if self.tol is not None and monitor.n_iter - n_risen >= ROUNDS_WITHOUT_RISE:
                    reason = monitor.stop("the training measure no longer rises")
                P = counted * np.exp(-values)
                P /= P.sum()
        self._keep_steps(steps[: n_best if monitor.validation is None else monitor.n_kept])
        self.coef_, self.intercept_ = np.zeros(queries.n_features), 0.0
        np.add.at(self.coef_, self.steps_["feature"], self.steps_["weight"])


class _Target:
    """The measure that AdaRank boosts, as values E from -1 to 1, higher is better, of the queries that count."""

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        self._weights = weights
        self.measure = measure
        self._lists = JudgedLists.of_queries(queries)
        (best, is_empty), (worst, _) = (self._values(labels) for labels in (queries.labels, -queries.labels))
        self.is_counted = ~is_empty & (abs(best - worst) > SAME)
        best, worst = best[self.is_counted], worst[self.is_counted]
        if measure.higher_is_better:
            self._zero, self._unit = np.zeros(best.size), np.maximum(np.maximum(abs(best), abs(worst)), 1.0)
        else:
            self._zero, self._unit = 0.5 * (best + worst), 0.5 * (best - worst)

    def of_scores(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted mean of the measure over all queries, and E of those that count."""
        values, _ = self._values(scores)
        has_value = ~np.isnan(values)
        mean = np.average(values[has_value], weights=self._weights[has_value])
        return float(mean), self._scaled(values)

    def of_features(self, X: Any, *, has_ascending: bool) -> np.ndarray:
        """Return E of every feature, direction × feature × query."""
        signs = (1.0, -1.0) if has_ascending else (1.0,)
        values = np.empty((len(signs), X.shape[1], int(self.is_counted.sum())))

        def fill(feature: int) -> None:
            scores = column_of(X, feature)
            for place, sign in enumerate(signs):
                values[place, feature] = self._scaled(self._values(sign * scores)[0])

        map_blocks(fill, [(feature,) for feature in range(X.shape[1])])
        return values

    def _values(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the measure of every query, and which queries are empty for it."""
        return self.measure.rules.values(self.measure, self._lists.with_scores(scores))

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return np.clip((values[self.is_counted] - self._zero) / self._unit, -1.0, 1.0)


def _best_feature(edges: np.ndarray) -> tuple[int, float, float]:
    """Return the feature with the largest edge, its direction and edge; the first of equals, descending first."""
    by_feature = edges.T
    place = int(np.argmax(by_feature.reshape(-1) >= by_feature.max() - SAME))
    feature, direction = divmod(place, edges.shape[0])
    return feature, 1.0 - 2.0 * direction, float(edges[direction, feature])
