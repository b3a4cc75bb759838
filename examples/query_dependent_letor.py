"""Compare q-SVM and kNN-SVM with RankSVM on LETOR's folds, where every test query is new.

    python examples/query_dependent_letor.py FOLDER_OF_MQ2008 FOLDER_OF_OHSUMED [FOLDER_OF_MSLR_SAMPLE]

Queries are compared by the means of their documents. Neighbours, their scaling and the strength of the penalty are
chosen by MAP on the validation queries. The third folder has msn1.fold1.{train,test}.5k.txt.gz, two times 43 queries
with columns that are constant within a query. It has no folds; strengths are chosen on the last 10 training queries.
"""

import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel
from sklearn.model_selection import ParameterGrid

import plackett as pk

STRENGTHS = tuple(10.0 ** (-power / 2) for power in range(2, 10))
TOL = 3e-3  # smaller tolerances take longer and rank no better
LEADER = "RankSVM"
METHODS = {
    LEADER: {"weights": ["uniform"]},
    "kNN-SVM": {"weights": ["knn"], "n_neighbors": [50, 150], "scale_query_features": [True]},
    "q-SVM": {"weights": ["gaussian"], "n_neighbors": [50, 150], "scale_query_features": [True]},
}
METRICS = {"map": "letor4", "ndcg@10": "standard"}  # and their conventions
IS_WORSE = 0.05  # p of a one-sided paired t-test below which a method counts as worse than RankSVM


def values_of(queries, scores):
    """Return the values, queries × metrics."""
    tables = [pk.evaluate(queries, scores, metrics=[name], convention=kind)[name] for name, kind in METRICS.items()]
    return np.column_stack(tables)


def candidates(grid, fold, **options):
    """Return for each candidate its name, its validation MAP with the best penalty, and its test values."""
    for setting in ParameterGrid(grid):
        ranker = pk.QueryDependentRanker(l2=STRENGTHS, tol=TOL, **options, **setting)
        ranker.fit(fold.train, eval_set=fold.validation, eval_metric="map(convention=letor4)")
        words = ", ".join(f"{key}={value}" for key, value in setting.items() if key != "weights")
        yield words, ranker.best_score_, values_of(fold.test, ranker.predict(fold.test))


def compare(name, folds, **options):
    """Print two tables: the methods with the chosen candidates, and every candidate."""
    print(f"\n## {name}: {sum(fold.test.n_queries for fold in folds)} test queries, all of them new\n", flush=True)
    chosen, settings = {}, {}
    for method, grid in METHODS.items():
        start = time.perf_counter()
        by_fold = [list(candidates(grid, fold, **options)) for fold in folds]
        best = [max(found, key=lambda candidate: candidate[1]) for found in by_fold]
        chosen[method] = np.concatenate([values for _, _, values in best]), Counter(words for words, _, _ in best)
        for same in zip(*by_fold, strict=True):
            settings[method, same[0][0]] = np.concatenate([values for _, _, values in same])
        print(f"{method}: {time.perf_counter() - start:.0f} seconds", file=sys.stderr, flush=True)
    leader = chosen[LEADER][0]
    print_head("chosen on validation", "verdict")
    for method, (values, words) in chosen.items():
        is_worse = method != LEADER and p_worse(values[:, 0], leader[:, 0]) < IS_WORSE
        verdict = "" if method == LEADER else "significantly worse" if is_worse else "not significantly worse"
        picks = "; ".join(f"{setting} ({count} ×)" for setting, count in words.items() if setting)
        print(f"| {method} | {picks} | {cells(values, leader, method != LEADER)} | {verdict} |")
    print("\nEach setting by itself, the strength of its penalty chosen on validation:\n")
    print_head("setting")
    for (method, words), values in settings.items():
        if method != LEADER:
            print(f"| {method} | {words} | {cells(values, leader)} |")


def print_head(second, *last):
    names = [column for metric in METRICS for column in (metric.upper(), f"less {LEADER}'s (p)")]
    columns = ["method", second, *names, *last]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")


def cells(values, leader, is_compared=True):
    """Print means, and the differences to the best with p of a two-sided paired t-test."""
    words = []
    for own, other in zip(values.T, leader.T, strict=True):
        words.append(f"{own.mean():.4f}")
        words.append(f"{np.mean(own - other):+.4f} ({ttest_rel(own, other).pvalue:.2g})" if is_compared else "")
    return " | ".join(words)


def p_worse(own, other):
    return ttest_rel(own, other, alternative="less").pvalue


def mslr_sample(folder):
    train, test = (pk.read_letor(Path(folder, f"msn1.fold1.{part}.5k.txt.gz")) for part in ("train", "test"))
    return pk.datasets.Fold(train[:-10], train[-10:], test)


def main(mq2008, ohsumed, mslr=None):
    for name, folder in {"ohsumed": ohsumed, "mq2008": mq2008}.items():
        folds = [pk.datasets.load_fold(name, number, folder) for number in range(1, 6)]
        compare(name, folds, query_features="mean")
    if mslr is not None:
        compare("MSLR sample", [mslr_sample(mslr)], query_features="auto", normalize="query-zscore")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main(*sys.argv[1:])
