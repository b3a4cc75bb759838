"""Boosted rankers: sums of weak rankers, found one per round, each for what the rounds before it got wrong."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._threads import deal
from plackett.data.queries import Queries
from plackett.losses._pair_plan import pair_counts
from plackett.losses.pairwise import NORMALIZERS
from plackett.metrics.judged import JudgedLists, fill_empty
from plackett.metrics.measure import Measure
from plackett.rankers import _boosting
from plackett.rankers.base import Interrupted, Normalized, check_loaded_normalizer
from plackett.rankers.fitting import DEFAULT_METRIC, NO_IMPROVEMENT
from plackett.rankers.progress import Progress
from plackett.scorers.linear import LinearScorer
from plackett.validation import check_choice, check_number, check_positive_int, is_sparse

ALL_ROUNDS = "all rounds were used"
INTERRUPTED = "interrupted"
LARGEST_EDGE = 1.0 - 1e-6  # a perfect weak ranker would get an infinite weight; this one gets 7.25
SAME = 1e-12  # candidates whose values differ by less are equal: sums over rows in another order differ by that
SMALLEST_BOUND = 1e-15  # of the share of pairs in the wrong order
_WRONG_PAIRS = Measure("mre", ties="worst")


class _Boosted(Normalized):
    """What AdaRank and RankBoost share: the door, the validation set, when to end, what is kept."""

    n_rounds: int
    patience: int | None
    verbose: bool

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Any:
        """Find the weak rankers and their weights.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        y : array-like of shape (n_docs,)
            Labels, larger is better. Left out where X is a Queries.
        qid : iterable of hashable ids, one per row, default=None
            In any row order; None means that all rows are one list.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query).
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every round; the rounds up to the best one are kept.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._all_or_nothing():
            measure = Measure.parse(DEFAULT_METRIC if eval_metric is None else eval_metric)
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            held_back = self._check_eval_set(eval_set)
            queries = self._fit_normalizer(queries)
            validation = None if held_back is None else _Validation(self._normalized(held_back), measure)
            rounds = _Rounds(validation, Progress("boosting", self.n_rounds, is_shown=bool(self.verbose)))
            try:
                with rounds.progress:
                    self.stop_reason_ = self._boost(
                        queries, np.ones(queries.n_queries) if weights is None else weights, rounds
                    )
            except KeyboardInterrupt:
                self.stop_reason_ = INTERRUPTED
            self._keep(rounds)
            if self.stop_reason_ == INTERRUPTED:
                raise Interrupted("the fit was interrupted; the rounds so far were kept.")
            return self

    @abstractmethod
    def _boost(self, queries: Queries, weights: np.ndarray, rounds: _Rounds) -> str:
        """Work through the rounds; the answer is why they ended."""

    def _keep(self, rounds: _Rounds) -> None:
        self.history_ = rounds.history
        has_validation = rounds.validation is not None
        self.best_iteration_ = rounds.best_round if has_validation else None
        self.best_score_ = rounds.best_value if has_validation and rounds.best_round else None

    def _check_parameters(self) -> None:
        check_positive_int(self.n_rounds, "n_rounds")
        if self.patience is not None:
            check_positive_int(self.patience, "patience")


class _Validation:
    """Queries that are held back, and the measure that is taken of them after every round."""

    def __init__(self, queries: Queries, measure: Measure):
        self.queries, self.measure = queries, measure
        self._lists = JudgedLists(queries.labels, np.zeros(queries.n_docs), queries.indptr)

    def mean(self, scores: np.ndarray) -> float:
        return _mean(self.measure, self.measure._compute(self._lists.with_scores(scores)))


class _Rounds:
    """What is written down after every round."""

    def __init__(self, validation: _Validation | None, progress: Progress):
        self.validation, self.progress = validation, progress
        self.history: dict[str, list] = {}
        self.n_rounds, self.best_round, self.best_value = 0, 0, np.nan

    def note(self, **values: float) -> None:
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)

    def judge(self, value: float, higher_is_better: bool, tol: float) -> None:
        """Remember this round if it is better than the best by more than ``tol``."""
        gain = value - self.best_value if higher_is_better else self.best_value - value
        if self.best_round == 0 or gain > tol:
            self.best_round, self.best_value = self.n_rounds, value

    def judge_validation(self, scores: np.ndarray) -> None:
        assert self.validation is not None
        measure = self.validation.measure
        value = self.validation.mean(scores)
        self.note(**{str(measure): value})
        self.judge(value, measure.higher_is_better, SAME)
        self.progress.advance(f"{measure} {value:.4f}")


# ---- AdaRank -----------------------------------------------------------------------------------------------------


class AdaRank(_Boosted):
    """Boosts single features towards any measure: scores are ``X @ coef_`` (Xu and Li 2007).

    Every query has a weight P. A round takes the feature whose rankings have the largest weighted mean Σ P E of the
    measure, gives it ``α = ½ ln(Σ P (1 + E) / Σ P (1 - E))``, adds α times the feature to the scores, and lets P be
    proportional to ``exp(-E)`` of the scores so far: queries that are ranked badly count more in the next round.

    A feature ranks falling or, with α taken negative, rising. The feature of the last round is left out, so that it is
    chosen again only after another one; equal candidates are settled by the number of the feature, falling before
    rising. E is the measure itself where higher is better, divided by what the best or the worst order of the query
    gets where that leaves ``[-1, 1]``, as for DCG. Where lower is better, E goes from 1 for the query's best order to
    -1 for its worst. Equal scores count with the mean over their orders unless the measure spells out ``ties``: the
    order of the rows has no influence. Queries that get the same from every order (one document, equal labels, none
    relevant) take no part.

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
    stop_reason_ : str
    history_ : dict of lists
        For every round ``"feature"``, ``"alpha"``, ``"edge"`` (Σ P E of the feature), ``"train"`` (the measure on the
        training set) and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
    normalizer_, feature_names_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

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
        normalize: Any = None,
        verbose: bool = False,
    ):
        self.metric = metric
        self.n_rounds = n_rounds
        self.tol = tol
        self.patience = patience
        self.directions = directions
        self.normalize = normalize
        self.verbose = verbose

    @property
    def feature_weights_(self) -> list[tuple[Any, float]]:
        check_is_fitted(self)
        return _named_steps(self.features_, self.alphas_, self._column_names())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.tol, "tol", least=0.0)
        check_choice(self.directions, "directions", ("both", "falling"))
        Measure.parse(self.metric)

    def _boost(self, queries: Queries, weights: np.ndarray, rounds: _Rounds) -> str:
        self.coef_, self.intercept_ = np.zeros(queries.n_features), 0.0
        self.features_, self.alphas_, self.n_rounds_ = np.zeros(0, dtype=np.int64), np.zeros(0), 0
        target = _Target(Measure.parse(self.metric), queries)
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
        train = _Rounds(None, rounds.progress)  # the paper's rule looks at the training set
        while rounds.n_rounds < self.n_rounds:
            edges = candidates @ P
            if features:
                edges[:, features[-1]] = -np.inf
            feature, sign, edge = _best_feature(edges)
            if edge <= SAME:
                return "no other feature has a positive mean of the measure"
            alpha = sign * _alpha(edge)
            features.append(feature)
            alphas.append(alpha)
            coef[feature] += alpha
            rounds.n_rounds += 1
            train.n_rounds += 1
            mean, values = target.of_scores(scorer.scores(coef))
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

    def explain(self, X: Any, *, qid: Any = None, rows: Any = None, docid: Any = None):
        """What each feature adds to each document's score, relative to the mean of its list; exact.

        Parameters
        ----------
        X, qid : as in ``predict``
        rows : array-like of ints, default=None
            Rows to explain; None explains all.
        docid : array-like, default=None
            Names of the documents, to show instead of row numbers.

        Returns
        -------
        Explanation
        """
        from plackett.rankers.linear import LinearRanker

        return LinearRanker.explain(self, X, qid=qid, rows=rows, docid=docid)

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        return LinearScorer(self._normalized(queries).X).scores(self.coef_)

    def _column_names(self) -> list[str] | None:
        names = self.feature_names_
        return names if names is not None and len(names) == self.coef_.size else None

    def _check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        _check_vector(self, "coef_", np.float64)
        _check_steps(self, self.coef_.size)
        check_loaded_normalizer(self)
        if self.normalizer_ is None and self.coef_.size != self.n_features_in_:
            raise ValueError(f"there are {self.coef_.size} coefficients for {self.n_features_in_} features.")


class _Target:
    """The measure that AdaRank boosts, as values E from -1 to 1, higher is better, of the queries that have one."""

    def __init__(self, measure: Measure, queries: Queries):
        ties = {"ties": "average"} if "ties" in measure.kind.defaults else {}
        self.measure = Measure(measure.name, measure.k, **{**ties, **measure.parameters})
        self._lists = JudgedLists(queries.labels, np.zeros(queries.n_docs), queries.indptr)
        best, worst = self._values(queries.labels), self._values(-queries.labels)
        self.is_counted = abs(best - worst) > SAME  # NaN, a query without a value, is not above
        best, worst = best[self.is_counted], worst[self.is_counted]
        if measure.higher_is_better:
            self._zero, self._unit = np.zeros(best.size), np.maximum(np.maximum(abs(best), abs(worst)), 1.0)
        else:
            self._zero, self._unit = 0.5 * (best + worst), 0.5 * (best - worst)

    def of_scores(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean of the measure over all queries, and E of those that count."""
        values = self._values(scores)
        return _mean(self.measure, values), self._scaled(values)

    def of_features(self, X: Any, *, has_rising: bool) -> np.ndarray:
        """E of every feature, direction × feature × query: computed once, since features do not change."""
        signs = (1.0, -1.0) if has_rising else (1.0,)
        values = np.empty((len(signs), X.shape[1], int(self.is_counted.sum())))

        def fill(feature: int) -> None:
            scores = column_of(X, feature)
            for place, sign in enumerate(signs):
                values[place, feature] = self._scaled(self._values(sign * scores))

        deal(fill, [(feature,) for feature in range(X.shape[1])])
        return values

    def _values(self, scores: np.ndarray) -> np.ndarray:
        return self.measure._compute(self._lists.with_scores(scores))

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return np.clip((values[self.is_counted] - self._zero) / self._unit, -1.0, 1.0)


def _best_feature(edges: np.ndarray) -> tuple[int, float, float]:
    """The feature with the largest edge, its direction and its edge; the first of equals, falling before rising."""
    by_feature = edges.T
    place = int(np.argmax(by_feature.reshape(-1) >= by_feature.max() - SAME))
    feature, direction = divmod(place, edges.shape[0])
    return feature, 1.0 - 2.0 * direction, float(edges[direction, feature])


def _alpha(edge: float) -> float:
    """The weight of a weak ranker, ½ ln((1 + edge) / (1 - edge)), which stays finite."""
    return float(np.arctanh(np.clip(edge, -LARGEST_EDGE, LARGEST_EDGE)))


# ---- RankBoost ---------------------------------------------------------------------------------------------------


class RankBoost(_Boosted):
    """Boosts thresholds of features over pairs of documents: scores are ``Σ α [x_feature > threshold]``.

    RankBoost of Freund et al. (2003).

    Every pair of a better document i and a worse j of one query has a weight ``D ∝ w_q exp(H_j - H_i)``, H being the
    scores so far. A round takes the feature and the threshold with the largest ``|r|``, r being the weight of the pairs
    that it orders rightly less that of those it orders wrongly, and adds it with the weight α. As in the paper, r and α
    may be negative: then the documents below the threshold are the better ones. Equal candidates are settled by the
    number of the feature, then by the smaller threshold. No list of pairs is made: D factorises.

    The weighted share of pairs in the wrong order (equal scores are wrong) is at most the product of all Z, and each Z
    is below 1.

    Parameters
    ----------
    n_rounds : int, default=300
        Rounds at most.
    n_thresholds : int or None, default=None
        Thresholds per feature: the middles between neighbouring values at so many quantiles of the training rows; None
        takes all of them. Queries in which all labels are equal are left out.
    alpha : {"r", "exact"}, default="r"
        ``"r"``: ``½ ln((1 + r) / (1 - r))``, which minimises a bound of Z; ``"exact"``: ``½ ln(W+ / W-)``, with the
        weights of the pairs ordered rightly and wrongly, which minimises Z itself. At most 7.25 either way.
    pair_weights : {"pairs", "all", "none"}, default="pairs"
        What a pair counts at the start: ``"pairs"`` one over the query's pairs with different labels, ``"all"`` one
        over all its pairs, ``"none"`` the same in every query, as in the paper. ``normalize`` of the pairwise losses.
    patience : int or None, default=None
        With a validation set, the fit ends after so many rounds without a better value of its measure; None: never.
    normalize : str, transformer or None, default=None
        How columns are scaled first, as for ``LinearRanker``; matters only where that changes the order of a column,
        as scaling within queries does.
    verbose : bool, default=False
        A progress bar on standard error.

    Attributes
    ----------
    features_, thresholds_, alphas_ : ndarrays of shape (n_rounds_,)
        The rounds that were kept.
    feature_weights_ : list of (feature, threshold, α)
        The same, by name where the columns have names.
    n_rounds_ : int
        Rounds that were kept: up to the best on the validation set, all without one.
    stop_reason_ : str
    history_ : dict of lists
        For every round ``"feature"``, ``"threshold"``, ``"alpha"``, ``"r"``, ``"z"``, ``"bound"`` (the product of all Z
        so far), ``"pair_error"`` and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
    normalizer_, feature_names_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = RankBoost(n_rounds=50).fit(data.X, data.y, qid=data.qid)
    >>> ranker.history_["bound"][-1] < ranker.history_["bound"][0] < 1
    True
    """

    def __init__(
        self,
        n_rounds: int = 300,
        n_thresholds: int | None = None,
        alpha: str = "r",
        pair_weights: str = "pairs",
        patience: int | None = None,
        normalize: Any = None,
        verbose: bool = False,
    ):
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.alpha = alpha
        self.pair_weights = pair_weights
        self.patience = patience
        self.normalize = normalize
        self.verbose = verbose

    @property
    def feature_weights_(self) -> list[tuple[Any, float, float]]:
        check_is_fitted(self)
        names = self.feature_names_ if self.n_columns_ == self.n_features_in_ else None
        steps = _named_steps(self.features_, self.alphas_, names)
        return [(name, limit, alpha) for (name, alpha), limit in zip(steps, self.thresholds_.tolist(), strict=True)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_thresholds is not None:
            check_positive_int(self.n_thresholds, "n_thresholds")
        check_choice(self.alpha, "alpha", ("r", "exact"))
        check_choice(self.pair_weights, "pair_weights", NORMALIZERS)

    def _boost(self, queries: Queries, weights: np.ndarray, rounds: _Rounds) -> str:
        self.n_columns_ = queries.n_features
        self.features_, self.thresholds_, self.alphas_ = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
        self.n_rounds_ = 0
        has_pairs = (pair_counts(queries.lists) > 0) & (weights > 0)
        if not has_pairs.any():
            return "no two documents of a query differ in their labels"
        queries = queries[has_pairs]  # rows without a pair have no say in the thresholds either
        pairs = _Pairs(queries, weights[has_pairs], str(self.pair_weights))
        stumps = _Stumps(queries.X, self.n_thresholds)
        if stumps.n_candidates == 0:
            return "all features are constant"
        held = None if rounds.validation is None else stumps.codes_of(rounds.validation.queries.X)
        held_scores = np.zeros(0 if held is None else held.shape[1])
        scores, bound = np.zeros(queries.n_docs), 1.0
        steps: list[tuple[int, float, float]] = []
        while rounds.n_rounds < self.n_rounds:
            feature, place, r = stumps.best(pairs.pulls(scores))
            if abs(r) <= SAME:
                return "no threshold orders the pairs better than chance"
            code = stumps.codes[feature]
            right, wrong = pairs.split(code, place)
            alpha = _alpha(r) if self.alpha == "r" else _exact_alpha(right, wrong)
            z = max(1.0 - right - wrong, 0.0) + right * np.exp(-alpha) + wrong * np.exp(alpha)
            scores += alpha * (code > place)
            bound *= z
            rounds.n_rounds += 1
            threshold = float(stumps.thresholds[feature][place])
            steps.append((feature, threshold, alpha))
            error = pairs.error(scores)
            rounds.note(
                feature=feature, threshold=threshold, alpha=alpha, r=r, z=float(z), bound=float(bound), pair_error=error
            )
            if held is None:
                rounds.progress.advance(f"bound {bound:.4f}  pair error {error:.4f}")
                rounds.best_round = rounds.n_rounds
            else:
                held_scores += alpha * (held[feature] > place)
                rounds.judge_validation(held_scores)
            if rounds.best_round == rounds.n_rounds:
                self._keep_steps(steps)
            if right > 1.0 - SAME or wrong > 1.0 - SAME:
                return "one threshold orders every pair"
            if bound < SMALLEST_BOUND:
                return "every pair is in order by a wide margin"
            if self.patience is not None and rounds.n_rounds - rounds.best_round >= self.patience:
                return NO_IMPROVEMENT
        return ALL_ROUNDS

    def _keep_steps(self, steps: list[tuple[int, float, float]]) -> None:
        features, thresholds, alphas = zip(*steps, strict=True)
        self.features_, self.n_rounds_ = np.array(features, dtype=np.int64), len(steps)
        self.thresholds_, self.alphas_ = np.array(thresholds), np.array(alphas)

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        X = self._normalized(queries).X
        scores = np.zeros(queries.n_docs)
        for feature in np.unique(self.features_):
            scores += self.contribution(int(feature), column_of(X, int(feature)))
        return scores

    def contribution(self, feature: int, values: np.ndarray) -> np.ndarray:
        """What a feature adds to the score of documents in which it has these values, after scaling if there is any.

        The score is the sum of this over all features, which explains it exactly.
        """
        check_is_fitted(self)
        chosen = np.flatnonzero(self.features_ == feature)
        chosen = chosen[np.argsort(self.thresholds_[chosen], kind="stable")]
        sums = np.concatenate([[0.0], np.cumsum(self.alphas_[chosen])])
        return sums[np.searchsorted(self.thresholds_[chosen], values, side="left")]

    def _check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        check_loaded_normalizer(self)
        if not isinstance(self.n_columns_, int) or (
            self.normalizer_ is None and self.n_columns_ != self.n_features_in_
        ):
            raise ValueError("n_columns_ must be the number of features.")
        _check_steps(self, self.n_columns_)
        _check_vector(self, "thresholds_", np.float64)
        if self.thresholds_.size != self.alphas_.size:
            raise ValueError("thresholds_ must have one number for every weight in alphas_.")


class _Pairs:
    """The weights D of all pairs, which sum to 1, as the factors of which they are products; every query has pairs."""

    def __init__(self, queries: Queries, weights: np.ndarray, normalize: str):
        lists = queries.lists
        counts, levels = pair_counts(lists), lists.levels
        lengths = np.diff(lists.indptr).astype(np.float64)
        of_all = 0.5 * lengths * (lengths - 1.0)
        divisors = {"pairs": counts, "all": of_all, "none": np.ones_like(counts)}[normalize]
        of_pair = weights / divisors
        self._weights = of_pair / (of_pair * counts).sum()
        self._all_pairs = self._weights * of_all  # the measure below is a share of all pairs, equal labels among them
        self._structure = (lists.order, lists.indptr, levels.bounds, levels.indptr)
        self._up, self._down = np.zeros(lists.n_docs), np.zeros(lists.n_docs)
        self._total = 1.0
        self._lists = JudgedLists(lists.labels, np.zeros(lists.n_docs), lists.indptr)

    def pulls(self, scores: np.ndarray) -> np.ndarray:
        """Of each document, the weight of the pairs in which it is better less that of those in which it is worse."""
        pulls, sums = np.empty(scores.size), np.empty(self._weights.size)
        _boosting.potentials(scores, *self._structure, self._weights, self._up, self._down, pulls, sums)
        self._total = float(sums.sum())
        pulls /= self._total
        return pulls

    def split(self, code: np.ndarray, place: int) -> tuple[float, float]:
        """Weights of the pairs that a threshold orders rightly and wrongly, under the scores of the last ``pulls``."""
        right, wrong = _boosting.split(code, place, *self._structure, self._weights, self._up, self._down)
        return right / self._total, wrong / self._total

    def error(self, scores: np.ndarray) -> float:
        """Share of the pairs, by their first weights, that are in the wrong order or have equal scores."""
        return float((self._all_pairs * np.nan_to_num(_WRONG_PAIRS._compute(self._lists.with_scores(scores)))).sum())


class _Stumps:
    """All thresholds of all features, and for every document how many of them are below its value."""

    def __init__(self, X: Any, n_thresholds: int | None):
        columns = range(X.shape[1])
        self.thresholds = [_middles(column_of(X, feature), n_thresholds) for feature in columns]
        self._starts = np.concatenate([[0], np.cumsum([middles.size for middles in self.thresholds])]).astype(np.int64)
        self.n_candidates = int(self._starts[-1])
        self.codes = self.codes_of(X)
        self._edges = np.empty(self.n_candidates)
        self._blocks = [(first, min(first + 16, X.shape[1])) for first in range(0, X.shape[1], 16)]

    def codes_of(self, X: Any) -> np.ndarray:
        codes = np.empty((X.shape[1], X.shape[0]), dtype=np.int32)
        for feature, middles in enumerate(self.thresholds):
            codes[feature] = np.searchsorted(middles, column_of(X, feature), side="left")
        return codes

    def best(self, pulls: np.ndarray) -> tuple[int, int, float]:
        """Feature, place of the threshold and r of the candidate with the largest ``|r|``; the first of equals."""
        deal(
            lambda first, last: _boosting.sweep(self.codes, self._starts, pulls, first, last, self._edges), self._blocks
        )
        largest = max(self._edges.max(), -self._edges.min())
        candidate = int(_boosting.first_of_size(self._edges, largest - SAME))
        feature = int(np.searchsorted(self._starts, candidate, side="right")) - 1
        return feature, candidate - int(self._starts[feature]), float(self._edges[candidate])


def _middles(values: np.ndarray, n_thresholds: int | None) -> np.ndarray:
    """Middles between neighbouring values, all or at quantiles of the rows; ``value > middle`` parts the two."""
    distinct, counts = np.unique(values, return_counts=True)
    low, high = distinct[:-1], distinct[1:]
    middles = 0.5 * low + 0.5 * high
    middles = np.where(middles < high, middles, low)  # neighbours among the floats
    if n_thresholds is None or n_thresholds >= middles.size:
        return middles
    ranks = values.size * np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    below = np.cumsum(counts)[:-1]  # rows below each middle
    after = np.minimum(np.searchsorted(below, ranks), below.size - 1)
    before = np.maximum(after - 1, 0)
    return middles[np.unique(np.where(ranks - below[before] < below[after] - ranks, before, after))]


def _exact_alpha(right: float, wrong: float) -> float:
    """½ ln(right / wrong), which stays finite."""
    return _alpha((right - wrong) / (right + wrong))


# ---- both --------------------------------------------------------------------------------------------------------


def column_of(X: Any, feature: int) -> np.ndarray:
    """A column as contiguous float64."""
    column = X[:, [feature]].toarray() if is_sparse(X) else X[:, feature]
    return np.ascontiguousarray(column, dtype=np.float64).reshape(-1)


def _mean(measure: Measure, values: np.ndarray) -> float:
    filled = fill_empty(values, measure.parameters.get("empty", 0))
    counted = filled[~np.isnan(filled)]
    return float(counted.mean()) if counted.size else np.nan


def _named_steps(features: np.ndarray, alphas: np.ndarray, names: list[str] | None) -> list[tuple[Any, float]]:
    numbers = features.tolist()
    return list(zip(numbers if names is None else [names[f] for f in numbers], alphas.tolist(), strict=True))


def _check_vector(ranker: Any, name: str, dtype: Any) -> None:
    vector = getattr(ranker, name, None)
    if not isinstance(vector, np.ndarray) or vector.dtype != dtype or vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a vector of finite numbers.")


def _check_steps(ranker: Any, n_features: int) -> None:
    """Refuse rounds that name features which are not there."""
    _check_vector(ranker, "alphas_", np.float64)
    _check_vector(ranker, "features_", np.int64)
    features = ranker.features_
    if features.size != ranker.alphas_.size or ((features < 0) | (features >= n_features)).any():
        raise ValueError(f"features_ must name one of {n_features} features for every weight in alphas_.")
