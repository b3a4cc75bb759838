"""Compare rankers on LETOR's five folds, with hyperparameters chosen by validation MAP: the tables of docs/training.md.

    python examples/letor_folds.py FOLDER_OF_MQ2008 FOLDER_OF_OHSUMED

The folders have S1.txt to S5.txt (or .gz), or Fold1 to Fold5.
"""

import sys
import warnings
from functools import partial

import numpy as np
from scipy.stats import ttest_rel
from sklearn.model_selection import ParameterGrid

import plackett as pk
from plackett.rankers.boosting.feature_rank import BLFeatureRank


def best_of_l2_path(name, fold):
    return pk.ranker(name).l2_path(fold.train, eval_set=fold.validation, eval_metric="map(convention=letor4)").best


def best_of_grid(make, grid, fold):
    """Return the best candidate on the validation queries, which also stop rounds, steps and passes."""
    rankers = [make(**parameters) for parameters in ParameterGrid(grid)]
    for ranker in rankers:
        ranker.fit(fold.train, eval_set=fold.validation, eval_metric="map(convention=letor4)")
    return max(rankers, key=lambda ranker: mean(fold.validation, ranker.predict(fold.validation), "map"))


def table(queries, scores, metric, convention="standard"):
    return pk.evaluate(queries, scores, metrics=[metric], convention=convention)


def mean(queries, scores, metric, convention="standard"):
    return table(queries, scores, metric, convention).mean()[metric]


LEADER = "listmle"
LINEAR = ["listmle", "p-listmle", "cs-listmle", "listnet", "ranksvm", "ranknet", "rankcosine", "regression"]
STEPS = {"n_intervals": [4, 8, 16], "cycles": [10]}
OTHERS = {
    "svm-map": (pk.SVMMap, {"C": [1, 10, 100, 1000]}),
    "adarank": (pk.AdaRank, {}),
    "rankboost": (pk.RankBoost, {}),
    "prank": (pk.PRank, {"random_state": [0]}),
    "diffrank": (pk.DiffRank, STEPS),
    "bl-featurerank": (BLFeatureRank, STEPS),
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
    precisions = {}  # by ranker and set: average precision of each query, all of which are in one test fold
    for name, choose in CHOOSE.items():
        cells = []
        for set_name, parts in folds.items():
            tests = [(fold.test, choose(fold).predict(fold.test)) for fold in parts]
            cells.append(np.mean([mean(*test, "map", "letor4") for test in tests]))
            cells.append(np.mean([mean(*test, "ndcg@10") for test in tests]))
            precisions[name, set_name] = np.concatenate([table(*test, "map", "letor4")["map"] for test in tests])
        print(f"| {name} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |", flush=True)
    print_differences(precisions, list(folds))


def print_differences(precisions, set_names):
    """Print paired tests over queries, which remove the variance between queries."""
    print(f"\nAverage precision minus that of {LEADER}, and p of a paired t-test over the queries.\n")
    print("| ranker | " + " | ".join(set_names) + " |")
    print("|---|" + "---|" * len(set_names))
    for name in CHOOSE:
        if name != LEADER:
            pairs = [(precisions[name, set_name], precisions[LEADER, set_name]) for set_name in set_names]
            cells = [f"{np.mean(own - first):+.4f} (p {ttest_rel(own, first).pvalue:.1g})" for own, first in pairs]
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main({"mq2008": sys.argv[1], "ohsumed": sys.argv[2]})
