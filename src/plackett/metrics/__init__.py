"""Measures of a ranking: functions of labels and scores that give one value per query."""

from plackett.metrics.binary import average_precision, precision, recall, reciprocal_rank
from plackett.metrics.conventions import CONVENTIONS, Convention
from plackett.metrics.graded import dcg, err, mean_ndcg, ndcg, sharp_ndcg, wpd
from plackett.metrics.measure import Measure
from plackett.metrics.whole_order import exact, kendall, mre, persistence

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Measure",
    "average_precision",
    "dcg",
    "err",
    "exact",
    "kendall",
    "mean_ndcg",
    "mre",
    "ndcg",
    "persistence",
    "precision",
    "recall",
    "reciprocal_rank",
    "sharp_ndcg",
    "wpd",
]
