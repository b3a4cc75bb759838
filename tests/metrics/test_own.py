"""Measures of users: functions of labels in ranked order, wherever a measure is computed."""

import itertools
import json
import math
import pickle

import numpy as np
import pytest

import plackett as pk
from plackett._plugins import plugins
from plackett.metrics import Measure, make_measure, register
from plackett.metrics.registry import OWN_KINDS

DATA = pk.datasets.make_web_like(24, 12, 4, random_state=0)


@pytest.fixture(autouse=True)
def _registry_as_before():
    yield
    OWN_KINDS.clear()


def own_precision(labels, k=10):
    return float((labels[:k] >= 1).sum()) / k


def own_ndcg(labels, k=None, *, ideal):
    def dcg(order):
        order = order[:k]
        return float(((2**order - 1) / np.log2(np.arange(len(order)) + 2)).sum())

    return dcg(labels) / dcg(ideal) if ideal[0] > 0 else math.nan


def all_precisions(labels, indptr, k=10):
    place = np.arange(labels.size) - np.repeat(indptr[:-1], np.diff(indptr))
    return np.add.reduceat((labels >= 1) & (place < k), indptr[:-1]) / k


def expected_precision(labels, k=10):
    return float((labels >= 1).mean()) * min(k, len(labels)) / k


def all_ndcgs(labels, indptr, *, k=None, ideal):
    lists = zip(np.split(labels, indptr[1:-1]), ideal, strict=True)
    return [own_ndcg(own, k, ideal=best) for own, best in lists]


SCORES = [np.random.default_rng(3).random(DATA.n_docs), DATA.X[:, 0].round(1), np.zeros(DATA.n_docs)]


@pytest.mark.parametrize("own", [own_ndcg, make_measure(all_ndcgs, vectorized=True)], ids=["plain", "vectorised"])
def test_a_function_gives_what_the_same_measure_of_ours_gives(own):
    for k in (None, 1, 5):
        found = pk.evaluate(DATA, SCORES[0], metrics=[Measure(own, k), Measure("ndcg", k)], convention="gdeval")
        assert found.values[:, 0] == pytest.approx(found.values[:, 1], abs=1e-12, nan_ok=True)


def test_a_run_gives_the_retrieved_documents_and_the_ideal_all_of_them():
    rng = np.random.default_rng(0)
    names = np.array([f"d{row}" for row in range(DATA.n_docs)])
    kept = rng.random(DATA.n_docs) < 0.5
    kept &= DATA.qid != DATA.ids[3]  # a query that is not answered
    qrels, run = pk.Qrels(DATA.qid, names, DATA.y), pk.Run(DATA.qid[kept], names[kept], DATA.X[kept, 0])
    for own in (own_ndcg, make_measure(all_ndcgs, vectorized=True)):
        measures = [Measure(own, 5), Measure("ndcg", 5, empty="skip")]
        found = pk.evaluate(qrels, run, metrics=measures)
        assert found.values[:, 0] == pytest.approx(found.values[:, 1], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", range(5))
def test_few_orders_of_ties_are_averaged_exactly(seed):
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 3, 5), rng.integers(0, 2, 5)
    exact = Measure("ndcg", 3, empty="skip")(labels, scores)
    assert Measure(own_ndcg, 3, orders=1000)(labels, scores) == pytest.approx(exact, nan_ok=True)
    vectorised = make_measure(all_ndcgs, 3, vectorized=True, orders=1000)
    assert vectorised(labels, scores) == pytest.approx(exact, nan_ok=True)


def test_many_orders_of_ties_are_sampled_and_said_so():
    own, ours = Measure(own_precision, 3), Measure("p", 3, empty="skip")
    found = pk.evaluate(DATA, SCORES[2], metrics=[own, ours])
    assert found["own_precision@3"].mean() == pytest.approx(ours(DATA.y, SCORES[2], qid=DATA.qid).mean(), abs=0.02)
    assert any("own_precision: the equal scores of" in note for note in found.notes)
    finer = Measure(own_precision, 3, orders=4000)
    assert finer(DATA.y, SCORES[2], qid=DATA.qid) == pytest.approx(ours(DATA.y, SCORES[2], qid=DATA.qid), abs=0.03)


@pytest.mark.parametrize("scores", SCORES[1:])
def test_neither_the_order_of_the_rows_nor_that_of_the_queries_matters(scores):
    for own in (own_precision, make_measure(all_precisions, vectorized=True)):
        measure = Measure(own, 3)
        values = dict(zip(DATA.ids.tolist(), measure(DATA.y, scores, qid=DATA.qid), strict=True))
        shuffle = np.random.default_rng(1).permutation(DATA.n_docs)
        again = measure(DATA.y[shuffle], scores[shuffle], qid=DATA.qid[shuffle])
        for query, value in zip(dict.fromkeys(DATA.qid[shuffle].tolist()), again, strict=True):
            assert value == values[query]


def test_an_expectation_makes_the_random_order_exact():
    sampled = make_measure(own_precision, 3)
    exact = make_measure(own_precision, 3, name="exact-precision", expectation=expected_precision)
    table = pk.evaluate(DATA, SCORES[0], metrics=[sampled, exact, "p@3(empty=skip)"], reference_scores=True)
    random = table.reference_scores["random order"]
    assert random["exact-precision@3"] == pytest.approx(np.mean([
        expected_precision(DATA[place].y, 3) for place in range(DATA.n_queries)
    ]))  # fmt: skip
    assert random["own_precision@3"] == pytest.approx(random["exact-precision@3"], abs=0.02)
    marked = [note for note in table.notes if note.startswith("random order by")]
    assert marked == ["random order by own_precision@3: mean of at most 64 sampled orders of each query"]


def test_compare_select_and_early_stopping_take_a_function(tmp_path):
    grid = {"l2": [1.0, 0.01]}
    ours = pk.compare({"svm": ("ranksvm", grid)}, DATA, cv=3, metrics="p@5(empty=skip)")
    own = pk.compare({"svm": ("ranksvm", grid)}, DATA, cv=3, metrics=[make_measure(own_precision, 5), "map"])
    assert own.metrics == ["own_precision@5", "map"]
    assert [fit.params for fit in own.fits["svm"]] == [fit.params for fit in ours.fits["svm"]]
    assert "random order by own_precision@5: mean of at most 64" in str(own)
    assert str(type(own).from_dict(json.loads(own.to_json()))) == str(own)
    pk.write_report(own, tmp_path / "report.html")
    found = pk.select("ranksvm", DATA[:16], grid, validation=DATA[16:], metric=own_precision)
    assert found.best_params in [{"l2": 1.0}, {"l2": 0.01}]
    ranker = pk.LinearRanker(patience=2).fit(DATA[:16], eval_set=DATA[16:], eval_metric=own_precision)
    assert len(ranker.history_["own_precision"]) == ranker.n_iter_
    assert pk.AdaRank(metric=own_precision, n_rounds=2).fit(DATA).predict(DATA).shape == (DATA.n_docs,)
    assert ranker.score(DATA, metric=own_precision) == pytest.approx(
        np.mean(Measure(own_precision)(DATA.y, ranker.predict(DATA), qid=DATA.qid))
    )


def test_lower_is_better_is_kept_in_a_comparison():
    def first_good(labels):
        return float((labels >= 1).argmax() + 1) if (labels >= 1).any() else math.nan

    measure = make_measure(first_good, higher_is_better=False)
    result = pk.compare("regression,listmle", DATA, cv=2, metrics=[measure])
    means = {name: row["first_good"] for name, row in result.mean().items()}
    assert result.best() == min(means, key=means.get)
    assert "lower is better: first_good" in str(result)


def test_worker_processes_take_functions_and_named_lambdas(tmp_path):
    for measure, folder in ((own_precision, tmp_path), (make_measure(lambda labels: labels[0], name="top"), None)):
        options = {"cv": 2, "metrics": [measure], "folder": folder}
        first = pk.compare("regression,listmle", DATA, n_jobs=2, **options)
        assert pk.compare("regression,listmle", DATA, **options).mean() == first.mean()
    with pytest.raises(ValueError, match=r"a lambda has no name. Write make_measure\(lambda labels: ..., name="):
        pk.evaluate(DATA, SCORES[0], metrics=[lambda labels: labels[0]])
    assert pickle.loads(pickle.dumps(Measure(own_precision, 3))) == Measure(own_precision, 3)


def test_results_of_a_measure_without_a_source_file_are_not_stored(tmp_path):
    measure = make_measure(lambda labels: float(labels[0]), name="mine")
    with pytest.warns(UserWarning, match=r"ranksvm is not stored in the folder: .* has no source file of its own"):
        pk.select("ranksvm", DATA[:16], {"l2": [1.0]}, validation=DATA[16:], metric=measure, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_names_are_registered():
    register(make_measure(own_precision, name="my-precision", higher_is_better=True))
    assert pk.evaluate(DATA, SCORES[0], metrics="my-precision@3,MY_Precision@5").metrics[0] == "my-precision@3"
    assert Measure.parse("my-precision@3(orders=8)").parameters == {"orders": 8}
    with pytest.raises(ValueError, match="'ndcg' is the name of a measure of plackett"):
        make_measure(own_precision, name="ndcg")
    with pytest.raises(ValueError, match="there is no measure 'own_precision'"):
        Measure.parse("own_precision")
    with pytest.raises(ValueError, match="module:name works in the command"):
        Measure.parse("my_module:own_precision@3")


def test_a_package_adds_names(tmp_path, monkeypatch):
    (tmp_path / "far_measures.py").write_text("def top(labels, k=1):\n    return labels[:k].max()\n")
    about = tmp_path / "far-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: far\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[plackett.measures]\nfar-top = far_measures:top\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins.cache_clear()
    try:
        assert Measure.parse("far_top@2")([1, 3, 5], [3, 2, 1]) == [3.0]
    finally:
        plugins.cache_clear()


def test_a_model_file_names_no_code():
    ranker = pk.AdaRank(metric=Measure(own_precision, 3), n_rounds=2).fit(DATA)
    with pytest.raises(ValueError, match="own_precision@3 is your own measure, which a model file cannot hold"):
        ranker.save("never.plackett")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 0.0, "must take the labels of one query in ranked order"),
        (lambda labels, ties=1: 0.0, "has a parameter 'ties', which every measure already has"),
        (lambda labels, indptr: 0.0, r"needs indptr, which has no default.*vectorized=True"),
        (lambda labels: labels, r"returned an array of shape \(\d+,\) for query 1; one number is needed"),
        (lambda labels: "a", "returned 'a' for query 1; one number is needed"),
        (lambda labels: np.inf, "returned inf for query 1; return NaN"),
    ],
)
def test_what_is_wrong_with_a_function_is_named(function, message):
    with pytest.raises(ValueError, match=message):
        make_measure(function, name="mine")(DATA.y, SCORES[0], qid=DATA.qid)


def test_a_vectorised_function_of_the_wrong_shape_is_named():
    measure = make_measure(lambda labels, indptr: labels, name="mine", vectorized=True)
    with pytest.raises(ValueError, match=r"mine returned an array of shape \(\d+,\) for 24 lists"):
        measure(DATA.y, SCORES[0], qid=DATA.qid)


def test_an_error_in_a_function_names_the_query():
    with pytest.raises(ZeroDivisionError) as caught:
        make_measure(lambda labels: 1 / 0, name="mine")(DATA.y, SCORES[0], qid=DATA.qid)
    assert caught.value.__notes__ == ["in the measure mine, called with query 1"]


def test_orders_of_ties_are_the_different_ones():
    seen = []
    make_measure(lambda labels: seen.append(tuple(labels)) or 0.0, name="mine")([1, 1, 0, 2], [0, 0, 0, 5])
    assert sorted(seen) == sorted((2, *order) for order in set(itertools.permutations([1, 1, 0])))
