"""Compare the defaults of each ranker with the best setting of its grid, on validation queries of LETOR's folds.

    python -m benchmarks.defaults FOLDER_OF_MQ2008 FOLDER_OF_OHSUMED [RANKER ...]

Every setting is fitted to the training queries of each fold, without a validation set, and ranks the validation
queries; over the five folds each query is ranked once. The best setting of a fold is the one with the highest mean over
the validation queries of the other folds, so that the choice adds no bias. p is of a randomisation test over queries;
Holm's method corrects it over the rankers of a set. The last column has the value of the defaults on the test queries,
which choose nothing, and in brackets its difference to RankSVM's defaults.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

import plackett as pk
from plackett.evaluation.select.grids import candidates_of, with_params
from plackett.evaluation.significance import holm, randomisation

METRIC, BASELINE = "map", "ranksvm"
SETS = ("mq2008", "ohsumed")
# Default grids have no rounds for rankers that stop early on a validation set; here rounds are part of the grid.
ROUNDS: dict[str, dict[str, list[Any]]] = {
    "rankboost": {"n_rounds": [30, 100, 300]},
    "adarank": {"cooldown": [1, None], "directions": ["both", "descending"]},
    "prank": {"n_epochs": [5, 20, 50]},
    "featurerank": {"cycles": [1, 10]},
    "bl-featurerank": {"cycles": [1, 10]},
    "diffrank": {"cycles": [1, 10]},
    "lightgbm": {"n_rounds": [30, 100, 300], "learning_rate": [0.1]},
    "trees": {"n_rounds": [30, 100, 300], "learning_rate": [0.1]},
    "xgboost": {"n_rounds": [30, 100, 300], "learning_rate": [0.1]},
    "neural": {"n_epochs": [10, 100]},
}
# Parameters without a default, and limits of memory and time.
FIXED: dict[str, dict[str, Any]] = {
    "kernel-cs-listmle": {"landmarks": 200, "random_state": 0},
    "indv-svm": {"new_queries": "uniform"},
    "prank": {"random_state": 0},
    "neural": {"random_state": 0},
    "qsvm": {"tol": 3e-3},  # more accurate fits rank no better
    "knn-svm": {"tol": 3e-3},
}
RANKERS = (
    "listmle", "p-listmle", "cs-listmle", "listnet", "rankcosine", "ranksvm", "ranknet", "regression", "svm-map",
    "adarank", "rankboost", "prank", "diffrank", "bl-featurerank", "featurerank", "lightgbm", "trees", "xgboost",
    "kernel-cs-listmle", "qsvm", "knn-svm", "indv-svm",
)  # fmt: skip


Table = list[np.ndarray]  # the measure of each query, fold by fold


def values_of(ranker: Any, folds: list, parts: tuple[str, ...] = ("validation",)) -> list[Table]:
    """Return the measure of the queries of some parts of the folds, after a fit to the training queries."""
    tables: list[Table] = [[] for _ in parts]
    for fold in folds:
        ranker.fit(fold.train)
        for part, table in zip(parts, tables, strict=True):
            queries = getattr(fold, part)
            table.append(pk.evaluate(queries, ranker.predict(queries), metrics=[METRIC]).values[:, 0])
    return tables


def best_by_other_folds(tables: list[Table]) -> list[int]:
    """Return for each fold the setting with the highest mean over the queries of the other folds."""
    sums = np.array([[values.sum() for values in table] for table in tables])
    sizes = np.array([values.size for values in tables[0]])
    means = (sums.sum(axis=1, keepdims=True) - sums) / (sizes.sum() - sizes)
    return means.argmax(axis=0).tolist()


def best_of_grid(name: str, folds: list) -> tuple[np.ndarray, str]:
    """Return values of the validation queries with the best settings, and these settings."""
    ranker = pk.ranker(name, **FIXED.get(name, {}))
    grid = {**pk.evaluation.default_grid(name), **ROUNDS.get(name, {})}
    settings = candidates_of(ranker, grid)
    tables = [values_of(with_params(ranker, setting), folds)[0] for setting in settings]
    chosen = best_by_other_folds(tables)
    varied = [key for key, values in grid.items() if len(values) > 1]
    words = Counter(", ".join(f"{key}={settings[setting][key]}" for key in varied) for setting in chosen)
    best = np.concatenate([tables[setting][fold] for fold, setting in enumerate(chosen)])
    return best, "; ".join(f"{word} ({count} ×)" for word, count in words.most_common() if word)


def main(folders: dict[str, str], names: list[str]) -> None:
    for set_name, folder in folders.items():
        folds = [pk.datasets.load_fold(set_name, number, folder) for number in range(1, 6)]
        baseline = np.concatenate(values_of(pk.ranker(BASELINE), folds, ("test",))[0])
        rows, p_values = [], []
        for name in names:
            start = time.perf_counter()
            ranker = pk.ranker(name, **FIXED.get(name, {}))
            default, test = map(np.concatenate, values_of(ranker, folds, ("validation", "test")))
            best, words = best_of_grid(name, folds)
            p_values.append(randomisation(best, default))
            less = f"{test.mean():.4f} ({np.mean(test - baseline):+.4f}, p {randomisation(test, baseline):.2g})"
            rows.append((name, default.mean(), best.mean(), words, less))
            found = f"{default.mean():.4f}, best {best.mean():.4f} (p {p_values[-1]:.2g}), test {less}"
            print(f"{set_name} {name}: {found}; {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        n_queries = sum(fold.validation.n_queries for fold in folds)
        print(f"\n## {set_name}: {METRIC.upper()} of {n_queries} queries\n")
        print("| ranker | default | best of the grid | difference | p | Holm | chosen | default on test queries |")
        print("|---|---:|---:|---:|---:|---:|---|---|")
        for (name, own, other, words, less), p, corrected in zip(rows, p_values, holm(p_values), strict=True):
            cells = f"{own:.4f} | {other:.4f} | {other - own:+.4f} | {p:.2g} | {corrected:.2g}"
            print(f"| `{name}` | {cells} | {words} | {less} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__.partition("\n")[0])
    parser.add_argument("mq2008", help="folder with S1.txt to S5.txt, or Fold1 to Fold5")
    parser.add_argument("ohsumed")
    parser.add_argument("rankers", nargs="*", metavar="RANKER", help=f"rankers; default: {', '.join(RANKERS)}")
    given = parser.parse_args()
    warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
    main({name: getattr(given, name) for name in SETS}, given.rankers or list(RANKERS))
