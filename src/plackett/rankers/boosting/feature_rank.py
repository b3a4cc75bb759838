"""FeatureRank and BL-FeatureRank: boost the rankings by single features over lists, adding ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plackett import _native
from plackett._threads import map_blocks
from plackett.data.queries import Queries
from plackett.rankers.boosting.feature_steps import LEAST, FeatureSteps, TrainingLists
from plackett.rankers.parameters import param
from plackett.scorers.models import BALANCED_STEP, Steps
from plackett.scorers.ranks import FEATURE, MIXTURE, FeatureRanks, Step
from plackett.validation import check_choice

BALANCES = ("global", "query")


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureRank(FeatureSteps):
    """Boosting over lists, with the rankings of single features as weak rankers, added as ranks.

    E of a ranking of a list is ``(right − wrong) / pairs`` over its pairs of different labels, 1 for a perfect order
    and −1 for its reverse. Tied pairs count as neither, and lists without pairs are ignored. At first all lists have
    the same weight. For each feature m in turn, with the ranks h_m within each list,
    ``λ = ½ ln(Σ_q w_q (1 + E_q) / Σ_q w_q (1 − E_q))``, the new ranking H is that by ``H + λ h_m``, and the weights
    become ``w_q = exp(−E(H))``. Scores are the ranks after the last step, 1 to n within the list.

    The order of the columns matters: there are no ranks before the first step, so the first feature determines the
    ranking even if its λ is small, and later ones change it in proportion to their λ.

    Parameters
    ----------
    cycles : int, default=1
        Passes over the features.
    n_intervals, discovery, centre, patience : as in ``DiffRank``
    verbose, missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    steps_ : structured array of shape (n_steps,)
        The steps that were kept, in order: ``"feature"`` (its column) and ``"weight"`` (λ).
    history_ : dict of lists
        For every step: ``"E"``, the mean over the lists; ``"error"``, the share of all pairs in wrong order; and the
        validation measure.
    centres_, signs_, n_iter_, stop_reason_, best_iteration_, best_score_ : as in ``DiffRank``
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import FeatureRank
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = FeatureRank().fit(data.X, data.y, qid=data.qid)
    >>> ranks = ranker.predict(data.X, qid=data.qid)  # scores depend on the list
    """

    not_portable = "it orders a list as a whole, so the position of a document depends on the other documents"

    def _contributions(self, queries: Queries) -> np.ndarray:
        """Return how far the steps of each feature moved the documents in the ranking of their list."""
        moves, replay = np.zeros((queries.n_docs, self.n_prepared)), self._replay(queries)
        sizes = np.diff(queries.indptr)
        before = np.repeat(0.5 * (sizes + 1), sizes)  # all documents start at the mean rank
        for step in (Step(*record) for record in self.steps_.tolist()):
            replay.apply(step)
            moves[:, step.feature] += replay.scores - before
            before = replay.scores
        return moves

    def _training(self, queries: Queries, weights: np.ndarray | None) -> _RankTraining:
        ranks = self._discovery().twice_ranks(queries.X, queries.indptr, queries.lists, is_counted=True)
        return _RankTraining(TrainingLists(queries, weights), ranks, getattr(self, "balance", None))


@dataclass(eq=False, repr=False, kw_only=True)
class BLFeatureRank(FeatureRank):
    """FeatureRank with balance control: each step adds the best of three rankings.

    The three are the feature's, h, a mixture, ``β H + (1 − β) h``, and the current one, H; ties go to the first of
    these. ``β = E_H / (E_h + E_H)`` (½ if that sum is not positive). New lists have no labels: each step records the
    choice of most lists, by weight, and the weighted mean of β over the lists that chose the mixture, and ``predict``
    applies them.

    Parameters
    ----------
    n_intervals, discovery, centre, cycles, patience, verbose : as in :class:`FeatureRank`
    balance : {"global", "query"}, default="global"
        ``"global"`` trains with the choice of most lists, as ``predict`` does. ``"query"`` chooses for every training
        list separately, as in the paper. It uses the labels of the list that it ranks, so ``history_`` is
        optimistic and ``predict`` on the training lists does not reach it.
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    steps_ : structured array of shape (n_steps,)
        The steps that were kept, in order: ``"feature"`` (its column), ``"weight"`` (λ), ``"enters"`` (what enters in
        ``predict``: 0 the feature, 1 the mixture, 2 the ranking so far) and ``"beta"`` (β of the mixture, or 0).
    history_ : as in ``FeatureRank``
    centres_, signs_, n_iter_, stop_reason_, best_iteration_, best_score_ : as in ``DiffRank``
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett.rankers.boosting.feature_rank import BLFeatureRank
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = BLFeatureRank().fit(data.X, data.y, qid=data.qid)
    >>> ranks = ranker.predict(data.X, qid=data.qid)
    """

    STEP_FIELDS: ClassVar = BALANCED_STEP
    model_of = Steps.of_balanced

    balance: str = param("global", check_choice, choices=BALANCES)


class _RankTraining:
    """The ranking of every training list after each step, for FeatureRank (``balance=None``) and BL-FeatureRank."""

    names = ("E", "error")

    def __init__(self, lists: TrainingLists, ranks: FeatureRanks, balance: str | None):
        self.lists, self._ranks, self._balance = lists, ranks, balance
        self._pairs = np.maximum(lists.pairs, 1)
        self.twice = np.zeros(lists.n_docs, np.int32)
        self._spare = np.empty_like(self.twice)
        self.E = np.zeros(lists.n_queries)
        self._wrong = np.zeros(lists.n_queries, np.int64)
        self._w = np.ones(lists.n_queries)
        self.choices = np.zeros(lists.n_queries, np.int64)
        self.betas = np.zeros(lists.n_queries)

    def step(self, feature: int) -> Step:
        ranks = self._ranks.twice[feature]
        of_feature = (self._ranks.right[:, feature] - self._ranks.wrong[:, feature]) / self._pairs
        choice, beta, entering = FEATURE, 0.0, of_feature
        if self._balance is not None:
            choice, beta, entering = self._choose(ranks, of_feature)
        weight = 0.5 * math.log(
            max(self.lists.total(self._w * (1.0 + entering)), LEAST)
            / max(self.lists.total(self._w * (1.0 - entering)), LEAST)
        )
        right, self._wrong = self._rank(ranks, weight, self.choices, self.betas)
        self.twice, self._spare = self._spare, self.twice
        self.E = (right - self._wrong) / self._pairs
        self._w = np.exp(-self.E)
        return Step(feature, weight, choice, beta)

    def _choose(self, ranks: np.ndarray, of_feature: np.ndarray) -> tuple[int, float, np.ndarray]:
        """Choose the best of feature, mixture and the ranking so far per query, then by the votes of all queries."""
        total = of_feature + self.E
        betas = np.divide(self.E, total, out=np.full(total.size, 0.5), where=total > 0)
        candidates = np.stack([of_feature, self._mixture(ranks, betas), self.E])
        choices = candidates.argmax(axis=0)  # the first of equals
        votes = [self.lists.total(self._w * (choices == choice)) for choice in range(3)]
        choice = int(np.argmax(votes))
        beta = 0.0
        if choice == MIXTURE:
            beta = self.lists.total(self._w * (choices == choice) * betas) / votes[choice]
        if self._balance == "query":
            self.choices, self.betas = choices, betas
            return choice, beta, candidates.max(axis=0)
        self.choices, self.betas = np.full(choices.size, choice), np.full(betas.size, beta)
        if choice == MIXTURE:
            return choice, beta, self._mixture(ranks, self.betas)
        return choice, beta, candidates[choice]

    def _mixture(self, ranks: np.ndarray, betas: np.ndarray) -> np.ndarray:
        right, wrong = self._rank(ranks, 0.0, self.choices, betas, is_mixture=True)
        return (right - wrong) / self._pairs

    def _rank(
        self, ranks: np.ndarray, weight: float, choices: np.ndarray, betas: np.ndarray, *, is_mixture: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        lists = self.lists
        right, wrong = np.zeros(lists.n_queries, np.int64), np.zeros(lists.n_queries, np.int64)

        def work(first: int, last: int) -> None:
            _native.rankers.rank_step(
                ranks, self.twice, is_mixture, weight, choices, betas, True, lists.levels.start, lists.levels.end,
                lists.indptr, first, last, self._spare, right, wrong,
            )  # fmt: skip

        map_blocks(work, lists.blocks)
        return right, wrong

    def measures(self) -> tuple[float, float]:
        return self.lists.mean(self.E), self.lists.error(self._wrong)
