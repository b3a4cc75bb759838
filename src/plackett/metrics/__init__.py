"""Measures of a ranking: functions of labels and scores that give one value per query."""

from plackett._lazy import attach

# Others import single modules of this package: if it imported them too, threads that start at either end would deadlock
__all__, __getattr__, __dir__ = attach(
    __name__,
    {
        "plackett.metrics.binary": "average_precision precision r_precision rbp recall reciprocal_rank success",
        "plackett.metrics.conventions": "CONVENTIONS Convention",
        "plackett.metrics.diversity": "alpha_ndcg err_ia",
        "plackett.metrics.exposure": "coverage exposure_gini",
        "plackett.metrics.graded": "dcg err mean_ndcg ndcg sharp_ndcg wpd",
        "plackett.metrics.incomplete": "bpref infap",
        "plackett.metrics.measure": "Measure make_measure register",
        "plackett.metrics.whole_order": "auc average_rank exact kendall mre persistence",
    },
)
