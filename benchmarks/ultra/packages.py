"""The rankers of LightGBM and XGBoost for click logs, with the same trees as ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._optional import import_optional
from plackett.clicks.correction.features import rows_of_pairs
from plackett.clicks.log import ClickLog
from plackett.data.queries import Queries
from plackett.rankers.trees.ranker import TreeRanker

LIGHTGBM, XGBOOST = "LightGBM, position", "XGBoost, unbiased"
PACKAGES = (LIGHTGBM, XGBOOST)
N_ROUNDS = 100  # the default of TreeRanker without validation queries


class Trained:
    """A model of a package, with the ``predict`` of our rankers."""

    def __init__(self, predict: Any):
        self._predict = predict

    def predict(self, queries: Queries) -> np.ndarray:
        """Return the scores of all rows."""
        return self._predict(np.asarray(queries.X))


def train_package(package: str, log: ClickLog, train: Queries) -> Trained:
    """Return a model of the sessions: a row for each shown document, with its click as label."""
    rows = rows_of_pairs(log.pairs, train)[log.pair]
    X, clicks, lengths = np.asarray(train.X)[rows], log.click.astype(np.float32), np.diff(log.indptr)
    ours = TreeRanker()
    if package == LIGHTGBM:
        lightgbm = import_optional("lightgbm", extra="trees", needed_for="benchmarks.ultra")
        settings = {
            "objective": "lambdarank", "num_leaves": ours.num_leaves, "learning_rate": ours.learning_rate,
            "min_data_in_leaf": ours.min_data_in_leaf, "num_threads": 1, "verbose": -1, "deterministic": True,
        }  # fmt: skip
        data = lightgbm.Dataset(X, clicks, group=lengths, position=log.rank - 1)
        return Trained(lightgbm.train(settings, data, N_ROUNDS).predict)
    xgboost = import_optional("xgboost", extra="trees", needed_for="benchmarks.ultra")
    settings = {
        "objective": "rank:ndcg", "lambdarank_unbiased": True, "max_leaves": ours.num_leaves, "max_depth": 0,
        "grow_policy": "lossguide", "eta": ours.learning_rate, "tree_method": "hist", "nthread": 1, "seed": 0,
    }  # fmt: skip
    data = xgboost.DMatrix(X, clicks, qid=np.repeat(np.arange(len(log)), lengths))
    booster = xgboost.train(settings, data, N_ROUNDS)
    return Trained(lambda rows: booster.predict(xgboost.DMatrix(rows)))
