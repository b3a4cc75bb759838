"""Models in which a click depends on the pair, and on the rank or the last click above: CTRs, PBM and UBM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from plackett import _native
from plackett._threads import map_blocks
from plackett.clicks.description import RANKS, connected_ranks, shared_pairs, unconnected
from plackett.clicks.log import ClickLog
from plackett.clicks.models.ascent import LEAST, ascend
from plackett.clicks.models.base import FIRST_CHANCE, ClickModel
from plackett.clicks.models.collapse import Cells, count_cells, summed
from plackett.clicks.models.marginal import maximise
from plackett.clicks.models.priors import Prior
from plackett.exceptions import DataWarning, warn

MOST_COUPLED = 200  # free parameters of cells whose uncertainty enters the intervals; their matrix is dense
LARGEST_SHIFT = 0.3  # of the log-odds of a look by the prior of the attractiveness, beyond which there is a warning
_kernels = _native.clicks


def log_prior(values: np.ndarray, a: float, b: float) -> float:
    """Return Σ a log p + b log(1 - p)."""
    return float(a * np.log(values).sum() + b * np.log1p(-values).sum())


def mean_with_prior(yes: np.ndarray, total: np.ndarray, a: float, b: float, default: np.ndarray) -> np.ndarray:
    """Return ``(a + yes) / (a + b + total)``, clipped; ``default`` where nothing is known."""
    known = a + b + total
    return np.clip(np.divide(a + yes, known, out=np.array(default), where=known > 0), LEAST, 1 - LEAST)


class CellModel(ClickModel):
    """Base class of models with P(click) = (probability of the cell) · (attractiveness of the pair)."""

    by_last_click: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = True
    chances_kernel = _kernels.cells_chances
    clicks_kernel = _kernels.cells_simulate

    def _collapse(self, log: ClickLog) -> list[Cells]:
        return count_cells(log, by_last_click=self.by_last_click)

    def _cell_chances(self) -> np.ndarray:
        """Return the probability of each cell."""
        return np.ones(self.n_ranks_)

    def _pair_values(self, log: ClickLog) -> np.ndarray:
        return self.attractiveness_of(log)

    def _user(self, log: ClickLog) -> tuple:
        self._check_fitted()
        return self._pair_values(log), self._cell_chances(), self.n_ranks_, self.by_last_click


def counts_by_pair(blocks: list[Cells], n_pairs: int) -> np.ndarray:
    """Return the clicks and the skips of each pair."""
    counts = np.zeros((n_pairs, 2))
    for block in blocks:
        for column, values in enumerate((block.clicks, block.skips)):
            sums = np.append(0, np.cumsum(values, dtype=np.int64))[block.indptr]
            counts[block.pairs, column] = np.diff(sums)
    return counts


def counts_by_cell(blocks: list[Cells], n_cells: int) -> np.ndarray:
    """Return the clicks and the skips in each cell."""
    counts = np.zeros((n_cells, 2))
    for block in blocks:
        for column, values in enumerate((block.clicks, block.skips)):
            counts[:, column] += np.bincount(block.cell, values, n_cells)
    return counts


class _Rate(CellModel):
    """Base class of the click-through rates of ranks and of the whole log, which ignore pairs."""

    has_attractiveness = False

    def __init__(self, prior=(1.0, 1.0)):
        super().__init__(prior)

    def _pair_values(self, log: ClickLog) -> np.ndarray:
        return np.ones(log.n_pairs)


class GCTR(_Rate):
    """Global click-through rate: one click probability for everything. A baseline.

    Parameters
    ----------
    prior : tuple (a, b), default=(1, 1)
        Added to clicks and skips.

    Attributes
    ----------
    rate_ : float
        The click probability.
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [0, 1], indptr=[0, 2])
    >>> pk.clicks.GCTR().fit(log).rate_
    0.5
    """

    name = "gctr"

    def _learn(self, counts: list[Cells], prior: Prior) -> None:
        clicks, skips = counts_by_cell(counts, self.n_ranks_).sum(axis=0)
        self.rate_ = float(mean_with_prior(clicks, clicks + skips, prior.a, prior.b, np.array(FIRST_CHANCE)))

    def _cell_chances(self) -> np.ndarray:
        return np.full(self.n_ranks_, self.rate_)


class RCTR(_Rate):
    """Click-through rate of each rank. A baseline.

    Parameters
    ----------
    prior : tuple (a, b), default=(1, 1)
        Added to clicks and skips.

    Attributes
    ----------
    rates_ : ndarray of shape (n_ranks,)
        The click probability at each rank. Ranks below the longest list of the fit have that of its last one.
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [0, 1], indptr=[0, 2])
    >>> pk.clicks.RCTR().fit(log).rates_.round(2)
    array([0.33, 0.67])
    """

    name = "rctr"

    def _learn(self, counts: list[Cells], prior: Prior) -> None:
        by_rank = counts_by_cell(counts, self.n_ranks_)
        start = np.full(self.n_ranks_, FIRST_CHANCE)
        self.rates_ = mean_with_prior(by_rank[:, 0], by_rank.sum(axis=1), prior.a, prior.b, start)

    def _cell_chances(self) -> np.ndarray:
        return self.rates_

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"rates_": (self.n_ranks_,)}


class DCTR(CellModel):
    """Click-through rate of each pair of query and document. A baseline.

    Parameters
    ----------
    prior : tuple (a, b), "fitted" or "features", default=(1, 1)
        As in ``PBM``.

    Attributes
    ----------
    attractiveness_ : ndarray of shape (n_pairs,)
        The rates.
    evidence_ : ndarray of shape (n_pairs, 2)
        Clicks and skips.
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [0, 1], indptr=[0, 2])
    >>> pk.clicks.DCTR().fit(log).attractiveness_.round(2)
    array([0.67, 0.33])
    """

    name = "dctr"

    def __init__(self, prior=(1.0, 1.0)):
        super().__init__(prior)

    def _learn(self, counts: list[Cells], prior: Prior) -> None:
        self.evidence_ = counts_by_pair(counts, self.attractiveness_.size)
        set_rates(self, prior)


def set_rates(model: ClickModel, prior: Prior) -> None:
    """Set the attractiveness of a model whose evidence is exact."""
    yes, no = prior.counts(model.attractiveness_.size)
    known = yes + no + model.evidence_.sum(axis=1)
    rates = np.divide(yes + model.evidence_[:, 0], known, out=np.full(known.size, FIRST_CHANCE), where=known > 0)
    model.attractiveness_ = np.clip(rates, LEAST, 1 - LEAST)


class _Examination(CellModel):
    """Base class of PBM and UBM: the probability of a cell is its examination probability, 1 for the first rank."""

    def _start(self, log: ClickLog, prior: Prior) -> None:
        super()._start(log, prior)
        n_cells = self.n_ranks_ * (self.n_ranks_ + 1) // 2 if self.by_last_click else self.n_ranks_
        self._looks = np.full(n_cells, np.nan)

    def _learn(self, counts: list[Cells], prior: Prior) -> None:
        by_cell = counts_by_cell(counts, self._looks.size)
        shown = by_cell.sum(axis=1)
        if self.prior != "features":
            self._warn_of_ranks(counts)
        if np.isnan(self._looks[0]):  # the rate of clicks, relative to that of the first rank
            rates = mean_with_prior(by_cell[:, 0], shown, 1.0, 1.0, np.full(shown.size, FIRST_CHANCE))
            self._looks = np.clip(rates / rates[0], 0.05, 0.95)

        if isinstance(self.prior, str):
            # rankers show better documents higher, which would count as an effect of the rank with one mean for all
            prior.depend_on(self._mean_log_rank(counts))
            looks, self.history_, self.converged_ = maximise(
                counts,
                self._looks[1:],
                shown[1:],
                self.attractiveness_,
                prior,
                n_sessions=self.n_sessions_,
                max_iter=self.max_iter,
                tol=self.tol,
            )
        else:
            looks, self.history_, self.converged_ = self._ascend(counts, shown[1:], prior)
        self._looks, self.n_iter_ = np.append(1.0, looks), len(self.history_)
        self.examination_ = self._laid_out(self._looks)
        self._weigh(counts, prior, *prior.counts(self.attractiveness_.size))

    def _warn_of_ranks(self, counts: list[Cells]) -> None:
        """Warn if ranks share no pair with the first one: examination cannot be separated from attractiveness there."""
        n_ranks = min(self.n_ranks_, RANKS)
        rank = (np.repeat(np.arange(self.n_ranks_), np.arange(1, self.n_ranks_ + 1)) if self.by_last_click
                else np.arange(self.n_ranks_))  # fmt: skip
        bits = np.where(rank < n_ranks, np.uint64(1) << np.minimum(rank, n_ranks - 1).astype(np.uint64), np.uint64(0))
        seen = [
            np.bitwise_or.reduceat(bits[block.cell], block.indptr[:-1][np.diff(block.indptr) > 0])
            for block in counts
            if block.cell.size
        ]
        groups = connected_ranks(shared_pairs(np.concatenate(seen), n_ranks))
        if len(groups) > 1:
            warn(f"{self.name}: {unconnected(groups)}", DataWarning)

    def _mean_log_rank(self, counts: list[Cells]) -> np.ndarray:
        """Return the mean logarithm of the ranks at which each pair was shown; the mean of all for one never shown."""
        ranks = np.arange(1, self.n_ranks_ + 1)
        log_rank = np.log(np.repeat(ranks, ranks) if self.by_last_click else ranks)
        shown, total = np.zeros((2, self.attractiveness_.size))
        for block in counts:
            pair = np.repeat(np.arange(block.indptr.size - 1), np.diff(block.indptr))
            weight = (block.clicks + block.skips).astype(np.float64)
            shown[block.pairs] = np.bincount(pair, weight, block.indptr.size - 1)
            total[block.pairs] = np.bincount(pair, weight * log_rank[block.cell], block.indptr.size - 1)
        return np.divide(total, shown, out=np.full(shown.size, total.sum() / shown.sum()), where=shown > 0)

    def _ascend(self, counts: list[Cells], shown: np.ndarray, prior: Prior) -> tuple[np.ndarray, list[float], bool]:
        """Return the most likely examination probabilities, the mean after each step, and whether it converged."""
        yes, no = prior.counts(self.attractiveness_.size)

        def step(looks: np.ndarray) -> tuple[float, np.ndarray]:
            value, expected = self._pass(counts, np.append(1.0, looks), yes, no, self.attractiveness_)
            update = mean_with_prior(expected[1:], shown, prior.a, prior.b, looks)
            return value + log_prior(looks, prior.a, prior.b), update

        def newton(looks: np.ndarray, update: np.ndarray, reach: float) -> np.ndarray:
            # of the likelihood with every attractiveness at its best value, on the scale of log-odds
            slope = (prior.a + prior.b + shown) * (update - looks)
            information = self._information(counts, np.append(1.0, looks), prior, yes, no)[1]
            curvature, directions = np.linalg.eigh(information)
            steepness = np.abs(curvature)  # below 0 where the likelihood is not concave
            steepness = np.maximum(steepness, 1e-9 * steepness.max(initial=0.0))
            along = np.divide(directions.T @ slope, steepness, out=np.zeros(slope.size), where=steepness > 0)
            odds = looks / (1 - looks) * np.exp(np.clip(directions @ along, -reach, reach))
            return odds / (1 + odds)

        found = ascend(
            step,
            self._looks[1:],
            [self.attractiveness_],
            max_iter=self.max_iter,
            tol=self.tol,
            least_gain=0.01 * self.tol * self.n_sessions_,
            newton=newton if self._n_coupled() else None,
        )
        return found.globals, [value / self.n_sessions_ for value in found.history], found.converged

    @staticmethod
    def _pass(
        blocks: list[Cells],
        chances: np.ndarray,
        yes: np.ndarray,
        no: np.ndarray,
        attraction: np.ndarray,
        moves: bool = True,
    ) -> tuple[float, np.ndarray]:
        """Set every attractiveness to its best value, and return the value and the expected examinations."""

        def work(block: Cells) -> tuple[float, np.ndarray]:
            looks, own = np.zeros(chances.size), block.pairs
            return _kernels.cells_pass(*block[1:], chances, yes[own], no[own], moves, attraction[own], looks), looks

        return summed(work, blocks)

    def _n_coupled(self) -> int:
        """Return the number of free examination probabilities if their information is computed, else 0."""
        n_free = self._looks.size - 1
        return n_free if n_free < MOST_COUPLED else 0

    def _information(
        self, blocks: list[Cells], chances: np.ndarray, prior: Prior, yes: np.ndarray, no: np.ndarray
    ) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
        """Return the information about the log-odds of each attractiveness with its couplings, and about examination.

        The information about examination is that which remains when every attractiveness is estimated too.
        """
        n_free = self._n_coupled()

        def work(block: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            own = block.pairs
            information, coupling = np.empty(own.stop - own.start), np.empty(block.cell.size)
            schur = np.zeros((n_free, n_free))
            counts = block.indptr, block.cell, block.clicks, block.skips
            parts = chances, yes[own], no[own], self.attractiveness_[own], self._free(), information, coupling, schur
            _kernels.cells_information(*counts, *parts)
            return information, coupling, schur

        looks = chances[1 : n_free + 1]
        schur = np.diag((prior.a + prior.b) * looks * (1 - looks))
        parts = map_blocks(work, [(block,) for block in blocks])
        for _, _, part in parts:
            schur += part
        return [part[:2] for part in parts], np.tril(schur) + np.tril(schur, -1).T

    def _free(self) -> np.ndarray:
        """Return the place of each free examination probability in the information matrix, -1 for the others."""
        free = np.full(self._looks.size, -1, dtype=np.int32)
        if self._n_coupled():
            free[1:] = np.arange(free.size - 1)
        return free

    def _weigh(self, blocks: list[Cells], prior: Prior, yes: np.ndarray, no: np.ndarray) -> None:
        """Set ``evidence_`` from the information about the log-odds, less that lost to uncertain examination."""
        attraction, chances = self.attractiveness_, self._looks
        n_free, free = self._n_coupled(), self._free()
        parts, schur = self._information(blocks, chances, prior, yes, no)
        covariance = np.linalg.pinv(schur, rcond=1e-12, hermitian=True)
        error = np.full(chances.size, np.nan)
        variance = np.append(0.0, covariance.diagonal())
        error[: n_free + 1] = np.sqrt(np.where(variance < 0, np.nan, variance))  # below 0: not identified
        self.examination_error_ = self._laid_out(error)
        if n_free and not isinstance(self.prior, str):
            self._warn_of_prior(blocks, parts, covariance, free, yes - (yes + no) * attraction)

        def add(block: Cells, information: np.ndarray, coupling: np.ndarray) -> np.ndarray:
            added = np.empty(information.size)
            _kernels.cells_added_variance(block.indptr, block.cell, free, covariance, information, coupling, added)
            return information / (1 + information * np.where(information > 0, added, 0.0))

        total = np.zeros(attraction.size)
        blocks_and_parts = [(block, *part) for block, part in zip(blocks, parts, strict=True)]
        for block, information in zip(blocks, map_blocks(add, blocks_and_parts), strict=True):
            total[block.pairs] = information
        self.evidence_ = evidence_of(attraction, total, yes, no)

    def _warn_of_prior(
        self,
        blocks: list[Cells],
        parts: list[tuple[np.ndarray, np.ndarray]],
        covariance: np.ndarray,
        free: np.ndarray,
        pull: np.ndarray,
    ) -> None:
        """Warn if the prior of the attractiveness changes the examination probabilities a lot.

        ``pull`` is the slope of the prior for each pair. The change without the prior is computed to first order, which
        underestimates it.
        """
        moved = np.zeros(covariance.shape[0])
        for block, (information, coupling) in zip(blocks, parts, strict=True):
            force = np.divide(pull[block.pairs], information, out=np.zeros(information.size), where=information > 0)
            own = free[block.cell] >= 0
            weights = (coupling * np.repeat(force, np.diff(block.indptr)))[own]
            moved += np.bincount(free[block.cell[own]], weights, moved.size)
        shift, variance = -covariance @ moved, np.maximum(covariance.diagonal(), 0.0)
        worst = int(np.argmax(np.abs(shift)))
        if abs(shift[worst]) > LARGEST_SHIFT and abs(shift[worst]) > 2 * np.sqrt(variance[worst]):
            more, high = ("less", "low") if shift[worst] < 0 else ("more", "high")
            warn(
                f"{self.name}: the documents of this log are {more} attractive than prior={self.prior} expects, which "
                f'makes examination probabilities too {high}. Use prior="fitted", or (0, 0) for none.',
                DataWarning,
            )

    def _laid_out(self, values: np.ndarray) -> np.ndarray:
        """Return values of cells in the shape of ``examination_``."""
        return values

    def _cell_chances(self) -> np.ndarray:
        return self.examination_

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shape = (self.n_ranks_, self.n_ranks_) if self.by_last_click else (self.n_ranks_,)
        return {**super()._shapes(), "examination_": shape, "examination_error_": shape}


def evidence_of(values: np.ndarray, information: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    """Return the clicks and skips that would give as much information about the log-odds, without the prior."""
    worth = information / (values * (1 - values))
    return np.maximum(np.stack([worth * values - yes, worth * (1 - values) - no], axis=1), 0.0)


class PBM(_Examination):
    """Position-based model: a click requires that the rank is examined and that the document is attractive.

    A log shows only the product of the two probabilities. That of examining the first rank is therefore fixed at 1.

    Parameters
    ----------
    prior : tuple (a, b), "fitted" or "features", default=(1, 1)
        The fit maximises the log-likelihood plus ``a log p + b log(1 - p)`` of every free parameter, which is the mode,
        on the scale of log-odds, under a Beta(a, b) prior. ``(0, 0)`` is maximum likelihood. "fitted" estimates the
        Beta prior of the attractiveness by marginal likelihood, with a mean that depends on the ranks at which a pair
        was shown; "features" one whose mean is a logistic model of the features of the log as well. The attractiveness
        is then integrated out when the examination probabilities are estimated; these have the prior (1, 1).
    max_iter : int, default=200
        Maximum number of steps.
    tol : float, default=1e-6
        Stop when a step moves no shared parameter by more than this, and the mean log-likelihood rises by less than
        0.01 ``tol``.

    Attributes
    ----------
    attractiveness_ : ndarray of shape (n_pairs,)
        Probability of a click on each pair if it is examined, in the order of ``pairs``.
    examination_ : ndarray of shape (n_ranks,)
        Examination probability of each rank. Ranks below the longest list of the fit have that of its last one.
    examination_error_ : ndarray of shape (n_ranks,)
        Standard errors of their log-odds; NaN for lists of more than 200 documents.
    evidence_ : ndarray of shape (n_pairs, 2)
        Information about each attractiveness, as equivalent numbers of clicks and skips.
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(
    ...     ["shoe", "shoe"], ["a", "b", "b", "a"], [0, 1, 1, 0], indptr=[0, 2, 4]
    ... )
    >>> model = pk.clicks.PBM().fit(log)
    >>> model.attractiveness_.round(2)
    array([0.28, 0.75])
    """

    name = "pbm"


class UBM(_Examination):
    """User browsing model: the examination probability depends on the rank and on the rank of the last click above.

    Parameters
    ----------
    prior, max_iter, tol
        As in ``PBM``.

    Attributes
    ----------
    examination_ : ndarray of shape (n_ranks, n_ranks)
        Examination probability of a rank (row ``rank - 1``) by the rank of the last click above (column, 0 for none);
        NaN for impossible combinations.
    examination_error_ : ndarray of shape (n_ranks, n_ranks)
        Standard errors of their log-odds; NaN for lists of more than 19 documents.
    attractiveness_, evidence_ : as in ``PBM``
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(
    ...     ["shoe", "shoe"], ["a", "b", "b", "a"], [0, 1, 1, 0], indptr=[0, 2, 4]
    ... )
    >>> pk.clicks.UBM().fit(log).examination_.shape
    (2, 2)
    """

    name = "ubm"
    by_last_click = True
    takes_counts = False

    def _laid_out(self, values: np.ndarray) -> np.ndarray:
        matrix = np.full((self.n_ranks_, self.n_ranks_), np.nan)
        matrix[np.tril_indices(self.n_ranks_)] = values
        return matrix

    def _cell_chances(self) -> np.ndarray:
        return self.examination_[np.tril_indices(self.n_ranks_)]
