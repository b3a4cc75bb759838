"""Diagnosis of corrected labels: how informative they are, and what a better log would contain."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._tables import aligned
from plackett._threads import one_blas_thread
from plackett.clicks.correction.estimates import Bias, by_impression
from plackett.clicks.description import connected_ranks, named_ranks, ranks_share
from plackett.clicks.propensities.counts import Counts, shared_evidence
from plackett.clicks.propensities.estimate import harvest_counts
from plackett.data.queries import Queries
from plackett.validation import count_of, is_sparse

if TYPE_CHECKING:
    from plackett.clicks.correction.labels import CorrectedLabels

BY_MODEL = ("em", "regression-em")  # methods whose propensities harvesting may check
MUCH_CLIPPED = 0.2  # share of the weight
FEW_EFFECTIVE = 0.2  # share of the clicks
WIDE = 2.0  # ratio of the ends of an interval
MOST_VALUES = 1 << 26  # of features; more queries are sampled
SMALLEST = 1e-10  # of the eigenvalues of features, relative to the largest


@dataclass(frozen=True)
class CorrectionDiagnosis:
    """The result of ``CorrectedLabels.diagnose()``.

    Correlations are those of labels with the true relevance within queries, 1 for labels without error. They are
    estimated from the variance of the corrected labels and from the difference between naive and corrected labels; with
    ``has_features``, only the part that a linear model of the features can learn counts. They are None if they cannot
    be estimated. Clipping and errors of the propensities are ignored.

    Attributes
    ----------
    effective_clicks : float
        Number of equally weighted clicks with the same variance as the weighted ones.
    share_clipped : float
        Share of the weight of the clicks that clipping removes; for "dr", that the regression replaces.
    share_negative : float
        Share of the labels below 0, with which softmax and pairwise losses need a penalty.
    n_queries_negative : int
        Queries whose labels sum to less than 0, for which softmax is not convex.
    rank_groups : list of lists of int
        Ranks that share clicked pairs, directly or through others. With more than one group, the log does not show how
        much less often the other ranks are examined.
    correlation_naive, correlation_corrected : float or None
        Estimated correlations of naive and of corrected labels with the relevance, as above.
    findings, advice : list of str
        What limits the labels, and what to log instead.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"] * 3, ["b", "a"] * 3, [1, 0, 1, 1, 0, 0], indptr=[0, 2, 4, 6])
    >>> found = pk.clicks.corrected_labels(log, [1.0, 0.5], "ips").diagnose()
    >>> found.rank_groups, found.share_clipped
    ([[1], [2]], 0.0)
    """

    method: str
    clip: float
    n_pairs: int
    n_queries: int
    n_sessions: int
    n_shown: int
    n_clicks: int
    effective_clicks: float
    share_clipped: float
    share_negative: float
    n_queries_negative: int
    rank_groups: list[list[int]]
    has_features: bool
    correlation_naive: float | None
    correlation_corrected: float | None
    findings: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    @property
    def is_connected(self) -> bool:
        """Whether all ranks are connected by shared clicked pairs."""
        return len(self.rank_groups) <= 1

    @property
    def is_naive_preferred(self) -> bool | None:
        """Whether naive labels are estimated to be closer to the relevance; None if unknown."""
        if self.correlation_naive is None or self.correlation_corrected is None:
            return None
        return self.correlation_naive > self.correlation_corrected

    def to_dict(self) -> dict:
        """Return plain values for JSON."""
        return {**asdict(self), "is_naive_preferred": self.is_naive_preferred}

    def rows(self) -> list[tuple[str, str]]:
        """Return pairs of a heading and a value."""
        clip = f", clip {self.clip:.3g}" if self.clip else ""
        rows = [
            ("method", f"{self.method}{clip}"),
            ("labels", f"{count_of(self.n_pairs, 'pair')} of {count_of(self.n_queries, 'query', 'queries')}"),
            ("sessions", f"{self.n_sessions:,}"),
            ("clicks", f"{self.n_clicks:,}, effective {self.effective_clicks:,.0f}"),
            ("weight that clipping removes", f"{self.share_clipped:.1%}"),
            ("labels below 0", f"{self.share_negative:.1%}"),
        ]
        known = {"naive": self.correlation_naive, "corrected": self.correlation_corrected}
        if None not in known.values():
            values = ", ".join(f"{name} {value:.2f}" for name, value in known.items())
            condition = "" if self.method == "naive" else ", if the propensities are right"
            rows.append(("estimated correlation with the relevance", f"{values}{condition}"))
        return rows

    def __str__(self) -> str:
        parts = [aligned(self.rows(), "ll")]
        for heading, lines in (("look at", self.findings), ("log next time", self.advice)):
            if lines:
                parts.append("\n".join([heading, *(f"- {line}" for line in lines)]))
        return "\n\n".join(parts)


def diagnose(labels: CorrectedLabels, queries: Queries | None) -> CorrectionDiagnosis:
    """Return the diagnosis; ``queries`` are those of ``to_queries``, or None without features."""
    if labels.evidence is None:
        raise ValueError("these labels were not made by corrected_labels, and cannot be diagnosed.")
    counts, found = labels.evidence.counts, labels.evidence.estimates
    weight = counts.clicks / found.divisor
    squares = float((weight / found.divisor).sum())
    agreement = None if labels.method == "naive" else _agreement(labels, queries)
    naive, corrected = agreement or (None, None)
    sums = np.bincount(labels.pairs.pair_query, labels.relevance, len(labels.pairs.queries))
    values: dict[str, Any] = {
        "method": labels.method,
        "clip": labels.clip,
        "n_pairs": len(labels),
        "n_queries": len(labels.pairs.queries),
        "n_sessions": int(labels.n_sessions.sum()),
        "n_shown": int(labels.impressions.sum()),
        "n_clicks": int(labels.clicks.sum()),
        "effective_clicks": float(weight.sum()) ** 2 / squares if squares else 0.0,
        "share_clipped": _share_clipped(counts, found.exact, found.divisor),
        "share_negative": float(np.mean(labels.relevance < 0)) if len(labels) else 0.0,
        "n_queries_negative": int(np.count_nonzero(sums < 0)),
        "rank_groups": _rank_groups(counts),
        "has_features": queries is not None,
        "correlation_naive": naive,
        "correlation_corrected": corrected,
    }
    plain = CorrectionDiagnosis(**values)
    findings = _findings(plain, labels)
    return CorrectionDiagnosis(**values, findings=findings, advice=_advice(plain, labels))


def _share_clipped(counts: Counts, exact: np.ndarray, divisor: np.ndarray) -> float:
    clicked = counts.clicks > 0
    if not clicked.any() or (exact == divisor).all():
        return 0.0
    if (exact[clicked] <= 0).any():
        return 1.0
    whole = (counts.clicks[clicked] / exact[clicked]).sum()
    return float(1 - (counts.clicks[clicked] / divisor[clicked]).sum() / whole)


def _rank_groups(counts: Counts) -> list[list[int]]:
    """Return the groups of ranks that share clicked pairs, without ranks that were never shown."""
    clicks, _ = shared_evidence(counts)
    shown = np.flatnonzero(counts.by_rank(counts.shown))
    if not shown.size:
        return []
    is_shared = (clicks + clicks.T > 0)[np.ix_(shown, shown)] | np.eye(shown.size, dtype=bool)
    return [[int(shown[rank - 1]) + 1 for rank in group] for group in connected_ranks(is_shared)]


# --- Naive against corrected ------------------------------------------------------------------------------------------


def _agreement(labels: CorrectedLabels, queries: Queries | None) -> tuple[float, float] | None:
    """Return estimated correlations of naive and of corrected labels with the relevance, within queries.

    With A the sums of squares and products of the labels within queries, less N, what noise adds to them, the squared
    correlation of corrected labels R with the relevance is ``(A_RR - N_RR) / A_RR``, and that of naive labels x is
    ``(A_xR - N_xR)² / (A_xx (A_RR - N_RR))``.
    """
    assert labels.evidence is not None
    counts, found = labels.evidence.counts, labels.evidence.estimates
    naive = by_impression(counts, Bias(np.ones(counts.n_ranks), np.zeros(counts.n_ranks)), 0.0)
    noise, shared = labels.variance, naive.covariance(found, counts)
    used = np.isfinite(noise) & np.isfinite(shared)
    X = None
    if queries is not None:
        if queries.n_docs != len(labels):
            return None
        X = queries.X
    used &= np.bincount(labels.pairs.pair_query[used], minlength=labels.n_sessions.size)[labels.pairs.pair_query] > 1
    if X is not None:
        used &= _sampled(labels.pairs.pair_query, X.shape[1])
    rows = np.flatnonzero(used)
    if not rows.size:
        return None
    _, query = np.unique(labels.pairs.pair_query[rows], return_inverse=True)
    weight = labels.n_sessions[labels.pairs.pair_query[rows]].astype(np.float64)
    root = np.sqrt(weight / weight.sum())
    x, R = (root * _centered(values[rows], query) for values in (naive.values, labels.relevance))
    with one_blas_thread():
        if X is None:
            leverage = 1 - 1 / np.bincount(query)[query]
        else:
            basis = _basis(X[rows], query, root)
            x, R, leverage = basis.T @ x, basis.T @ R, (basis**2).sum(axis=1)
        total = float(R @ R)
        signal = total - float((leverage * root**2) @ noise[rows])
        product = float(x @ R) - float((leverage * root**2) @ shared[rows])
        energy = float(x @ x)
    if not (total > 0 and energy > 0):
        return None
    if signal <= 0:  # nothing but noise
        return float(max(product, 0.0) / np.sqrt(energy * total)), 0.0
    return float(min(1.0, max(0.0, product) / np.sqrt(energy * signal))), float(np.sqrt(signal / total))


def _sampled(query: np.ndarray, n_columns: int) -> np.ndarray:
    """Return which pairs are used: all, or those of random queries if there are very many values."""
    share = MOST_VALUES / max(1, query.size * n_columns)
    if share >= 1:
        return np.ones(query.size, dtype=bool)
    return (np.random.default_rng(0).random(int(query.max()) + 1) < share)[query]


def _centered(values: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return the values less their mean in each query."""
    return values - (np.bincount(query, values) / np.bincount(query))[query]


def _basis(X: Any, query: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of weighted features, centred within queries."""
    dense = np.nan_to_num(np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64))
    columns = np.stack([root * _centered(column, query) for column in dense.T], axis=1)
    spread = np.sqrt((columns**2).sum(axis=0))
    columns = columns[:, spread > 0] / spread[spread > 0]
    sizes, vectors = np.linalg.eigh(columns.T @ columns)
    kept = sizes > SMALLEST * sizes.max(initial=1.0)
    return columns @ (vectors[:, kept] / np.sqrt(sizes[kept]))


# --- In words ---------------------------------------------------------------------------------------------------------


def _findings(found: CorrectionDiagnosis, labels: CorrectedLabels) -> list[str]:
    findings = [] if labels.propensities is None else list(labels.propensities.notes)
    if not found.n_clicks:
        return [*findings, "Nothing was clicked: the labels carry no information."]
    if found.method == "naive":
        findings.append("Naive labels are click rates: they mistake a high rank for relevance.")
    elif not found.is_connected:
        others = sorted(rank for group in found.rank_groups[1:] for rank in group)
        findings.append(
            f"{ranks_share(others)} no clicked pair with {named_ranks(found.rank_groups[0])}: this log cannot identify "
            "how much less users look there, nor check the propensities that were used."
        )
    wide = _wide_ranks(labels)
    if wide:
        findings.append(f"The propensity at {named_ranks(wide)} is uncertain by a factor of {WIDE:g} or more.")
    findings += _disagreement(labels)
    if found.share_clipped > MUCH_CLIPPED:
        what = "leaves {} of the weight of the clicks to the regression" if found.method == "dr" else (
            "removes {} of the weight of the clicks: the labels are biased towards naive ones"
        )  # fmt: skip
        findings.append(f"Clipping dominates: it {what.format(f'{found.share_clipped:.0%}')}.")
    if found.effective_clicks < FEW_EFFECTIVE * found.n_clicks:
        findings.append(
            f"{count_of(found.n_clicks, 'click')} count as {found.effective_clicks:,.0f} effective ones: a few clicks "
            "with large weights dominate. Raise clip, or use more sessions."
        )
    if found.correlation_corrected == 0:
        findings.append("Corrected labels are noise: they differ by no more than chance. Use more sessions, or naive.")
    elif found.is_naive_preferred:
        findings.append(
            f"Naive labels are estimated to be closer to the relevance (correlation {found.correlation_naive:.2f}) "
            f"than corrected ones ({found.correlation_corrected:.2f}): the variance of the correction costs more than "
            'the bias of the clicks. Prefer method="naive", a larger clip, or more sessions.'
        )
    if found.n_queries_negative:
        queries = count_of(found.n_queries_negative, "query has labels", "queries have labels")
        findings.append(f"{queries} that sum to less than 0; the softmax loss is not convex there.")
    return findings


def _disagreement(labels: CorrectedLabels) -> list[str]:
    """Return in words where the propensities of a model and those of shared pairs have intervals that do not meet."""
    given = labels.propensities
    if given is None or labels.evidence is None or given.method not in BY_MODEL or labels.method == "naive":
        return []
    counts = labels.evidence.counts
    n_ranks = min(len(given), counts.n_ranks)
    level = given.level or 0.95
    values, ends = (one[:n_ranks] for one in harvest_counts(counts, labels.pairs.pair_query, level))
    own = given.values[:n_ranks]
    low, high = np.stack([own, own]) if given.intervals is None else given.intervals[:n_ranks].T
    with np.errstate(invalid="ignore"):
        ranks = np.flatnonzero((low > ends[:, 1]) | (high < ends[:, 0])) + 1
    if not ranks.size:
        return []
    first = ranks[0] - 1
    return [
        f"The propensity at {named_ranks(ranks.tolist())} by {given.method} disagrees with harvesting from the same "
        f"log, by more than their intervals (rank {first + 1}: {own[first]:.3g} and {values[first]:.3g}). Users do not "
        "click as the model assumes, or rankers showed documents to different users: compare both before use."
    ]


def _wide_ranks(labels: CorrectedLabels) -> list[int]:
    given = labels.propensities
    if given is None or given.intervals is None or labels.method == "naive":
        return []
    low, high = given.intervals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.flatnonzero(high / low >= WIDE) + 1).tolist()


def _advice(found: CorrectionDiagnosis, labels: CorrectedLabels) -> list[str]:
    """Return what to log so that the next log is more informative."""
    assert labels.evidence is not None
    advice, is_noisy = [], bool(found.is_naive_preferred) or found.correlation_corrected == 0
    if not found.is_connected or _wide_ranks(labels):
        has_one = (labels.evidence.n_rankers or 1) == 1
        other = ", or serve a second ranker to some users," if has_one else ""
        advice.append(
            f"Swap two neighbouring documents in some sessions{other} so that the same documents are shown at "
            "different ranks."
        )
        if labels.evidence.share_random:
            advice.append(f"Shuffle more of the lists (now {labels.evidence.share_random:.1%}), down to the last rank.")
        else:
            advice.append(
                "Shuffle the first ranks of 1 % of the lists and mark them (is_random): propensities are then ratios "
                "of click rates, and need no model."
            )
        if labels.evidence.n_rankers is None:
            advice.append("Log the name of the ranker that made each list (ranker).")
    if is_noisy or found.share_clipped > MUCH_CLIPPED or found.effective_clicks < FEW_EFFECTIVE * found.n_clicks:
        mean = found.n_sessions / max(1, found.n_queries)
        advice.append(
            f"Collect more sessions of the same queries (now {mean:,.0f} each), and show documents from low ranks "
            "higher up in some of them: a look at rank 1 teaches more than one at rank 10."
        )
    return advice
