"""RankBoost: boosts thresholds of features over pairs of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett import _native
from plackett._arrays import bounds, column_of
from plackett._threads import map_blocks
from plackett.data.queries import Queries
from plackett.losses.pair_plans import NORMALIZERS, pair_counts
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.base import Encoded, Normalized, TrainingSet
from plackett.rankers.boosting.base import SAME, Boosted, weight_of_edge
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers.models import STUMP, Trees
from plackett.validation import check_choice, check_finite, check_positive_int

SMALLEST_BOUND = 1e-15  # of the share of pairs in the wrong order
LOWEST = -np.finfo(np.float64).max  # below all values
_WRONG_PAIRS = Measure("mre", ties="worst")


@dataclass(eq=False, repr=False, kw_only=True)
class RankBoost(Boosted, Normalized, Encoded):
    """Boosts thresholds of features over pairs of documents: scores are ``Σ α [x_feature > threshold]``.

    RankBoost of Freund et al. (2003).

    Every pair of a better document i and a worse j of one query has a weight ``D ∝ w_q exp(H_j - H_i)``, where H are
    the scores so far. A round takes the feature and the threshold with the largest ``|r|``, where r is the weight of
    pairs in the right order minus that of pairs in the wrong order, and adds it with the weight α. As in the paper, r
    and α may be negative: then documents below the threshold are better. Ties go to the first feature, then to the
    smaller threshold. No list of pairs is built: D factorises.

    For a missing value (NaN) a threshold has a default, 0 or 1, ``q_def`` of the paper: a round takes the one with the
    larger ``|r|``, 0 if they are equal. A feature with missing values also has a threshold below all of its
    values, by which documents that have the feature differ from those that do not. A feature without missing values in
    training adds nothing where it is missing later.

    The weighted share of pairs in the wrong order (equal scores are wrong) is at most the product of all Z, and each Z
    is below 1.

    Parameters
    ----------
    n_rounds : int, default=300
        Maximum number of rounds.
    n_thresholds : int or None, default=None
        Thresholds per feature: the midpoints between neighbouring values at this many quantiles of the training rows;
        None takes all midpoints. Queries in which all labels are equal are ignored.
    alpha : {"r", "exact"}, default="r"
        ``"r"``: ``½ ln((1 + r) / (1 - r))``, which minimises a bound of Z; ``"exact"``: ``½ ln(W_+ / W_-)``, with the
        weights of the pairs ordered correctly and wrongly, which minimises Z itself. At most 7.25 either way.
    pair_weights : {"pairs", "all", "none"}, default="pairs"
        First weight of a pair: ``"pairs"`` one over the query's pairs with different labels, ``"all"`` one over all its
        pairs, ``"none"`` the same in every query, as in the paper. Like ``normalize`` of the pairwise losses.
    patience : int or None, default=None
        With ``eval_set``, the fit ends after this many rounds without a better value of its measure; None never ends it
        early.
    normalize : str, transformer or None, default=None
        How columns are scaled first, as for ``LinearRanker``. Scaling that keeps the order of a column, such as over
        all rows, has no effect.
    verbose, encoding : as in ``LinearRanker``

    Attributes
    ----------
    steps_ : structured array of shape (n_steps,)
        The rounds that were kept, in order: ``"feature"`` (its column), ``"weight"`` (α), ``"threshold"`` and
        ``"default"`` (1 if a missing value counts as above the threshold, else 0).
    n_iter_ : int
        Rounds run.
    stop_reason_ : str
        Why no further round was run, such as ``"n_rounds reached"`` or ``"one threshold orders every pair"``.
    history_ : dict of lists
        For every round ``"feature"``, ``"threshold"``, ``"alpha"``, ``"r"``, ``"z"``, ``"bound"`` (the product of all Z
        so far), ``"pair_error"`` and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The round, from 1, with the best value of the validation measure, and that value. Later rounds are not kept.
    has_missing_ : bool
        Whether values were missing in training.
    n_columns_ : int
        Columns after ``normalize``.
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import RankBoost
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = RankBoost(n_rounds=50).fit(data.X, data.y, qid=data.qid)
    >>> ranker.history_["bound"][-1] < ranker.history_["bound"][0] < 1
    True
    """

    n_rounds: int = param(300, check_positive_int)
    n_thresholds: int | None = param(None, check_positive_int)
    alpha: str = param("r", check_choice, choices=("r", "exact"))
    pair_weights: str = param("pairs", check_choice, choices=NORMALIZERS)
    patience: int | None = None
    normalize: Any = None
    verbose: bool = False

    _scoring_methods: ClassVar[tuple[str, ...]] = (*Boosted._scoring_methods, "contribution")

    STEP_FIELDS: ClassVar = STUMP
    model_of = Trees.of_stumps

    takes_missing = True

    @property
    def feature_weights_(self) -> np.ndarray:
        """The sum of ``|α|`` over the thresholds of each feature.

        If ``normalize`` changes the columns, one value per new column.
        """
        check_is_fitted(self)
        return np.bincount(self.steps_["feature"], np.abs(self.steps_["weight"]), self._n_columns)

    @property
    def _n_columns(self) -> int:
        return self.n_columns_

    def _learn(self, training: TrainingSet, monitor: FitMonitor) -> None:
        queries = training.queries
        weights = np.ones(queries.n_queries) if training.weights is None else training.weights
        self.n_columns_, self.has_missing_ = queries.n_features, check_finite(queries.X, allow_missing=True)
        steps: list[tuple[int, float, float, int]] = []
        names = ("feature", "threshold", "alpha", "r", "z", "bound", "pair_error")
        with monitor.run("n_rounds", self.n_rounds, names, shown=("bound", "pair_error")):
            has_pairs = (pair_counts(queries.lists) > 0) & (weights > 0)
            if has_pairs.any():
                self._boost(queries[has_pairs], weights[has_pairs], monitor, steps)
            else:
                monitor.stop("no two documents of a query differ in their labels")
        self._keep_steps(steps[: monitor.n_kept])

    def _boost(
        self, queries: Queries, weights: np.ndarray, monitor: FitMonitor, steps: list[tuple[int, float, float, int]]
    ) -> None:
        """Append the rounds to ``steps``; every query has pairs of different labels."""
        pairs = _Pairs(queries, weights, str(self.pair_weights))
        stumps = _Stumps(queries.X, self.n_thresholds)
        held = None if monitor.validation is None else stumps.codes_of(monitor.validation.queries.X)
        held_scores = np.zeros(0 if held is None else held.shape[1])
        scores, bound = np.zeros(queries.n_docs), 1.0
        reason = None if stumps.n_candidates else monitor.stop("all features are constant")
        while reason is None and monitor.n_iter < self.n_rounds:
            row, place, r = stumps.best(pairs.pulls(scores))
            if abs(r) <= SAME:
                monitor.stop("no threshold orders the pairs better than chance")
                break
            code, (feature, default) = stumps.codes[row], stumps.rows[row]
            right, wrong = pairs.split(code, place)
            alpha = weight_of_edge(r if self.alpha == "r" else (right - wrong) / (right + wrong))
            z = float(max(1.0 - right - wrong, 0.0) + right * np.exp(-alpha) + wrong * np.exp(alpha))
            scores += alpha * (code > place)
            if held is not None:
                np.add(held_scores, alpha * (held[row] > place), out=held_scores)
            bound *= z
            threshold = float(stumps.thresholds[feature][place])
            steps.append((feature, alpha, threshold, default))
            error = pairs.error(scores)
            reason = monitor.record(
                lambda: held_scores,
                feature=feature, threshold=threshold, alpha=alpha, r=r, z=z, bound=bound, pair_error=error,
            )  # fmt: skip
            if right > 1.0 - SAME or wrong > 1.0 - SAME:
                reason = monitor.stop("one threshold orders every pair")
            elif bound < SMALLEST_BOUND:
                reason = monitor.stop("every pair is in order by a wide margin")

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        X = self._normalized(queries).X
        scores = np.zeros(queries.n_docs)
        for feature in np.unique(self.steps_["feature"]).tolist():
            scores += self.contribution(feature, column_of(X, feature))
        return scores

    def contribution(self, feature: int, values: np.ndarray) -> np.ndarray:
        """Return what a feature adds to the scores of documents, which are the sums of this over all features.

        Parameters
        ----------
        feature : int
            Its column.
        values : ndarray of shape (n_docs,)
            Values of the feature, scaled as by ``normalize``; NaN where it is missing.
        """
        check_is_fitted(self)
        steps = self.steps_[self.steps_["feature"] == feature]
        steps = steps[np.argsort(steps["threshold"], kind="stable")]
        sums = np.concatenate([[0.0], np.cumsum(steps["weight"])])
        parts = sums[np.searchsorted(steps["threshold"], values, side="left")]
        parts[np.isnan(values)] = steps["weight"] @ steps["default"]
        return parts

    def _explained(self, queries: Queries, base: np.ndarray | None) -> tuple[Any, Any, dict[str, Any]]:
        scaled = self._normalized(queries).X
        parts = np.zeros(scaled.shape)
        for feature in np.unique(self.steps_["feature"]).tolist():
            parts[:, feature] = self.contribution(feature, column_of(scaled, feature))
        return parts, scaled, {"feature_names": self._names_of_columns(self.n_columns_)}

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes that no fit sets."""
        super().check_loaded()
        if self.n_columns_ != self._n_scored():
            raise ValueError(f"n_columns_ must be {self._n_scored()}.")


class _Pairs:
    """The weights D of all pairs, which sum to 1, in factorised form; every query has pairs."""

    def __init__(self, queries: Queries, weights: np.ndarray, normalize: str):
        lists = queries.lists
        counts, levels = pair_counts(lists), lists.levels
        lengths = np.diff(lists.indptr).astype(np.float64)
        of_all = 0.5 * lengths * (lengths - 1.0)
        divisors = {"pairs": counts, "all": of_all, "none": np.ones_like(counts)}[normalize]
        of_pair = weights / divisors
        self._weights = of_pair / (of_pair * counts).sum()
        self._all_pairs = self._weights * of_all  # the measure below is a share of all pairs, with equal labels too
        self._structure = (lists.order, lists.indptr, levels.bounds, levels.indptr)
        self._up, self._down = np.zeros(lists.n_docs), np.zeros(lists.n_docs)
        self._total = 1.0
        self._lists = JudgedLists(lists.labels, np.zeros(lists.n_docs), lists.indptr)

    def pulls(self, scores: np.ndarray) -> np.ndarray:
        """Return the weight of the pairs in which each document is better minus that in which it is worse."""
        pulls, sums = np.empty(scores.size), np.empty(self._weights.size)
        _native.rankers.rankboost_potentials(scores, *self._structure, self._weights, self._up, self._down, pulls, sums)
        self._total = float(sums.sum())
        pulls /= self._total
        return pulls

    def split(self, code: np.ndarray, place: int) -> tuple[float, float]:
        """Return the weights of pairs that a threshold orders right and wrong, at the scores of the last ``pulls``."""
        factors = self._weights, self._up, self._down
        right, wrong = _native.rankers.rankboost_split(code, place, *self._structure, *factors)
        return right / self._total, wrong / self._total

    def error(self, scores: np.ndarray) -> float:
        """Return the share of pairs, by their first weights, that are in the wrong order or have equal scores."""
        return float((self._all_pairs * _WRONG_PAIRS.values(self._lists.with_scores(scores))).sum())


class _Stumps:
    """All thresholds of all features, and the number of them below the value of every document.

    A feature with missing values has two rows of candidates, in which a missing value is below or above all thresholds.
    """

    def __init__(self, X: Any, n_thresholds: int | None):
        columns = [column_of(X, feature) for feature in range(X.shape[1])]
        has_missing = [bool(np.isnan(column).any()) for column in columns]
        self.rows = [
            (feature, default) for feature in range(len(columns)) for default in (0, 1)[: 1 + has_missing[feature]]
        ]
        self.thresholds = [_middles(column, n_thresholds) for column in columns]
        self.n_candidates = sum(self.thresholds[feature].size for feature, _ in self.rows)
        sizes = [self.thresholds[feature].size for feature, _ in self.rows]
        self._starts = bounds(sizes)
        self.codes = self.codes_of(X)
        self._edges = np.empty(self.n_candidates)
        self._blocks = [(first, min(first + 16, len(self.rows))) for first in range(0, len(self.rows), 16)]

    def codes_of(self, X: Any) -> np.ndarray:
        codes = np.empty((len(self.rows), X.shape[0]), dtype=np.int32)
        for row, (feature, default) in enumerate(self.rows):
            values, middles = column_of(X, feature), self.thresholds[feature]
            order = np.argsort(values)  # in random order a binary search mispredicts its branches
            codes[row, order] = np.searchsorted(middles, values[order], side="left")
            codes[row][np.isnan(values)] = default * middles.size
        return codes

    def best(self, pulls: np.ndarray) -> tuple[int, int, float]:
        """Return row, index of the threshold and r of the first candidate with the largest ``|r|``."""

        def work(first: int, last: int) -> None:
            _native.rankers.rankboost_sweep(self.codes, self._starts, pulls, first, last, self._edges)

        map_blocks(work, self._blocks)
        largest = max(self._edges.max(), -self._edges.min())
        candidate = _native.rankers.first_of_size(self._edges, largest - SAME)
        row = int(np.searchsorted(self._starts, candidate, side="right")) - 1
        return row, candidate - int(self._starts[row]), float(self._edges[candidate])


def _middles(values: np.ndarray, n_thresholds: int | None) -> np.ndarray:
    """Return midpoints between neighbouring values, all or at quantiles; also LOWEST where values are missing."""
    is_missing = np.isnan(values)
    if is_missing.any():
        known = values[~is_missing]
        return np.append(LOWEST, _middles(known, n_thresholds)) if known.size else np.zeros(0)
    distinct, counts = np.unique(values, return_counts=True)
    low, high = distinct[:-1], distinct[1:]
    middles = 0.5 * low + 0.5 * high
    middles = np.where(middles < high, middles, low)  # if they are adjacent floats
    if n_thresholds is None or n_thresholds >= middles.size:
        return middles
    ranks = values.size * np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    below = np.cumsum(counts)[:-1]  # rows below each middle
    after = np.minimum(np.searchsorted(below, ranks), below.size - 1)
    before = np.maximum(after - 1, 0)
    return middles[np.unique(np.where(ranks - below[before] < below[after] - ranks, before, after))]
