"""Measures of a ranking: functions of labels and scores that give one value per query."""

from plackett.metrics.binary import average_precision, precision, r_precision, rbp, recall, reciprocal_rank, success
from plackett.metrics.conventions import CONVENTIONS, Convention
from plackett.metrics.diversity import alpha_ndcg, err_ia
from plackett.metrics.exposure import coverage, exposure_gini
from plackett.metrics.graded import dcg, err, mean_ndcg, ndcg, sharp_ndcg, wpd
from plackett.metrics.incomplete import bpref, infap
from plackett.metrics.measure import Measure, make_measure, register
from plackett.metrics.whole_order import auc, average_rank, exact, kendall, mre, persistence

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Measure",
    "alpha_ndcg",
    "auc",
    "average_precision",
    "average_rank",
    "bpref",
    "coverage",
    "dcg",
    "err",
    "err_ia",
    "exact",
    "exposure_gini",
    "infap",
    "kendall",
    "make_measure",
    "mean_ndcg",
    "mre",
    "ndcg",
    "persistence",
    "precision",
    "r_precision",
    "rbp",
    "recall",
    "reciprocal_rank",
    "register",
    "sharp_ndcg",
    "success",
    "wpd",
]
