"""What ``make demo`` shows: rankers trained on a built-in set, their table, an explanation, scores under nine rules."""

import time

import plackett as pk

METRICS = ["ndcg@10", "map", "mrr", "err@10"]
RANKERS = ["listmle", "p-listmle", "cs-listmle", "listnet", "ranksvm", "ranknet", "rankcosine", "regression"]


def main():
    start = time.perf_counter()
    data = pk.datasets.make_web_like(400, n_features=46, random_state=0)
    train, validation, test = data[:240], data[240:320], data[320:]
    print(f"A built-in set in the likeness of web search: {data!r}\n")
    print(data.describe(), end="\n\n")

    best = train_and_compare(train, validation, test)
    explain(best, test)
    measure_under_every_convention(test, best.predict(test))
    print(f"\n{time.perf_counter() - start:.1f} seconds in all; the first run compiles its kernels, later ones do not.")


def train_and_compare(train, validation, test):
    """Train each ranker, l2 chosen on the validation queries; the best of them on those queries is returned."""
    print(f"Trained on {len(train)} queries, l2 chosen by NDCG@10 on {len(validation)}, measured on {len(test)}:\n")
    print(f"{'':14}" + "".join(f"{metric:>9}" for metric in METRICS) + f"{'l2':>9}{'solver':>9}{'seconds':>9}")
    best, best_value = None, -1.0
    for name in RANKERS:
        begin = time.perf_counter()
        path = pk.ranker(name, normalize="query-zscore", tol=1e-3).l2_path(train, eval_set=validation)
        ranker, seconds = path.best, time.perf_counter() - begin
        means = pk.evaluate(test, ranker.predict(test), metrics=METRICS).mean()
        row = "".join(f"{value:9.4f}" for value in means.values())
        print(f"{name:14}{row}{ranker.l2:9g}{ranker.solver_:>9}{seconds:9.2f}")
        if path.validation.max() > best_value:
            best, best_value = ranker, path.validation.max()
    for name, row in pk.evaluate(test, best.predict(test), metrics=METRICS, floors=True).floors.items():
        print(f"{name:14}" + "".join(f"{value:9.4f}" for value in row.values()))
    print(f"\nThe best on the validation queries is {best!r}.\n")
    return best


def explain(ranker, test):
    """Why the first document of a query stands above the second."""
    query = test[0]
    first, second = (-ranker.predict(query)).argsort()[:2].tolist()
    print("Why does its first document of the first test query stand above the second?\n")
    print(ranker.explain(query).why(first, second).to_text(n=5), end="\n\n")


def measure_under_every_convention(test, scores):
    """The same scores, rounded so that some tie, under the rules of nine tools."""
    print("Its scores, rounded so that some tie, under the rules of nine tools:\n")
    print(f"{'':14}{'ndcg@10':>9}{'map':>9}")
    docid = [f"d{row}" for row in range(test.n_docs)]
    for name in ["standard", "letor3", "letor4", "trec", "sklearn", "lightgbm", "xgboost", "gdeval", "ranx"]:
        result = pk.evaluate(
            test.y, scores.round(1), qid=test.qid, docid=docid, metrics=["ndcg@10", "map"], convention=name
        )
        print(f"{name:14}" + "".join(f"{value:9.4f}" for value in result.mean().values()))


if __name__ == "__main__":
    main()
