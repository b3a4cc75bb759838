"""Monitor of a fit: history, validation measure, early stopping, interruption and progress bar."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from plackett._progress import Progress
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning, warn
from plackett.metrics.judged_lists import JudgedLists, mean_of_counted
from plackett.metrics.measure import Measure
from plackett.solvers.base import INTERRUPTED

DEFAULT_METRIC = "ndcg@10"
NO_IMPROVEMENT = "no improvement on the validation set"
SAME = 1e-12  # values that differ by less are equal: sums over rows in another order differ by that


class ValidationSet:
    """Validation queries, and the measure that is computed from their scores."""

    def __init__(self, queries: Queries, metric: str | Measure | None):
        self.queries, self.measure = queries, Measure.parse(DEFAULT_METRIC if metric is None else metric)
        self._lists = JudgedLists.of_queries(queries)

    def mean(self, scores: np.ndarray) -> float:
        """Return the mean over the queries, as ``evaluate`` reports it; NaN if none counts or a score overflowed."""
        if not np.isfinite(scores).all():
            return np.nan
        return mean_of_counted(self.measure.values(self._lists.with_scores(scores)))

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query; NaN where it has no value."""
        if not np.isfinite(scores).all():
            return np.full(self.queries.n_queries, np.nan)
        table, is_empty = self.measure.rules.table([self.measure], self._lists.with_scores(scores))
        return np.where(is_empty, np.nan, table)[:, 0]


class FitMonitor:
    """Records the iterations of a fit and decides when it stops early.

    With validation queries the best iteration is the one to keep. ``patience`` iterations without a better value end
    the fit; None never ends it early. If the measure is NaN in every iteration, the fit does not stop early, the last
    iteration is kept, and a ``DataWarning`` says so.

    ``history`` has one list per name, and one for the validation measure. ``best_state`` is the ``state`` of ``record``
    in the best iteration, which is None without a value of the validation set.

    Examples
    --------
    >>> monitor = FitMonitor()
    >>> with monitor.run("n_rounds", 3, ["objective"]):
    ...     for step in range(3):
    ...         if monitor.record(objective=1.0 / (step + 1)):
    ...             break
    >>> monitor.n_iter, monitor.stop_reason
    (3, 'n_rounds reached')
    """

    def __init__(self, validation: ValidationSet | None = None, patience: int | None = None, *, is_shown: bool = False):
        self.validation, self.patience = validation, patience
        self.n_iter = 0
        self.history: dict[str, list[Any]] = {}
        self.best_iteration: int | None = None
        self.best_score: float | None = None
        self.best_state: Any = None
        self.stop_reason = ""
        self.is_interrupted = False
        self._is_shown = is_shown
        self._shown: tuple[str, ...] = ()
        self._progress = Progress("fitting", 0, is_shown=False)

    @property
    def n_kept(self) -> int:
        """How many iterations to keep: up to the best one on the validation set, or all."""
        return self.n_iter if self.best_iteration is None else self.best_iteration

    @contextlib.contextmanager
    def run(
        self, budget: str, total: int, names: Sequence[str] = (), *, shown: Sequence[str] | None = None
    ) -> Iterator[None]:
        """Run the iterations of a fit inside this context, which ends at Ctrl-C and keeps the recorded iterations.

        ``budget`` is the parameter that limits them to ``total``: ``max_iter``, ``n_rounds`` or ``n_epochs``. ``names``
        are those of the values of every iteration, besides the validation measure; the progress bar shows ``shown``, or
        all.
        """
        self.history = {name: [] for name in names}
        if self.validation is not None:
            self.history[str(self.validation.measure)] = []
        self.stop_reason = f"{budget} reached"
        self._shown = tuple(names if shown is None else shown)
        self._progress = Progress("fitting", total, is_shown=self._is_shown)
        try:
            with self._progress:
                yield
        except KeyboardInterrupt:
            self.stop(INTERRUPTED)
        if self.validation is not None and self.n_iter and np.isnan(self.history[str(self.validation.measure)]).all():
            warn(
                f"{self.validation.measure} has no value on the validation set: no query counts, or scores overflowed. "
                "There was no early stopping, and the last iteration is kept. Check the labels of eval_set.",
                DataWarning,
            )

    def record(
        self,
        scores: Callable[[], np.ndarray] | None = None,
        state: Any = None,
        may_be_best: bool = True,
        **values: float,
    ) -> str | None:
        """Record an iteration and its ``values``; return the reason to stop after it, or None.

        ``scores`` returns the scores of the validation queries; called only if there are some. A copy of ``state``,
        which restores this iteration, is kept if it is the best so far and may be kept (``may_be_best``).
        """
        validation = None if scores is None else self.validation
        mean = None if validation is None or scores is None else validation.mean(scores())  # may be interrupted
        self.n_iter += 1
        for name, value in values.items():
            self.history[name].append(value)
        if validation is not None and mean is not None:
            self.history[str(validation.measure)].append(mean)
            if may_be_best and is_better(mean, self.best_score, validation.measure):
                self.best_iteration, self.best_score, self.best_state = self.n_iter, mean, copy.copy(state)
        self._progress.advance(self._message() if self._is_shown else "")
        if self.patience is None or self.best_iteration is None or self.n_iter - self.best_iteration < self.patience:
            return None
        return self.stop(NO_IMPROVEMENT)

    def stop(self, reason: str) -> str:
        """Record why the fit ends, and return the reason."""
        self.stop_reason, self.is_interrupted = reason, reason == INTERRUPTED
        return reason

    def _message(self) -> str:
        names = [*self._shown, *([] if self.validation is None else [str(self.validation.measure)])]
        return "  ".join(f"{name.replace('_', ' ')} {self.history[name][-1]:.6g}" for name in names)


def is_better(value: float, best: float | None, measure: Measure) -> bool:
    """Return whether a value is better than the best so far; NaN never is."""
    if best is None:
        return not np.isnan(value)
    return (value - best if measure.higher_is_better else best - value) > SAME
