"""DiffRank: boosts the rankings by single features over pairs of documents."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plackett import _native
from plackett._arrays import bounds
from plackett._threads import map_blocks
from plackett.data.queries import Queries
from plackett.rankers.boosting.feature_steps import LEAST, FeatureSteps, TrainingLists
from plackett.rankers.parameters import param
from plackett.scorers.models import Steps
from plackett.scorers.ranks import FeatureRanks, Step
from plackett.validation import check_positive_int


@dataclass(eq=False, repr=False, kw_only=True)
class DiffRank(FeatureSteps):
    """Boosting over pairs, with the rankings of single features as weak rankers; scores are ``Σ α_m h_m``.

    A pair is a document with a larger and one with a smaller label of the same query; h_m are the ranks by feature m,
    1 to n within the list. At first all pairs have the same weight. For each feature in turn, r is the weighted mean
    over the pairs of ``(h_i − h_j) / (n − 1)``, the weight of the feature is ``α = ½ ln((1 + r) / (1 − r))``, and each
    pair's weight is multiplied by ``exp(−α (h_i − h_j) / (n − 1))``. The share of pairs in wrong order is at most the
    product of the normalising factors (``history_["bound"]``), which never rises. Weights of pairs factorise, so a
    step takes time proportional to the number of documents, not of pairs.

    Parameters
    ----------
    n_intervals : int, default=8
        Number of parts into which lists are split to find the ranking by a feature.
    discovery : {"quasi-knn", "linear"}, default="quasi-knn"
        ``"quasi-knn"`` ranks by the nearest centre of relevance, ``"linear"`` by the values, in the direction that fits
        the labels better.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        The documents of a part whose mean is its centre: all, or the most, middle or least relevant third.
    cycles : int, default=10
        Passes over the features. FeatureRank uses 1, as its later passes change little.
    top_k : int or None, default=None
        Only pairs whose better document is among the true top ``top_k`` of its list count, including all documents
        that tie at the cut. None counts all pairs.
    patience : int or None, default=50
        With ``eval_set``, the fit ends after this many steps without a better value of its measure; None never ends it
        early. The steps up to the best one are kept.
    verbose, missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    steps_ : structured array of shape (n_steps,)
        The steps that were kept, in order: ``"feature"`` (its column) and ``"weight"`` (α).
    centres_ : ndarray of shape (n_features, n_intervals) or None
        The least relevant part first; NaN for parts that are empty in all lists. None for ``discovery="linear"``.
    signs_ : ndarray of shape (n_features,) or None
        1 or −1, for ``discovery="linear"``.
    history_ : dict of lists
        For every step: ``"bound"``, ``"error"`` (the share of pairs in wrong order), and the validation measure.
    n_iter_ : int
        Steps taken.
    stop_reason_ : str
        Why no further step was taken, such as ``"cycles reached"``.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The step, from 1, with the best value of the validation measure, and that value. Later steps are not kept.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import DiffRank
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = DiffRank().fit(data.X, data.y, qid=data.qid)
    >>> ranker.steps_.size, ranker.feature_weights_.size
    (80, 8)
    >>> scores = ranker.predict(data.X, qid=data.qid)  # scores depend on the list
    """

    is_sum = True
    not_portable = "its scores are sums of positions in the list, so they depend on the other documents"
    model_of = Steps.of_sums

    cycles: int = param(10, check_positive_int)
    top_k: int | None = param(None, check_positive_int)

    def _contributions(self, queries: Queries) -> np.ndarray:
        return self.feature_weights_ * self._discovery().ranks(queries.X, queries.indptr).T

    def _training(self, queries: Queries, weights: np.ndarray | None) -> _DiffTraining:
        lists = TrainingLists(queries, weights, self.top_k)
        return _DiffTraining(lists, self._discovery().twice_ranks(queries.X, queries.indptr, queries.lists), self.top_k)


class _DiffTraining:
    """DiffRank's weights of pairs, as their sums for each document."""

    names = ("bound", "error")

    def __init__(self, lists: TrainingLists, ranks: FeatureRanks, top_k: int | None):
        self.lists, self._ranks = lists, ranks.twice
        self._top = lists.n_docs if top_k is None else top_k
        # the whole label level at the cut belongs to the top
        self._tops = np.diff(bounds(lists.levels.start < self._top)[lists.indptr])
        # the total bounds the weights of its pairs; without a weight of the list they could overflow
        self._pairs = np.where(lists.weights > 0, lists.pairs, 0)
        self.scores, self._net = np.zeros(lists.n_docs), np.empty(lists.n_docs)
        self._totals, self._pulls = np.zeros(lists.n_queries), np.zeros(lists.n_queries)
        self._wrong = np.zeros(lists.n_queries, np.int64)
        self._weigh()

    def _weigh(self, ranks: np.ndarray | None = None, weight: float = 0.0) -> None:
        """Add the weighted ranks to the scores and compute the weights of the pairs."""
        lists = self.lists

        def work(first: int, last: int) -> None:
            if ranks is not None:
                rows = slice(*lists.indptr[[first, last]])
                _native.rankers.add_feature(ranks[rows], weight, self.scores[rows])
            _native.rankers.weigh_pairs(
                self.scores, lists.levels.start, self._top, self._pairs, lists.indptr, first, last,
                self._totals, self._net,
            )  # fmt: skip
            _native.rankers.count_wrong(
                self.scores, lists.levels.start, lists.levels.end, self._tops, self._pairs, lists.indptr, first, last,
                self._wrong,
            )  # fmt: skip

        map_blocks(work, lists.blocks)
        self._total = lists.total(self._totals)

    def step(self, feature: int) -> Step:
        lists, ranks = self.lists, self._ranks[feature]
        weight = 0.0
        if self._total > 1e-290:  # below, every pair is in order by a wide margin
            map_blocks(
                lambda first, last: _native.rankers.pull_feature(
                    ranks, self._net, self._pairs, lists.indptr, first, last, self._pulls
                ),
                lists.blocks,
            )
            r = lists.total(self._pulls) / self._total
            weight = 0.5 * math.log(max(1.0 + r, LEAST) / max(1.0 - r, LEAST))
        if weight != 0.0:
            self._weigh(ranks, weight)
        return Step(feature, weight)

    def measures(self) -> tuple[float, float]:
        bound = self._total / self.lists.total_pairs if self.lists.total_pairs > 0 else 0.0
        return bound, self.lists.error(self._wrong)
