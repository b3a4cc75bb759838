"""Tables of measures: what goes in, what comes out, references, qrels with a run."""

import csv
import io
import json
import math
from itertools import permutations

import numpy as np
import pytest

import plackett as pk
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.evaluation.evaluate import evaluate_every_convention
from plackett.metrics.conventions import CONVENTIONS
from plackett.metrics.measure import Measure

LABELS, SCORES, QID = [2, 0, 1, 0, 1, 0, 0], [0.9, 0.4, 0.1, 0.7, 0.2, 0.1, 0.3], [1, 1, 1, 2, 2, 3, 3]


def test_means_are_keyed_by_the_names_as_given():
    result = pk.evaluate(LABELS, SCORES, qid=QID, metrics=["NDCG@10", "AP", Measure("p", 2)])
    assert list(result.mean()) == ["NDCG@10", "AP", "p@2"]
    assert result["AP"] == pytest.approx([(1 + 2 / 3) / 2, 1 / 2, 0])
    assert result.mean()["AP"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2 + 0) / 3)


def test_one_metric_may_be_given_as_text():
    assert list(pk.evaluate(LABELS, SCORES, qid=QID, metrics="map").mean()) == ["map"]


def test_empty_queries_are_counted_and_reported():
    result = pk.evaluate(LABELS, SCORES, qid=QID, metrics=["map"])
    assert result.n_empty == {"map": 1}
    assert "1 query has no relevant document, or is too short, and counts 0" in str(result)
    skipped = pk.evaluate(LABELS, SCORES, qid=QID, metrics=["map(empty=skip)"])
    assert math.isnan(skipped["map(empty=skip)"][2])
    assert skipped.mean()["map(empty=skip)"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 2)


def test_all_queries_left_out_give_a_mean_of_nan():
    assert math.isnan(pk.evaluate([0, 0], [1, 2], metrics=["map(empty=skip)"]).mean()["map(empty=skip)"])


def test_queries_of_any_row_order_and_kind_come_back_in_order_of_appearance():
    shuffle = [6, 0, 3, 1, 5, 4, 2]
    names = {1: ("a", 1), 2: "b", 3: 3.5}
    result = pk.evaluate(
        [LABELS[i] for i in shuffle],
        [SCORES[i] for i in shuffle],
        qid=[names[QID[i]] for i in shuffle],
        metrics=["map"],
    )
    assert result.queries.tolist() == [3.5, ("a", 1), "b"]
    assert result["map"] == pytest.approx([0, (1 + 2 / 3) / 2, 1 / 2])


def test_a_queries_object_brings_its_ids_along():
    data = pk.Queries(np.arange(7.0).reshape(-1, 1), LABELS, QID)
    result = pk.evaluate(data, SCORES, metrics=["map"])
    assert result["map"] == pytest.approx(pk.evaluate(LABELS, SCORES, qid=QID, metrics=["map"])["map"])
    with pytest.raises(ValueError, match="qid names a column of a table, but data is a Queries"):
        pk.evaluate(data, SCORES, qid=QID)
    with pytest.raises(ValueError, match="have no labels"):
        pk.evaluate(pk.Queries(data.X, qid=QID), SCORES)


def test_files_are_read_and_scores_follow_the_order_of_their_rows(tmp_path):
    rows, scores = ["1 qid:a 1:1", "0 qid:b 1:2", "0 qid:a 1:3", "1 qid:b 1:4"], [0.9, 0.8, 0.1, 0.2]
    (tmp_path / "torn.txt").write_text("\n".join(rows) + "\n")
    found = pk.evaluate(tmp_path / "torn.txt", scores, metrics="map", reference_scores=True)
    assert found["map"].tolist() == [1.0, 0.5]
    assert "best feature" in found.reference_scores
    assert pk.evaluate(str(tmp_path / "torn.txt"), scores, metrics="map").queries.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="scores has 3 values but there are 4 labels"):
        pk.evaluate(tmp_path / "torn.txt", scores[:3])
    with pytest.raises(ValueError, match=r"qid names a column of a table, but data is .*not a CSV"):
        pk.evaluate(tmp_path / "torn.txt", scores, qid="query")
    with pytest.raises(FileNotFoundError, match="absent"):
        pk.evaluate("absent.parquet", scores)


def test_wrong_arguments_are_explained():
    with pytest.raises(ValueError, match="metrics is empty; name at least one"):
        pk.evaluate(LABELS, SCORES, qid=QID, metrics=[])
    with pytest.raises(ValueError, match="metrics names 'map' twice"):
        pk.evaluate(LABELS, SCORES, qid=QID, metrics=["map", "map"])
    with pytest.raises(KeyError, match="'ndcg' was not evaluated; the measures are map"):
        pk.evaluate(LABELS, SCORES, qid=QID, metrics=["map"])["ndcg"]
    with pytest.raises(TypeError, match="scores is a list; a Run, a path or"):
        pk.evaluate(Qrels(["1"], ["a"], [1]), [0.5])


def test_exports_hold_the_convention_and_the_values():
    result = pk.evaluate(LABELS, SCORES, qid=QID, metrics=["ndcg@2", "map(empty=skip)"], convention="letor4")
    plain = json.loads(result.to_json())
    assert plain["convention"] == "letor4"
    assert plain["queries"][2] == {"qid": 3, "ndcg@2": 0.0, "map(empty=skip)": None}
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [float(row["ndcg@2"]) for row in rows] == result["ndcg@2"].tolist()
    assert {row["convention"] for row in rows} == {"letor4"}
    assert result.to_markdown().splitlines()[0] == "| letor4 | ndcg@2 | map(empty=skip) |"
    assert r"letor4 & ndcg@2 & map(empty=skip) \\" in result.to_latex()
    assert "letor4" in repr(result)
    assert "letor4" in str(result)
    frame = result.to_frame()
    assert frame.index.tolist() == [1, 2, 3]
    assert frame.attrs["convention"] == "letor4"
    assert frame["ndcg@2"].tolist() == result["ndcg@2"].tolist()


def test_latex_escapes_what_latex_reads():
    assert r"max\_label=4" in pk.evaluate([1, 0], [1, 2], metrics=["err@5(max_label=4)"]).to_latex()


METRICS = [
    "ndcg@2",
    "map",
    "mrr",
    "p@2",
    "recall@2",
    "err@3",
    "mre",
    "persistence@2",
    "exact",
    "sharp-ndcg",
    "mean-ndcg",
]


@pytest.mark.parametrize("convention", ["standard", "letor4", "sklearn"])
def test_the_random_reference_is_the_mean_over_all_orders(convention):
    labels = [2, 0, 1, 1, 0]
    result = pk.evaluate(labels, np.arange(5), metrics=METRICS, convention=convention, reference_scores=True)
    sums = dict.fromkeys(METRICS, 0.0)
    for order in permutations(range(5)):
        for name, value in pk.evaluate(labels, order, metrics=METRICS, convention=convention).mean().items():
            sums[name] += value / 120
    assert result.reference_scores["random order"] == pytest.approx(sums, abs=1e-12)


def test_the_random_reference_agrees_with_the_closed_forms():
    labels = np.array([3, 2, 0, 0, 1, 0])
    reference = pk.evaluate(labels, labels, metrics=["ndcg@3", "p@4"], reference_scores=True).reference_scores[
        "random order"
    ]
    gains, discounts = 2.0**labels - 1, 1 / np.log2(np.arange(2, 8))
    ideal = (np.sort(gains)[::-1] * discounts)[:3].sum()
    assert reference["ndcg@3"] == pytest.approx(gains.mean() * discounts[:3].sum() / ideal)
    assert reference["p@4"] == pytest.approx((labels > 0).mean())


def test_the_best_feature_is_found_in_either_direction():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    X = np.column_stack([rng.random(60), -labels + 0.3 * rng.random(60), np.full(60, 2.0)])
    data = pk.Queries(X, labels, np.repeat(np.arange(6), 10), feature_names=["noise", "age", "constant"])
    result = pk.evaluate(data, rng.random(60), metrics=["ndcg@5", "kendall"], reference_scores=True)
    assert result.best_features == {"ndcg@5": "age (ascending)", "kendall": "age (ascending)"}
    assert result.reference_scores["best feature"] == {"ndcg@5": 1.0, "kendall": 0.0}
    assert result.to_dict()["best_features"]["kendall"] == "age (ascending)"


def test_a_constant_feature_is_worth_no_more_than_a_random_order():
    data = pk.Queries(np.ones((6, 1)), [3, 2, 2, 1, 0, 0], [7] * 6)  # the best documents stand first in the file
    references = pk.evaluate(
        data, range(6), metrics=["ndcg@3", "kendall", "map"], reference_scores=True, convention="trec"
    ).reference_scores
    assert references["best feature"] == pytest.approx(references["random order"])


def test_missing_feature_values_rank_last():
    data = pk.Queries([[np.nan], [1.0], [2.0]], [0, 1, 2], [7, 7, 7])
    assert (
        pk.evaluate(data, [1, 2, 3], metrics=["exact"], reference_scores=True).reference_scores["best feature"]["exact"]
        == 1
    )


def qrels_and_run():
    qrels = Qrels(["1", "1", "1", "2", "2", "3"], ["a", "b", "c", "a", "b", "z"], [2, 0, 1, 1, 0, 1])
    run = Run(["1", "1", "1", "2", "9"], ["b", "a", "x", "b", "a"], [3.0, 2.0, 1.0, 1.0, 1.0])
    return qrels, run


def test_documents_that_were_not_retrieved_count_in_ideals_only():
    qrels, run = qrels_and_run()
    result = pk.evaluate(
        qrels, run, metrics=["ndcg@10(gain=linear)", "map", "recall@10", "p@2", "mrr"], convention="trec"
    )
    assert result.queries.tolist() == ["1", "2"]
    # query 1 is answered by b, a, x with labels 0, 2, none; c, which is relevant, was not found
    ideal = 2 + 1 / math.log2(3)
    assert result.values[0] == pytest.approx([2 / math.log2(3) / ideal, (1 / 2) / 2, 1 / 2, 1 / 2, 1 / 2])
    assert result.values[1] == pytest.approx([0, 0, 0, 0, 0])
    assert any("1 judged query is not answered by the run; it is left out" in note for note in result.notes)
    assert any("1 query of the run has no judgements" in note for note in result.notes)


def test_unanswered_queries_count_with_the_worst_value():
    qrels, run = qrels_and_run()
    result = pk.evaluate(qrels, run, metrics=["map", "kendall", "persistence@1", "exact"], complete=True)
    assert result.queries.tolist() == ["1", "2", "3"]
    assert result.values[2] == pytest.approx([0, 0, 0, 0])  # a single document has no pairs: kendall is empty, hence 0
    assert result.n_empty["kendall"] == 1
    unanswered = pk.evaluate(
        Qrels(["1", "1"], ["a", "b"], [1, 0]), Run(["2"], ["a"], [1.0]), metrics=["kendall", "exact"]
    )
    assert unanswered.values[0] == pytest.approx([1, 0])


def test_order_measures_put_what_was_not_retrieved_below_the_rest():
    qrels = Qrels(["1"] * 4, list("abcd"), [3, 2, 1, 0])
    run = Run(["1", "1"], ["b", "a"], [2.0, 1.0])
    result = pk.evaluate(qrels, run, metrics=["kendall", "mre(ties=worst)"])
    # b above a is wrong; c and d stand below in random order, whatever the rule for ties: wrong with one half
    assert result.values[0] == pytest.approx([1.5 / 6, 1.5 / 6])


@pytest.mark.parametrize("metric", ["kendall", "mre", "persistence@5", "sharp-ndcg", "exact", "wpd"])
def test_the_order_of_the_qrels_earns_a_run_nothing(metric):
    docid, labels = [f"d{i}" for i in range(9, -1, -1)], list(range(9, -1, -1))
    run = Run(["1"], ["d0"], [1.0])
    best_first = pk.evaluate(Qrels(["1"] * 10, docid, labels), run, metrics=[metric])
    worst_first = pk.evaluate(Qrels(["1"] * 10, docid[::-1], labels[::-1]), run, metrics=[metric])
    assert best_first.values[0, 0] == pytest.approx(worst_first.values[0, 0], abs=1e-12)
    if metric == "persistence@5":
        # d0 first, then four of the nine others at random, five of which belong to the true top
        assert best_first.values[0, 0] == pytest.approx(4 * (5 / 9) / 5)


def test_not_answering_is_never_better_than_the_worst_answer():
    qrels = Qrels(["1"] * 5, list("abcde"), [4, 4, 4, 0, 0])
    reversed_run = Run(["1"] * 5, list("abcde"), [1.0, 2.0, 3.0, 4.0, 5.0])
    for metric in ["wpd", "wpd(normalize=True)", "kendall", "mre"]:
        answered = pk.evaluate(qrels, reversed_run, metrics=[metric]).values[0, 0]
        unanswered = pk.evaluate(qrels, Run(["2"], ["a"], [1.0]), metrics=[metric]).values[0, 0]
        assert unanswered == pytest.approx(answered)


def test_every_convention_is_tried_and_a_reason_given_where_one_cannot_apply():
    results = evaluate_every_convention([1, 0], [0.5, 0.5], metrics=["ndcg@10"])
    assert list(results) == list(CONVENTIONS)
    assert "document id" in results["trec"]
    assert results["sklearn"].mean()["ndcg@10"] == pytest.approx((1 + 1 / math.log2(3)) / 2)


def test_the_nine_conventions_disagree_on_the_same_scores():
    rng = np.random.default_rng(2)
    qid = np.repeat(np.arange(40), rng.integers(2, 20, 40))
    labels = np.where(rng.random(qid.size) < 0.15, rng.integers(1, 5, qid.size), 0)
    scores = rng.integers(0, 4, qid.size) / 3 + 1e-9 * rng.random(qid.size)
    docid = np.array([f"d{i}" for i in rng.permutation(qid.size)])
    results = evaluate_every_convention(labels, scores, qid=qid, docid=docid, metrics=["ndcg@10"])
    values = {name: round(result.mean()["ndcg@10"], 6) for name, result in results.items()}
    assert len(set(values.values())) >= 7, values


def test_the_note_on_empty_queries_says_what_each_measure_does():
    skipped = pk.evaluate(LABELS, SCORES, qid=QID, metrics=["ndcg@10(empty=skip)"])
    assert skipped.notes == ["1 query has no relevant document, or is too short, and is left out"]
    mixed = pk.evaluate(LABELS, SCORES, qid=QID, metrics=["map", "p@5", "kendall"], convention="xgboost")
    assert mixed.notes == [
        "map: 1 query has no relevant document, or is too short, and counts 1",
        "p@5: 1 query has no relevant document, or is too short, and counts 0",
    ]


def test_a_measure_that_breaks_ties_by_document_id_gets_the_ids_of_a_queries():
    data = pk.Queries(np.zeros((2, 1)), [1, 0], [7, 7], docid=["a", "b"])
    result = pk.evaluate(data, [0.5, 0.5], metrics=["mrr(ties=trec)", "mrr"])
    assert result.values[0].tolist() == [0.5, 0.75]


def test_values_are_found_under_any_name_of_the_measure():
    result = pk.evaluate(LABELS, SCORES, qid=QID, metrics="ndcg@10, p@2")
    assert result["NDCG@10"].tolist() == result[Measure("ndcg", 10)].tolist() == result["ndcg@10"].tolist()
    assert result["precision@2"].tolist() == result["p@2"].tolist()


def test_dictionaries_are_taken_as_qrels_and_run():
    qrels, run = qrels_and_run()
    result = pk.evaluate(qrels.to_dict(), run.to_dict(), metrics=["map"], convention="trec")
    assert result["map"].tolist() == pk.evaluate(qrels, run, metrics=["map"], convention="trec")["map"].tolist()


def test_arguments_that_would_be_ignored_are_refused():
    qrels, run = qrels_and_run()
    with pytest.raises(ValueError, match="qid was given, but qrels and a run have their own ids"):
        pk.evaluate(qrels, run, qid=[1, 2])
    with pytest.raises(ValueError, match="complete was given, but complete is an option for qrels and a run"):
        pk.evaluate(LABELS, SCORES, qid=QID, complete=True)


def test_unjudged_documents_are_not_measured_by_accident():
    data = pk.Queries(np.zeros((3, 1)), [1, np.nan, 0], [7, 7, 7])
    with pytest.raises(ValueError, match=r"1 document of these queries is not judged \(label NaN\). Leave them out"):
        pk.evaluate(data, [1, 2, 3])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_results_do_not_depend_on_the_size_of_blocks(monkeypatch, convention):
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(50), rng.integers(1, 30, 50))
    labels, scores = rng.integers(0, 4, qid.size), rng.integers(0, 9, qid.size)
    labels[qid < 40] = np.minimum(labels[qid < 40], 2)  # the largest label stands in the last blocks only
    arguments = {
        "qid": qid,
        "docid": rng.permutation(qid.size),
        "metrics": ["ndcg@5", "err@10", "map(ties=average)", "kendall", "wpd"],
        "convention": convention,
    }
    whole = pk.evaluate(labels, scores, **arguments).values
    monkeypatch.setattr("plackett.metrics.judged_lists.DOCS_PER_BLOCK", 40)
    assert np.array_equal(pk.evaluate(labels, scores, **arguments).values, whole, equal_nan=True)


def test_the_largest_label_is_that_of_all_qrels_even_of_queries_left_out():
    qrels = Qrels(["1", "1", "2"], ["a", "b", "c"], [1, 0, 4])
    run = Run(["1"], ["a"], [1.0])
    for complete in (True, False):
        result = pk.evaluate(qrels, run, metrics=["err@10"], complete=complete)
        assert result.values[0, 0] == pytest.approx(1 / 16)


@pytest.mark.parametrize("make", ["list", "pandas", "polars", "pyarrow", "array"])
def test_columns_of_every_kind_are_taken(make):
    kinds = {"list": list, "array": np.array}
    if make not in kinds:
        module = pytest.importorskip(make)
        kinds[make] = module.array if make == "pyarrow" else module.Series
    column = kinds[make]
    result = pk.evaluate(column(LABELS), column(SCORES), qid=column(QID), metrics=["map"])
    assert result["map"] == pytest.approx([(1 + 2 / 3) / 2, 1 / 2, 0])
    assert pk.Queries(np.zeros((7, 1)), column(LABELS), column(QID)).y.tolist() == LABELS


def test_a_convention_says_when_its_tool_would_refuse_the_labels():
    notes = pk.evaluate([0.5, 0], [1, 2], metrics=["ndcg"], convention="lightgbm").notes
    assert "lightgbm itself accepts only integer labels up to 30; some labels are not" in notes
    assert pk.evaluate([30, 0], [1, 2], metrics=["ndcg"], convention="lightgbm").notes == []
    assert pk.evaluate([-2, 4], [1, 2], metrics=["ndcg"], convention="gdeval").notes == []


def test_measures_may_come_from_a_generator():
    assert list(pk.evaluate(LABELS, SCORES, qid=QID, metrics=(name for name in ["map", "mrr"])).mean()) == [
        "map",
        "mrr",
    ]


def test_odd_ids_survive_every_export():
    ids = ["a,b", 'say "x"', "two\nlines", "cr\rx", "ünï", "\udcff", "back\\slash"]
    result = pk.evaluate([1] * 7, range(7), qid=ids, metrics=["map"])
    assert [row[0] for row in csv.reader(io.StringIO(result.to_csv(), newline=""))][1:] == ids
    assert [row["qid"] for row in json.loads(result.to_json().encode())["queries"]] == ids


def test_columns_of_a_parquet_file_and_scores_with_an_index(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"query": [1, 1, 2, 2], "grade": [1, 0, 0, 2], "bm25": [0.1, 0.3, 0.2, 0.9]})
    frame.to_parquet(tmp_path / "log.parquet")
    expected = pk.evaluate(frame, "bm25", qid="query", label="grade").mean()
    assert pk.evaluate(tmp_path / "log.parquet", "bm25", qid="query", label="grade").mean() == expected
    assert pk.evaluate(frame, "grade", qid="query", label="grade").mean()["ndcg@10"] == 1.0
    mixed = frame.sample(frac=1, random_state=1)
    assert pk.evaluate(mixed, "bm25", qid="query", label="grade").mean() == expected
    assert pk.evaluate(mixed, mixed["bm25"], qid="query", label="grade").mean() == expected
    with pytest.raises(ValueError, match=r"index of the frame in a different order. Pass scores.loc\[frame.index\]"):
        pk.evaluate(mixed, frame["bm25"], qid="query", label="grade")


def test_a_ranker_in_place_of_scores_is_named():
    with pytest.raises(TypeError, match=r"scores is a LinearRanker; pass its scores: evaluate\(data, ranker\.predict"):
        pk.evaluate([1, 0], pk.LinearRanker(), qid=[1, 1])
