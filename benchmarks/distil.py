"""Distillation on DL 2019: the best BERT run teaches rankers of BM25 scores, which NIST's judgements measure.

    python -m benchmarks.distil --data FOLDER

Prints the table of docs/distilling.md. The runs hold no texts: features are scores and ranks of eight BM25 runs.
Candidates are the first 100 documents of each of these runs. Students see the scores of the teacher for training
queries only, and no judgement; each query is ranked by a student of the other folds. Gain is linear, ties are those of
trec_eval, and documents that are not judged do not count as relevant.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import plackett as pk
from benchmarks.fusion import dl2019
from plackett.evaluation.splits import QueryKFold

TEACHER = "idst_bert_p1"
FAMILY = [f"bm25{kind}_{how}p" for kind in ("base", "tuned") for how in ("", "ax_", "prf_", "rm3_")]
DEPTH, N_FOLDS, METRIC = 100, 5, "ndcg@10"
STUDENTS = {
    "linear, ListNet": pk.LinearRanker("listnet", normalize="query-zscore"),
    "linear, squared": pk.LinearRanker("squared", normalize="query-zscore"),
    "trees, squared": pk.TreeRanker(loss="squared", num_leaves=7, n_rounds=100, random_state=0),
}


def table_of(runs: Mapping[str, pk.Run], teacher: pk.Run, depth: int = DEPTH) -> pk.Queries:
    """Return the candidates with the scores and reciprocal ranks of the runs, labelled by the teacher from 0 to 1.

    A document that a run does not hold has the lowest score of the run for the query, and 0 as reciprocal rank; one
    that the teacher does not hold has label 0.
    """
    scores = {name: run.to_dict() for name, run in runs.items()}
    taught = teacher.to_dict()
    rows, labels, qid, docid = [], [], [], []
    for query in sorted(taught):
        lists = [sorted(found.get(query, {}).items(), key=lambda one: -one[1]) for found in scores.values()]
        candidates = sorted({name for found in lists for name, _ in found[:depth]})
        columns = []
        for found in lists:
            rank = {name: place for place, (name, _) in enumerate(found, start=1)}
            score, least = dict(found), min((value for _, value in found), default=0.0)
            columns.append([score.get(name, least) for name in candidates])
            columns.append([1 / rank[name] if name in rank else 0.0 for name in candidates])
        rows.append(np.array(columns).T)
        least, most = min(taught[query].values()), max(taught[query].values())
        labels += [(taught[query].get(name, least) - least) / max(most - least, 1e-12) for name in candidates]
        qid += [query] * len(candidates)
        docid += candidates
    names = [f"{name} {what}" for name in runs for what in ("score", "1/rank")]
    return pk.Queries(np.concatenate(rows), labels, qid, docid=docid, feature_names=names)


def scored(ranker, data: pk.Queries, labels: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return scores for every row from fits on the other folds, the seconds of a fit, and of scoring a document."""
    scores, fitting, scoring = np.full(data.n_docs, np.nan), 0.0, 0.0
    for train, test in QueryKFold(N_FOLDS, random_state=0).split(data.X, groups=data.qid):
        start = time.perf_counter()
        student = ranker.fit(data.X[train], labels[train], qid=data.qid[train])
        fitting += time.perf_counter() - start
        start = time.perf_counter()
        scores[test] = student.predict(data.X[test], qid=data.qid[test])
        scoring += time.perf_counter() - start
    return scores, fitting / N_FOLDS, scoring / data.n_docs


def compared(runs: Mapping[str, pk.Run], qrels: pk.Qrels, teacher: str = TEACHER, family=FAMILY) -> tuple[dict, dict]:
    """Return the rankings of the candidates by name, and the seconds of the students."""
    data = table_of({name: runs[name] for name in family}, runs[teacher])
    grades = {query: dict(found) for query, found in qrels.to_dict().items()}
    judged = np.array([grades.get(q, {}).get(d, 0) for q, d in zip(data.qid, data.docid, strict=True)], dtype=float)
    fused = pk.fuse({name: runs[name] for name in family}, method="rrf").run
    rankings, seconds = {family[0]: runs[family[0]], "RRF of the eight": fused}, {}
    for name, ranker in STUDENTS.items():
        for who, labels in (("teacher", data.y), ("NIST", judged)):
            scores, *seconds[f"{name}; {who}"] = scored(ranker, data, labels)
            rankings[f"{name}; {who}"] = pk.Run(data.qid, data.docid, scores)
    rankings["the teacher on the candidates"] = pk.Run(data.qid, data.docid, data.y)
    rankings["the teacher's own run"] = runs[teacher]
    return rankings, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    runs, qrels = dl2019(parser.parse_args().data)
    rankings, seconds = compared(runs, qrels)
    result = pk.compare_runs(qrels, rankings, metrics=METRIC, convention="trec", baseline="RRF of the eight")
    print(result.to_markdown())
    print(*result.remarks(), sep="\n")
    for pair in result.differences(METRIC, against="RRF of the eight"):
        print(f"{pair.a}: {pair.mean:+.4f} [{pair.low:+.4f}, {pair.high:+.4f}], p {pair.p_random_holm:.4f}")
    for name, (fit, score) in seconds.items():
        print(f"{name}: {1000 * fit:.0f} ms to fit, {1e6 * score:.1f} µs a document")


if __name__ == "__main__":
    main()
