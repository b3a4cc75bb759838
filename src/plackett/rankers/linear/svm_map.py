"""SVM-map: the structural support vector machine for average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, one_blas_thread, query_blocks
from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, DataWarning, warn
from plackett.rankers.base import TrainingSet
from plackett.rankers.linear_scores import LinearScores
from plackett.rankers.monitor import NO_IMPROVEMENT, FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers.linear import VALUES_PER_BLOCK, LinearScorer
from plackett.solvers.cutting_plane import PlaneStep, minimize_by_planes
from plackett.validation import check_number, check_positive_int


class MarginOfAveragePrecision:
    """The mean over all queries of the worst margin violation, a subgradient of it, and the mean loss.

    The violation of a query with R relevant and N other documents is the largest, over all rankings, of ``(1 - average
    precision) - 2 / (R N) Σ (s_i - s_j)``, with the sum over the pairs in which the ranking has the other document j
    above the relevant document i. It is 0 for queries without relevant or without other documents. The loss is its
    first term, 1 - average precision, for the same rankings.
    """

    def __init__(self, X: Any, is_relevant: np.ndarray, indptr: np.ndarray, weights: np.ndarray | None = None):
        self._scorer, self._is_relevant, self._indptr = LinearScorer(X), is_relevant, indptr
        n_queries = indptr.size - 1
        self._shares = np.full(n_queries, 1.0 / n_queries) if weights is None else weights / weights.sum()
        per_doc = max(1, self._scorer.n_values // max(1, self._scorer.n_docs))
        self._blocks = query_blocks(indptr, max(1, VALUES_PER_BLOCK // per_doc))

    @property
    def size(self) -> int:
        return self._scorer.size

    def __call__(self, coef: np.ndarray) -> tuple[float, np.ndarray, float]:
        values, gradients, losses = zip(
            *map_blocks(lambda first, last: self._of_block(coef, first, last), self._blocks), strict=True
        )
        return sum(values), np.sum(gradients, axis=0), sum(losses)

    def _of_block(self, coef: np.ndarray, first: int, last: int) -> tuple[float, np.ndarray, float]:
        start, stop = int(self._indptr[first]), int(self._indptr[last])
        rows, shares = self._scorer.part(start, stop), self._shares[first:last]
        indptr = self._indptr[first : last + 1] - start
        scores, pulls, losses = np.empty(stop - start), np.empty(stop - start), np.empty(last - first)
        rows.score(coef, scores)
        _native.rankers.most_violated(scores, self._is_relevant[start:stop], indptr, losses, pulls)
        pulls *= np.repeat(shares, np.diff(indptr))
        gradient = np.zeros(self.size)
        rows.pull_back(pulls, gradient)
        loss = float(losses @ shares)
        return loss + float(pulls @ scores), gradient, loss


@dataclass(eq=False, repr=False, kw_only=True)
class SVMMap(LinearScores):
    """Ranks by ``X @ coef_``, with the widest margin for average precision (Yue et al. 2007).

    Minimises ``½ ‖coef‖² + C · mean_q ξ_q`` over all queries, where ξ_q is the largest value, over all rankings of the
    query, of ``(1 - average precision) - 2 / (R N) Σ (s_i - s_j)``: the sum is over the pairs of one of its R relevant
    and one of its N other documents that the ranking inverts. Queries without relevant or without other documents have
    ξ = 0 and count in the mean. ``C`` is ``1 / l2`` of ``LinearRanker``; programs that sum over queries use
    ``C / n_queries``.

    Parameters
    ----------
    C : float, default=100.0
        Weight of the violations against the penalty.
    tol : float, default=1e-3
        The fit ends when ``objective_ / C``, in units of average precision, is known to be at most this far
        above its minimum.
    relevant_from : float, default=1.0
        Smallest label of a relevant document.
    top_k : int or None, default=None
        The k best documents of each query are relevant, whatever their labels: for strict orders. Documents with
        the label of the k-th count too. ``relevant_from`` is ignored then.
    max_iter : int, default=2000
        Maximum number of cutting planes.
    patience : int or None, default=None
        With an ``eval_set``, the fit ends after this many iterations without a better value of its measure; None never
        ends it early. The coefficients of the best iteration are kept either way. Many planes leave the coefficients
        unchanged, so early stopping is uninformative here; use C against overfitting.
    normalize, verbose, missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the columns, after encoding and ``normalize``.
    intercept_ : float
        Always 0: rankings do not depend on it.
    n_iter_ : int
        Cutting planes, each from one pass over X.
    objective_ : float
        ``½ ‖coef‖² + C · mean_q ξ_q``.
    violation_ : float
        ``objective_`` is at most C times this above its minimum: at most ``tol`` where the fit has converged and its
        last coefficients were kept.
    stop_reason_ : str
        Why no further plane was added, such as ``"violation below tol"`` or ``"max_iter reached"``.
    history_ : dict of lists
        ``"objective"``, the best so far, ``"violation"`` and the validation measure, one entry per iteration.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The iteration, from 1, with the best value of the validation measure, and that value.
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import SVMMap
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = SVMMap(normalize="query-zscore", relevant_from=2).fit(data.X, data.y, qid=data.qid)
    >>> ranker.stop_reason_
    'violation below tol'
    """

    C: float = param(100.0, check_number, above=0.0)
    tol: float = param(1e-3, check_number, above=0.0)
    relevant_from: float = param(1.0, check_number)
    top_k: int | None = param(None, check_positive_int)
    max_iter: int = param(2000, check_positive_int)
    normalize: Any = None
    patience: int | None = None
    verbose: bool = False

    def _learn(self, training: TrainingSet, monitor: FitMonitor) -> None:
        queries, weights = training.queries, training.weights
        risk = MarginOfAveragePrecision(queries.X, self._relevant(queries), queries.indptr, weights)
        l2 = 1.0 / self.C
        held: Any = None if monitor.validation is None else LinearScorer(monitor.validation.queries.X)

        def record(step: PlaneStep) -> str | None:
            may_be_best = bool(step.coef.any())  # the first planes leave all coefficients at 0
            return monitor.record(
                lambda: held.scores(step.coef), step.coef, may_be_best,
                objective=self.C * step.value, violation=step.violation,
            )  # fmt: skip

        result = None
        with one_blas_thread(), monitor.run("max_iter", self.max_iter, ("objective", "violation")):
            result = minimize_by_planes(risk, risk.size, l2=l2, max_iter=self.max_iter, tol=self.tol, callback=record)
            monitor.stop(result.stop_reason)
            coef = monitor.best_state
            if coef is not None and not np.array_equal(coef, result.coef):
                bound = result.value - result.details["violation"]
                result.coef, result.value = coef, risk(coef)[0] + 0.5 * l2 * float(coef @ coef)
                result.details["violation"] = result.value - bound
        if result is None:  # interrupted outside the solver, which returns its best coefficients
            raise KeyboardInterrupt
        self.coef_, self.intercept_ = result.coef, 0.0
        self.objective_, self.violation_ = self.C * result.value, result.details["violation"]
        if not (result.is_converged or result.is_interrupted or result.stop_reason == NO_IMPROVEMENT):
            warn(
                f"cutting planes stopped after {result.n_iter} iterations at a violation of {self.violation_:.0e}, "
                f"above tol={self.tol:g} ({result.stop_reason}). Raise max_iter or tol, lower C, or scale the columns "
                "(normalize=).",
                ConvergenceWarning,
            )

    def _relevant(self, queries: Queries) -> np.ndarray:
        lists, lengths = queries.lists, np.diff(queries.indptr)
        if self.top_k is None:
            is_relevant = lists.labels >= self.relevant_from
        else:
            ranked = lists.labels[lists.order]
            least = ranked[queries.indptr[:-1] + np.minimum(self.top_k, lengths) - 1]
            is_relevant = lists.labels >= np.repeat(least, lengths)
        n_relevant = np.add.reduceat(is_relevant.astype(np.int64), queries.indptr[:-1])
        if not ((n_relevant > 0) & (n_relevant < lengths)).any():
            rule = f"relevant_from={self.relevant_from:g}" if self.top_k is None else f"top_k={self.top_k}"
            warn(
                f"with {rule} no query has both relevant and other documents: all coefficients are 0.",
                DataWarning,
            )
        return is_relevant
