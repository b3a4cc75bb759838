"""Rankers that learn strict orders: the comparison of Wang and others, on MQ2008 with the order of 25 systems.

    python examples/strict_orders.py FOLDER_OF_MQ2008 FOLDER_OF_MQ2008_AGG

The paper's own set, MQ2008-list, has about a thousand documents to a list. Here a list is at least ten documents of
MQ2008 in the order of their mean rank over the systems of MQ2008-agg; rank 1 is the best there. Parameters are chosen
from the grids below by Kendall distance on the validation fold. (The grids themselves were written with test values of
single settings in view: differences in the third digit are not to be trusted for that reason alone.)
"""

import sys
import time
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.stats import rankdata, ttest_rel
from sklearn.model_selection import ParameterGrid

import plackett as pk

SHORTEST = 10
# tied scores cost half a pair: by the paper's Kendall distance, where a tie is no error, a constant would be perfect
MEASURES = {
    "Kendall distance": "kendall(ties=average)",
    "persistence@10": "persistence@10(ties=average)",
    "NDCG@10, linear gain": "ndcg@10(gain=linear, discount=jarvelin, ties=average)",
}
LEADER = "DiffRank"


class SingleFeature:
    """Ranks by one column, falling (sign 1) or rising (-1); no column ranks by nothing."""

    def __init__(self, column=None, sign=1):
        self.column, self.sign = column, sign

    def fit(self, queries):
        return self

    def predict(self, queries):
        return np.zeros(queries.n_docs) if self.column is None else self.sign * queries.X[:, self.column]


PARTS, CYCLES, L2 = [4, 8, 16], [1, 3, 10, 30], [1e-4, 1e-3, 1e-2, 1e-1]
AS_GIVEN, RANKS = {"normalize": [None, "query-zscore"]}, {"normalize": ["query-rank"]}
listmle, ranksvm, rankcosine = (partial(pk.ranker, name) for name in ("listmle", "ranksvm", "rankcosine"))
svm_map = partial(pk.SVMMap, top=10)
RANKERS = {
    "DiffRank": (pk.DiffRank, {"n_intervals": PARTS, "cycles": CYCLES, "prec": [None, 10]}),
    "BL-FeatureRank": (pk.BLFeatureRank, {"n_intervals": PARTS, "cycles": CYCLES, "balance": ["global", "query"]}),
    "FeatureRank": (pk.FeatureRank, {"n_intervals": PARTS, "cycles": CYCLES}),
    "ListMLE": (listmle, {"l2": L2, **AS_GIVEN}),
    "SVM-map": (svm_map, {"C": [1, 10, 100], **AS_GIVEN}),
    "RankCosine": (rankcosine, AS_GIVEN),
    "RankSVM": (ranksvm, {"l2": L2, **AS_GIVEN}),
    # what is it that helps: the ranks that quasi-KNN finds, ranks at all, or the boosting?
    "DiffRank, ranks as the values stand": (pk.DiffRank, {"discovery": ["linear"], "cycles": CYCLES}),
    "ListMLE on ranks": (listmle, {"l2": L2, **RANKS}),
    "SVM-map on ranks": (svm_map, {"C": [1, 10, 100], **RANKS}),
    "RankCosine on ranks": (rankcosine, RANKS),
    "RankSVM on ranks": (ranksvm, {"l2": L2, **RANKS}),
    "best single feature": (SingleFeature, {"column": range(46), "sign": [1, -1]}),
    "random order": (SingleFeature, {}),
}


def strict_labels(ranks, indptr):
    """Label each document by its place in the mean order of the systems: n for the best of a list, 1 for the worst.

    ``ranks`` (documents × systems) has 1 for a system's best document and NaN for what it did not find, which counts as
    its largest rank in the list + 1. Documents with equal means share the mean of their places. A system that found
    nothing of a list has no say in it.
    """
    labels = np.empty(len(ranks))
    for start, stop in pairwise(indptr):
        own = ranks[start:stop].astype(np.float64)
        last = np.max(own, axis=0, where=~np.isnan(own), initial=0.0)
        # whole numbers, so that equal means are equal sums to the last digit
        labels[start:stop] = rankdata(-np.where(np.isnan(own), last + 1.0, own).sum(axis=1))
    return labels


def with_strict_order(queries, systems):
    """The long lists of ``queries``, documents labelled by the order of ``systems``, which has them under their ids."""
    place = {key: row for row, key in enumerate(zip(systems.qid, systems.docid, strict=True))}
    rows = [place[key] for key in zip(queries.qid, queries.docid, strict=True)]
    labels = strict_labels(systems.X[rows], queries.indptr)
    relabelled = pk.Queries(queries.X, labels, queries.qid, docid=queries.docid, feature_names=queries.feature_names)
    return relabelled[np.diff(queries.indptr) >= SHORTEST]


def agreement_with_relevance(systems):
    """Share of the pairs of different relevance, ranked by the same system, whose better document has the lower rank.

    Above one half says that rank 1 is the best.
    """
    right = wrong = 0
    for query in systems:
        better = query.y[:, None] > query.y
        for ranks in query.X.T:  # a comparison with NaN is False
            right += np.sum(better & (ranks[:, None] < ranks))
            wrong += np.sum(better & (ranks[:, None] > ranks))
    return right / (right + wrong)


def values_of(ranker, queries):
    return pk.evaluate(queries, ranker.predict(queries), metrics=list(MEASURES.values())).values


def best_on_validation(make, grid, fold):
    """The fitted ranker with the least Kendall distance on the validation queries, the first of equals."""
    candidates = [(make(**parameters).fit(fold.train), parameters) for parameters in ParameterGrid(grid)]
    return min(candidates, key=lambda candidate: values_of(candidate[0], fold.validation)[:, 0].mean())


def load_folds(mq2008, mq2008_agg):
    systems = pk.datasets.load("mq2008-agg", mq2008_agg)
    for number in range(1, 6):
        fold = pk.datasets.load_fold("mq2008", number, mq2008)
        yield pk.datasets.Fold(*(with_strict_order(part, systems) for part in fold))


def main(mq2008, mq2008_agg):
    agreement = agreement_with_relevance(pk.datasets.load("mq2008-agg", mq2008_agg))
    folds = list(load_folds(mq2008, mq2008_agg))
    lengths = np.concatenate([np.diff(fold.test.indptr) for fold in folds])
    print(
        f"{lengths.size} lists of {lengths.min()} to {lengths.max()} documents, median {np.median(lengths):.0f}. "
        f"The lower rank has the more relevant document in {agreement:.1%} of the systems' pairs.\n"
    )
    print("| ranker | " + " | ".join(MEASURES) + " | seconds |")
    print("|---|" + "---|" * (len(MEASURES) + 1))
    tables, chosen = {}, {}
    for name, (make, grid) in RANKERS.items():
        start = time.perf_counter()
        best = [best_on_validation(make, grid, fold) for fold in folds]
        # every query is in one test fold, so that the folds' queries together are the set's
        tables[name] = np.concatenate(
            [values_of(ranker, fold.test) for (ranker, _), fold in zip(best, folds, strict=True)]
        )
        chosen[name] = [parameters for _, parameters in best]
        means = " | ".join(f"{mean:.4f}" for mean in tables[name].mean(axis=0))
        print(f"| {name} | {means} | {time.perf_counter() - start:.0f} |", flush=True)
    print_differences(tables)
    print("\nChosen on validation, folds 1 to 5:")
    for name, parameters in chosen.items():
        print(f"- {name}: " + "; ".join(", ".join(f"{key}={value}" for key, value in p.items()) for p in parameters))


def print_differences(tables):
    """Test query by query: the same lists under both rankers, so that hard lists do not count as noise."""
    n_tests = len(MEASURES) * (len(tables) - 1)
    print(
        f"\n{LEADER} less the other, and p of a paired t-test over the lists. The folds share training lists, and there"
    )
    print(f"are {n_tests} tests: only a p below {0.05 / n_tests:.4f} says much.\n")
    print("| against | " + " | ".join(MEASURES) + " |")
    print("|---|" + "---|" * len(MEASURES))
    for name, values in tables.items():
        if name != LEADER:
            differences = (tables[LEADER] - values).mean(axis=0)
            p_values = ttest_rel(tables[LEADER], values).pvalue
            cells = [f"{value:+.4f} (p {p:.1g})" for value, p in zip(differences, p_values, strict=True)]
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main(*sys.argv[1:])
