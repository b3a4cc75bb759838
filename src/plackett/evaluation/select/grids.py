"""The settings from which validation queries choose where nobody says otherwise.

Those of linear rankers, of boosting and of SVM-map are from ``examples/letor_folds.py``, where they were fixed before
any test fold was looked at; those of query-dependent rankers lie between those of ``query_dependent_letor.py``. They
are small: five folds of MQ2008 take a ranker seconds, and those with neighbours less than a minute. What ends a fit on
the validation queries (rounds, steps, passes) is not listed: the fit itself chooses there.
"""

from __future__ import annotations

import copy
from typing import Any

from plackett.rankers.linear.paths import DEFAULT_L2
from plackett.rankers.registry import known_name

# The strength of the penalty, from strong to weak, so that of equal ones the strongest wins. Each fit goes to its
# minimum: early stopping would be a second choice on the same queries, and a hidden one.
_LINEAR: dict[str, list[Any]] = {"l2": list(DEFAULT_L2), "patience": [None]}
_KERNEL: dict[str, list[Any]] = {
    "l2": [1e-1, 1e-2, 1e-3],
    "normalize": ["query-zscore"],  # distances mean little between columns of different scales
    "gamma": ["median"],
    "landmarks": [200],  # n_docs² kernel values would neither be quick nor fit in memory
    "patience": [None],
    "random_state": [0],
}
_STEPS: dict[str, list[Any]] = {"n_intervals": [4, 8, 16], "cycles": [10]}
_NEIGHBORS: dict[str, list[Any]] = {
    "l2": [1e-1, 1e-2, 1e-3],
    "n_neighbors": [100],  # with few, models for single queries have too few documents; with more, fits take minutes
    "scale_query_features": [True],
    "tol": [3e-3],  # sharper fits take longer and rank no better
}
# Small trees and large ones, quick steps and careful ones; rounds end on the validation queries.
_TREES: dict[str, list[Any]] = {"learning_rate": [0.1, 0.03]}
_OF_LIGHTGBM: dict[str, list[Any]] = {"num_leaves": [7, 31], **_TREES}
_OF_XGBOOST: dict[str, list[Any]] = {"max_depth": [3, 6], **_TREES}

_LINEAR_NAMES = ("listmle", "p-listmle", "listnet", "cs-listmle", "ranksvm", "ranknet", "regression", "linear")

DEFAULT_GRIDS: dict[str, dict[str, list[Any]]] = {
    **dict.fromkeys(_LINEAR_NAMES, _LINEAR),
    "rankcosine": {"patience": [None]},  # to which l2 makes no difference
    "kernel-cs-listmle": _KERNEL,
    "kernel": _KERNEL,
    "featurerank": _STEPS,
    "bl-featurerank": _STEPS,
    "diffrank": _STEPS,
    "adarank": {},
    "rankboost": {},
    "prank": {"random_state": [0]},
    "svm-map": {"C": [1, 10, 100, 1000]},
    "qsvm": _NEIGHBORS,
    "knn-svm": _NEIGHBORS,
    "query-dependent": _NEIGHBORS,
    "neural": {"l2": [1e-2, 1e-3], "learning_rate": [5e-3, 1e-3], "random_state": [0]},  # epochs end on those queries
    # a new query has no model of its own: the one for all ranks it
    "indv-svm": {"l2": [1.0, 1e-1, 1e-2, 1e-3], "new_queries": ["uniform"], "tol": [3e-3]},
    **dict.fromkeys(("trees", "lambdarank", "lightgbm"), _OF_LIGHTGBM),
    **dict.fromkeys(("rank:ndcg", "xgboost"), _OF_XGBOOST),
    "catboost": dict(_TREES),  # the slowest of all
}


def default_grid(name: str) -> dict[str, list[Any]]:
    """The settings from which ``select`` and ``compare`` choose for a ranker that is given by its name.

    Examples
    --------
    >>> default_grid("listmle")
    {'l2': [1.0, 0.1, 0.01, 0.001, 0.0001], 'patience': [None]}
    """
    return copy.deepcopy(DEFAULT_GRIDS[known_name(name)])
