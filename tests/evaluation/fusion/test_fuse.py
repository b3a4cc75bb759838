"""Learned fusion: weights, the verdict, and inputs that do not fit."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import plackett as pk
from plackett.data.trec.pool import PooledRuns
from plackett.evaluation.fusion.engines import engine_scores
from plackett.evaluation.fusion.learned import FAMILIES, RESAMPLES, Weighting, WeightLearner
from plackett.exceptions import DataWarning
from plackett.metrics.conventions import get_convention
from plackett.metrics.measure import Measure


def noisy(seed, noise, n_queries=40, n_docs=30):
    """Runs whose scores are a truth plus noise, and judgements of the truth."""
    rng, qrels = np.random.default_rng(seed), {}
    runs = {f"run {place}": {} for place in range(len(noise))}
    for query in range(n_queries):
        truth = rng.normal(size=n_docs)
        grades = np.digitize(truth, [0.8, 1.6])
        grades[0] = 1
        qrels[f"q{query}"] = {f"d{doc}": int(grade) for doc, grade in enumerate(grades)}
        for place, spread in enumerate(noise):
            values = truth + spread * rng.normal(size=n_docs)
            runs[f"run {place}"][f"q{query}"] = {f"d{doc}": float(value) for doc, value in enumerate(values)}
    return runs, qrels


@pytest.fixture(scope="module")
def alike():
    """The fusion of three equally noisy runs, which pays."""
    return pk.fuse(*noisy(0, [1.0, 1.0, 1.0]))


def test_averaging_noise_away_pays(alike):
    assert alike.pays
    assert alike.headline().startswith(("Fuse, by weighted rrf: ndcg@10 gains +", "Fuse, by a weighted sum of min-max"))
    assert sum(alike.weights.values()) == pytest.approx(1.0)
    assert min(alike.weights.values()) > 0.1
    gain = alike.gains["run 0"]
    assert gain.low > 0
    assert gain.p_random_holm < 0.01
    shown = str(alike).splitlines()
    assert shown[1].split() == ["ndcg@10", "gain", "of", "fusing", "p"]
    assert "40 judged queries, each fused by weights of the others" in str(alike)


def test_noisy_copies_of_a_clean_run_are_refused():
    fused = pk.fuse(*noisy(1, [0.0, 1.0, 1.0]))
    assert not fused.pays
    assert fused.headline().startswith("Do not fuse: use run 0.")
    assert fused.weights["run 0"] > 0.8


def test_the_verdict_is_that_of_weights_learned_without_the_query(alike):
    runs, qrels = noisy(0, [1.0, 1.0, 1.0])
    pool = PooledRuns({name: pk.Run.from_dict(run) for name, run in runs.items()}, pk.Qrels.from_dict(qrels))
    learner = WeightLearner(pool, Measure.parse("ndcg@10"), 0)
    n = learner.queries.size
    fold = np.random.default_rng(0).permutation(np.arange(n) % 5)
    expected = {}
    for number in range(5):
        values = learner.values(learner.fit(np.flatnonzero(fold != number)))
        for place in np.flatnonzero(fold == number):
            expected[str(pool.ids[learner.queries[place]])] = values[place]
    table = alike.comparison.tables["fused"]
    found = dict(zip(table.queries.tolist(), table["ndcg@10"].tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-12)


def test_intervals_reach_as_far_as_those_of_the_exported_weights(alike):
    runs, qrels = noisy(0, [1.0, 1.0, 1.0])
    exported = pk.compare_runs(qrels, {"exported": alike.run, **runs}, metrics="ndcg@10")
    own = {pair.b: pair for name in runs for pair in exported.differences(against=name) if pair.a == "exported"}
    for pair in alike.comparison.differences(against="fused"):
        gain, of_folds = alike.gains[pair.a], pair.reversed()
        assert (gain.mean, gain.p_random_holm) == (of_folds.mean, of_folds.p_random_holm)
        if pair.a in own:
            ends = min(of_folds.low, own[pair.a].low), max(of_folds.high, own[pair.a].high)
            assert (gain.low, gain.high) == pytest.approx(ends)
        else:
            assert gain.low <= of_folds.low < of_folds.high <= gain.high
    fixed = pk.fuse(runs, qrels, method="combsum")
    for pair in fixed.comparison.differences(against="fused"):
        assert (fixed.gains[pair.a].low, fixed.gains[pair.a].high) == pytest.approx((-pair.high, -pair.low))


def test_values_of_a_weighting_equal_evaluate():
    runs, qrels = noisy(2, [1.0, 0.5])
    del qrels["q3"]
    runs["run 0"]["q1"].pop("d4")
    pool = PooledRuns({name: pk.Run.from_dict(run) for name, run in runs.items()}, pk.Qrels.from_dict(qrels))
    for convention in ("standard", "trec"):
        measure = Measure.parse("ndcg@5").under(get_convention(convention))
        learner = WeightLearner(pool, measure, 0)
        for family in FAMILIES:
            weighting = Weighting(family, np.array([0.3, 0.7]))
            fused = pool.run_of(learner.scores(weighting), "fused")
            table = pk.evaluate(pk.Qrels.from_dict(qrels), fused, metrics="ndcg@5", convention=convention)
            few = learner.values(weighting, np.array([1, 3, 38]))
            found = dict(zip(pool.ids[learner.queries].tolist(), learner.values(weighting).tolist(), strict=True))
            np.testing.assert_array_equal(few, learner.values(weighting)[[1, 3, 38]])
            assert found == pytest.approx(dict(zip(table.queries.tolist(), table["ndcg@5"].tolist(), strict=True)))


@pytest.mark.parametrize("strength", [0.5, 4.0])
@pytest.mark.parametrize("noise", [[1.0, 0.8], [0.6, 1.0, 1.0, 2.0]])
def test_weights_are_the_mean_over_resamples_of_the_largest_bounds(strength, noise):
    runs, qrels = noisy(5, noise, n_queries=12)
    pool = PooledRuns({name: pk.Run.from_dict(run) for name, run in runs.items()}, pk.Qrels.from_dict(qrels))
    learner = WeightLearner(pool, Measure.parse("ndcg@10").under(get_convention("standard")), 0)
    candidates = learner._candidates(np.arange(12))
    base = learner.values(candidates[0])

    def bound(candidate, counts):
        gains = learner.values(candidate) - base
        drawn = [gain for gain, count in zip(gains, counts, strict=True) for _ in range(count)] + [-max(abs(gains))]
        return np.mean(drawn) - strength * np.std(drawn, ddof=1) / np.sqrt(len(drawn))

    resamples = np.random.default_rng(0).multinomial(12, np.full(12, 1 / 12), size=RESAMPLES)
    taken = [max(candidates, key=lambda one: round(bound(one, counts), 12)) for counts in resamples]
    votes = [one.family for one in taken if one is not candidates[0]]
    family = "rrf" if votes.count("rrf") > votes.count("min-max") else "min-max"
    own = [candidates[0], *(one for one in candidates[1:] if one.family == family)]
    taken = [max(own, key=lambda one: round(bound(one, counts), 12)) for counts in resamples]
    found = learner.fit(np.arange(12), strength)
    assert found.family == family
    np.testing.assert_allclose(found.weights, np.mean([one.weights for one in taken], axis=0), atol=1e-12)
    assert found.weights.sum() == pytest.approx(1.0)


def test_few_judgements_leave_the_baseline_alone():
    """One query says nothing that its own error does not exceed."""
    runs, qrels = noisy(3, [1.0, 1.2])
    few = {query: qrels[query] for query in list(qrels)[:3]}
    fused = pk.fuse(runs, few)
    assert fused.pays is None
    assert fused.gains == {}
    assert "no verdict: 3 queries are judged; a verdict needs 5" in str(fused)
    assert fused.weights["run 0"] >= 0.5
    alone = pk.fuse(runs, {"q0": qrels["q0"]})
    assert alone.weights == {"run 0": 1.0, "run 1": 0.0}


def test_the_order_of_the_files_has_no_influence(alike):
    runs, qrels = noisy(0, [1.0, 1.0, 1.0])
    backwards = {name: dict(reversed(run.items())) for name, run in runs.items()}
    again = pk.fuse(backwards, dict(reversed(qrels.items())))
    assert again.weights == alike.weights
    assert again.gains["run 0"].mean == pytest.approx(alike.gains["run 0"].mean, abs=1e-15)


def test_a_lower_measure_is_minimised():
    runs, qrels = noisy(0, [2.0, 0.5])
    fused = pk.fuse(runs, qrels, metric="average-rank")
    assert fused.weights["run 1"] > 0.4
    assert fused.gains["run 0"].mean < 0


def test_fixed_rules_are_measured_too():
    runs, qrels = noisy(0, [1.0, 1.0, 1.0])
    fused = pk.fuse(runs, qrels, method="rrf")
    assert set(fused.gains) == {"run 0", fused.best}
    assert fused.weights == dict.fromkeys(runs, 1.0)
    direct = pk.compare_runs(qrels, {"fused": fused.run, "run 0": runs["run 0"]}, metrics="ndcg@10").mean()
    assert fused.comparison.mean()["fused"] == direct["fused"]


def test_a_window_counts_the_first_documents():
    runs, qrels = noisy(0, [1.0, 1.0])
    cut = {
        name: {query: dict(sorted(docs.items(), key=lambda item: -item[1])[:5]) for query, docs in run.items()}
        for name, run in runs.items()
    }
    for options in ({"method": "rrf"}, {"method": "combsum"}):
        found = pk.fuse(runs, **options, window=5).run.to_dict()
        assert found == pk.fuse(cut, **options).run.to_dict()
    windowed, whole = pk.fuse(runs, qrels, window=5), pk.fuse(cut, qrels)
    assert windowed.weights == whole.weights


@pytest.mark.parametrize("method", [None, "combsum", pk.LinearRanker(l2=1e-2)])
def test_documents_beyond_the_window_are_not_in_the_fused_run(method):
    runs, qrels = noisy(0, [1.0, 1.0])
    assert len(pk.fuse(runs, qrels, window=2, method=method).run) <= 2 * 2 * 40


@pytest.mark.parametrize("method", ["rrf", "combsum", "combmnz", "borda", "isr"])
def test_judgements_do_not_change_a_fixed_rule(method):
    runs, qrels = noisy(0, [1.0, 1.0])
    runs = {name: {query: dict(list(docs.items())[place * 5 : 12]) for query, docs in run.items()}
            for place, (name, run) in enumerate(runs.items())}  # fmt: skip
    assert pk.fuse(runs, qrels, method=method).run.to_dict() == pk.fuse(runs, method=method).run.to_dict()


def test_fixed_rules_need_five_queries_for_a_verdict():
    runs, qrels = noisy(0, [1.0, 1.0])
    fused = pk.fuse(runs, {"q0": qrels["q0"]}, method="rrf")
    assert fused.pays is None
    assert "no verdict: 1 query is judged; a verdict needs 5" in str(fused)


def test_the_headline_names_the_gain_that_may_be_chance():
    fused = pk.fuse(*noisy(0, [1.5, 1.0, 1.0]), method="combsum")
    assert fused.pays
    assert fused.best != fused.baseline
    fused.gains[fused.baseline] = replace(fused.gains[fused.baseline], p_random_holm=0.2)
    gain = fused.gains[fused.baseline].mean
    assert fused.headline() == (
        f"Do not fuse yet: use {fused.best}. The gain of {gain:+.4f} over run 0 may be chance (p 0.2000); about "
        f"{fused.queries_for(gain)} judged queries would show it."
    )


def test_queries_for_a_gain_and_the_learning_curve(alike):
    gain = alike.gains["run 0"].mean
    needed = alike.queries_for(gain)
    assert 2 <= needed <= 40
    assert alike.queries_for(gain / 2) == pytest.approx(4 * needed, abs=4)
    with pytest.raises(ValueError, match="gain=0; it must be a finite number other than 0"):
        alike.queries_for(0)
    curve = alike.learning_curve([5, 20], n_draws=5)
    assert [row[0] for row in curve.rows] == [5, 20]
    assert curve.rows[1][1] > 0


def test_a_ranker_learns_weights_that_depend_on_the_query():
    runs, qrels = noisy(0, [1.0, 1.0, 1.0])
    fused = pk.fuse(runs, qrels, method=pk.LinearRanker(l2=1e-2))
    assert fused.pays
    assert fused.weights == {}
    with pytest.raises(ValueError, match="depend on the query, but Elasticsearch takes one weight for each run"):
        fused.export("elasticsearch")
    with pytest.raises(ValueError, match="pass qrels"):
        pk.fuse(runs, method=pk.LinearRanker())
    with pytest.raises(ValueError, match="and no weights"):
        pk.fuse(runs, qrels, method=pk.LinearRanker(), weights=[1.0, 1.0, 1.0])


def test_a_ranker_warns_once_of_queries_that_no_run_answers():
    runs, qrels = noisy(0, [1.0, 1.0])
    with pytest.warns(DataWarning, match="2 judged queries are answered by no run") as found:
        pk.fuse(runs, {**qrels, "x": {"d": 1}, "y": {"d": 1}}, method=pk.LinearRanker(l2=1e-2))
    assert len(found) == 1


@pytest.mark.parametrize(("options", "message"), [({"cv": 1}, "at least 2"), ({"k": 20.0}, "k=60, as engines do")])
def test_settings_that_learned_weights_cannot_have_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        pk.fuse(*noisy(0, [1.0, 1.0]), **options)


def test_from_runs_gives_features():
    runs = {"a": {"1": {"x": 3.0, "y": 1.0}, "2": {"z": 1.0}}, "b": {"1": {"y": 0.5, "w": 0.25}}}
    queries = pk.from_runs(runs, {"1": {"y": 2, "gone": 1}})
    assert queries.ids.tolist() == ["1"]
    assert dict(zip(queries.docid.tolist(), queries.labels.tolist(), strict=True)) == {"y": 2.0, "x": 0.0, "w": 0.0}
    row = queries.X[queries.docid.tolist().index("y")]
    np.testing.assert_allclose(row, [1 / 62, 0.0, 1.0, 1 / 61, 1.0, 1.0, 1.0, 3.0])
    assert pk.from_runs(runs).ids.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("runs", "qrels", "message"),
    [
        ({"a": {"1": {"x": 1.0}}}, None, "at least two runs; a is the only one"),
        ({"a": {"1": {"x": 1.0}}, "b": {"2": {"x": 1.0}}}, None, "no query in common: a has '1'; b has '2'"),
        ({"a": {"1": {"x": 1.0}}, "rrf": {"1": {"x": 1.0}}}, None, "'rrf' is a reserved name"),
        ({"a": {"1": {"x": 1.0}}, "b": {}}, None, "b has no documents"),
        ({"a": {"1": {"x": np.nan}}, "b": {"1": {"x": 1.0}}}, None, "NaN"),
        ({"a": {"1": {"x": np.inf, "y": 0.0}}, "b": {"1": {"x": 1.0}}}, {"1": {"x": 1}}, "a has an infinite score"),
        ({"a": {"1": {"x": 1.0}}, "b": {"1": {"x": 1.0}}}, {"1.0": {"x": 1}}, r"the qrels have '1.0', the runs '1'"),
        ({"a": {"1": {"x": 1.0}}, "b": {"1": {"x": 1.0}}}, {"1": {"x": 0}}, "no document is judged relevant"),
        ({"a": {"1": {"d7": 1.0}}, "b": {"1": {"d7": 1.0}}}, {"1": {"7": 1}}, "the qrels have '7', the runs 'd7'"),
    ],
)
def test_inputs_that_do_not_fit_are_named(runs, qrels, message):
    with pytest.raises(ValueError, match=message):
        pk.fuse(runs, qrels)


def test_a_document_twice_is_refused():
    with pytest.raises(ValueError, match="retrieves document 'x' twice"):
        pk.fuse({"a": pk.Run([1, 1], ["x", "x"], [2, 1]), "b": {"1": {"x": 1.0}}})


def test_ids_of_documents_that_never_meet_are_named():
    text = str(pk.fuse({"a": {"1": {"7": 1.0}}, "b": {"1": {"7.0": 1.0}}}, method="rrf"))
    assert "no document is in two runs (the first ones are '7', '7.0'); ids are compared as text" in text


@pytest.mark.parametrize("scores", [{"x": np.inf, "y": 1.0}, {"x": 1.7e308, "y": -1.7e308}])
def test_scores_that_overflow_sums_are_refused(scores):
    with pytest.raises(ValueError, match="Use ranks"):
        pk.fuse({"a": {"1": scores}, "b": {"1": {"x": 1.0}}}, method="combsum")


def test_equal_learned_weights_are_shown(alike):
    alike_weights = replace(alike, run_weights=np.full(3, 1 / 3))
    assert "weights: run 0 0.333, run 1 0.333, run 2 0.333" in str(alike_weights)


def test_remarks_name_what_is_lost():
    runs, qrels = noisy(0, [1.0, 1.0])
    runs["run 1"] = {query: dict(list(docs.items())[:5]) for query, docs in list(runs["run 1"].items())[:39]}
    qrels["q0"]["nowhere"] = 2
    text = str(pk.fuse(runs, qrels))
    assert "1 query is answered by one run only" in text
    assert "the runs differ in depth" in text
    assert "relevant documents are in no run" in text
    only = {query: {doc: 1 for doc, label in docs.items() if label} for query, docs in noisy(0, [1.0])[1].items()}
    assert "all judgements have the label 1" in str(pk.fuse(noisy(0, [1.0, 1.0])[0], only))


# requests of engines


def test_requests_have_the_weights_and_the_window():
    fused = pk.fuse(noisy(0, [1.0, 1.0, 1.0])[0], method="combsum", weights=[2.0, 1.0, 1.0])
    elastic = json.loads(fused.export("elasticsearch"))["retriever"]["linear"]
    assert elastic["rank_window_size"] == 30
    assert [part["normalizer"] for part in elastic["retrievers"]] == ["minmax"] * 3
    assert [part["weight"] for part in elastic["retrievers"]] == [0.5, 0.25, 0.25]
    opensearch = json.loads(fused.export("opensearch"))
    processor = opensearch["search_pipeline"]["phase_results_processors"][0]["normalization-processor"]
    assert processor["combination"]["parameters"]["weights"] == [0.5, 0.25, 0.25]
    plain = json.loads(fused.export())
    assert plain["weights"] == fused.weights
    assert plain["method"] == "combsum"


def test_learned_weights_are_exported(alike):
    request = json.loads(alike.export("elasticsearch"))["retriever"]
    parts = request.get("linear", request.get("rrf"))["retrievers"]
    assert sum(part["weight"] for part in parts) == pytest.approx(1.0)


def test_notebooks_escape_names_of_runs():
    page = pk.fuse({"<a>": {"1": {"x": 1.0}}, "b": {"1": {"x": 1.0}}})._repr_html_()
    assert "&lt;a&gt; and b" in page


def test_the_scores_of_engines_are_those_of_their_formulas():
    run = {"bm25": pk.Run([1] * 3, ["a", "b", "c"], [9.0, 5.0, 1.0]), "dense": pk.Run([1], ["c"], [0.3])}
    pool, weights = PooledRuns(run), np.array([0.75, 0.25])
    found = {key: engine_scores(pool, *key, weights, 20).tolist() for key in product(("elasticsearch", "opensearch"),
             ("min-max", "rrf"))}  # fmt: skip
    assert found["elasticsearch", "min-max"] == pytest.approx([0.75, 0.375, 0.25])
    assert found["opensearch", "min-max"] == pytest.approx([0.75, 0.375, 0.25 + 0.75 * 0.001])
    rrf = [0.75 / 21, 0.75 / 22, 0.75 / 23 + 0.25 / 21]
    assert found["elasticsearch", "rrf"] == found["opensearch", "rrf"] == pytest.approx(rrf)


def test_rrf_is_a_retriever_of_its_own():
    runs, _ = noisy(0, [1.0, 1.0])
    fused = pk.fuse(runs, method="rrf", weights=[0.25, 0.75], k=20)
    form = json.loads(fused.export("elasticsearch"))["retriever"]["rrf"]
    assert form["rank_constant"] == 20
    assert [part["weight"] for part in form["retrievers"]] == [0.25, 0.75]
    ranker = json.loads(fused.export("opensearch"))["search_pipeline"]["phase_results_processors"][0]
    assert ranker["score-ranker-processor"]["combination"]["rank_constant"] == 20


def test_orders_of_an_engine_that_differ_are_counted():
    runs, qrels = noisy(0, [1.0, 1.0, 1.0])
    fused = pk.fuse(runs, qrels)
    with pytest.warns(DataWarning, match=r"Elasticsearch orders the first 10 documents of \d+ queries of 40 otherwise"):
        fused.export("elasticsearch", window=3)


@pytest.mark.parametrize(
    ("options", "engine", "window", "message"),
    [
        ({"k": 0.0}, "elasticsearch", None, "at least 1 as rank constant"),
        ({"weights": [1.0] + [0.0] * 5}, "elasticsearch", None, "all of the weight is on run 0"),
        ({}, "opensearch", None, "takes at most 5 queries, but 6 runs have weights"),
        ({}, "elasticsearch", 0, "window=0"),
        ({"window": 5}, "elasticsearch", 9, "fused with window=5"),
    ],
)
def test_requests_that_an_engine_refuses_are_not_written(options, engine, window, message):
    fused = pk.fuse(noisy(0, [1.0] * 6, 3)[0], method="rrf", **options)
    with pytest.raises(ValueError, match=message):
        fused.export(engine, window=window)


def test_the_smallest_weights_have_shares():
    fused = pk.fuse(noisy(0, [1.0, 1.0])[0], weights=[1e-13, 1e-13])
    assert '"weight": 0.5' in fused.export("elasticsearch")


@pytest.mark.parametrize("options", [{"method": "isr"}, {"method": "combsum", "absent": "min"}])
def test_engines_lack_other_rules(options):
    fused = pk.fuse(noisy(0, [1.0, 1.0])[0], **options)
    with pytest.raises(ValueError, match="OpenSearch fuses by weighted sums of min-max scores and by rrf"):
        fused.export("opensearch")
    assert json.loads(fused.export())["method"] == options["method"]


def test_given_weights_on_one_run_are_not_called_a_finding():
    fused = pk.fuse(*noisy(0, [1.0, 1.0]), method="combsum", weights=[1.0, 0.0])
    assert "favour no mixture" not in str(fused)
    assert "favour no mixture" in str(pk.fuse(*noisy(1, [0.0, 1.5])))
