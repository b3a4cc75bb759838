"""Rankers on LETOR's five folds, everything chosen by validation MAP: the table of docs/training.md.

    python examples/letor_folds.py FOLDER_OF_MQ2008 FOLDER_OF_OHSUMED

The folders hold S1.txt to S5.txt (or .gz), or Fold1 to Fold5.
"""

import sys
import warnings
from functools import partial

import numpy as np
from sklearn.model_selection import ParameterGrid

import plackett as pk


def best_of_l2_path(name, fold):
    return pk.ranker(name).l2_path(fold.train, eval_set=fold.validation, eval_metric="map").best


def best_of_grid(make, grid, fold):
    """The best on the validation queries, the first of equals; rounds, steps and passes end where those say."""
    rankers = [make(**parameters) for parameters in ParameterGrid(grid)]
    for ranker in rankers:
        ranker.fit(fold.train, eval_set=fold.validation, eval_metric="map")
    return max(rankers, key=lambda ranker: mean(fold.validation, ranker.predict(fold.validation), "map"))


def mean(queries, scores, metric, convention="standard"):
    return pk.evaluate(queries, scores, metrics=[metric], convention=convention).mean()[metric]


LINEAR = ["listmle", "p-listmle", "cs-listmle", "listnet", "ranksvm", "ranknet", "rankcosine", "regression"]
STEPS = {"n_intervals": [4, 8, 16], "cycles": [10]}
OTHERS = {
    "svm-map": (pk.SVMMap, {"C": [1, 10, 100, 1000]}),
    "adarank": (pk.AdaRank, {}),
    "rankboost": (pk.RankBoost, {}),
    "prank": (pk.PRank, {"random_state": [0]}),
    "diffrank": (pk.DiffRank, STEPS),
    "bl-featurerank": (pk.BLFeatureRank, STEPS),
    "featurerank": (pk.FeatureRank, STEPS),
}
CHOOSE = {
    **{name: partial(best_of_l2_path, name) for name in LINEAR},
    **{name: partial(best_of_grid, make, grid) for name, (make, grid) in OTHERS.items()},
}


def main(folders):
    folds = {
        name: [pk.datasets.load_fold(name, fold, folder) for fold in range(1, 6)] for name, folder in folders.items()
    }
    print("| ranker | " + " | ".join(f"{name} MAP | NDCG@10" for name in folds) + " |")
    print("|---|" + "---|" * 2 * len(folds))
    for name, choose in CHOOSE.items():
        cells = []
        for parts in folds.values():
            means = []
            for fold in parts:
                scores = choose(fold).predict(fold.test)
                means.append((mean(fold.test, scores, "map", "letor4"), mean(fold.test, scores, "ndcg@10")))
            cells += [f"{value:.4f}" for value in np.mean(means, axis=0)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main({"mq2008": sys.argv[1], "ohsumed": sys.argv[2]})
