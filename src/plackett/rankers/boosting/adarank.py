"""AdaRank: boosts single features towards any measure."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._threads import deal
from plackett.data.queries import Queries
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.boosting.base import (
    ALL_ROUNDS,
    SAME,
    Boosted,
    Rounds,
    check_steps,
    column_of,
    named_steps,
    weight_of_edge,
)
from plackett.rankers.linear_scores import LinearScores
from plackett.scorers.linear import LinearScorer
from plackett.validation import check_choice, check_number, check_positive_int

# With a cooldown of 1 the two strongest features alternate until the training measure stops rising. On the validation
# folds of MQ2008 and OHSUMED the mean MAP rises with the cooldown, up to about a quarter of the features.
FEATURES_PER_ROUND = 4
LONGEST_COOLDOWN = 10


class AdaRank(Boosted, LinearScores):
    """Boosts single features towards any measure: scores are ``X @ coef_`` (Xu and Li 2007).

    Every query has a weight P. A round takes the feature whose rankings have the largest weighted mean Σ P E of the
    measure, gives it ``α = ½ ln(Σ P (1 + E) / Σ P (1 - E))``, adds α times the feature to the scores, and lets P be
    proportional to ``exp(-E)`` of the scores so far: queries that are ranked badly count more in the next round.

    A feature ranks falling or, with α taken negative, rising. A feature that was chosen rests for some rounds, so that
    it is chosen again only after others; equal candidates are settled by the number of the feature, falling before
    rising. E is the measure itself where higher is better, divided by what the best or the worst order of the query
    gets where that leaves ``[-1, 1]``, as for DCG. Where lower is better, E goes from 1 for the query's best order to
    -1 for its worst. Equal scores count with the mean over their orders, so that the order of the rows has no
    influence, unless the measure spells out ``ties`` or a ``convention``. Queries that get the same from every order
    (one document, equal labels, none relevant) take no part.

    Scores add up columns, so that columns of different scales want ``normalize``.

    Parameters
    ----------
    metric : str or Measure, default="map"
        What is boosted, any measure of this library.
    n_rounds : int, default=500
        Rounds at most.
    tol : float, default=1e-4
        What counts as a rise of the training measure.
    patience : int or None, default=10
        The fit ends after so many rounds in which the training measure has not risen by ``tol``; None: never.
    directions : {"both", "falling"}, default="both"
        Whether a feature may also rank rising, its smallest value first.
    cooldown : int or None, default=None
        Rounds for which a feature is left out after it was chosen; 1 only forbids it twice in a row. None takes a
        quarter of the number of features, at least 1 and at most 10. With a short cooldown two strong features take
        turns and others never enter.
    normalize : str, transformer or None, default=None
        How columns are scaled first, as for ``LinearRanker``.
    verbose : bool, default=False
        A progress bar on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
        Always 0.
    features_, alphas_ : ndarrays of shape (n_rounds_,)
        The rounds that were kept; α is negative where the feature ranks rising.
    feature_weights_ : list of (feature, α)
        The same, by name where the columns have names.
    n_rounds_ : int
        Rounds that were kept: up to the best on the validation set or, without one, the best on the training set.
    n_iter_ : int
        Rounds that were made.
    stop_reason_ : str
    history_ : dict of lists
        For every round ``"feature"``, ``"alpha"``, ``"edge"`` (Σ P E of the feature), ``"train"`` (the mean of the
        measure on the training set, by the weights of the queries) and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = AdaRank("ndcg@10", normalize="query-minmax").fit(data.X, data.y, qid=data.qid)
    >>> scores = ranker.predict(data.X, qid=data.qid)
    """

    def __init__(
        self,
        metric: Any = "map",
        n_rounds: int = 500,
        tol: float = 1e-4,
        patience: int | None = 10,
        directions: str = "both",
        cooldown: int | None = None,
        normalize: Any = None,
        verbose: bool = False,
    ):
        self.metric = metric
        self.n_rounds = n_rounds
        self.tol = tol
        self.patience = patience
        self.directions = directions
        self.cooldown = cooldown
        self.normalize = normalize
        self.verbose = verbose

    @property
    def feature_weights_(self) -> list[tuple[Any, float]]:
        check_is_fitted(self)
        return named_steps(self.features_, self.alphas_, self._column_names())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.tol, "tol", least=0.0)
        check_choice(self.directions, "directions", ("both", "falling"))
        if self.cooldown is not None:
            check_positive_int(self.cooldown, "cooldown")
        Measure.parse(self.metric)

    def _boost(self, queries: Queries, weights: np.ndarray, rounds: Rounds) -> str:
        self.coef_, self.intercept_ = np.zeros(queries.n_features), 0.0
        self.features_, self.alphas_, self.n_rounds_ = np.zeros(0, dtype=np.int64), np.zeros(0), 0
        target = _Target(Measure.parse(self.metric), queries, weights)
        candidates = target.of_features(queries.X, has_rising=self.directions == "both")
        scorer = LinearScorer(queries.X)
        held = None if rounds.validation is None else LinearScorer(rounds.validation.queries.X)
        features: list[int] = []
        alphas: list[float] = []
        counted = weights[target.is_counted]
        if counted.sum() == 0.0:
            return "no query tells one order from another"
        P = counted / counted.sum()
        coef = np.zeros(queries.n_features)
        cooldown = self.cooldown or min(LONGEST_COOLDOWN, max(1, queries.n_features // FEATURES_PER_ROUND))
        train = Rounds(None, rounds.progress)  # the paper's rule looks at the training set
        while rounds.n_rounds < self.n_rounds:
            edges = candidates @ P
            edges[:, features[-cooldown:]] = -np.inf
            feature, sign, edge = _best_feature(edges)
            if edge <= SAME:
                return "no other feature has a positive mean of the measure"
            alpha = sign * weight_of_edge(edge)
            features.append(feature)
            alphas.append(alpha)
            coef[feature] += alpha
            rounds.n_rounds += 1
            train.n_rounds += 1
            scores = scorer.scores(coef)
            if not np.isfinite(scores).all():
                raise ValueError("the scores grew beyond all numbers; scale the columns (normalize=).")
            mean, values = target.of_scores(scores)
            rounds.note(feature=feature, alpha=alpha, edge=edge, train=mean)
            train.judge(mean, target.measure.higher_is_better, self.tol)
            if held is None:
                rounds.progress.advance(f"{target.measure} {mean:.4f}")
                rounds.judge(mean, target.measure.higher_is_better, SAME)
            else:
                rounds.judge_validation(held.scores(coef))
            if rounds.best_round == rounds.n_rounds:
                self.coef_, self.n_rounds_ = coef.copy(), rounds.n_rounds
                self.features_, self.alphas_ = np.array(features, dtype=np.int64), np.array(alphas)
            if self.patience is not None and train.n_rounds - train.best_round >= self.patience:
                return "the training measure no longer rises"
            P = counted * np.exp(-values)
            P /= P.sum()
        return ALL_ROUNDS

    def check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super().check_loaded()
        check_steps(self, self.coef_.size)


class _Target:
    """The measure that AdaRank boosts, as values E from -1 to 1, higher is better, of the queries that have one."""

    def __init__(self, measure: Measure, queries: Queries, weights: np.ndarray):
        self._weights = weights
        self.measure = measure
        self._lists = JudgedLists.of_queries(queries, with_docid=measure.rules.needs_docid(measure))
        (best, is_empty), (worst, _) = (self._values(labels) for labels in (queries.labels, -queries.labels))
        self.is_counted = ~is_empty & (abs(best - worst) > SAME)
        best, worst = best[self.is_counted], worst[self.is_counted]
        if measure.higher_is_better:
            self._zero, self._unit = np.zeros(best.size), np.maximum(np.maximum(abs(best), abs(worst)), 1.0)
        else:
            self._zero, self._unit = 0.5 * (best + worst), 0.5 * (best - worst)

    def of_scores(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean of the measure over all queries, and E of those that count."""
        values, _ = self._values(scores)
        has_value = ~np.isnan(values)
        mean = np.average(values[has_value], weights=self._weights[has_value])  # of those that count at least
        return float(mean), self._scaled(values)

    def of_features(self, X: Any, *, has_rising: bool) -> np.ndarray:
        """E of every feature, direction × feature × query: computed once, since features do not change."""
        signs = (1.0, -1.0) if has_rising else (1.0,)
        values = np.empty((len(signs), X.shape[1], int(self.is_counted.sum())))

        def fill(feature: int) -> None:
            scores = column_of(X, feature)
            for place, sign in enumerate(signs):
                values[place, feature] = self._scaled(self._values(sign * scores)[0])

        deal(fill, [(feature,) for feature in range(X.shape[1])])
        return values

    def _values(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The measure of every query, and which queries are empty for it."""
        return self.measure.rules.values(self.measure, self._lists.with_scores(scores))

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return np.clip((values[self.is_counted] - self._zero) / self._unit, -1.0, 1.0)


def _best_feature(edges: np.ndarray) -> tuple[int, float, float]:
    """The feature with the largest edge, its direction and its edge; the first of equals, falling before rising."""
    by_feature = edges.T
    place = int(np.argmax(by_feature.reshape(-1) >= by_feature.max() - SAME))
    feature, direction = divmod(place, edges.shape[0])
    return feature, 1.0 - 2.0 * direction, float(edges[direction, feature])
