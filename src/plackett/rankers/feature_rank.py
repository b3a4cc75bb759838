"""Rankers that combine the rankings that lie in single features: FeatureRank, BL-FeatureRank, DiffRank."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._threads import deal, query_blocks
from plackett.data.queries import Queries, QueryLists
from plackett.metrics.measure import Measure
from plackett.rankers import _feature_rank
from plackett.rankers.base import Interrupted, Ranker
from plackett.rankers.discovery import (
    CENTRES,
    DISCOVERIES,
    DOCS_PER_BLOCK,
    Discovery,
    FeatureRanks,
    LevelBounds,
    count_label_pairs,
    find_centres,
    find_signs,
)
from plackett.rankers.fitting import DEFAULT_METRIC, NO_IMPROVEMENT
from plackett.rankers.progress import Progress
from plackett.validation import check_choice, check_positive_int

LEAST = 1e-12  # of the two sums whose ratio gives a weight: a perfect feature gets a finite one
FINISHED = "all steps done"
NO_PAIRS = "no query has documents with different labels"
BALANCES = ("global", "query")


class _Step:
    """What a step adds: a feature with its weight, and for BL-FeatureRank what enters and how it is mixed."""

    def __init__(self, weight: float, choice: int = _feature_rank.FEATURE, beta: float = 0.0):
        self.weight, self.choice, self.beta = weight, choice, beta


class _Lists:
    """Training lists in order of falling labels, and sums over them."""

    def __init__(self, queries: Queries, weights: np.ndarray | None, top: int | None = None):
        lists = queries.lists
        self.lists, self.indptr, self.levels = lists, lists.indptr, LevelBounds.of(lists)
        self.n_docs, self.n_queries = lists.n_docs, lists.n_queries
        self.pairs = count_label_pairs(lists, top)
        self.weights = np.where(self.pairs > 0, 1.0 if weights is None else weights, 0.0)
        self.blocks = query_blocks(self.indptr, DOCS_PER_BLOCK)
        self.total_pairs = self.total(self.pairs)

    def total(self, values: np.ndarray) -> float:
        """Sum over the queries by their weights, rounded once: the order of the queries does not show."""
        return math.fsum(self.weights * values)

    def mean(self, values: np.ndarray) -> float:
        return self.total(values) / max(math.fsum(self.weights), 1e-300)

    def error(self, wrong: np.ndarray) -> float:
        return self.total(wrong) / self.total_pairs if self.total_pairs > 0 else 0.0


class _DiffTraining:
    """DiffRank's distribution over pairs, of which only each document's share is ever computed."""

    names = ("bound", "error")

    def __init__(self, lists: _Lists, ranks: FeatureRanks, prec: int | None):
        self._lists, self._ranks = lists, ranks.twice
        self._top = lists.n_docs if prec is None else prec
        # where the label levels cut across prec, the whole level belongs to the top
        self._tops = _top_places(lists, self._top)
        self.scores, self._net = np.zeros(lists.n_docs), np.empty(lists.n_docs)
        self._totals, self._pulls = np.zeros(lists.n_queries), np.zeros(lists.n_queries)
        self._wrong = np.zeros(lists.n_queries, np.int64)
        self._weigh()

    def _weigh(self) -> None:
        lists = self._lists

        def work(first: int, last: int) -> None:
            _feature_rank.weigh_pairs(
                self.scores, lists.levels.start, self._top, lists.pairs, lists.indptr, first, last,
                self._totals, self._net,
            )  # fmt: skip
            _feature_rank.count_wrong(
                self.scores, lists.levels.start, lists.levels.end, self._tops, lists.pairs, lists.indptr, first, last,
                self._wrong,
            )  # fmt: skip

        deal(work, lists.blocks)
        self._total = lists.total(self._totals)

    def step(self, feature: int) -> _Step:
        lists, ranks = self._lists, self._ranks[feature]
        weight = 0.0
        if self._total > 1e-290:  # below, every pair is in order by far
            deal(
                lambda first, last: _feature_rank.pull(
                    ranks, self._net, lists.pairs, lists.indptr, first, last, self._pulls
                ),
                lists.blocks,
            )
            weight = _half_log_odds(lists.total(self._pulls) / self._total)
        if weight != 0.0:
            _feature_rank.add_feature(ranks, weight, self.scores)
            self._weigh()
        return _Step(weight)

    def measures(self) -> tuple[float, float]:
        bound = self._total / self._lists.total_pairs if self._lists.total_pairs > 0 else 0.0
        return bound, self._lists.error(self._wrong)


def _half_log_odds(r: float) -> float:
    return 0.5 * math.log(max(1.0 + r, LEAST) / max(1.0 - r, LEAST))


def _top_places(lists: _Lists, top: int) -> np.ndarray:
    """Per query, how many documents belong to the top."""
    belongs = np.concatenate([[0], np.cumsum(lists.levels.start < top)])
    return belongs[lists.indptr[1:]] - belongs[lists.indptr[:-1]]


class _RankTraining:
    """The ranking so far of every training list, for FeatureRank (``balance=None``) and BL-FeatureRank."""

    names = ("E", "error")

    def __init__(self, lists: _Lists, ranks: FeatureRanks, balance: str | None):
        self._lists, self._ranks, self._balance = lists, ranks, balance
        self._pairs = np.maximum(lists.pairs, 1)
        self.twice = np.zeros(lists.n_docs, np.int32)
        self._spare = np.empty_like(self.twice)
        self.E = np.zeros(lists.n_queries)
        self._wrong = np.zeros(lists.n_queries, np.int64)
        self._w = np.ones(lists.n_queries)
        self.choices = np.zeros(lists.n_queries, np.int64)
        self.betas = np.zeros(lists.n_queries)

    def step(self, feature: int) -> _Step:
        ranks = self._ranks.twice[feature]
        of_feature = (self._ranks.right[:, feature] - self._ranks.wrong[:, feature]) / self._pairs
        choice, beta, entering = _feature_rank.FEATURE, 0.0, of_feature
        if self._balance is not None:
            choice, beta, entering = self._choose(ranks, of_feature)
        weight = 0.5 * math.log(
            max(self._lists.total(self._w * (1.0 + entering)), LEAST)
            / max(self._lists.total(self._w * (1.0 - entering)), LEAST)
        )
        right, self._wrong = self._rank(ranks, weight, self.choices, self.betas)
        self.twice, self._spare = self._spare, self.twice
        self.E = (right - self._wrong) / self._pairs
        self._w = np.exp(-self.E)
        return _Step(weight, choice, beta)

    def _choose(self, ranks: np.ndarray, of_feature: np.ndarray) -> tuple[int, float, np.ndarray]:
        """Per query the best of feature, mixture and the ranking so far; then what all queries together say."""
        total = of_feature + self.E
        betas = np.divide(self.E, total, out=np.full(total.size, 0.5), where=total > 0)
        candidates = np.stack([of_feature, self._mixture(ranks, betas), self.E])
        choices = candidates.argmax(axis=0)  # the earlier of equals
        votes = [self._lists.total(self._w * (choices == choice)) for choice in range(3)]
        choice = int(np.argmax(votes))
        beta = 0.0
        if choice == _feature_rank.MIXTURE:
            beta = self._lists.total(self._w * (choices == choice) * betas) / votes[choice]
        if self._balance == "query":
            self.choices, self.betas = choices, betas
            return choice, beta, candidates.max(axis=0)
        self.choices, self.betas = np.full(choices.size, choice), np.full(betas.size, beta)
        if choice == _feature_rank.MIXTURE:
            return choice, beta, self._mixture(ranks, self.betas)
        return choice, beta, candidates[choice]

    def _mixture(self, ranks: np.ndarray, betas: np.ndarray) -> np.ndarray:
        right, wrong = self._rank(ranks, 0.0, self.choices, betas, is_mixture=True)
        return (right - wrong) / self._pairs

    def _rank(
        self, ranks: np.ndarray, weight: float, choices: np.ndarray, betas: np.ndarray, *, is_mixture: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        lists = self._lists
        right, wrong = np.zeros(lists.n_queries, np.int64), np.zeros(lists.n_queries, np.int64)

        def work(first: int, last: int) -> None:
            _feature_rank.rank_step(
                ranks, self.twice, is_mixture, weight, choices, betas, True, lists.levels.start, lists.levels.end,
                lists.indptr, first, last, self._spare, right, wrong,
            )  # fmt: skip

        deal(work, lists.blocks)
        return right, wrong

    def measures(self) -> tuple[float, float]:
        return self._lists.mean(self.E), self._lists.error(self._wrong)


class _Replay:
    """The steps of a model, taken one after the other on lists whose labels nobody knows."""

    def __init__(self, ranks: np.ndarray, indptr: np.ndarray, *, is_additive: bool):
        self._ranks, self._indptr, self._is_additive = ranks, indptr, is_additive
        self._blocks = query_blocks(indptr, DOCS_PER_BLOCK)
        self._sums = np.zeros(ranks.shape[1])
        self._twice = np.zeros(ranks.shape[1], np.int32)
        self._spare = np.empty_like(self._twice)

    @property
    def scores(self) -> np.ndarray:
        return self._sums if self._is_additive else 0.5 * self._twice

    def take(self, feature: int, step: _Step) -> None:
        ranks, indptr = self._ranks[feature], self._indptr
        if self._is_additive:
            _feature_rank.add_feature(ranks, step.weight, self._sums)
            return
        choices, betas = np.full(indptr.size - 1, step.choice), np.full(indptr.size - 1, step.beta)

        def work(first: int, last: int) -> None:
            _feature_rank.rank_step(
                ranks, self._twice, False, step.weight, choices, betas, False, indptr, indptr,
                indptr, first, last, self._spare, indptr, indptr,
            )  # fmt: skip

        deal(work, self._blocks)
        self._twice, self._spare = self._spare, self._twice


class _Watch:
    """What happens after every step: history, validation measure, progress."""

    def __init__(self, names: tuple[str, ...], held_back: Queries | None, metric: Any, replay: _Replay | None):
        self.history: dict[str, list[float]] = {name: [] for name in names}
        self.best_iteration: int | None = None
        self.best_score: float | None = None
        self._names, self._held_back, self._replay = names, held_back, replay
        self._measure = Measure.parse(DEFAULT_METRIC if metric is None else metric)
        if held_back is not None:
            self.history[str(self._measure)] = []

    def __call__(self, n_steps: int, feature: int, step: _Step, measures: tuple[float, ...]) -> str:
        shown = "  ".join(f"{name} {value:.4f}" for name, value in zip(self._names, measures, strict=True))
        for name, value in zip(self._names, measures, strict=True):
            self.history[name].append(value)
        if self._held_back is None or self._replay is None:
            return shown
        self._replay.take(feature, step)
        values = self._measure.values(self._held_back.labels, self._replay.scores, qid=self._held_back.qid)
        mean = float(np.nanmean(values))
        self.history[str(self._measure)].append(mean)
        if self.best_score is None or self._is_better(mean, self.best_score):
            self.best_iteration, self.best_score = n_steps, mean
        return f"{shown}  {self._measure} {mean:.4f}"

    def _is_better(self, value: float, best: float) -> bool:
        return value > best if self._measure.higher_is_better else value < best


class _FeatureRanker(Ranker):
    """What the three rankers share: discovery, the loop over the features, validation, replay."""

    _is_additive = False
    n_intervals: int
    discovery: str
    centre: str
    cycles: int
    patience: int | None
    verbose: bool
    feature_weights_: np.ndarray
    centres_: Any
    signs_: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Self:
        """Find the ranking in each feature, and the weights.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        y : array-like of shape (n_docs,)
            Labels, larger is better. Left out where X is a Queries.
        qid : iterable of hashable ids, one per row, default=None
            In any row order; None means that all rows are one list.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query). A query of weight
            2 counts as two alike.
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every step.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._all_or_nothing():
            if eval_metric is not None:
                Measure.parse(eval_metric)
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            held_back = self._check_eval_set(eval_set)
            self._discover(queries.X, queries.lists, weights)
            training = self._training(queries, weights)
            replay = None if held_back is None else self._replay(held_back)
            return self._learn(training, _Watch(training.names, held_back, eval_metric, replay))

    def _discover(self, X: Any, lists: QueryLists, weights: np.ndarray | None) -> None:
        self.centres_ = self.signs_ = None
        if self.discovery == "linear":
            self.signs_ = find_signs(X, lists, weights)
        else:
            self.centres_ = find_centres(X, lists, self.n_intervals, centre=self.centre, weights=weights)

    def _discovery(self) -> Discovery:
        return Discovery(self.centres_) if self.signs_ is None else Discovery.linear(self.signs_)

    @abstractmethod
    def _training(self, queries: Queries, weights: np.ndarray | None) -> Any:
        """What goes through the features, step by step."""

    def _replay(self, queries: Queries) -> _Replay:
        ranks = self._discovery().twice_ranks(queries.X, queries.indptr).twice
        return _Replay(ranks, queries.indptr, is_additive=self._is_additive)

    def _learn(self, training: Any, watch: _Watch) -> Self:
        n_features = self.n_features_in_
        steps: list[_Step] = []
        self.stop_reason_ = FINISHED if training._lists.total_pairs > 0 else NO_PAIRS
        interrupt = None
        try:
            with Progress("fitting", self.cycles * n_features, is_shown=bool(self.verbose)) as progress:
                for place in range(self.cycles * n_features):
                    step = training.step(place % n_features)
                    steps.append(step)
                    progress.advance(watch(len(steps), place % n_features, step, training.measures()))
                    if self.patience is None or watch.best_iteration is None:
                        continue
                    if len(steps) - watch.best_iteration >= self.patience:
                        self.stop_reason_ = NO_IMPROVEMENT
                        break
        except KeyboardInterrupt as error:
            self.stop_reason_, interrupt = "interrupted", error
        self.n_iter_, self.history_ = len(steps), watch.history
        self.best_iteration_, self.best_score_ = watch.best_iteration, watch.best_score
        if watch.best_iteration is not None and self.patience is not None:
            steps = steps[: watch.best_iteration]
        self._keep(steps)
        if interrupt is not None:
            raise Interrupted("the fit was interrupted; the steps taken so far were kept.") from interrupt
        return self

    def _keep(self, steps: list[_Step]) -> None:
        self.feature_weights_ = np.array([step.weight for step in steps], dtype=np.float64)

    def _steps(self) -> list[_Step]:
        return [_Step(float(weight)) for weight in self.feature_weights_]

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        replay = self._replay(queries)
        for place, step in enumerate(self._steps()):
            replay.take(place % self.n_features_in_, step)
        return replay.scores

    def _check_parameters(self) -> None:
        check_positive_int(self.n_intervals, "n_intervals")
        check_positive_int(self.cycles, "cycles")
        check_choice(self.discovery, "discovery", DISCOVERIES)
        check_choice(self.centre, "centre", CENTRES)
        if self.patience is not None:
            check_positive_int(self.patience, "patience")

    def _check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        _check_vector(self, "feature_weights_", np.float64)
        if (self.centres_ is None) == (self.signs_ is None):
            raise ValueError("either centres_ or signs_ must be given.")
        if self.signs_ is not None:
            _check_vector(self, "signs_", np.int64)
            if self.signs_.size != self.n_features_in_ or not np.isin(self.signs_, (-1, 1)).all():
                raise ValueError(f"signs_ must have 1 or -1 for each of {self.n_features_in_} features.")
            return
        centres = self.centres_
        if not isinstance(centres, np.ndarray) or centres.dtype != np.float64 or centres.ndim != 2:
            raise ValueError("centres_ must be a table of numbers.")
        if centres.shape[0] != self.n_features_in_ or np.isinf(centres).any() or np.isnan(centres).all(axis=1).any():
            raise ValueError(f"centres_ must have finite centres for each of {self.n_features_in_} features.")


def _check_vector(ranker: Ranker, name: str, dtype: type) -> None:
    vector = getattr(ranker, name, None)
    if not isinstance(vector, np.ndarray) or vector.dtype != dtype or vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a vector of finite numbers.")


class DiffRank(_FeatureRanker):
    """Boosting over pairs, with the rankings of single features as weak rankers; scores are ``Σ α_m h_m``.

    A pair is a document with a larger and one with a smaller label of the same query; h_m are the ranks by feature m,
    1 to n within the list. All pairs weigh the same at first. For each feature in turn, with r the weighted mean over
    the pairs of ``(h_i − h_j) / (n − 1)``, its weight is ``α = ½ ln((1 + r) / (1 − r))``, and each pair's weight is
    multiplied by ``exp(−α (h_i − h_j) / (n − 1))``. The share of pairs in wrong order is at most the product of the
    normalising factors (``history_["bound"]``), which never rises. Weights of pairs are products, so that a step takes
    time in proportion to the documents, not the pairs.

    Parameters
    ----------
    n_intervals : int, default=8
        Parts into which lists are cut to find the ranking in a feature.
    discovery : {"quasi-knn", "linear"}, default="quasi-knn"
        ``"linear"`` takes the values as they stand, or the other way round where that fits the labels better.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        Which documents of a part make its centre: all, or the most, middling, least relevant third.
    cycles : int, default=1
        Passes over the features.
    prec : int or None, default=None
        Only pairs whose better document belongs to the true top ``prec`` of its list count; where equal labels leave
        open which do, all of that label. None counts all pairs.
    patience : int or None, default=50
        With a validation set, the fit ends after so many steps without a better value of its measure, and the steps up
        to the best are kept. None records the measure and changes nothing.
    verbose : bool, default=False
        A progress bar on standard error.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_steps,)
        α of each step; step t takes feature ``t % n_features``.
    centres_ : ndarray of shape (n_features, n_intervals) or None
        The least relevant part first; NaN where no list fills a part. None for ``discovery="linear"``.
    signs_ : ndarray of shape (n_features,) or None
        1 or −1, for ``discovery="linear"``.
    history_ : dict of lists
        After every step: ``"bound"``, ``"error"`` (the share of pairs in wrong order), and the validation measure.
    n_iter_ : int
        Steps that were taken.
    stop_reason_ : str
    best_iteration_, best_score_ : int and float, or None without a validation set
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = DiffRank().fit(data.X, data.y, qid=data.qid)
    >>> ranker.feature_weights_.shape
    (8,)
    >>> scores = ranker.predict(data.X, qid=data.qid)  # by list: qid is needed
    """

    _is_additive = True

    def __init__(
        self,
        n_intervals: int = 8,
        discovery: str = "quasi-knn",
        centre: str = "mean",
        cycles: int = 1,
        prec: int | None = None,
        patience: int | None = 50,
        verbose: bool = False,
    ):
        self.n_intervals = n_intervals
        self.discovery = discovery
        self.centre = centre
        self.cycles = cycles
        self.prec = prec
        self.patience = patience
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.prec is not None:
            check_positive_int(self.prec, "prec")

    def _training(self, queries: Queries, weights: np.ndarray | None) -> _DiffTraining:
        lists = _Lists(queries, weights, self.prec)
        return _DiffTraining(lists, self._discovery().twice_ranks(queries.X, queries.indptr, queries.lists), self.prec)


class FeatureRank(_FeatureRanker):
    """Boosting over lists, with the rankings of single features as weak rankers, added as ranks.

    E of a ranking of a list is ``(right − wrong) / pairs`` over its pairs of different labels, 1 for a perfect order
    and −1 for its reverse; pairs that tie count for neither, and lists without pairs are left out. All lists weigh the
    same at first. For each feature m in turn, with the ranks h_m within each list,
    ``λ = ½ ln(Σ_q w_q (1 + E_q) / Σ_q w_q (1 − E_q))``, the new ranking is that by ``H + λ h_m``, and lists weigh
    ``w_q = exp(−E(H))``. Scores are the ranks after the last step, 1 to n within the list.

    Parameters
    ----------
    n_intervals : int, default=8
        Parts into which lists are cut to find the ranking in a feature.
    discovery : {"quasi-knn", "linear"}, default="quasi-knn"
        ``"linear"`` takes the values as they stand, or the other way round where that fits the labels better.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        Which documents of a part make its centre: all, or the most, middling, least relevant third.
    cycles : int, default=1
        Passes over the features.
    patience : int or None, default=50
        With a validation set, the fit ends after so many steps without a better value of its measure, and the steps up
        to the best are kept. None records the measure and changes nothing.
    verbose : bool, default=False
        A progress bar on standard error.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_steps,)
        λ of each step; step t takes feature ``t % n_features``.
    history_ : dict of lists
        After every step: ``"E"``, the mean over the lists; ``"error"``, the share of all pairs in wrong order; and the
        validation measure.
    centres_, signs_, n_iter_, stop_reason_, best_iteration_, best_score_, n_features_in_, feature_names_in_
        As in :class:`DiffRank`.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = FeatureRank().fit(data.X, data.y, qid=data.qid)
    >>> ranks = ranker.predict(data.X, qid=data.qid)  # by list: qid is needed
    """

    def __init__(
        self,
        n_intervals: int = 8,
        discovery: str = "quasi-knn",
        centre: str = "mean",
        cycles: int = 1,
        patience: int | None = 50,
        verbose: bool = False,
    ):
        self.n_intervals = n_intervals
        self.discovery = discovery
        self.centre = centre
        self.cycles = cycles
        self.patience = patience
        self.verbose = verbose

    def _training(self, queries: Queries, weights: np.ndarray | None) -> _RankTraining:
        return self._rank_training(queries, weights, None)

    def _rank_training(self, queries: Queries, weights: np.ndarray | None, balance: str | None) -> _RankTraining:
        ranks = self._discovery().twice_ranks(queries.X, queries.indptr, queries.lists, is_counted=True)
        return _RankTraining(_Lists(queries, weights), ranks, balance)


class BLFeatureRank(FeatureRank):
    """FeatureRank with balance control: what enters a step is the best of the feature, a mixture, and what was there.

    The mixture is ``β H + (1 − β) h`` with ``β = E_H / (E_h + E_H)`` (½ if that sum is not positive); of equally good
    ones the first of feature, mixture, H is taken. A new list has no labels to choose by: each step keeps what most
    lists chose, by weight, and the weighted mean of β over those that chose the mixture, and ``predict`` replays them.

    Parameters
    ----------
    n_intervals, discovery, centre, cycles, patience, verbose : as in :class:`FeatureRank`
    balance : {"global", "query"}, default="global"
        ``"global"`` trains with the choice of most lists, as ``predict`` does. ``"query"`` lets every training list
        choose for itself, as the paper does; it looks at the labels of the list that it ranks, so that ``history_`` is
        optimistic and ``predict`` on the training lists does not equal it.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_steps,)
        λ of each step; step t takes feature ``t % n_features``.
    choices_ : ndarray of shape (n_steps,)
        What enters a step of ``predict``: 0 the feature, 1 the mixture, 2 the ranking so far.
    betas_ : ndarray of shape (n_steps,)
        β of the mixtures; 0 in steps without one.
    history_, centres_, signs_, n_iter_, stop_reason_, best_iteration_, best_score_, n_features_in_, feature_names_in_
        As in :class:`FeatureRank`.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = BLFeatureRank().fit(data.X, data.y, qid=data.qid)
    >>> ranks = ranker.predict(data.X, qid=data.qid)
    """

    def __init__(
        self,
        n_intervals: int = 8,
        discovery: str = "quasi-knn",
        centre: str = "mean",
        cycles: int = 1,
        balance: str = "global",
        patience: int | None = 50,
        verbose: bool = False,
    ):
        super().__init__(n_intervals, discovery, centre, cycles, patience, verbose)
        self.balance = balance

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.balance, "balance", BALANCES)

    def _training(self, queries: Queries, weights: np.ndarray | None) -> _RankTraining:
        return self._rank_training(queries, weights, self.balance)

    def _keep(self, steps: list[_Step]) -> None:
        super()._keep(steps)
        self.choices_ = np.array([step.choice for step in steps], dtype=np.int64)
        self.betas_ = np.array([step.beta for step in steps], dtype=np.float64)

    def _steps(self) -> list[_Step]:
        return [
            _Step(float(weight), int(choice), float(beta))
            for weight, choice, beta in zip(self.feature_weights_, self.choices_, self.betas_, strict=True)
        ]

    def _check_loaded(self) -> None:
        super()._check_loaded()
        _check_vector(self, "choices_", np.int64)
        _check_vector(self, "betas_", np.float64)
        if not self.feature_weights_.size == self.choices_.size == self.betas_.size:
            raise ValueError("feature_weights_, choices_ and betas_ must have one number for each step.")
        if not np.isin(self.choices_, (0, 1, 2)).all():
            raise ValueError("choices_ must be 0, 1 or 2.")
