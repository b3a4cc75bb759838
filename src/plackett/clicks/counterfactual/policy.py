"""Logging policies: the probability that the log shows a document at a rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.clicks.log import ClickLog, check_chances
from plackett.validation import count_of

SHUFFLED, GIVEN = "shuffled", "given"


class LoggingPolicy:
    """How the lists of a log were drawn, for estimators that need logging probabilities.

    Use ``shuffled`` or ``from_probabilities``.

    * A service that shuffles the list of some sessions marks these sessions (``ClickLog.is_random``): "shuffled".
    * A service that samples lists logs the probability of each draw next to the document, and these probabilities are
      all that most estimators need: ``from_probabilities(step=...)``.

    Examples
    --------
    >>> import plackett as pk
    >>> pk.clicks.LoggingPolicy.shuffled()
    LoggingPolicy.shuffled()
    """

    def __init__(self, kind: str, *, step: Any = None, marginal: Any = None):
        # Internal: use the class methods.
        self.kind, self._step, self._marginal = kind, step, marginal

    @classmethod
    def shuffled(cls) -> LoggingPolicy:
        """Return the policy that shows the documents of a list in any order, all equally likely.

        Only sessions with ``log.is_random`` are used.
        """
        return cls(SHUFFLED)

    @classmethod
    def from_probabilities(cls, *, step: Any = None, marginal: Any = None) -> LoggingPolicy:
        """Return the policy of probabilities that were logged with each shown document.

        Parameters
        ----------
        step : array-like of shape (n_shown,), default=None
            Probability of the document at its rank, given the documents above it. For "list" and "rips".
        marginal : array-like of shape (n_shown,), default=None
            Probability of the document at its rank, regardless of the documents above it. For "item-position".
        """
        if step is None and marginal is None:
            raise ValueError("step or marginal is needed: the probability of each shown document, as logged.")
        return cls(
            GIVEN,
            step=None if step is None else check_chances(step, "step"),
            marginal=None if marginal is None else check_chances(marginal, "marginal"),
        )

    def check(self, log: ClickLog) -> None:
        """Raise an error if the policy does not belong to a log."""
        for name, values in (("step", self._step), ("marginal", self._marginal)):
            if values is not None and values.size != log.n_shown:
                found = f"{name} has {count_of(values.size, 'probability', 'probabilities')}"
                raise ValueError(f"{found} but the log has {log.n_shown:,} shown documents; one for each is needed.")

    def step(self, log: ClickLog) -> np.ndarray:
        """Return the probability of each row given the rows above it."""
        if self.kind == SHUFFLED:
            return 1.0 / (np.repeat(np.diff(log.indptr), np.diff(log.indptr)) - log.rank + 1)
        if self._step is None:
            raise ValueError(_need("step", "the probability of each document given those above it"))
        return self._step

    def marginal(self, log: ClickLog) -> np.ndarray:
        """Return the probability of each row at its rank."""
        if self.kind == SHUFFLED:
            return 1.0 / np.repeat(np.diff(log.indptr), np.diff(log.indptr))
        if self._marginal is None:
            raise ValueError(_need("marginal", "the probability of each document at its rank, for any documents above"))
        return self._marginal

    def __repr__(self) -> str:
        if self.kind == SHUFFLED:
            return "LoggingPolicy.shuffled()"
        names = [name for name, values in (("step", self._step), ("marginal", self._marginal)) if values is not None]
        return f"LoggingPolicy.from_probabilities({', '.join(names)})"


def _need(name: str, what: str) -> str:
    return f"this estimator needs LoggingPolicy.from_probabilities({name}=...), {what}."
