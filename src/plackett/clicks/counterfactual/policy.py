"""Logging policies: the probability that the log shows a document at a rank."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from plackett.clicks.counterfactual.terms import sums_below
from plackett.clicks.log import ClickLog
from plackett.clicks.models.collapse import session_blocks
from plackett.validation import check_number, check_scores, count_of

MOST_DOCS = 10  # of a query whose joint probabilities are computed over all sets of documents
STEP = 0.2  # of the trapezoid rule over the logarithm of time; the error falls exponentially with 1 / STEP
SHUFFLED, SCORES, GIVEN = "shuffled", "plackett-luce", "given"


class LoggingPolicy:
    """How the lists of a log were drawn, for estimators that need logging probabilities.

    Use ``shuffled``, ``plackett_luce`` or ``from_probabilities``.

    * A service that shuffles the list of some sessions marks these sessions (``ClickLog.is_random``): "shuffled".
    * A service that samples lists logs the probability of each draw next to the document, and these probabilities are
      all that most estimators need: ``from_probabilities(step=...)``.
    * A service that samples by the Plackett–Luce model may log its scores instead, if the log shows all candidates.

    Examples
    --------
    >>> import plackett as pk
    >>> pk.clicks.LoggingPolicy.shuffled()
    LoggingPolicy.shuffled()
    """

    def __init__(
        self, kind: str, *, step: Any = None, marginal: Any = None, scores: Any = None, temperature: float = 1.0
    ):
        # Internal: use the class methods.
        self.kind, self._step, self._marginal = kind, step, marginal
        self.scores, self.temperature = scores, temperature

    @classmethod
    def shuffled(cls) -> LoggingPolicy:
        """Return the policy that shows the documents of a list in any order, all equally likely.

        Only sessions with ``log.is_random`` are used.

        Returns
        -------
        LoggingPolicy
        """
        return cls(SHUFFLED)

    @classmethod
    def plackett_luce(cls, scores: Any, *, temperature: float = 1.0) -> LoggingPolicy:
        """Return the policy that draws one document after the other, with probabilities proportional to exp(score / T).

        Candidates are all pairs of the query in ``log.pairs``. If there were others, which were never shown, log the
        probability of each draw instead.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,)
            In the order of ``log.pairs``.
        temperature : float, default=1.0

        Returns
        -------
        LoggingPolicy
        """
        values = check_scores(scores).astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError("scores holds an infinite number; the probability of such a document is undefined.")
        return cls(SCORES, scores=values, temperature=check_number(temperature, "temperature", above=0))

    @classmethod
    def from_probabilities(cls, *, step: Any = None, marginal: Any = None) -> LoggingPolicy:
        """Return the policy of probabilities that were logged with each shown document.

        Parameters
        ----------
        step : array-like of shape (n_shown,), default=None
            Probability of the document at its rank, given the documents above it. For "list", "rips" and "cascade-dr".
        marginal : array-like of shape (n_shown,), default=None
            Probability of the document at its rank, regardless of the documents above it. For "item-position".

        Returns
        -------
        LoggingPolicy
        """
        if step is None and marginal is None:
            raise ValueError("step or marginal is needed: the probability of each shown document, as logged.")
        return cls(GIVEN, step=_chances(step, "step"), marginal=_chances(marginal, "marginal"))

    def check(self, log: ClickLog) -> None:
        """Raise an error if the policy does not belong to a log."""
        for name, values in (("step", self._step), ("marginal", self._marginal)):
            if values is not None and values.size != log.n_shown:
                found = f"{name} has {count_of(values.size, 'probability', 'probabilities')}"
                raise ValueError(f"{found} but the log has {log.n_shown:,} shown documents; one for each is needed.")
        if self.scores is not None and self.scores.size != log.n_pairs:
            found = f"the policy has {count_of(self.scores.size, 'score')}"
            raise ValueError(f"{found} but the log has {count_of(log.n_pairs, 'pair')}; one for each is needed.")

    def step(self, log: ClickLog) -> np.ndarray:
        """Return the probability of each row given the rows above it."""
        if self.kind == SHUFFLED:
            return 1.0 / (np.repeat(np.diff(log.indptr), np.diff(log.indptr)) - log.rank + 1)
        if self.kind == SCORES:
            return np.concatenate([self._steps(log[first:last]) for first, last, _ in session_blocks(log)])
        if self._step is None:
            raise ValueError(_need("step", "the probability of each document given those above it"))
        return self._step

    def marginal(self, log: ClickLog) -> np.ndarray:
        """Return the probability of each row at its rank."""
        if self.kind == SHUFFLED:
            return 1.0 / np.repeat(np.diff(log.indptr), np.diff(log.indptr))
        if self.kind == SCORES:
            return self._rank_chances(log)[log.pair, log.rank - 1]
        if self._marginal is None:
            raise ValueError(_need("marginal", "the probability of each document at its rank, for any documents above"))
        return self._marginal

    def weights_of(self, log: ClickLog, query: int) -> np.ndarray:
        """Return the weights in the draws of the documents of a query, the largest 1."""
        first, last = np.searchsorted(log.pair_query, [query, query + 1])
        scores = self.scores[first:last] / self.temperature
        return np.exp(np.maximum(scores - scores.max(), -600.0))

    @cached_property
    def _cache(self) -> dict[int, np.ndarray]:
        return {}

    def _steps(self, part: ClickLog) -> np.ndarray:
        """Return the probabilities of draws: own weight over that of all documents that are not above."""
        assert self.scores is not None
        scaled = self.scores / self.temperature
        bounds = np.searchsorted(part.pair_query, np.arange(len(part.queries)))
        top = np.maximum.reduceat(scaled, bounds)
        weight = np.exp(np.maximum(scaled - top[part.pair_query], -600.0))
        total = np.add.reduceat(weight, bounds)[part.session_query]
        own = weight[part.pair]
        shown = np.add.reduceat(own, part.indptr[:-1])
        hidden = np.maximum(total - shown, 0.0)
        return own / (sums_below(part, own) + np.repeat(hidden, np.diff(part.indptr)))

    def _rank_chances(self, log: ClickLog) -> np.ndarray:
        """Return the probability of each pair at each rank, of shape (n_pairs, longest)."""
        n_ranks = log.longest
        if n_ranks not in self._cache:
            bounds = np.searchsorted(log.pair_query, np.arange(len(log.queries) + 1))
            parts = [race_chances(self.weights_of(log, q), n_ranks) for q in range(bounds.size - 1)]
            self._cache[n_ranks] = np.concatenate(parts)
        return self._cache[n_ranks]

    def __repr__(self) -> str:
        if self.kind == SHUFFLED:
            return "LoggingPolicy.shuffled()"
        if self.kind == SCORES:
            return f"LoggingPolicy.plackett_luce({count_of(self.scores.size, 'score')}, T {self.temperature:g})"
        names = [name for name, values in (("step", self._step), ("marginal", self._marginal)) if values is not None]
        return f"LoggingPolicy.from_probabilities({', '.join(names)})"


def race_chances(weights: np.ndarray, n_ranks: int) -> np.ndarray:
    """Return the probability of each document at each rank under the Plackett–Luce model.

    Document i arrives after an exponential time of rate w_i, and the order of arrival is the ranking. So d has rank k
    with the probability that k - 1 others arrived before it: an integral over its time, by the trapezoid rule over the
    logarithm of time.
    """
    n = weights.size
    time = np.exp(np.arange(-38.0 - np.log(weights.max()), 4.0 - np.log(weights.min()), STEP))
    late = np.exp(-np.outer(time, weights))  # probability not to have arrived
    early = -np.expm1(-np.outer(time, weights))
    before = np.zeros((time.size, n, n_ranks))  # probability that 0, 1, 2, … others arrived before, for each document
    before[:, :, 0] = 1.0
    for other in range(n):
        others = np.arange(n) != other
        moved = before[:, others] * late[:, other, None, None]
        moved[:, :, 1:] += before[:, others, :-1] * early[:, other, None, None]
        before[:, others] = moved
    density = late * time[:, None] * weights * STEP
    return np.einsum("td,tdk->dk", density, before)


def joint_chances(weights: np.ndarray, n_ranks: int) -> np.ndarray:
    """Return the joint probabilities of two documents at two ranks, of shape (n, n_ranks, n, n_ranks).

    Computed by the sets of documents that may be above a rank: 2**n of them.
    """
    n = weights.size
    sets = np.arange(1 << n)
    is_in = (sets[:, None] >> np.arange(n)) & 1 == 1
    left = np.where(is_in, 0.0, weights).sum(axis=1)
    step = np.where(is_in, 0.0, weights) / np.where(left > 0, left, 1.0)[:, None]

    def moved(chances: np.ndarray) -> np.ndarray:
        new = np.zeros_like(chances)
        for doc in range(n):
            free = sets[~is_in[:, doc]]
            new[..., free | 1 << doc] += chances[..., free] * step[free, doc]
        return new

    joint = np.zeros((n, n_ranks, n, n_ranks))
    above = np.zeros(sets.size)
    above[0] = 1.0
    for rank in range(n_ranks):
        joint[np.arange(n), rank, np.arange(n), rank] = above @ step
        after = np.zeros((n, sets.size))  # probability of each set if doc was drawn at this rank
        for doc in range(n):
            free = sets[~is_in[:, doc]]
            after[doc, free | 1 << doc] = above[free] * step[free, doc]
        for later in range(rank + 1, n_ranks):
            joint[:, rank, :, later] = after @ step
            joint[:, later, :, rank] = joint[:, rank, :, later].T
            after = moved(after)
        above = moved(above)
    return joint


def _chances(values: Any, name: str) -> np.ndarray | None:
    if values is None:
        return None
    chances = check_scores(values, name=name).astype(np.float64)
    is_wrong = ~((chances > 0) & (chances <= 1))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ValueError(f"{name} is {chances[row]:g} in row {row}; probabilities must be above 0 and at most 1.")
    return chances


def _need(name: str, what: str) -> str:
    return f"this estimator needs LoggingPolicy.from_probabilities({name}=...), {what}."
