"""Runs are compared query by query: aligned by id, with the same tests as rankers, and nothing left out in silence."""

import json

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.compare.comparison import Comparison

QRELS = {"1": {"a": 2, "b": 1, "c": 0}, "2": {"a": 1}, "3": {"d": 1}}
BM25 = {"3": {"d": 2.0}, "1": {"b": 9.5, "x": 7.0, "a": 6.0}, "2": {"x": 4.5, "a": 1.0}}
DENSE = {"1": {"a": 0.9, "b": 0.8}, "2": {"a": 0.7, "x": 0.2}, "9": {"a": 1.0}}


@pytest.fixture(scope="module")
def large():
    """Judgements of 40 queries and three runs, the first with the least noise."""
    rng = np.random.default_rng(0)
    qrels, runs = {}, {"good": {}, "fair": {}, "poor": {}}
    for number in range(40):
        labels = {f"d{doc}": int(label) for doc, label in enumerate(rng.integers(0, 3, size=12))}
        qrels[f"q{number}"] = labels
        for place, run in enumerate(runs.values()):
            docs = rng.permutation([*labels, "u1", "u2"])[:10]
            run[f"q{number}"] = {str(doc): labels.get(doc, 0) + (1 + 2 * place) * rng.normal() for doc in docs}
    return qrels, runs


def test_a_comparison_of_runs_has_the_values_of_evaluate(large):
    qrels, runs = large
    result = pk.compare_runs(qrels, runs, metrics="ndcg@10,map,recall@5")
    assert (result.kind, list(result.tables), result.baseline) == ("run", list(runs), "good")
    for name, run in runs.items():
        alone = pk.evaluate(qrels, run, metrics="ndcg@10,map,recall@5")
        np.testing.assert_array_equal(result.tables[name].values, alone.values)
        np.testing.assert_allclose(result.evaluate(name, "map,ndcg@3")["map"], alone["map"], rtol=0, atol=1e-12)
    assert result.marks()["poor"].startswith("▼")


def test_queries_are_aligned_by_id_and_missing_ones_count_as_the_worst():
    result = pk.compare_runs(QRELS, {"bm25": BM25, "dense": DENSE}, metrics="map")
    assert result.queries.ids.tolist() == ["1", "2", "3"]
    assert result.tables["bm25"]["map"].tolist() == [(1 + 2 / 3) / 2, 1 / 2, 1]  # by hand
    assert result.tables["dense"]["map"].tolist() == [1, 1, 0]
    remarks = "\n".join(result.remarks())
    assert "dense does not answer 1 of 3 judged queries (3), which counts with the worst value" in remarks
    assert "1 query of the runs has no judgements and is left out: 9" in remarks
    assert "unjudged documents in the top 10, which count as not relevant: bm25 33.3 %, dense 25.0 %" in remarks
    assert result.hardest(1, "map")[0].qid == "3"  # the only document is relevant, and one run does not find it


@pytest.mark.parametrize("metric", ["auc", "average-rank", "kendall", "wpd", "own"])
def test_retrieving_less_is_no_gain_in_measures_of_the_whole_list(metric):
    if metric == "own":
        metric = pk.metrics.make_measure(
            lambda labels: float(np.argmax(labels > 0)), name="own", higher_is_better=False
        )
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}, "3": {"d": 1}}
    full = {"1": {"a": 2.0, "b": 1.0}, "2": {"x": 3.0, "c": 2.0, "y": 1.0}, "3": {"u": 4.0, "v": 3.0, "d": 1.0}}
    result = pk.compare_runs(qrels, {"full": full, "short": {"1": full["1"]}}, metrics=[metric])
    values = {name: table[metric] for name, table in result.tables.items()}
    assert not np.isnan(np.concatenate(list(values.values()))).any()
    worse = values["full"] - values["short"] if metric == "auc" else values["short"] - values["full"]
    assert worse[0] == worse[2] == 0.0  # d is the last document of its list in both
    assert worse[1] > 0.0
    assert result.best() == "full"
    for name, found in values.items():
        np.testing.assert_array_equal(result.evaluate(name, [metric])[metric], found)


def test_notes_are_said_once_and_those_of_one_run_too():
    assert str(pk.compare_runs(QRELS, {"dense": DENSE})).count("not answer") == 1
    assert "not answered" not in str(pk.compare_runs(QRELS, {"dense": DENSE}))
    docs = {f"d{i}": i % 3 for i in range(12)}
    first = pk.metrics.make_measure(lambda labels: labels[0], name="first")
    runs = {"ties": {"1": dict.fromkeys(docs, 1.0)}, "none": {"1": {doc: i for i, doc in enumerate(docs)}}}
    note = "ties: first: the equal scores of 1 query are averaged over random orders"
    assert note in str(pk.compare_runs({"1": docs}, runs, metrics=[first]))


def test_equal_means_have_no_lead():
    same = pk.compare_runs(QRELS, {"a": BM25, "b": BM25})
    assert same.headline() == ["a and b are equally good by ndcg@10, with 0.7732."]
    assert pk.compare_runs(QRELS, {"a": BM25, "b": BM25, "c": DENSE}).headline()[0].startswith("a is the best")


def test_unanswered_queries_are_left_out_for_all_runs():
    result = pk.compare_runs(QRELS, {"bm25": BM25, "dense": DENSE}, metrics="map", complete=False)
    assert [len(table) for table in result.tables.values()] == [2, 2]
    assert result.tables["dense"].queries.tolist() == result.queries.ids.tolist() == ["1", "2"]
    assert "dense does not answer 1 of 3 judged queries (3), which is left out for all runs" in result.remarks()
    with pytest.raises(ValueError, match="no judged query is answered by every run"):
        pk.compare_runs(QRELS, {"a": {"1": {"a": 1}}, "b": {"2": {"a": 1}}}, complete=False)


def test_runs_come_as_objects_files_and_dicts(tmp_path):
    pk.write_qrels(pk.Qrels.from_dict(QRELS), tmp_path / "qrels")
    pk.write_trec_run(pk.Run.from_dict(BM25), tmp_path / "bm25.run", tag="bm25")
    named = pk.compare_runs(QRELS, {"bm25": BM25, "dense": DENSE}).mean()
    listed = pk.compare_runs(tmp_path / "qrels", [tmp_path / "bm25.run", pk.Run.from_dict(DENSE, tag="dense")])
    assert listed.mean() == named
    assert listed.settings["qrels"] == str(tmp_path / "qrels")


def test_scores_of_queries_are_compared_by_row():
    data = pk.datasets.make_web_like(20, 8, 3, random_state=0)
    data = data[::-1]
    rng = np.random.default_rng(0)
    mixed = rng.permutation(data.n_docs)
    shuffled = pk.Queries(data.X[mixed], data.y[mixed], data.qid[mixed])
    scores = {"close": shuffled.y + rng.normal(size=data.n_docs), "noise": rng.normal(size=data.n_docs)}
    result = pk.compare_runs(shuffled, scores, metrics="ndcg@5")
    for name, values in scores.items():
        assert result.mean()[name] == pk.evaluate(shuffled, values, metrics="ndcg@5").mean()
        assert result.evaluate(name, "ndcg@5").mean() == result.mean()[name]
    assert list(result.reference_scores) == ["random order"]


@pytest.mark.parametrize(
    ("qrels", "runs", "message"),
    [
        (QRELS, [pk.Run.from_dict(BM25), pk.Run.from_dict(DENSE)], "several runs have the tag 'plackett'; pass a map"),
        (QRELS, {"a": {"q1": {"a": 1.0}}}, "a answers none of the 3 judged queries; the qrels have '1', the run 'q1'"),
        (QRELS, {"best": BM25}, "'best' is a reserved name in a comparison"),
        (QRELS, [], "there are no runs to compare"),
        ({}, {"a": BM25}, "the qrels have no judgements"),
    ],
)
def test_errors_say_what_to_do(qrels, runs, message):
    with pytest.raises(ValueError, match=message):
        pk.compare_runs(qrels, runs)


def test_one_run_without_a_name_is_an_error():
    with pytest.raises(TypeError, match=r'One run alone also needs a name: \{"name": run\}'):
        pk.compare_runs(QRELS, BM25)
    with pytest.raises(ValueError, match="baseline='c'; it is not among the runs a, b"):
        pk.compare_runs(QRELS, {"a": BM25, "b": DENSE}, baseline="c")


def test_a_stored_comparison_of_runs_gives_the_same_report(tmp_path):
    pytest.importorskip("matplotlib")
    result = pk.compare_runs(QRELS, {"bm25": BM25, "dense": DENSE}, metrics="ndcg@10,map")
    restored = Comparison.from_dict(json.loads(result.to_json()))
    pages = [pk.write_report(one, tmp_path / "report.html").read_text(encoding="utf-8") for one in (result, restored)]
    assert pages[0] == pages[1]
    assert "Comparison of 2 runs" in pages[0]
    assert "seconds" not in pages[0].split("<main>")[1].split("</main>")[0].lower()
    assert "ranker" not in pages[0].split("<main>")[1].split("</main>")[0]
    assert ",null]" in pages[0]  # a document that the other run did not retrieve


def test_subtopics_reach_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    qrels = pk.Qrels.from_subtopics(["1", "1", "1", "2"], ["x", "y", "x", "x"], ["a", "b", "c", "a"], [1, 1, 1, 1])
    runs = {"one": {"1": {"a": 3.0, "c": 2.0, "u": 1.0}, "2": {"a": 1.0}}, "two": {"1": {"a": 3.0, "b": 2.0}}}
    result = pk.compare_runs(qrels, runs, metrics="alpha-ndcg@5")
    assert result.evaluate("two", "alpha-ndcg@5").mean() == result.mean()["two"]
    assert "alpha-ndcg@k" in pk.write_report(result, tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.peer
def test_means_are_those_of_ir_measures(large):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, runs = large
    runs = {**runs, "few": dict(list(runs["fair"].items())[:30])}
    ours = pk.compare_runs(qrels, runs, metrics="map,mrr", convention="trec").mean()
    for name, run in runs.items():
        theirs = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.RR], qrels, run)
        assert ours[name]["map"] == pytest.approx(theirs[ir_measures.AP], abs=1e-9)
        assert ours[name]["mrr"] == pytest.approx(theirs[ir_measures.RR], abs=1e-9)
