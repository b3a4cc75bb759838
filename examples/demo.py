"""Three rankings of a built-in web-like set, measured: what ``make demo`` shows."""

import time

import plackett as pk


def main():
    start = time.perf_counter()
    data = pk.datasets.make_web_like(200, n_features=46, random_state=0)
    print(f"A built-in set in the likeness of web search: {data!r}\n")
    print(data.describe(), end="\n\n")

    rankings = pk.datasets.make_rankings(data, random_state=0)
    metrics = ["ndcg@10", "map", "mrr", "err@10", "kendall"]
    print("Three rankings of its documents (kendall is a distance: lower is better):\n")
    print(f"{'':14}" + "".join(f"{metric:>10}" for metric in metrics))
    for name, scores in rankings.items():
        means = pk.evaluate(data, scores, metrics=metrics).mean()
        print(f"{name:14}" + "".join(f"{value:10.4f}" for value in means.values()))

    n_empty = data.describe().n_without_relevant
    print(f"\n({n_empty} queries have nothing relevant and count 0, also in a perfect order.) The floors:\n")
    floors = pk.evaluate(data, rankings["noisy"], metrics=metrics, floors=True).floors
    for name, row in floors.items():
        print(f"{name:14}" + "".join(f"{value:10.4f}" for value in row.values()))

    print("\nThe noisy ranking once more: the same scores, rounded so that some tie, under nine conventions.\n")
    print(f"{'':14}{'ndcg@10':>10}{'map':>10}")
    docid = [f"d{row}" for row in range(data.n_docs)]
    coarse = rankings["noisy"].round(1)
    conventions = ["standard", "letor3", "letor4", "trec", "sklearn", "lightgbm", "xgboost", "gdeval", "ranx"]
    for convention in conventions:
        result = pk.evaluate(
            data.y, coarse, qid=data.qid, docid=docid, metrics=["ndcg@10", "map"], convention=convention
        )
        print(f"{convention:14}" + "".join(f"{value:10.4f}" for value in result.mean().values()))
    print(f"\n{time.perf_counter() - start:.1f} seconds in all; the first run compiles its kernels, later ones do not.")


if __name__ == "__main__":
    main()
