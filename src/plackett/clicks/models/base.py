"""Base class of the click models: one interface for fits, click probabilities, measures, simulation and files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett._parameters import Parameters
from plackett._threads import map_blocks, one_blas_thread
from plackett.clicks.log import ClickLog, CountedLog
from plackett.clicks.models.ascent import LEAST
from plackett.clicks.models.collapse import session_blocks
from plackett.clicks.models.priors import Prior, fitted_posterior, posterior_of, start_prior
from plackett.clicks.pairs import Pairs
from plackett.exceptions import ConvergenceWarning, DataWarning, ParameterError, warn
from plackett.storage import models
from plackett.validation import check_number, check_positive_int, check_seed

if TYPE_CHECKING:
    from plackett.clicks.judgements import Judgements

FIRST_CHANCE = 0.5
for _home, _names in {"cells": "GCTR RCTR DCTR PBM UBM", "chain": "CM DCM CCM DBN SDBN"}.items():
    for _name in _names.split():
        models.register_home(_name, f"plackett.clicks.models.{_home}")


class ClickModel(Parameters, ABC):
    """Base class of the click models (chuklin2015).

    Parameters
    ----------
    prior : tuple (a, b), "fitted" or "features", default=(1, 1)
        The fit maximises the log-likelihood plus ``a log p + b log(1 - p)`` of every free parameter, which is the mode,
        on the scale of log-odds, under a Beta(a, b) prior. ``(0, 0)`` is maximum likelihood. "fitted" estimates the
        Beta prior of the attractiveness by marginal likelihood, "features" one whose mean is a logistic model of the
        features of the log; all other parameters then have the prior (1, 1). In PBM and UBM the mean also depends on
        the ranks at which a pair was shown, because rankers show better documents higher, and the attractiveness is
        integrated out when the examination probabilities are estimated.
    max_iter : int, default=200
        Maximum number of steps. Models with a closed form ignore it.
    tol : float, default=1e-6
        Stop when a step moves no shared parameter by more than this, and the mean log-likelihood rises by less than
        0.01 ``tol``.

    Attributes
    ----------
    impressions_ : ndarray of shape (n_pairs,)
        How often each pair was shown, in the order of ``pairs``.
    n_sessions_ : int
        Number of sessions of the log.
    n_ranks_ : int
        Length of its longest list.
    prior_mean_ : float or ndarray of shape (n_pairs,)
        Mean of the prior of the attractiveness; one per pair with "features", and with "fitted" in PBM and UBM.
    prior_strength_ : float
        Number of observations that the prior is worth, a + b.
    feature_coef_ : ndarray of shape (n_features + 1,) or None
        Intercept and coefficients of the prior's logistic model, of standardised features.
    feature_scale_ : ndarray of shape (2, n_features) or None
        Means and standard deviations of the features.
    pair_arrays_ : dict of str to ndarray
        ``pairs``, as a file holds them.
    history_ : list of float
        Mean log-likelihood with the prior after each step of the last fit; it never falls. Empty for closed forms.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the tolerance was reached.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe", "shoe"], ["a", "b", "b", "a"], [0, 1, 1, 0], indptr=[0, 2, 4])
    >>> model = pk.clicks.PBM().fit(log)
    >>> isinstance(model, pk.clicks.ClickModel), model.n_sessions_, model.impressions_
    (True, 2, array([2, 2]))
    """

    name: ClassVar[str]
    has_attractiveness: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = False  # whether it learns from counts by pair and rank alone
    chances_kernel: ClassVar[Any]
    clicks_kernel: ClassVar[Any]
    n_draws: ClassVar[tuple[int, ...]] = ()  # of a row in a simulation; one

    attractiveness_: np.ndarray
    evidence_: np.ndarray

    def __init__(self, prior: Any = (1.0, 1.0), max_iter: int = 200, tol: float = 1e-6):
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol

    # --- Fit ---------------------------------------------------------------------------------------------------------

    def fit(self, log: ClickLog) -> Self:
        """Fit the model to a log, and return the model.

        Parameters
        ----------
        log : ClickLog

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` steps were not enough.
        """
        if not len(log):
            raise ValueError("the log has no sessions.")
        if isinstance(log, CountedLog) and not self.takes_counts:
            raise ValueError(
                f"{type(self).__name__} needs sessions, but this log has counts of pairs by rank. Fit GCTR, RCTR, "
                "DCTR or PBM, or read the sessions with read_clicks."
            )
        check_positive_int(self.max_iter, "max_iter")
        check_number(self.tol, "tol", above=0)
        before = dict(vars(self))
        try:
            with one_blas_thread():  # its bits depend on the number of threads
                self._fit(log, start_prior(self.prior, log))
        except BaseException:  # restore the model
            vars(self).clear()
            vars(self).update(before)
            raise
        if not self.converged_:
            warn(
                f"{self.name} stopped after {self.n_iter_} steps, before the likelihood converged. Raise max_iter.",
                ConvergenceWarning,
            )
        return self

    def _fit(self, log: ClickLog, prior: Prior) -> None:
        counts = self._collapse(log)
        self.n_sessions_, self.n_ranks_ = len(log), log.longest
        self.impressions_ = _impressions(log)
        self._pairs, self.pair_arrays_ = log.pairs, log.pairs.arrays()
        self.converged_, self.n_iter_ = True, 0
        self.history_: list[float] = []
        self._start(log, prior)
        self._learn(counts, prior)
        while self.has_attractiveness and prior.improve(self.evidence_):
            self._learn(counts, prior)
        self.prior_mean_, self.prior_strength_ = prior.mean, prior.strength
        self.feature_coef_, self.feature_scale_ = prior.of_features()

    def _start(self, log: ClickLog, prior: Prior) -> None:
        """Set the first parameters."""
        if self.has_attractiveness:
            self.attractiveness_ = np.full(log.n_pairs, FIRST_CHANCE)

    @abstractmethod
    def _collapse(self, log: ClickLog) -> Any:
        """Return what the likelihood depends on."""

    @abstractmethod
    def _learn(self, counts: Any, prior: Prior) -> None:
        """Improve the parameters; set ``evidence_``, the clicks and skips that each attractiveness is worth."""

    @abstractmethod
    def _user(self, log: ClickLog) -> tuple:
        """Return what the kernels of click probabilities and of simulations need to know about users of a log."""

    def _fill(self, log: ClickLog, user: tuple, first: int, last: int, is_conditional: bool, out: np.ndarray) -> None:
        """Write the click probabilities of some sessions."""
        type(self).chances_kernel(log.indptr, log.pair, log.click, first, last, *user, is_conditional, out)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_sessions_"):
            raise ValueError(f"this {type(self).__name__} is not fitted yet. Call fit with a log first.")

    # --- Parameters for the pairs of a log ----------------------------------------------------------------------------

    @property
    def pairs(self) -> Pairs:
        """Pairs of the log that the model was fitted on, in the order of ``attractiveness_``."""
        self._check_fitted()
        if not hasattr(self, "_pairs"):  # loaded from a file
            self._pairs = Pairs.from_stored(self.pair_arrays_)
        return self._pairs

    def attractiveness_of(self, log: ClickLog) -> np.ndarray:
        """Return the attractiveness of the pairs of a log.

        Parameters
        ----------
        log : ClickLog
            Its pairs are found by their names. One that the model was not fitted on has the mean of the prior.

        Warns
        -----
        DataWarning
            If the log shows pairs that were not shown in the fit.
        """
        self._check_fitted()
        place = log.pairs.match(self.pairs)
        is_new = place < 0
        is_new[~is_new] = self.impressions_[place[~is_new]] == 0
        if is_new.any():
            share = _share_of_rows(log, is_new)
            if share:
                warn(
                    f"{share:.1%} of the shown documents are pairs that {self.name} was not fitted on; "
                    "they have the mean of the prior.",
                    DataWarning,
                )
        return self._of_pairs(self.attractiveness_, place, self._prior_means(log))

    def _prior_means(self, log: ClickLog) -> np.ndarray | float:
        if self.feature_coef_ is None or log.features is None:
            return float(np.mean(self.prior_mean_))
        return Prior.means_of(log.features, self.feature_coef_, self.feature_scale_)

    @staticmethod
    def _of_pairs(values: np.ndarray, place: np.ndarray, default: np.ndarray | float) -> np.ndarray:
        return (
            np.where(place < 0, default, values[np.maximum(place, 0)]) if values.size else np.full(place.size, default)
        )

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Return intervals for the attractiveness: quantiles of its posterior under a fitted Beta prior.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            Lower and upper ends. They are wide where a pair was shown seldom, or far down.
        """
        with importing:
            from scipy.special import betaincinv

        if not 0 < check_number(level, "level") < 1:
            raise ParameterError("level", level, "it must be between 0 and 1.")
        yes, no = self.posterior().T
        ends = [betaincinv(yes, no, chance) for chance in ((1 - level) / 2, (1 + level) / 2)]
        return np.stack(ends, axis=1)

    def posterior(self) -> np.ndarray:
        """Return the Beta posterior of each attractiveness, under a prior fitted by marginal likelihood.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            Its two parameters, a and b; the mean is a / (a + b).
        """
        self._check_fitted()
        if not self.has_attractiveness:
            raise ValueError(f"{self.name} has no attractiveness of pairs.")
        if isinstance(self.prior, str):
            return posterior_of(self.evidence_, self.prior_mean_, self.prior_strength_)
        return fitted_posterior(self.evidence_)

    def satisfaction_posterior(self, log: ClickLog) -> np.ndarray:
        """Return the Beta posterior of each satisfaction, under a prior fitted by marginal likelihood.

        Parameters
        ----------
        log : ClickLog
            The log of the fit.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            Its two parameters, a and b, as of ``posterior``.
        """
        raise ValueError(f"{self.name} has no satisfaction of pairs; use dbn or sdbn.")

    def judgements(
        self,
        log: ClickLog | None = None,
        *,
        by: str = "attractiveness",
        grades: int | Sequence[float] = 5,
        min_impressions: int = 10,
        min_evidence: float = 1.0,
        level: float = 0.95,
        lower: bool = False,
    ) -> Judgements:
        """Return grades of the pairs, for evaluation and training.

        The graded value is the mean of the posterior whose quantiles are the interval. Cut points are the same for all
        queries, so that a grade means the same probability everywhere: a query may have no document of the highest
        grade, or only such documents.

        Parameters
        ----------
        log : ClickLog, default=None
            Grade the pairs that this log shows, and keep its features for ``to_queries``. Pairs are found by their
            names. None grades all pairs of the fit.
        by : {"attractiveness", "satisfaction"}, default="attractiveness"
            "satisfaction" grades by attractiveness times satisfaction (DBN and SDBN), the probability that an examined
            document satisfies the user. It needs the log of the fit.
        grades : int or sequence of float, default=5
            Number of grades, or rising cut points between 0 and 1; the grade is the number of cut points below the
            value. The cut points of n grades are the quantiles 1/2, 3/4, 7/8, ... of the values, in which pairs weigh
            as much as their evidence: half of it has grade 0, a quarter grade 1, and so on.
        min_impressions : int, default=10
            Pairs that were shown less often in the fit have no grade.
        min_evidence : float, default=1.0
            Pairs with less evidence have no grade either. Evidence is the information about the attractiveness, as an
            equivalent number of examined impressions. An impression far down the list, which few users examine, adds
            little.
        level : float, default=0.95
            Of the intervals.
        lower : bool, default=False
            Whether the lower end of the interval is graded, with the same cut points: a high grade then needs evidence.

        Examples
        --------
        >>> import plackett as pk
        >>> log = pk.clicks.ClickLog.from_arrays(["shoe"] * 20, ["b", "a"] * 20, [1, 0] * 20, indptr=range(0, 41, 2))
        >>> found = pk.clicks.DCTR().fit(log).judgements(log, grades=[0.2, 0.6])
        >>> found.docid, found.grade
        (array(['a', 'b'], dtype='<U1'), array([0, 2]))
        """
        with importing:
            from plackett.clicks.judgements import judge

        return judge(self, log, by, grades, min_impressions, min_evidence, level, lower)

    # --- Click probabilities ------------------------------------------------------------------------------------------

    def predict(self, log: ClickLog) -> np.ndarray:
        """Return the click probability of each row, before any click of the session is known.

        Parameters
        ----------
        log : ClickLog
            Its clicks are not used.
        """
        return self._chances(log, is_conditional=False)

    def predict_conditional(self, log: ClickLog) -> np.ndarray:
        """Return the click probability of each row, given the clicks and skips above it.

        Parameters
        ----------
        log : ClickLog
        """
        return self._chances(log, is_conditional=True)

    def _chances(self, log: ClickLog, *, is_conditional: bool) -> np.ndarray:
        user, chances = self._user(log), np.empty(log.n_shown)
        map_blocks(
            lambda first, last, rows: self._fill(log, user, first, last, is_conditional, chances[rows]),
            list(session_blocks(log)),
        )
        return np.clip(chances, LEAST, 1 - LEAST, out=chances)

    def _logarithms(self, log: ClickLog, *, is_conditional: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return, by rank, the sum of the logarithms of the probabilities of what happened, and the number of rows."""
        user, longest = self._user(log), log.longest

        def work(first: int, last: int, rows: slice) -> np.ndarray:
            chances, sums = np.empty(rows.stop - rows.start), np.zeros((2, longest))
            self._fill(log, user, first, last, is_conditional, chances)
            _native.clicks.add_logarithms(log.indptr, log.click, first, last, chances, *sums)
            return sums

        sums = np.zeros((2, longest))
        for part in map_blocks(work, list(session_blocks(log))):
            sums += part
        return sums[0], sums[1]

    # --- Measures -----------------------------------------------------------------------------------------------------

    def log_likelihood(self, log: ClickLog) -> float:
        """Return the mean log-likelihood of a session, without the prior.

        Parameters
        ----------
        log : ClickLog
        """
        return float(self._logarithms(log, is_conditional=True)[0].sum() / len(log))

    def perplexity(self, log: ClickLog, *, conditional: bool = False) -> float:
        """Return the perplexity of the clicks, the mean over ranks: 1 is perfect, 2 is a coin flip.

        Parameters
        ----------
        log : ClickLog
        conditional : bool, default=False
            Whether probabilities are conditional on the clicks above.
        """
        return float(self.perplexity_by_rank(log, conditional=conditional).mean())

    def perplexity_by_rank(self, log: ClickLog, *, conditional: bool = False) -> np.ndarray:
        """Return the perplexity of the clicks at each rank.

        Parameters
        ----------
        log : ClickLog
        conditional : bool, default=False
            Whether probabilities are conditional on the clicks above.
        """
        sums, counts = self._logarithms(log, is_conditional=conditional)
        return np.exp(-sums / counts)

    def simulate(self, log: ClickLog, random_state: int = 0) -> ClickLog:
        """Return the same sessions with clicks of simulated users, who behave as the model says.

        Parameters
        ----------
        log : ClickLog
            Its clicks are not used.
        random_state : int, default=0
        """
        blocks, click = list(session_blocks(log)), np.empty(log.n_shown, dtype=bool)
        user = self._user(log)
        seeds = np.random.SeedSequence(check_seed(random_state)).spawn(len(blocks))

        def work(first: int, last: int, rows: slice, seed: np.random.SeedSequence) -> None:
            draws = np.random.Generator(np.random.Philox(seed)).random((rows.stop - rows.start, *self.n_draws))
            type(self).clicks_kernel(log.indptr, log.pair, first, last, *user, draws, click[rows])

        map_blocks(work, [(*block, seed) for block, seed in zip(blocks, seeds, strict=True)])
        return log.with_clicks(click)

    # --- Files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Write the model to a file. Loading it never runs code from the file.

        Parameters
        ----------
        path : path or binary file object
        """
        self._check_fitted()
        models.save(self, path)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the learned arrays that kernels rely on."""
        return {"attractiveness_": (len(self.pairs),)} if self.has_attractiveness else {}

    def check_loaded(self) -> None:
        """Raise a ValueError if what was read from a file does not fit together."""
        shapes = {"impressions_": (len(self.pairs),), **self._shapes()}
        for name, shape in shapes.items():
            values = getattr(self, name, None)
            is_number = name == "impressions_" or getattr(values, "dtype", None) == np.float64
            if not isinstance(values, np.ndarray) or values.shape != shape or not is_number:
                raise ValueError(f"{name} must be an array of shape {shape}.")
        if type(self.n_ranks_) is not int or self.n_ranks_ < 1:
            raise ValueError(f"n_ranks_ is {self.n_ranks_!r}.")

    @staticmethod
    def load(path: str | os.PathLike | BinaryIO) -> ClickModel:
        """Return the model in a file of ``save``, of any kind.

        Parameters
        ----------
        path : path or binary file object

        Raises
        ------
        ModelFormatError
            If the file is damaged.
        ValueError
            If it holds something else.
        """
        model = models.load(path)
        if not isinstance(model, ClickModel):
            raise ValueError(f"the file holds a {type(model).__name__}, which is not a click model.")
        return model


def _impressions(log: ClickLog) -> np.ndarray:
    """Return how often each pair was shown."""
    if isinstance(log, CountedLog):
        return log.impressions
    counts = np.zeros(log.n_pairs, dtype=np.int64)
    for *_, rows in session_blocks(log):
        counts += np.bincount(log.pair[rows], minlength=log.n_pairs)
    return counts


def _share_of_rows(log: ClickLog, is_chosen: np.ndarray) -> float:
    return sum(int(is_chosen[log.pair[rows]].sum()) for *_, rows in session_blocks(log)) / max(1, log.n_shown)
