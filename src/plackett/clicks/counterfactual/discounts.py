"""Discounts: the weight of each rank in a metric that is a sum over the documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from plackett.clicks.correction.estimates import Bias

DCG, PRECISION, AVERAGE_RANK, CLICKS = "dcg", "precision", "average-rank", "clicks"
_NAME = re.compile(r"(dcg|precision|p|average-rank|clicks)(?:@([1-9]\d*))?")
KNOWN = "dcg, dcg@10, precision@10 (or p@10), average-rank, clicks or clicks@10"

Metric = str | Callable[[np.ndarray], np.ndarray]


class Discount(NamedTuple):
    """Weights of the ranks from 1, and what each rank adds regardless of its document (clicks by trust alone)."""

    name: str
    weights: np.ndarray
    added: np.ndarray
    higher_is_better: bool = True

    @property
    def sums(self) -> np.ndarray:
        """Sums of the weights of the first 0, 1, 2, … ranks."""
        return np.append(0.0, np.cumsum(self.weights))

    @property
    def counted(self) -> np.ndarray:
        """Sums of the weights by which coverage is measured: those of the metric, or 1 if lower is better."""
        return self.sums if self.higher_is_better else np.arange(self.weights.size + 1.0)


def get_discount(metric: Metric, n_ranks: int, bias: Bias | None) -> Discount:
    """Return the discount of a metric for lists of up to ``n_ranks`` documents.

    "clicks" weights a rank by its examination probability (``bias``), so that the sum is the expected number of clicks.
    Where clicks are weighted and not relevance, ``bias`` is None, and its weights are 1.
    """
    rank, nothing = np.arange(1, n_ranks + 1), np.zeros(n_ranks)
    if callable(metric):
        weights = np.asarray(metric(rank), dtype=np.float64)
        if weights.shape != (n_ranks,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(f"metric must return a number of at least 0 for each of the {n_ranks} ranks it is given.")
        return Discount(getattr(metric, "__name__", "metric"), weights, nothing)
    found = _NAME.fullmatch(metric) if isinstance(metric, str) else None
    if found is None or (found[1] in ("precision", "p")) > (found[2] is not None):
        raise ValueError(f"metric={metric!r} is not known; choose {KNOWN}, or pass a function of the ranks.")
    kind, k = found[1], int(found[2]) if found[2] else n_ranks
    if kind == AVERAGE_RANK:
        if found[2]:
            raise ValueError(f"metric={metric!r}; average-rank has no cut-off.")
        return Discount(metric, rank.astype(np.float64), nothing, higher_is_better=False)
    is_counted = rank <= k
    if kind == DCG:
        return Discount(metric, is_counted / np.log2(1 + rank), nothing)
    if kind != CLICKS:
        return Discount(metric, is_counted / k, nothing)
    if bias is None:
        return Discount(metric, is_counted.astype(np.float64), nothing)
    look, trust = nothing.copy(), nothing.copy()
    n_known = min(n_ranks, bias.a.size)  # no list was longer
    look[:n_known], trust[:n_known] = bias.a[:n_known], bias.b[:n_known]
    return Discount(metric, is_counted * look, is_counted * trust)
