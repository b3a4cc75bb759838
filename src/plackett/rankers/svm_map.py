"""SVM-map: the structural support vector machine for average precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from plackett._threads import deal, one_blas_thread, query_blocks
from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, DataWarning
from plackett.rankers import _svm_map
from plackett.rankers.base import Interrupted, Normalized
from plackett.rankers.linear import LinearRanker
from plackett.rankers.progress import Progress
from plackett.scorers.linear import VALUES_PER_BLOCK, LinearScorer
from plackett.solvers.base import Result
from plackett.solvers.cutting_plane import PlaneStep, minimize_by_planes
from plackett.validation import check_number, check_positive_int


class MarginOfAveragePrecision:
    """The mean over all queries of the worst margin violation, and a subgradient of it by the coefficients.

    Of a query with R relevant and N other documents it is the largest, over all rankings, of
    ``(1 - average precision) - 2 / (R N) Σ (s_i - s_j)``, the sum being over the pairs in which the ranking puts the
    other document j above the relevant document i. It is 0 for queries without relevant or without other documents.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_docs, n_features)
    is_relevant : ndarray of bool of shape (n_docs,)
    indptr : ndarray of shape (n_queries + 1,)
    weights : ndarray of shape (n_queries,) or None
        Weights of the queries in the mean.
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

    def __call__(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        parts = deal(lambda first, last: self._of_block(coef, first, last), self._blocks)
        return sum(value for value, _ in parts), np.sum([gradient for _, gradient in parts], axis=0)

    def _of_block(self, coef: np.ndarray, first: int, last: int) -> tuple[float, np.ndarray]:
        start, stop = int(self._indptr[first]), int(self._indptr[last])
        rows, shares = self._scorer.part(start, stop), self._shares[first:last]
        indptr = self._indptr[first : last + 1] - start
        scores, pulls, losses = np.empty(stop - start), np.empty(stop - start), np.empty(last - first)
        rows.score(coef, scores)
        _svm_map.most_violated(scores, self._is_relevant[start:stop], indptr, losses, pulls)
        pulls *= np.repeat(shares, np.diff(indptr))
        gradient = np.zeros(self.size)
        rows.pull_back(pulls, gradient)
        return float(losses @ shares + pulls @ scores), gradient


class SVMMap(Normalized):
    """Ranks by ``X @ coef_``, with the widest margin for average precision (Yue et al. 2007).

    Minimises ``½ ‖coef‖² + C · mean_q ξ_q`` over all queries, ξ_q being the largest, over all rankings of the query, of
    ``(1 - average precision) - 2 / (R N) Σ (s_i - s_j)``: the sum is over the pairs of one of its R relevant and one of
    its N other documents that the ranking inverts. Queries without relevant or without other documents have ξ = 0, and
    count in the mean. ``C`` is ``1 / l2`` of ``LinearRanker``, and C / n_queries of programs that sum over queries.

    Parameters
    ----------
    C : float, default=100.0
        Weight of the violations against the penalty.
    tol : float, default=1e-3
        The fit ends when ``objective_ / C``, in units of average precision, is known to be at most this far
        above its minimum.
    relevant_from : float, default=1.0
        Least label of a relevant document.
    top : int or None, default=None
        The k best documents of each query are relevant, whatever their labels: for strict orders. Documents with the
        label of the k-th count too. ``relevant_from`` is not looked at then.
    max_iter : int, default=2000
        Most cutting planes.
    normalize : str, transformer or None, default=None
        How columns are scaled first; see ``LinearRanker``.
    verbose : bool, default=False
        A progress bar on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
        Always 0: rankings do not depend on it.
    n_iter_ : int
        Cutting planes found, each from one pass over X.
    objective_ : float
        ``½ ‖coef‖² + C · mean_q ξ_q``.
    violation_ : float
        At most ``tol`` where the fit has converged; ``objective_`` is at most C times this above its minimum.
    stop_reason_ : str
    history_ : dict of lists
        ``"objective"``, the best so far, and ``"violation"``, one entry per iteration.
    normalizer_, feature_names_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = SVMMap(normalize="query-zscore", relevant_from=2).fit(data.X, data.y, qid=data.qid)
    >>> ranker.stop_reason_
    'violation below tol'
    """

    # the scores are linear, and so are these
    explain = LinearRanker.explain
    _predict_grouped = LinearRanker._predict_grouped
    _check_loaded = LinearRanker._check_loaded

    def __init__(
        self,
        C: float = 100.0,
        tol: float = 1e-3,
        relevant_from: float = 1.0,
        top: int | None = None,
        max_iter: int = 2000,
        normalize: Any = None,
        verbose: bool = False,
    ):
        self.C = C
        self.tol = tol
        self.relevant_from = relevant_from
        self.top = top
        self.max_iter = max_iter
        self.normalize = normalize
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, qid: Any = None, sample_weight: Any = None) -> SVMMap:
        """Find the coefficients.

        Parameters
        ----------
        X, y, qid, sample_weight : as in ``LinearRanker.fit``

        Returns
        -------
        self
        """
        check_number(self.C, "C", above=0.0)
        check_number(self.tol, "tol", above=0.0)
        check_number(self.relevant_from, "relevant_from")
        check_positive_int(self.max_iter, "max_iter")
        if self.top is not None:
            check_positive_int(self.top, "top")
        with self._all_or_nothing():
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            is_relevant = self._relevant(queries)
            rows = self._fit_normalizer(queries).X
            self._keep(self._minimize(MarginOfAveragePrecision(rows, is_relevant, queries.indptr, weights)))
            return self

    def _relevant(self, queries: Queries) -> np.ndarray:
        lists, lengths = queries.lists, np.diff(queries.indptr)
        if self.top is None:
            is_relevant = lists.labels >= self.relevant_from
        else:
            ranked = lists.labels[lists.order]
            least = ranked[queries.indptr[:-1] + np.minimum(self.top, lengths) - 1]
            is_relevant = lists.labels >= np.repeat(least, lengths)
        n_relevant = np.add.reduceat(is_relevant.astype(np.int64), queries.indptr[:-1])
        if not ((n_relevant > 0) & (n_relevant < lengths)).any():
            rule = f"relevant_from={self.relevant_from:g}" if self.top is None else f"top={self.top}"
            warnings.warn(
                f"with {rule} no query has both relevant and other documents: all coefficients are 0.",
                DataWarning,
                stacklevel=3,
            )
        return is_relevant

    def _minimize(self, risk: MarginOfAveragePrecision) -> Result:
        self.history_: dict[str, list[float]] = {"objective": [], "violation": []}

        def watch(step: PlaneStep) -> None:
            self.history_["objective"].append(self.C * step.value)
            self.history_["violation"].append(step.violation)
            progress.advance(f"objective {self.C * step.value:.6g}  violation {step.violation:.1e}")

        with one_blas_thread(), Progress("fitting", self.max_iter, is_shown=bool(self.verbose)) as progress:
            return minimize_by_planes(
                risk, risk.size, l2=1.0 / self.C, max_iter=self.max_iter, tol=self.tol, callback=watch
            )

    def _keep(self, result: Result) -> None:
        self.coef_, self.intercept_ = result.coef, 0.0
        self.n_iter_, self.stop_reason_ = result.n_iter, result.stop_reason
        self.objective_, self.violation_ = self.C * result.value, result.details["violation"]
        if result.is_interrupted:
            raise Interrupted("the fit was interrupted; the coefficients are the best so far.")
        if not result.is_converged:
            warnings.warn(
                f"cutting planes stopped after {self.n_iter_} iterations at a violation of {self.violation_:.0e}, "
                f"above tol={self.tol:g} ({self.stop_reason_}). Raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )
