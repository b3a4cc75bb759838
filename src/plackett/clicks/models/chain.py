"""Models in which users examine a list from the top down and stop at some rank: CM, DCM, CCM, DBN and SDBN."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett._warnings import without
from plackett.clicks.log import ClickLog
from plackett.clicks.models.ascent import ascend
from plackett.clicks.models.base import FIRST_CHANCE, ClickModel
from plackett.clicks.models.cells import evidence_of, log_prior, mean_with_prior, set_rates
from plackett.clicks.models.collapse import Cells, Lists, count_cells, count_lists, session_blocks, summed
from plackett.clicks.models.priors import Prior, fitted_posterior
from plackett.exceptions import DataWarning, warn
from plackett.validation import count_of

ROWS_AT_ONCE = 1 << 23
CYCLES = 1  # of accelerated EM for each query in one step; more take longer and end at the same likelihood
_kernels = _native.clicks


class ChainModel(ClickModel):
    """Base class of models with a probability to continue after a skip, and one after a click."""

    by_rank: ClassVar[bool] = False  # whether the probability after a click depends on the rank, not on the pair
    chances_kernel = _kernels.chain_chances
    clicks_kernel = _kernels.chain_simulate
    n_draws = (2,)

    def _after_skip(self) -> float:
        """Return the probability to continue after a skip."""
        return 1.0

    def _after_click(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        """Return the probability to continue after a click, by pair or by rank."""
        raise NotImplementedError

    def _user(self, log: ClickLog) -> tuple:
        attraction = self.attractiveness_of(log)
        return attraction, self._after_click(log, attraction), self.by_rank, self._after_skip()


class CM(ChainModel):
    """Cascade model: users examine a list until their first click, and stop there.

    It cannot explain a second click. In the fit, sessions end with their first one.

    Parameters
    ----------
    prior : tuple (a, b), "fitted" or "features", default=(1, 1)
        As in ``PBM``.

    Attributes
    ----------
    attractiveness_ : ndarray of shape (n_pairs,)
        Probability of a click on each pair if it is examined, in the order of ``pairs``.
    evidence_ : ndarray of shape (n_pairs, 2)
        Clicks and skips of examined documents.
    n_cut_ : int
        Number of sessions with a click below their first one.
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [1, 0], indptr=[0, 2])
    >>> pk.clicks.CM().fit(log).attractiveness_.round(2)
    array([0.5 , 0.67])
    """

    name = "cm"
    by_rank = True

    def __init__(self, prior=(1.0, 1.0)):
        super().__init__(prior)

    def _collapse(self, log: ClickLog) -> list[Cells]:
        self.n_cut_ = sum(
            int(np.count_nonzero(np.add.reduceat(log.click[rows], log.indptr[first:last] - rows.start, dtype=int) > 1))
            for first, last, rows in session_blocks(log)
        )
        if self.n_cut_:
            warn(
                f"cm: {count_of(self.n_cut_, 'session')} ({self.n_cut_ / len(log):.1%}) had a second click, "
                "which the cascade model cannot explain, and ended with the first one in the fit.",
                DataWarning,
            )
        return count_cells(log, by_last_click=True)

    def _learn(self, counts: list[Cells], prior: Prior) -> None:
        self.evidence_ = np.zeros((self.attractiveness_.size, 2))
        ranks = np.arange(self.n_ranks_, dtype=np.int64)
        is_first = np.zeros(self.n_ranks_ * (self.n_ranks_ + 1) // 2, dtype=bool)
        is_first[ranks * (ranks + 1) // 2] = True  # cells without a click above
        for block in counts:
            looked = is_first[block.cell]
            for column, values in enumerate((block.clicks, block.skips)):
                sums = np.append(0, np.cumsum(values * looked, dtype=np.int64))[block.indptr]
                self.evidence_[block.pairs, column] = np.diff(sums)
        set_rates(self, prior)

    def _after_click(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        return np.zeros(1)


def _mean_log_rank(log: ClickLog) -> np.ndarray:
    """Return the mean logarithm of the ranks at which each pair was shown; the mean of all for one never shown."""
    shown, total = np.zeros((2, log.n_pairs))
    for first, last, rows in session_blocks(log):
        pair = log.pair[rows]
        shown += np.bincount(pair, minlength=log.n_pairs)
        total += np.bincount(pair, np.log(log[first:last].rank), log.n_pairs)
    return np.divide(total, shown, out=np.full(shown.size, total.sum() / shown.sum()), where=shown > 0)


class TailModel(ChainModel):
    """Base class of models fitted by EM: users may continue after a click."""

    has_satisfaction: ClassVar[bool] = False
    pass_kernel: ClassVar[Any]

    satisfaction_: np.ndarray

    def _collapse(self, log: ClickLog) -> Any:
        return count_lists(log)

    def _start(self, log: ClickLog, prior: Prior) -> None:
        super()._start(log, prior)
        if isinstance(self.prior, str):
            prior.depend_on(_mean_log_rank(log))  # rankers show better documents higher
        self._globals = self._first_globals()
        self._satisfaction = np.full(log.n_pairs if self.has_satisfaction else 0, FIRST_CHANCE)

    def _first_globals(self) -> np.ndarray:
        """Return the first values of the parameters that no pair owns."""
        return np.empty(0)

    def _keep_globals(self) -> None:
        """Set the learned attributes of the parameters that no pair owns."""

    def _learn(self, counts: list[Lists], prior: Prior) -> None:
        yes, no = prior.counts(self.attractiveness_.size)
        passed_at = sum(block.passed_at for block in counts)

        def step(shared: np.ndarray) -> tuple[float, np.ndarray]:
            value, totals = self._pass(counts, shared, yes, no, prior, CYCLES)
            if self.by_rank:
                value += float(passed_at @ np.log(shared))
                totals[:, 0] += passed_at
            update = mean_with_prior(totals[:, 0], totals.sum(axis=1), prior.a, prior.b, shared)
            return value + log_prior(shared, prior.a, prior.b), update

        found = ascend(
            step,
            self._globals,
            [self.attractiveness_, self._satisfaction],
            max_iter=self.max_iter,
            tol=self.tol,
            least_gain=0.01 * self.tol * self.n_sessions_,
        )
        self._globals = found.globals
        self.converged_, self.n_iter_ = found.converged, self.n_iter_ + len(found.history)
        self.history_ = [value / self.n_sessions_ for value in found.history]
        self._keep()
        self._weigh(counts, yes, no)

    def _keep(self) -> None:
        if self.has_satisfaction:
            self.satisfaction_ = self._satisfaction
        self._keep_globals()

    def _pass(
        self, blocks: list[Lists], shared: np.ndarray, yes: np.ndarray, no: np.ndarray, prior: Prior, n_cycles: int
    ) -> tuple[float, np.ndarray]:
        """Improve the parameters of the pairs, and return the value and the expected counts of shared parameters."""
        attraction, satisfaction, n_ranks = self.attractiveness_, self._satisfaction, self.n_ranks_

        def work(block: Lists) -> tuple[float, np.ndarray]:
            totals, own = np.zeros((shared.size, 2)), block.pairs
            parts = yes[own], no[own], prior.a, prior.b, shared, n_ranks, n_cycles, 0.1 * self.tol
            value = type(self).pass_kernel(*block[1:-1], *parts, attraction[own], satisfaction[own], totals)
            return value, totals

        return summed(work, blocks)

    def _looks_below(self, blocks: list[Lists]) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected examinations of each pair below the last click, and the sum of squared probabilities."""
        attraction, after_skip = self.attractiveness_, self._after_skip()
        look_on = self._look_on(attraction, self._satisfaction)
        looks, squares = np.zeros((2, attraction.size))

        def work(block: Lists) -> None:
            own = block.pairs
            lists = block.indptr, block.pair, block.ends, block.start, block.n_none
            on = look_on if self.by_rank else look_on[own]
            chances = attraction[own], on, self.by_rank, after_skip, self.n_ranks_
            _kernels.hidden_looks(*lists, *chances, looks[own], squares[own])

        map_blocks(work, [(block,) for block in blocks])
        return looks, squares

    def _weigh(self, blocks: list[Lists], yes: np.ndarray, no: np.ndarray) -> None:
        """Set ``evidence_`` from the information about the log-odds, less what is hidden below the last click."""
        looks, squares = self._looks_below(blocks)
        values = self.attractiveness_
        seen = np.concatenate([block.clicks + block.skips for block in blocks])
        total = (yes + no + seen + looks) * values * (1 - values) - values**2 * (looks - squares)
        self.evidence_ = evidence_of(values, total, yes, no)

    def satisfaction_posterior(self, log: ClickLog) -> np.ndarray:
        # The information about the log-odds, given the other parameters: that of all clicks as known successes and
        # failures, less what stays hidden. After a click that was not the last one, the user was not satisfied.
        # The last one satisfied with probability σ / P(no click below), which has the variance s (1 - s).
        if not self.has_satisfaction:
            return super().satisfaction_posterior(log)
        self._check_fitted()
        values, place = self.satisfaction_, log.pairs.match(self.pairs)
        clicks, hidden = np.zeros((2, values.size))
        for first, last in query_blocks(log.indptr, ROWS_AT_ONCE):
            part = log[first:last]
            with without(".* pairs that "):  # they have no satisfaction here
                chances = self.predict_conditional(part)
            code, starts, rank = place[part.pair], part.indptr[:-1], part.rank
            end = np.repeat(np.maximum.reduceat(rank * part.click, starts), np.diff(part.indptr))
            none_below = np.exp(np.add.reduceat(np.where(rank > end, np.log1p(-chances), 0.0), starts))
            is_known = part.click & (code >= 0)
            clicks += np.bincount(code[is_known], minlength=values.size)
            rows = np.flatnonzero(is_known & (rank == end))
            session = np.searchsorted(part.indptr, rows, side="right") - 1
            share = np.minimum(values[code[rows]] / none_below[session], 1.0)
            hidden += np.bincount(code[rows], share * (1 - share), values.size)
        yes, no = np.asarray((1.0, 1.0) if isinstance(self.prior, str) else self.prior)[:, None]
        total = (yes + no + clicks) * values * (1 - values) - hidden
        return fitted_posterior(evidence_of(values, total, yes, no))

    def _look_on(self, attraction: np.ndarray, satisfaction: np.ndarray) -> np.ndarray:
        """Return the probability to continue after a click, by pair or by rank."""
        raise NotImplementedError

    def _after_click(self, log: ClickLog, attraction: np.ndarray) -> np.ndarray:
        satisfaction = np.empty(0)
        if self.has_satisfaction:
            mean = 0.5 if isinstance(self.prior, str) else self.prior_mean_
            satisfaction = self._of_pairs(self.satisfaction_, log.pairs.match(self.pairs), mean)
        return self._look_on(attraction, satisfaction)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super()._shapes(), **({"satisfaction_": (len(self.pairs),)} if self.has_satisfaction else {})}


class DCM(TailModel):
    """Dependent click model: users continue after a skip, and after a click with a probability that depends on rank.

    Parameters
    ----------
    prior, max_iter, tol
        As in ``PBM``.

    Attributes
    ----------
    continuation_ : ndarray of shape (n_ranks,)
        Probability to continue after a click at each rank.
    attractiveness_, evidence_ : as in ``PBM``
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [1, 1], indptr=[0, 2])
    >>> pk.clicks.DCM().fit(log).continuation_.round(2)
    array([0.67, 0.5 ])
    """

    name = "dcm"
    by_rank = True
    pass_kernel = _kernels.dcm_pass

    def _first_globals(self) -> np.ndarray:
        return np.full(self.n_ranks_, FIRST_CHANCE)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super()._shapes(), "continuation_": (self.n_ranks_,)}

    def _keep_globals(self) -> None:
        self.continuation_ = self._globals

    def _look_on(self, attraction: np.ndarray, satisfaction: np.ndarray) -> np.ndarray:
        return self.continuation_


class CCM(TailModel):
    """Click chain model: the probability to continue after a click depends on the attractiveness of the document.

    After a skip it is τ_1, after a click ``τ_2 (1 - α) + τ_3 α``, where α is the attractiveness.

    Parameters
    ----------
    prior, max_iter, tol
        As in ``PBM``.

    Attributes
    ----------
    continuation_ : ndarray of shape (3,)
        τ_1, τ_2 and τ_3.
    attractiveness_, evidence_ : as in ``PBM``
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [1, 1], indptr=[0, 2])
    >>> pk.clicks.CCM().fit(log).continuation_.shape
    (3,)
    """

    name = "ccm"
    pass_kernel = _kernels.ccm_pass

    def _first_globals(self) -> np.ndarray:
        return np.array([0.9, 0.7, 0.5])

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super()._shapes(), "continuation_": (3,)}

    def _keep_globals(self) -> None:
        self.continuation_ = self._globals

    def _after_skip(self) -> float:
        return float(self.continuation_[0])

    def _look_on(self, attraction: np.ndarray, satisfaction: np.ndarray) -> np.ndarray:
        return self.continuation_[1] * (1 - attraction) + self.continuation_[2] * attraction


class DBN(TailModel):
    """Dynamic Bayesian network model: a clicked document may satisfy; unsatisfied users may continue.

    After a skip users continue with probability γ, after a click with probability ``γ (1 - σ)``.

    Parameters
    ----------
    prior, max_iter, tol
        As in ``PBM``.

    Attributes
    ----------
    satisfaction_ : ndarray of shape (n_pairs,)
        Probability σ that a click on the pair satisfies the user.
    continuation_ : float
        γ.
    attractiveness_, evidence_ : as in ``PBM``
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [1, 1], indptr=[0, 2])
    >>> pk.clicks.DBN().fit(log).satisfaction_.round(2)
    array([0.5 , 0.33])
    """

    name = "dbn"
    has_satisfaction = True
    pass_kernel = _kernels.dbn_pass

    def _first_globals(self) -> np.ndarray:
        return np.array([0.9])

    def _keep_globals(self) -> None:
        self.continuation_ = float(self._globals[0])

    def _after_skip(self) -> float:
        return self.continuation_

    def _look_on(self, attraction: np.ndarray, satisfaction: np.ndarray) -> np.ndarray:
        return self.continuation_ * (1 - satisfaction)


class SDBN(TailModel):
    """Simplified DBN: users who are not satisfied always continue (``γ = 1``).

    Parameters
    ----------
    prior, max_iter, tol
        As in ``PBM``.

    Attributes
    ----------
    satisfaction_ : ndarray of shape (n_pairs,)
        Probability that a click on the pair satisfies the user.
    attractiveness_, evidence_ : as in ``PBM``
    impressions_, n_sessions_, n_ranks_, prior_mean_, prior_strength_, feature_coef_ : as in ``ClickModel``
    feature_scale_, pair_arrays_, history_, n_iter_, converged_ : as in ``ClickModel``

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [1, 1], indptr=[0, 2])
    >>> pk.clicks.SDBN().fit(log).satisfaction_.round(2)
    array([0.5 , 0.33])
    """

    name = "sdbn"
    has_satisfaction = True
    pass_kernel = _kernels.sdbn_pass

    def _look_on(self, attraction: np.ndarray, satisfaction: np.ndarray) -> np.ndarray:
        return 1 - satisfaction
