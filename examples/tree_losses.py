"""Compare trees for losses of this library with LightGBM's and XGBoost's own objectives: the tables of docs/trees.md.

    python examples/tree_losses.py FOLDER_OF_MQ2008 FOLDER_OF_LIGHTGBM_EXAMPLE

The first folder has S1.txt to S5.txt (or .gz), or Fold1 to Fold5; the second the files rank.train, rank.test (or .gz)
and their .query files of LightGBM's example "lambdarank", whose queries are divided into five parts here.

The size and the number of trees and the learning rate are chosen by NDCG@10 on the validation queries.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import plackett as pk

GRID = {"num_leaves": [7, 31], "learning_rate": [0.1, 0.03]}
LOSSES = ["listmle", "p-listmle", "cs-listmle"]
CONTESTANTS = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    **{f"trees, {loss}": (pk.TreeRanker(loss), GRID) for loss in LOSSES},
    "listmle, linear": "listmle",
}
METRICS = ["ndcg@10", "map", "err@10"]
BASELINE = "lightgbm"


def lightgbm_example(folder):
    """Return all queries of the example, whose files have the number of documents of each."""
    X, y, qid = [], [], []
    for part in ("train", "test"):
        path = next(path for path in (Path(folder, f"rank.{part}"), Path(folder, f"rank.{part}.gz")) if path.exists())
        rows, labels = load_svmlight_file(str(path), n_features=300)
        sizes = np.loadtxt(Path(folder, f"rank.{part}.query"), dtype=int)
        X.append(rows.toarray())
        y.append(labels)
        qid.append(np.repeat([f"{part} {number}" for number in range(sizes.size)], sizes))
    return pk.Queries(np.vstack(X), np.concatenate(y), np.concatenate(qid))


def print_table(name, data, cv):
    result = pk.compare(CONTESTANTS, data, cv=cv, metrics=METRICS, baseline=BASELINE, progress=tell)
    print(f"\n**{name}**, {result.queries.n_queries:,} test queries in {result.n_folds} folds\n")
    print(f"| | {' | '.join(METRICS)} | {METRICS[0]} minus that of {BASELINE} | p |")
    print("|---|" + "---:|" * (len(METRICS) + 2))
    means, marks = result.mean(), {metric: result.marks(metric) for metric in METRICS}
    pairs = {pair.a: pair for pair in result.differences(METRICS[0], against=BASELINE)}
    for contestant in CONTESTANTS:
        cells = [f"{means[contestant][metric]:.4f} {marks[metric][contestant]}".strip() for metric in METRICS]
        pair = pairs.get(contestant)
        cells += ["", ""] if pair is None else [in_words(pair), f"{pair.p_random_holm:.2f}"]
        print(f"| {contestant} | " + " | ".join(cells) + " |", flush=True)


def in_words(pair):
    return f"{pair.mean:+.4f} ({pair.low:+.4f} to {pair.high:+.4f})"


def tell(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print_table("MQ2008", sys.argv[1], "letor")
    print_table("LightGBM's example", lightgbm_example(sys.argv[2]), 5)
