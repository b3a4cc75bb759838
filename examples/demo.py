"""The demo of ``make demo``: rankers trained on a synthetic data set, their explanations, and ten conventions; a search
in the documentation of Python before and after three judgements; and a comparison with its report."""

import time
from pathlib import Path

import numpy as np

import plackett as pk
from plackett.data.documents.stdlib_corpus import read_stdlib
from plackett.rankers.boosting.feature_rank import BLFeatureRank
from plackett.text import build_index, letor_features

METRICS = ["ndcg@10", "map", "mrr", "err@10"]
REPORT = Path(".demo", "report.html")
CONTESTANTS = "listmle,p-listmle,listnet,ranksvm,regression,adarank"
LINEAR = ["listmle", "p-listmle", "cs-listmle", "listnet", "ranksvm", "ranknet", "rankcosine", "regression"]
OTHERS = {
    "diffrank": pk.DiffRank(cycles=3),
    "featurerank": pk.FeatureRank(cycles=3),
    "bl-featurerank": BLFeatureRank(cycles=3),
    "adarank": pk.AdaRank("ndcg@10", normalize="query-zscore"),
    "rankboost": pk.RankBoost(n_rounds=200, n_thresholds=256),
    "svm-map": pk.SVMMap(C=10, normalize="query-zscore"),
    "prank": pk.PRank(normalize="query-zscore", random_state=0),
}


def main():
    start = time.perf_counter()
    data = pk.datasets.make_web_like(400, n_features=46, random_state=0)
    train, validation, test = data[:240], data[240:320], data[320:]
    print(f"A synthetic data set that resembles web search: {data!r}\n")
    print(data.describe(), end="\n\n")

    rankers = train_and_compare(train, validation, test)
    best = max(rankers, key=lambda name: mean(validation, rankers[name], ["ndcg@10"])["ndcg@10"])
    print(f"\nThe best on the validation queries is {best}: {rankers[best]!r}.\n")
    explain(rankers, test)
    measure_under_every_convention(best, test, rankers[best].predict(test))
    search_and_judge("wait for a thread to finish")
    compare_and_report(data)
    print(f"\n{time.perf_counter() - start:.1f} seconds in all.")


def train_and_compare(train, validation, test):
    """Train each ranker, with l2 or rounds chosen on the validation queries, and print its test measures."""
    print(f"Trained on {len(train)} queries, measured on {len(test)}. Chosen by NDCG@10 on another {len(validation)}:")
    print("how strong the penalty of linear rankers is, and how many rounds, steps or passes of the others are kept.\n")
    print(f"{'':16}" + "".join(f"{metric:>9}" for metric in METRICS) + f"{'seconds':>9}  chosen")
    rankers = {}
    for name in [*LINEAR, *OTHERS]:
        begin = time.perf_counter()
        if name in OTHERS:
            ranker = OTHERS[name].fit(train, eval_set=validation)
            # SVM-map keeps the minimum of its objective and does not use validation queries
            chosen = "" if name == "svm-map" else f"{ranker.best_iteration_} of {ranker.n_iter_}"
        else:
            ranker = pk.ranker(name, normalize="query-zscore", tol=1e-3).l2_path(train, eval_set=validation).best
            chosen = f"l2={ranker.l2:g}"
        seconds = time.perf_counter() - begin
        rankers[name] = ranker
        row = "".join(f"{value:9.4f}" for value in mean(test, ranker, METRICS).values())
        print(f"{name:16}{row}{seconds:9.2f}  {chosen}", flush=True)
    for name, row in pk.evaluate(
        test, ranker.predict(test), metrics=METRICS, reference_scores=True
    ).reference_scores.items():
        print(f"{name:16}" + "".join(f"{value:9.4f}" for value in row.values()))
    return rankers


def compare_and_report(data):
    """Compare some of the rankers on folds, with significance tests, and write the report."""
    begin = time.perf_counter()
    print(f"\nSome of them on all {len(data)} queries in three folds, hyperparameters chosen on validation queries:\n")
    comparison = pk.compare(CONTESTANTS, data, cv=3, metrics=["ndcg@10", "map", "err@10"])
    print(comparison)
    REPORT.parent.mkdir(exist_ok=True)
    pk.write_report(comparison, REPORT, title="Rankers on a built-in set")
    print(f"\n{time.perf_counter() - begin:.1f} seconds for the comparison and its report: open {REPORT}.")


def mean(queries, ranker, metrics):
    return pk.evaluate(queries, ranker.predict(queries), metrics=metrics).mean()


def explain(rankers, test):
    """Explain why one document is ranked above another: by weights of values, by weights of ranks, and step by step."""
    query = test[0]
    first, second = (-rankers["listmle"].predict(query)).argsort()[:2].tolist()
    print(f"Why does row {first} of the first test query rank above row {second} for ListMLE, which weighs values?\n")
    print(rankers["listmle"].explain(query).why(first, second).to_text(n=5), end="\n\n")
    print("The same for DiffRank, which weighs the ranks of values in the list:\n")
    print(rankers["diffrank"].explain(query).why(first, second).to_text(n=5), end="\n\n")
    print("And for FeatureRank, which ranks the list again in each step:\n")
    print(rankers["featurerank"].explain(query).why(first, second).to_text(n=5), end="\n\n")


def measure_under_every_convention(name, test, scores):
    """Print the same scores, rounded so that some tie, under ten conventions."""
    print(f"The scores of {name}, rounded so that some tie, under ten sets of rules:\n")
    print(f"{'':14}{'ndcg@10':>9}{'map':>9}")
    docid = [f"d{row}" for row in range(test.n_docs)]
    for convention in pk.metrics.CONVENTIONS:
        result = pk.evaluate(
            test.y, scores.round(1), qid=test.qid, docid=docid, metrics=["ndcg@10", "map"], convention=convention
        )
        print(f"{convention:14}" + "".join(f"{value:9.4f}" for value in result.mean().values()))


def search_and_judge(query):
    """Search by BM25, judge three results, and print the refined list."""
    begin = time.perf_counter()
    collection = read_stdlib()
    index = build_index(collection, links="containment")
    found = letor_features(index, {"q": query}, index.run({"q": query}, k=50))
    print(f"\nThe documentation of Python: {index!r}.")
    print(f"The first results of BM25 for {query!r}:\n")
    names, bm25 = found.docid, found.X[:, found.feature_names.index("bm25_whole")]
    show_first(index, query, names[np.argsort(-bm25, kind="stable")])

    # judgements of a user who looks for one of them
    said = {"threading.Thread.join": 1, "asyncio.ThreadedChildWatcher": 0, "socketserver.BaseServer.finish_request": 0}
    said = {name: label for name, label in said.items() if name in names}  # other versions of Python may lack some
    labels = np.array([said.get(name, np.nan) for name in names])
    refiner = pk.MultiplicativeRefiner().fit(found, labels, base_score="bm25_whole")
    print("\nThe user judges " + ", ".join(f"{name} {'+' if label else '-'}" for name, label in said.items()))
    print("The first results after that; documents with similar features have moved:\n")
    order = np.argsort(-refiner.scores_)
    show_first(index, query, names[order])
    print(f"\nWhat moved {names[order[0]]} most:")
    for move in refiner.explain(found, rows=order[:1]).top(int(order[0]), 3):
        print(f"  {move.contribution:+.3f}  {move.feature}")
    print(f"\n{time.perf_counter() - begin:.1f} seconds for the index, both lists and the explanation.")


def show_first(index, query, names):
    for rank, name in enumerate(names[:5].tolist(), 1):
        print(f"{rank}  {name:42}{index.snippet(name, query, width=70)}")


if __name__ == "__main__":
    main()
