"""LETOR's five folds, l2 chosen by validation MAP: the table of docs/training.md.

    python examples/letor_folds.py FOLDER_OF_MQ2008 FOLDER_OF_OHSUMED

The folders hold S1.txt to S5.txt (or .gz), or Fold1 to Fold5.
"""

import sys
import warnings

import numpy as np

import plackett as pk

RANKERS = ["listmle", "p-listmle", "cs-listmle", "listnet", "ranksvm", "ranknet", "rankcosine", "regression"]


def main(folders):
    folds = {
        name: [pk.datasets.load_fold(name, fold, folder) for fold in range(1, 6)] for name, folder in folders.items()
    }
    print("| ranker | " + " | ".join(f"{name} MAP | NDCG@10" for name in folds) + " |")
    print("|---|" + "---|" * 2 * len(folds))
    for ranker in RANKERS:
        cells = []
        for parts in folds.values():
            means = []
            for fold in parts:
                path = pk.ranker(ranker).l2_path(fold.train, eval_set=fold.validation, eval_metric="map")
                scores = path.best.predict(fold.test)
                map_ = pk.evaluate(fold.test, scores, metrics=["map"], convention="letor4").mean()["map"]
                means.append((map_, pk.evaluate(fold.test, scores, metrics=["ndcg@10"]).mean()["ndcg@10"]))
            map_, ndcg = np.mean(means, axis=0)
            cells.append(f"{map_:.4f} | {ndcg:.4f}")
        print(f"| {ranker} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main({"mq2008": sys.argv[1], "ohsumed": sys.argv[2]})
