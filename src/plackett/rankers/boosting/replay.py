"""Steps of a model over the features, applied to lists without labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett.rankers.boosting.discovery import DOCS_PER_BLOCK

FEATURE, MIXTURE, BEFORE = 0, 1, 2  # what enters a step of BL-FeatureRank


class Step(NamedTuple):
    """A feature and its weight; for BL-FeatureRank also what enters and the weight β of the mixture."""

    feature: int
    weight: float
    enters: int = FEATURE
    beta: float = 0.0


class Replay(ABC):
    """Applies the steps of a model to lists without labels, one after the other."""

    @property
    @abstractmethod
    def scores(self) -> np.ndarray:
        """Scores after the steps that were applied."""

    @abstractmethod
    def apply(self, step: Step) -> None:
        """Apply one step."""


class DiffReplay(Replay):
    """Adds up weighted ranks."""

    def __init__(self, ranks: np.ndarray):
        self._ranks, self._sums = ranks, np.zeros(ranks.shape[1])

    @property
    def scores(self) -> np.ndarray:
        return self._sums

    def apply(self, step: Step) -> None:
        _native.rankers.add_feature(self._ranks[step.feature], step.weight, self._sums)


class RankReplay(Replay):
    """Ranks new lists again after each step."""

    def __init__(self, ranks: np.ndarray, indptr: np.ndarray):
        self._ranks, self._indptr = ranks, indptr
        self._blocks = query_blocks(indptr, DOCS_PER_BLOCK)
        self._twice = np.zeros(ranks.shape[1], np.int32)
        self._spare = np.empty_like(self._twice)

    @property
    def scores(self) -> np.ndarray:
        return 0.5 * self._twice

    def apply(self, step: Step) -> None:
        ranks, indptr = self._ranks[step.feature], self._indptr
        choices, betas = np.full(indptr.size - 1, step.enters), np.full(indptr.size - 1, step.beta)
        uncounted = np.zeros(0, np.int64)

        def work(first: int, last: int) -> None:
            _native.rankers.rank_step(
                ranks, self._twice, False, step.weight, choices, betas, False, indptr, indptr,
                indptr, first, last, self._spare, uncounted, uncounted,
            )  # fmt: skip

        map_blocks(work, self._blocks)
        self._twice, self._spare = self._spare, self._twice
