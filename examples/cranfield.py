"""Cranfield from text to a refined ranking: BM25, a ranker learned on text features, and ten judgements per query.

    python examples/cranfield.py FOLDER_OF_CRANFIELD

The folder has cran.all.1400, cran.qry and cran.qrels, compressed or not. Words are stemmed if PyStemmer is installed.
The candidates of each query are the first 100 of BM25; relevant documents count even if they are not among these.
Tests are two-sided paired t-tests over queries.
"""

import importlib.util
import sys
import warnings

import numpy as np
from scipy.stats import ttest_rel

import plackett as pk
from plackett import text
from plackett.data.documents.collections import read_smart
from plackett.evaluation.simulated_feedback import relevance_feedback

METRICS = ["map", "ndcg@10", "p@10"]
N_CANDIDATES = 100
N_FOLDS = 5
N_JUDGED = 10
FIELD = "body"  # starts with the title
LINEAR = ("listmle", "ranksvm")
REFINERS = {"MRR": pk.MultiplicativeRefiner(), "Rocchio": pk.RocchioRefiner()}


def make_candidates(collection):
    """Return the top documents of BM25 for each judged query, with their features and labels."""
    stemmer = "english" if importlib.util.find_spec("Stemmer") else None
    index = text.build_index(collection, fields=["title", FIELD], analyser=text.Analyser(stemmer=stemmer))
    judged = {qid: collection.queries[qid] for qid in collection.judged_queries()}
    run = index.run(judged, k=N_CANDIDATES, ranker="bm25", field=FIELD)
    # the whole document would count titles twice
    return text.letor_features(index, judged, run, qrels=collection.qrels, fields=["title", FIELD])


def cross_validate(queries, name, *, seed=0):
    """Return cross-validated scores: three folds to train on, one to choose l2, one to score."""
    shuffled = np.random.default_rng(seed).permutation(queries.n_queries)
    folds = np.array_split(shuffled, N_FOLDS)
    scores = np.empty(queries.n_docs)
    for number in range(N_FOLDS):
        test, validation = folds[number], folds[(number + 1) % N_FOLDS]
        train = np.setdiff1d(shuffled, np.concatenate([test, validation]))
        ranker = pk.ranker(name, normalize="query-zscore")
        best = ranker.l2_path(queries[train], eval_set=queries[validation], eval_metric="map").best
        for place in test:
            scores[queries.indptr[place] : queries.indptr[place + 1]] = best.predict(queries[[place]])
    return scores


def measure(collection, queries, scores):
    return pk.evaluate(collection.qrels, pk.Run.from_scores(queries, scores), metrics=METRICS)


def cell(own, other, metric):
    if other is None:
        return f"{own.mean()[metric]:.4f}"
    gap = own[metric] - other[metric]
    gap = gap[~np.isnan(gap)]
    p = ttest_rel(gap, np.zeros(gap.size)).pvalue if gap.any() else 1.0
    return f"{own.mean()[metric]:.4f} ({np.mean(gap):+.4f}, p {p:.2g})"


def print_table(tables, compared_with):
    """Print a table; ``compared_with`` names for each ranking the one whose difference is in brackets, or None."""
    print("\n| ranking | in brackets: minus | " + " | ".join(metric.upper() for metric in METRICS) + " |")
    print("|---" * (len(METRICS) + 2) + "|")
    for name, table in tables.items():
        other = compared_with[name]
        cells = [cell(table, None if other is None else tables[other], metric) for metric in METRICS]
        print(f"| {name} | {other or ''} | " + " | ".join(cells) + " |")
    print(flush=True)


def main(folder):
    collection = read_smart("cranfield", folder)
    queries = make_candidates(collection)
    print(f"{collection}; candidates: {queries}")
    bases = {"BM25": queries.X[:, queries.feature_names.index(f"bm25_{FIELD}")]}
    bases |= {f"{name} on features": cross_validate(queries, name) for name in LINEAR}
    full = {name: measure(collection, queries, scores) for name, scores in bases.items()}
    compared = {name: None if name == "BM25" else "BM25" for name in bases}
    ceiling = "candidates in the best order"
    full[ceiling], compared[ceiling] = measure(collection, queries, queries.labels), None
    residual, compared_residual = {}, {}
    for base in ("BM25", f"{LINEAR[0]} on features"):
        result = relevance_feedback(queries, bases[base], REFINERS, n_judged=N_JUDGED, relevant_from=1, metrics=METRICS)
        words = f"{base}, judged sorted"
        side = np.where(result.judged, np.where(queries.labels > 0, 1, -1), 0)
        scores = bases[base] + side * (np.ptp(bases[base]) + 1)
        full[words], compared[words] = measure(collection, queries, scores), base
        for name, table in result.tables["residual"].items():
            words = base if name == "base" else f"{base}, then {name}"
            residual[words], compared_residual[words] = table, None if name == "base" else base
            if name != "base":
                full[words], compared[words] = measure(collection, queries, result.scores[name]), base
    print(
        f'\nAll candidates ({N_JUDGED} judged where a refiner is named; "judged sorted" learns nothing, but puts those '
        "judged relevant first and the others last):"
    )
    print_table(full, compared)
    print(
        "Without the judged documents, which differ by base; relevance is binary, only candidates count, and a query "
        "with nothing relevant left counts 0:"
    )
    print_table(residual, compared_residual)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        main(sys.argv[1])
