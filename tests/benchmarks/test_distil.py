"""The benchmark of distillation, on made runs of the form of DL 2019."""

import numpy as np
import pytest

import plackett as pk
from benchmarks.distil import compared, table_of


def made_runs(n_queries=15, n_docs=30):
    """Return two runs that see half of what the teacher sees, the teacher, and judgements by what it sees."""
    draws = np.random.default_rng(0)
    parts = {"a": {}, "b": {}, "teacher": {}}
    grades = {}
    for query in map(str, range(n_queries)):
        names = [f"d{number}" for number in range(n_docs)]
        a, b = draws.normal(size=(2, n_docs))
        for run, scores in (("a", a), ("b", b), ("teacher", a + b)):
            parts[run][query] = dict(zip(names, scores.tolist(), strict=True))
        grades[query] = {name: int(value > 1) for name, value in zip(names, a + b, strict=True)}
    return {name: pk.Run.from_dict(run) for name, run in parts.items()}, pk.Qrels.from_dict(grades)


def test_candidates_have_scores_and_ranks_of_each_run_and_labels_of_the_teacher():
    run = pk.Run.from_dict({"1": {"x": 3.0, "y": 1.0}})
    other = pk.Run.from_dict({"1": {"y": 8.0, "z": 7.0}})
    teacher = pk.Run.from_dict({"1": {"x": -5.0, "y": -1.0}})
    data = table_of({"run": run, "other": other}, teacher)
    assert data.docid.tolist() == ["x", "y", "z"]
    assert data.X.tolist() == [[3, 1, 7, 0], [1, 1 / 2, 8, 1], [1, 0, 7, 1 / 2]]
    assert data.y.tolist() == [0.0, 1.0, 0.0]
    assert table_of({"run": run, "other": other}, teacher, depth=1).docid.tolist() == ["x", "y"]


def test_a_student_whose_features_hold_what_the_teacher_sees_ranks_as_it_does():
    pytest.importorskip("lightgbm")
    runs, qrels = made_runs()
    rankings, seconds = compared(runs, qrels, "teacher", ["a", "b"])
    found = pk.compare_runs(qrels, rankings, metrics="ndcg@10", convention="trec").mean()
    value = {name: row["ndcg@10"] for name, row in found.items()}
    assert value["the teacher on the candidates"] == pytest.approx(1.0)
    assert value["linear, squared; teacher"] > 0.97
    assert value["a"] < 0.85
    assert set(seconds) == {name for name in rankings if ";" in name}
