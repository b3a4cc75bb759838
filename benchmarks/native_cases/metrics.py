"""Measures and significance tests: short, long and tied lists, every kind of label, one list alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import plackett as pk
from plackett.evaluation.significance import bootstrap_columns, randomisation_columns
from plackett.metrics.judged_lists import JudgedLists

TRIO = ["ndcg@10", "map", "mrr"]
GRADED = ["ndcg", "dcg", "err@10", "mean-ndcg", "sharp-ndcg", "wpd"]
BINARY = ["p@10", "recall@10", "map", "mrr"]
WHOLE = ["kendall", "persistence@10", "exact"]

Call = Callable[[], object]


def _lists(n_queries: int, n_docs: int, labels: str = "levels", scores: str = "any"):
    rng = np.random.default_rng(0)
    size = n_queries * n_docs
    values = {"any": rng.random(size), "few": rng.integers(0, 20, size).astype(float), "constant": np.zeros(size)}
    values["far"] = np.where(rng.random(size) < 0.05, -1e9, values["any"])
    levels = {"levels": rng.integers(0, 5, size).astype(float), "strict": rng.permutation(size).astype(float) % 30}
    levels["real"] = rng.random(size)
    return levels[labels], values[scores], np.repeat(np.arange(n_queries), n_docs)


def _table(metrics: list[str], *shape: object, convention: str = "standard") -> Callable[[], Call]:
    def prepare() -> Call:
        labels, scores, qid = _lists(*shape)  # type: ignore[arg-type]
        names = [f"d{i:07}" for i in range(labels.size)] if convention == "trec" else None
        docid = None if names is None else np.array(names)
        return lambda: pk.evaluate(labels, scores, qid=qid, metrics=metrics, convention=convention, docid=docid)

    return prepare


def _ranked(ties: str, *shape: object) -> Callable[[], Call]:
    def prepare() -> Call:
        labels, scores, _ = _lists(*shape)  # type: ignore[arg-type]
        indptr = np.arange(0, labels.size + 1, labels.size // int(shape[0]))  # type: ignore[call-overload]
        return lambda: JudgedLists(labels, scores, indptr).ranked(ties)

    return prepare


def _one_list(n_calls: int) -> Call:
    labels, scores, qid = _lists(1, 10)

    def call() -> None:
        for _ in range(n_calls):
            pk.metrics.ndcg(labels, scores, qid=qid, k=10)
            pk.metrics.kendall(labels, scores, qid=qid)
            pk.metrics.average_precision(labels, scores, qid=qid)

    return call


def _differences(n_queries: int, n_pairs: int) -> np.ndarray:
    return np.random.default_rng(0).normal(0.01, 0.1, size=(n_queries, n_pairs))


CASES: dict[str, Callable[[], Call]] = {
    "NDCG@10 + AP + RR, 5,000 × 100": _table(TRIO, 5_000, 100),
    "NDCG@10 + AP + RR, 50,000 × 10": _table(TRIO, 50_000, 10),
    "NDCG@10 + AP + RR, 500 × 512": _table(TRIO, 500, 512),
    "NDCG@10 + AP + RR, 3 × 100,000": _table(TRIO, 3, 100_000),
    "NDCG@10 + AP + RR, scores far apart": _table(TRIO, 3_000, 100, "levels", "far"),
    "NDCG@10 + AP + RR, few scores": _table(TRIO, 3_000, 100, "levels", "few"),
    "NDCG@10 + AP + RR, few scores, long lists": _table(TRIO, 3, 100_000, "levels", "few"),
    "NDCG@10 + AP + RR, constant scores": _table(TRIO, 3_000, 100, "levels", "constant"),
    "graded measures, levels": _table(GRADED, 2_000, 100),
    "graded measures, real labels": _table(GRADED, 1_000, 100, "real"),
    "graded measures, few scores": _table(GRADED, 1_000, 100, "levels", "few"),
    "ERR of constant scores": _table(["err"], 200, 300, "levels", "constant"),
    "binary measures": _table(BINARY, 3_000, 100),
    "binary measures, few scores": _table(BINARY, 3_000, 100, "levels", "few"),
    "whole orders, levels": _table(WHOLE, 3_000, 100),
    "whole orders, 30 labels": _table(WHOLE, 500, 500, "strict"),
    "whole orders, real labels": _table(WHOLE, 500, 500, "real"),
    "whole orders, real labels, long lists": _table(WHOLE, 3, 50_000, "real"),
    "whole orders, few scores": _table(WHOLE, 3_000, 100, "levels", "few"),
    "convention trec": _table(TRIO, 1_000, 100, "levels", "few", convention="trec"),
    "convention ranx": _table(TRIO, 2_000, 100, "levels", "few", convention="ranx"),
    "ranks, any": _ranked("average", 5_000, 100),
    "ranks, stable, few scores": _ranked("stable", 5_000, 100, "levels", "few"),
    "ranks, worst, few scores": _ranked("worst", 5_000, 100, "levels", "few"),
    "one list of 10, 3 measures, 50 times": lambda: _one_list(50),
    "randomisation test, one pair": lambda: lambda: randomisation_columns(_differences(300, 1), 50_000),
    "randomisation test, 30 pairs": lambda: lambda: randomisation_columns(_differences(300, 30), 20_000),
    "randomisation test, exact": lambda: lambda: randomisation_columns(_differences(16, 10), 100_000),
    "bootstrap, one column": lambda: lambda: bootstrap_columns(_differences(300, 1), n_draws=10_000),
    "bootstrap, 30 columns": lambda: lambda: bootstrap_columns(_differences(300, 30), n_draws=5_000),
}
