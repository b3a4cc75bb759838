"""Evaluation by people's judgements of some queries and a model's of all."""

import re
from html import unescape

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.judges.corrected import read_chances
from plackett.evaluation.judges.estimates import THIS_SET, Sample, corrected_means
from plackett.exceptions import DataWarning
from plackett.report.html import report_html

pytestmark = pytest.mark.timeout(60)
N_QUERIES, N_DOCS = 40, 12


def made(n_human=20, seed=0):
    """People's judgements of some queries, all of them, a model's of all, and two runs."""
    rng = np.random.default_rng(seed)
    truth = {f"q{q}": {f"d{d}": int(rng.integers(4)) for d in range(N_DOCS)} for q in range(N_QUERIES)}
    model = {q: {d: min(3, grade + int(rng.random() < 0.4)) for d, grade in docs.items()} for q, docs in truth.items()}
    runs = {
        name: {q: {d: grade + noise * rng.normal() for d, grade in docs.items()} for q, docs in truth.items()}
        for name, noise in (("old", 4.0), ("new", 2.0))
    }
    human = {q: truth[q] for q in rng.permutation(list(truth))[:n_human].tolist()}
    return human, truth, model, runs


def test_evaluate_has_the_corrected_mean_beside_people_and_model():
    human, _, model, runs = made()
    result = pk.evaluate(human, runs["new"], metrics="ndcg@5", model_labels=model, sampled="random")
    people = pk.evaluate(human, runs["new"], metrics="ndcg@5")
    every = pk.evaluate(model, runs["new"], metrics="ndcg@5")
    by_model = dict(zip(every.queries.tolist(), every["ndcg@5"].tolist(), strict=True))
    first = np.array([by_model[qid] for qid in people.queries.tolist()])
    rest = np.array([value for qid, value in by_model.items() if qid not in human])
    sample = Sample.at_random(people["ndcg@5"][:, None], first[:, None], rest[:, None])
    found, expected = result.corrected.estimates["corrected"], corrected_means(sample)
    assert found.mean[0] == pytest.approx(expected.mean[0], abs=1e-12)
    assert result.corrected.estimates["model"].mean[0] == pytest.approx(every.mean()["ndcg@5"])
    assert result.mean() == people.mean()
    assert "20 of 40 queries" in str(result)
    assert "queries like these" in str(result)
    assert result.to_dict()["corrected"]["tables"][0]["rows"][0][2] == pytest.approx(found.mean[0])


def test_compare_runs_has_corrected_differences_from_the_baseline():
    human, truth, model, runs = made()
    result = pk.compare_runs(
        human, runs, metrics="ndcg@5,mrr", model_labels=model, sampled="random", estimand=THIS_SET, baseline="old"
    )
    means, differences = result.corrected.tables()
    assert [row[:2] for row in means.rows] == [[run, m] for run in ("old", "new") for m in ("ndcg@5", "mrr")]
    assert [row[:2] for row in differences.rows] == [["new", "ndcg@5"], ["new", "mrr"]]
    assert "this set of queries" in means.title
    exact = pk.compare_runs(truth, runs, metrics="ndcg@5").mean()
    for name, row in zip(("old", "new"), means.rows[::2], strict=True):
        assert row[3] < exact[name]["ndcg@5"] < row[4]
    assert differences.rows[0][3] > 0
    assert means.title in result.notes
    assert str(result).startswith(means.title)


def test_if_people_judged_every_query_nothing_is_asked_and_the_set_is_known():
    _, truth, model, runs = made()
    result = pk.evaluate(truth, runs["new"], metrics="ndcg@5", model_labels=model, estimand=THIS_SET)
    row = result.corrected.tables()[0].rows[0]
    assert row[2:5] == pytest.approx([pk.evaluate(truth, runs["new"], metrics="ndcg@5").mean()["ndcg@5"]] * 3)


def test_how_the_queries_were_chosen_is_asked():
    human, _, model, runs = made()
    with pytest.raises(ValueError, match="how were the queries that people judged chosen"):
        pk.evaluate(human, runs["new"], model_labels=model)
    with pytest.raises(ValueError, match="people judged 20 of the 40 queries"):
        pk.evaluate(human, runs["new"], model_labels=model, sampled="all")
    with pytest.raises(TypeError, match="model_labels, which is missing"):
        pk.evaluate(human, runs["new"], sampled="random")
    with pytest.raises(TypeError, match="model_labels, which is missing"):
        pk.compare_runs(human, runs, sampled="random")


def test_head_queries_get_no_interval_and_the_reason():
    human, _, model, runs = made()
    found = pk.evaluate(human, runs["new"], model_labels=model, sampled="head").corrected
    assert np.isnan(found.estimates["corrected"].low).all()
    assert np.isnan(found.estimates["people"].high).all()
    assert "no intervals: the judged queries were chosen, not drawn by chance" in str(found)


def test_fewer_than_ten_queries_get_no_interval():
    human, _, model, runs = made(n_human=9)
    found = pk.compare_runs(human, runs, model_labels=model, sampled="random").corrected
    assert np.isnan(found.estimates["corrected"].low).all()
    assert "no intervals: people judged 9 queries, 10 are needed" in str(found)
    assert "without an interval." in found.tables()[1].title


def test_sampled_documents_are_refused_with_the_reason():
    human, _, model, runs = made()
    with pytest.raises(ValueError, match="Let people judge whole lists of fewer queries"):
        pk.evaluate(human, runs["new"], model_labels=model, sampled="documents")
    some = {qid: dict(list(docs.items())[:4]) for qid, docs in human.items()}
    with pytest.raises(ValueError, match=r"people did not judge \d+ % of the top 10 .* ideal of the whole list"):
        pk.evaluate(some, runs["new"], model_labels=model, sampled="random")


def test_documents_that_people_left_unjudged_are_counted():
    human, _, model, runs = made()
    del human[next(iter(human))][max(runs["new"][next(iter(human))], key=runs["new"][next(iter(human))].get)]
    with pytest.warns(DataWarning, match="unjudged by people in the top 5, which count as not relevant: scores 1.0 %"):
        pk.evaluate(human, runs["new"], metrics="ndcg@5", model_labels=model, sampled="random")


def test_queries_without_labels_of_the_model_are_left_out_with_a_warning():
    human, _, model, runs = made()
    first, second = list(human)[:2]
    del model[first]
    model[f"0{second[1:]}"] = model.pop(second)  # "q7" became "07"
    with pytest.warns(DataWarning) as caught:
        found = pk.evaluate(human, runs["new"], model_labels=model, sampled="random").corrected
    texts = " ".join(str(one.message) for one in caught)
    assert f"left out: 2 queries that people judged and the model did not ({first} and {second})" in texts
    assert "another spelling of ids" in texts
    assert found.n_queries == (18, 39)


def test_a_judge_without_variance_has_weight_0_and_the_answer_of_people():
    human, _, model, runs = made()
    flat = {qid: dict.fromkeys(docs, 1) for qid, docs in model.items()}
    found = pk.evaluate(human, runs["new"], metrics="ndcg@5", model_labels=flat, sampled="random").corrected
    row = found.tables()[0].rows[0]
    assert row[-1] == 0.0
    assert row[2:5] == pytest.approx(row[5:8], abs=1e-12)
    assert "weight 0, people alone" in str(found)


def test_known_probabilities_are_read_and_checked(tmp_path):
    human, _, model, runs = made()
    path = tmp_path / "chances.csv"
    path.write_text("query,probability\n" + "".join(f"{qid},0.5\n" for qid in model))
    assert read_chances(path)["q3"] == 0.5
    drawn = pk.evaluate(human, runs["new"], model_labels=model, sampled=path).corrected.estimates["corrected"]
    random = pk.evaluate(human, runs["new"], model_labels=model, sampled="random").corrected.estimates["corrected"]
    assert drawn.low == pytest.approx(random.low)
    with pytest.raises(ValueError, match="sampled has no probability for 20 queries"):
        pk.evaluate(human, runs["new"], model_labels=model, sampled={})
    with pytest.raises(ValueError, match="the probability 2; it must be above 0, at most 1"):
        pk.evaluate(human, runs["new"], model_labels=model, sampled=dict.fromkeys(human, 2.0))
    path.write_text("query,weight\nq1,2\n")
    with pytest.raises(ValueError, match="expected the columns query and probability; found query, weight"):
        pk.evaluate(human, runs["new"], model_labels=model, sampled=path)


def test_conventions_that_skip_queries_and_incomplete_sets_are_refused():
    human, _, model, runs = made()
    human[next(iter(human))] = dict.fromkeys(human[next(iter(human))], 0)
    with pytest.raises(ValueError, match="leaves out queries without relevant documents"):
        pk.evaluate(human, runs["new"], metrics="ndcg@5(empty=skip)", model_labels=model, sampled="random")
    with pytest.raises(ValueError, match="a query that a run does not answer counts"):
        pk.compare_runs(human, runs, model_labels=model, sampled="random", complete=False)
    with pytest.raises(ValueError, match="chosen on the same queries"):
        pk.compare_runs(human, runs, model_labels=model, sampled="random", baseline="best")


def test_labels_of_other_queries_are_an_error():
    human, _, model, runs = made()
    with pytest.raises(ValueError, match="the model has no query that people judged"):
        pk.evaluate(
            human, runs["new"], model_labels={f"x{qid}x": docs for qid, docs in model.items()}, sampled="random"
        )


def test_the_published_interval_is_at_hand():
    human, _, model, runs = made()
    found = pk.evaluate(human, runs["new"], metrics="ndcg@5", model_labels=model, sampled="random", interval="normal")
    found = found.corrected
    assert (found.estimates["corrected"].low < found.estimates["corrected"].mean).all()


def test_queries_of_the_runs_without_labels_are_counted():
    human, _, model, runs = made()
    del model[next(qid for qid in model if qid not in human)]
    found = pk.evaluate(human, runs["new"], model_labels=model, sampled="random").corrected
    assert "1 query of the runs without labels by the model left out" in found.notes


def test_the_notebook_and_the_report_answer_as_the_printed_table_does():
    human, _, model, runs = made()
    result = pk.compare_runs(human, runs, metrics="ndcg@5", model_labels=model, sampled="random", baseline="old")
    means, differences = result.corrected.tables()
    assert result._repr_html_() == result.corrected._repr_html_()
    page = report_html(result)
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)[1]
    assert unescape(lead) == f"{means.title} {differences.title}"
    assert '<dl class="cards">' not in page  # verdicts by people alone
    assert page.index('id="corrected"') < page.index("alone</h2>")
    for row in (*means.rows, *differences.rows):
        assert f"{row[2]:.4f}".lstrip("-") in page


def test_a_comparison_from_json_says_that_its_correction_is_not_restored():
    human, _, model, runs = made()
    result = pk.compare_runs(human, runs, metrics="ndcg@5", model_labels=model, sampled="random", baseline="old")
    with pytest.warns(DataWarning, match="those of people alone"):
        again = type(result).from_dict(result.to_dict())
    assert again.mean() == result.mean()
    assert result.corrected.headline() in again.notes
