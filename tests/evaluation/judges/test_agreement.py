"""Agreement of models with people."""

import json
import warnings

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from plackett.evaluation import judge_agreement
from plackett.evaluation.judges.kappa import jackknife_interval, kappa
from plackett.exceptions import DataWarning

pytestmark = pytest.mark.timeout(60)


def made(n_queries=30, n_docs=8, accuracy=0.6, seed=0):
    """Labels by people, and by a model that is right with some probability."""
    rng = np.random.default_rng(seed)
    people = {f"q{q}": {f"d{d}": int(rng.integers(4)) for d in range(n_docs)} for q in range(n_queries)}
    model = {
        qid: {d: grade if rng.random() < accuracy else int(rng.integers(4)) for d, grade in docs.items()}
        for qid, docs in people.items()
    }
    return people, model


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_scikit_learn(weights, seed):
    rng = np.random.default_rng(seed)
    people = rng.integers(4, size=300)
    model = np.where(rng.random(300) < 0.5, people, rng.integers(4, size=300))
    found = kappa(people, model, n_grades=4, weights=weights)
    assert found.value == pytest.approx(cohen_kappa_score(people, model, weights=weights, labels=range(4)), abs=1e-12)
    if weights is None:
        assert found.equal == pytest.approx(np.mean(people == model), abs=1e-12)
        rates = [np.bincount(one, minlength=4) / 300 for one in (people, model)]
        assert found.chance == pytest.approx(rates[0] @ rates[1], abs=1e-12)


def test_the_interval_of_kappa_leaves_out_one_query_at_a_time():
    rng = np.random.default_rng(1)
    queries = np.repeat(np.arange(12), 10)
    people = rng.integers(3, size=120)
    model = np.where(rng.random(120) < 0.5, people, rng.integers(3, size=120))
    found = kappa(people, model, n_grades=3, queries=queries)
    without = np.array([cohen_kappa_score(people[queries != q], model[queries != q]) for q in range(12)])
    error = np.sqrt(11 / 12 * ((without - without.mean()) ** 2).sum())
    assert (found.high - found.low) / 2 == pytest.approx(2.200985160082949 * error, abs=1e-12)  # t of 11 degrees


def test_the_jackknife_interval_of_a_mean_is_that_of_student():
    values = np.random.default_rng(0).normal(size=15)
    low, high = jackknife_interval(values.mean(), (values.sum() - values) / 14)
    half = 2.1447866879169273 * values.std(ddof=1) / np.sqrt(15)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-12)


def test_fewer_than_ten_queries_give_no_interval_and_the_reason():
    people, model = made(n_queries=9)
    found = judge_agreement(people, {"gpt": model})
    assert np.isnan(found.kappa["gpt"].low)
    assert "no intervals: people judged 9 queries, 10 are needed" in str(found)


def test_confusion_and_differences_are_those_of_a_loop():
    people, model = made()
    found = judge_agreement(people, {"gpt": model})
    counts = np.zeros((4, 4), dtype=int)
    for qid, docs in people.items():
        for docid, grade in docs.items():
            counts[grade, model[qid][docid]] += 1
    assert (found.confusion("gpt") == counts).all()
    gap = np.mean([model[q][d] - people[q][d] for q in people for d in people[q]])
    assert found.tables()[0].rows[0][-1].value == pytest.approx(gap)


def test_what_does_not_fit_is_counted_and_named():
    people, model = made()
    model["q0"]["d0"] = 10
    del model["q1"]["d3"]
    model["q99"] = {"x": 1, "y": 2}
    found = judge_agreement(people, {"gpt": model})
    text = str(found)
    assert "gpt: labels outside the scale 0, 1, 2, 3: 1 pair (10), left out, such as q0 d0" in text
    assert "gpt lacks 1 of 240 pairs that people judged, such as q1 d3" in text
    assert "gpt has 2 pairs of 1 query beyond those that people judged" in text
    assert found.tables()[0].rows[0][1] == 238


@pytest.mark.parametrize("spelling", ["{}.0", " {} ", "Q{}", "00{}"])
def test_other_spellings_of_ids_are_named(spelling):
    people, model = made()
    people = {str(n + 1): docs for n, docs in enumerate(people.values())}
    model = {str(n + 1): docs for n, docs in enumerate(model.values())}
    other = {spelling.format(qid) if int(qid) < 11 else qid: docs for qid, docs in model.items()}
    with pytest.warns(DataWarning, match="80 pairs that seem missing are there with another spelling"):
        found = judge_agreement(people, {"gpt": other})
    assert found.tables()[0].rows[0][1] == 160


def test_labels_of_other_queries_are_an_error_with_both_spellings():
    people, model = made()
    with (
        pytest.warns(DataWarning, match="another spelling"),
        pytest.raises(ValueError, match=r"shares no judged pair with people; people have q0 d0, gpt has 0\.0 d0"),
    ):
        judge_agreement(people, {"gpt": {f"{qid[1:]}.0": docs for qid, docs in model.items()}})


def test_a_single_grade_of_people_is_an_error():
    with pytest.raises(ValueError, match="the only grade 1, which no judge can agree with by more than chance"):
        judge_agreement({"q": {"a": 1, "b": 1}}, {"gpt": {"q": {"a": 1, "b": 0}}})


def test_bias_by_rank_and_by_system(recwarn):
    people, model = made(n_queries=20)
    rng = np.random.default_rng(2)
    runs = {name: {qid: {d: rng.random() for d in docs} for qid, docs in people.items()} for name in "abc"}
    # a model that likes the documents that run a has first
    for qid, docs in model.items():
        docs[max(runs["a"][qid], key=runs["a"][qid].get)] = 3
    found = judge_agreement(people, {"gpt-4": model}, runs=runs, metric="precision@1")
    ranks, systems = found.tables()[2:4]
    assert ranks.title.startswith("By best rank in any run, gpt-4 differs from people by ")
    assert ranks.rows[0][1] == "1 to 10"
    assert ranks.rows[0][2] == 160
    assert systems.rows[0][5] == "a"
    gap = {
        name: np.mean([(model[q][d] > 0) - (people[q][d] > 0.0) for q in people for d in [max(run[q], key=run[q].get)]])
        for name, run in runs.items()
    }
    assert systems.rows[0][3].value == pytest.approx(np.mean(list(gap.values())))
    assert systems.rows[0][6].value == pytest.approx(gap["a"] - np.mean(list(gap.values())))


def test_repeated_labels_and_drift(tmp_path):
    lines = [json.dumps({"query": "q1", "docid": f"d{d}", "rating": d % 2}) for d in range(6)]
    lines += [json.dumps({"query": "q1", "docid": "d0", "rating": grade}) for grade in (0, 1, None)]
    (tmp_path / "old.jsonl").write_text("\n".join(lines))
    (tmp_path / "gpt-4.jsonl").write_text("\n".join([*lines[:5], lines[0].replace("d0", "d5")]))
    people = {"q1": {f"d{d}": d % 2 for d in range(6)}}
    found = judge_agreement(people, [tmp_path / "old.jsonl", tmp_path / "gpt-4.jsonl"])
    repeated, drift = found.tables()[-2:]
    assert repeated.rows[0][:4] == ["old.jsonl", 1, 3, pytest.approx(1 / 3)]
    assert drift.title.startswith("From old.jsonl to gpt-4.jsonl, 16.7 % of the labels change, by −0.167 on average")
    assert "old.jsonl: 1 row has no label" in found.notes


def test_ratings_of_opensearch_are_read(tmp_path):
    ratings = [{"docId": "d1", "rating": "3.000"}, {"docId": "d2", "rating": "0.000"}, {"docId": "d3", "rating": "n/a"}]
    path = tmp_path / "judgments.json"
    path.write_text(json.dumps({"name": "gpt", "judgmentRatings": [{"query": "red dress", "ratings": ratings}]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = judge_agreement({"red dress": {"d1": 3, "d2": 0}}, path)
    assert found.kappa["judgments.json"].value == 1.0
    assert "judgments.json: 1 row has no label" in found.notes
    path.write_text(json.dumps({"judgmentRatings": [{"query": "red dress", "ratings": ["d1"]}]}))
    with pytest.raises(ValueError, match="a rating of query 1 is 'd1', not an object"):
        judge_agreement({"red dress": {"d1": 3, "d2": 0}}, path)


@pytest.mark.parametrize(
    ("qrels", "models"),
    [
        ("trec-dl-2019/qrels-pass.txt.gz", "trec-dl-2019/llm-labels"),
        ("llmjudge-2024/human/llmjudge_test_qrel_idx.txt.gz", "llmjudge-2024/submissions"),
    ],
)
def test_kappa_of_real_models_is_that_of_scikit_learn(shared_data, qrels, models):
    files = sorted((shared_data / models).glob("*.gz"))
    if not files:
        pytest.skip("the labels are not there")
    found = judge_agreement(shared_data / qrels, {path.name: path for path in files})
    for name, matched in found.matched.items():
        expected = cohen_kappa_score(matched.people, matched.model, labels=range(4))
        assert found.kappa[name].value == pytest.approx(expected, abs=1e-12)
    if "llmjudge" in models:
        assert any("outside the scale 0, 1, 2, 3: 1 pair (10)" in note for note in found.notes)
        assert round(found.kappa["willia-umbrela1.txt.gz"].value, 3) == 0.286  # published
