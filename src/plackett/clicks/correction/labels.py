"""The result of ``corrected_labels``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plackett.clicks.correction.diagnosis import CorrectionDiagnosis, diagnose
from plackett.clicks.correction.estimates import Estimates
from plackett.clicks.correction.features import RowsOfPairs
from plackett.clicks.pairs import Pairs, code_names, match_names
from plackett.clicks.propensities.counts import Counts
from plackett.clicks.propensities.propensities import Propensities
from plackett.data.queries import Queries
from plackett.validation import count_of


class Evidence(NamedTuple):
    """What a diagnosis is made from: counts, estimates, and what the log says about its lists."""

    counts: Counts
    estimates: Estimates
    n_rankers: int | None
    share_random: float | None


@dataclass(frozen=True, repr=False)
class CorrectedLabels(RowsOfPairs):
    """Relevance of the shown pairs of query and document. The result of ``corrected_labels``.

    Rows are in the order of the names of queries, then of documents.

    Attributes
    ----------
    pairs : Pairs
        The shown pairs.
    relevance : ndarray of shape (n_rows,)
        Estimates R, which may be negative or above 1.
    variance : ndarray of shape (n_rows,)
        Sample variance of each estimate, for known propensities and a known regression. NaN for a pair with a single
        impression, or a single session of its query ("policy-aware", "dr").
    impressions, clicks : ndarray of int64 of shape (n_rows,)
        How often each pair was shown, and clicked.
    n_sessions : ndarray of int64 of shape (n_queries,)
        Number of sessions of each query of ``pairs``: the weight of the query.
    method : str
        The method of the correction.
    clip : float
        Smallest divisor.
    regression : ndarray of shape (n_rows,) or None
        R̂ of method "dr".
    propensities : Propensities or None
        The examination probabilities that were given; None if there were none ("naive").
    features : ndarray of shape (n_rows, n_features) or None
        Features of the pairs, if they come from the log.
    feature_names : list of str or None
        Names of these features, if known.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"] * 3, ["b", "a"] * 3, [1, 0, 1, 1, 0, 0], indptr=[0, 2, 4, 6])
    >>> labels = pk.clicks.corrected_labels(log, [1.0, 0.5], "ips")
    >>> labels
    CorrectedLabels(2 pairs of 1 query, 3 sessions, by ips)
    >>> dict(zip(labels.docid.tolist(), labels.relevance.round(3).tolist()))  # 1/3 at rank 1; 2/3 at rank 2
    {'a': 0.667, 'b': 0.667}
    """

    _columns = ("query", "docid", "relevance", "variance", "impressions", "clicks")
    _label = "relevance"
    _are_estimates = True
    _advice = "Pass Queries that hold them, or use a log with features: log.with_features(...)."

    pairs: Pairs
    relevance: np.ndarray
    variance: np.ndarray
    impressions: np.ndarray
    clicks: np.ndarray
    n_sessions: np.ndarray
    method: str
    clip: float
    regression: np.ndarray | None
    propensities: Propensities | None
    features: np.ndarray | None
    feature_names: list[str] | None
    source: Queries | None = field(default=None)
    evidence: Evidence | None = field(default=None)

    def __len__(self) -> int:
        return self.relevance.size

    def sample_weight(self, queries: Queries) -> np.ndarray:
        """Return the number of sessions of each query, for ``fit(queries, sample_weight=...)``.

        Parameters
        ----------
        queries : Queries
            Those of ``to_queries``, or some of them.

        Examples
        --------
        >>> import plackett as pk
        >>> log = pk.clicks.ClickLog.from_arrays(["a", "b", "a"], list("wxy"), [1, 0, 0], indptr=range(4))
        >>> labels = pk.clicks.corrected_labels(log, method="naive")
        >>> queries = labels.to_queries([[0.1], [0.2], [0.3]])
        >>> labels.sample_weight(queries), labels.sample_weight(queries[1:])
        (array([2., 1.]), array([1.]))
        """
        names, code = code_names(np.asarray(queries.ids), "qid")
        place = match_names(names, self.pairs.queries)[code]
        if (place < 0).any():
            raise ValueError(f"query {queries.ids[np.argmin(place)]!r} has no session in the log.")
        return self.n_sessions[place].astype(np.float64)

    def diagnose(self, features: Any = None) -> CorrectionDiagnosis:
        """Return a diagnosis: whether the log identifies the bias, what clipping changes, and what to log next time.

        The error of naive labels, from their bias, is compared with that of corrected ones, from their variance. With
        features, errors are those that a linear model of the features would learn: it averages out noise over
        documents, but not bias.

        Parameters
        ----------
        features : Queries or array-like, default=None
            As for ``to_queries``. None uses the features that are known, if any.
        """
        has_features = features is not None or self.source is not None or self.features is not None
        return diagnose(self, self.to_queries(features) if has_features else None)

    def __repr__(self) -> str:
        queries = count_of(len(self.pairs.queries), "query", "queries")
        sessions = count_of(int(self.n_sessions.sum()), "session")
        return f"CorrectedLabels({count_of(len(self), 'pair')} of {queries}, {sessions}, by {self.method})"
