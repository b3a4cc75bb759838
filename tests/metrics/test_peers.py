"""Agreement with the field's own tools under the convention that bears their name.

Random lists with ties, empty queries and short lists; where a tool cannot take one of these it is named in the test.
"""

import importlib
import warnings

import numpy as np
import pytest

import plackett as pk
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run

pytestmark = pytest.mark.peer


def tool(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed")


def lists(seed, *, n_queries=60, longest=30, levels=4, score_levels=6, dtype=np.float64):
    """Labels with many zeros, so that queries without a relevant document occur; scores with many ties."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, n_queries)
    lengths[:6] = (1, 2, 3, 60, 80, 700)  # beyond 512 the order is found in another way
    qid = np.repeat(np.arange(n_queries), lengths)
    rarity = np.repeat(rng.random(n_queries) ** 2, lengths)
    labels = np.where(rng.random(qid.size) < rarity, rng.integers(0, levels, qid.size), 0)
    scores = rng.integers(0, score_levels, qid.size).astype(dtype) / 3
    docid = np.array([f"d{number}" for number in rng.permutation(qid.size)])
    assert (np.bincount(qid, labels > 0) == 0).any()
    return labels, scores, qid, docid


def as_run(labels, scores, qid, docid, *, unretrieved=0.0, seed=0):
    """Qrels and a run; with a share unretrieved, the run lacks judged documents and a query, and has unjudged ones."""
    rng = np.random.default_rng(seed)
    kept = rng.random(qid.size) >= unretrieved
    judged = np.ones(qid.size, dtype=bool)
    if unretrieved:
        kept &= qid != 7
        judged = rng.random(qid.size) < 0.8
    qrels = Qrels(qid[judged].astype(str), docid[judged], labels[judged])
    run = Run(qid[kept].astype(str), docid[kept], scores[kept])
    return qrels, run


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unretrieved", [0.0, 0.3])
def test_trec_equals_pytrec_eval(seed, unretrieved):
    pytrec_eval = tool("pytrec_eval")
    qrels, run = as_run(*lists(seed), unretrieved=unretrieved)
    names = {
        "map": "map",
        "recip_rank": "mrr",
        "ndcg": "ndcg",
        "ndcg_cut_10": "ndcg@10",
        "P_5": "p@5",
        "recall_10": "recall@10",
        "map_cut_10": "map@10",
        "success_1": "success@1",
        "success_5": "hit@5",
        "Rprec": "r-precision",
        "bpref": "bpref",
        "infAP": "infap",
    }
    wanted = {"map", "recip_rank", "ndcg", "ndcg_cut", "P", "recall", "map_cut", "success", "Rprec", "bpref", "infAP"}
    judge = pytrec_eval.RelevanceEvaluator(qrels.to_dict(), wanted)
    theirs = judge.evaluate(run.to_dict())
    ours = pk.evaluate(qrels, run, metrics=list(names.values()), convention="trec")
    assert set(ours.queries.tolist()) == set(theirs)
    for their_name, our_name in names.items():
        expected = [theirs[query][their_name] for query in ours.queries.tolist()]
        assert ours[our_name] == pytest.approx(expected, abs=1e-9), our_name


@pytest.mark.parametrize("seed", range(3))
def test_negative_labels_are_pooled_but_not_judged_as_in_pytrec_eval(seed):
    pytrec_eval = tool("pytrec_eval")
    labels, scores, qid, docid = lists(seed)
    labels[np.random.default_rng(seed).random(labels.size) < 0.4] = -1
    qrels, run = as_run(labels, scores, qid, docid, unretrieved=0.3)
    theirs = pytrec_eval.RelevanceEvaluator(qrels.to_dict(), {"bpref", "infAP", "Rprec"}).evaluate(run.to_dict())
    ours = pk.evaluate(qrels, run, metrics="bpref,infap,r-precision", convention="trec")
    for their_name, our_name in {"bpref": "bpref", "infAP": "infap", "Rprec": "r-precision"}.items():
        expected = [theirs[query][their_name] for query in ours.queries.tolist()]
        assert ours[our_name] == pytest.approx(expected, abs=1e-9), our_name


@pytest.mark.parametrize("seed", range(2))
def test_trec_equals_ir_measures(seed):
    ir_measures = tool("ir_measures")
    qrels, run = as_run(*lists(seed), unretrieved=0.2)
    names = {
        "AP": "map",
        "RR": "mrr",
        "nDCG@10": "ndcg@10",
        "P@5": "p@5",
        "R@10": "recall@10",
        "AP(rel=2)": "map(relevant_from=2)",
        "Success@5": "success@5",
        "Rprec": "r-precision",
        "Bpref": "bpref",
        "Bpref(rel=2)": "bpref(relevant_from=2)",
        "infAP": "infap",
    }
    parsed = {ir_measures.parse_measure(theirs): ours for theirs, ours in names.items()}
    table = ir_measures.iter_calc(list(parsed), qrels.to_dict(), run.to_dict())
    theirs = {(row.query_id, parsed[row.measure]): row.value for row in table}
    # ir-measures lists the queries without an answer too, with 0
    ours = pk.evaluate(qrels, run, metrics=list(names.values()), convention="trec", complete=True)
    for name in names.values():
        expected = [theirs.get((query, name), 0.0) for query in ours.queries.tolist()]
        assert ours[name] == pytest.approx(expected, abs=1e-9), name


@pytest.mark.parametrize("seed", range(2))
def test_gdeval_equals_the_script(seed):
    ir_measures = tool("ir_measures")
    provider = importlib.import_module("ir_measures.providers.gdeval_provider").GdevalProvider()
    try:
        provider.initialize()
    except RuntimeError as error:
        pytest.skip(f"gdeval.pl cannot run: {error}")
    qrels, run = as_run(*lists(seed, levels=5), unretrieved=0.2)
    measures = {
        ir_measures.parse_measure("nDCG(dcg='exp-log2')@10"): "ndcg@10",
        ir_measures.parse_measure("ERR@10"): "err@10",
    }
    theirs = {}
    for row in provider.iter_calc(list(measures), qrels.to_dict(), run.to_dict()):
        theirs[row.query_id, measures[row.measure]] = row.value
    ours = pk.evaluate(qrels, run, metrics=list(measures.values()), convention="gdeval")
    for name in measures.values():
        listed = {
            query: value for query, value in zip(ours.queries.tolist(), ours[name], strict=True) if value == value
        }
        # the script prints five digits, and only queries with a relevant document that the run answers
        printed = {query: value for (query, other), value in theirs.items() if other == name and value == value}
        answered = set(run.qid.tolist())
        assert {query for query in printed if query in answered and query in listed} == set(listed)
        for query, value in listed.items():
            assert value == pytest.approx(printed[query], abs=5.1e-6), (name, query)


def without_ties(scores):
    """Return other scores in the same order; ranx orders equal scores by an unstable sort, which we do not repeat."""
    return np.argsort(np.argsort(-scores, kind="stable")) * -1.0


@pytest.mark.filterwarnings("ignore:unsafe cast")
@pytest.mark.parametrize("seed", range(2))
def test_ranx_equals_ranx(seed):
    ranx = tool("ranx")
    labels, scores, qid, docid = lists(seed)
    qrels, run = as_run(labels, without_ties(scores), qid, docid)
    their_qrels, their_run = ranx.Qrels(qrels.to_dict()), ranx.Run(run.to_dict())
    names = {
        "ndcg@10": "ndcg@10",
        "ndcg": "ndcg",
        "map": "map",
        "map@10": "map@10",
        "mrr": "mrr",
        "precision@5": "p@5",
        "recall@10": "recall@10",
        "hit_rate@5": "success@5",
        "hit_rate": "success",
        "r-precision": "r-precision",
    }
    ours = pk.evaluate(qrels, run, metrics=list(names.values()), convention="ranx")
    for theirs, name in names.items():
        expected = ranx.evaluate(their_qrels, their_run, theirs)
        per_query = {query: their_run.scores[theirs][query] for query in ours.queries.tolist()}
        assert ours.mean()[name] == pytest.approx(float(expected), abs=1e-9), name
        assert ours[name] == pytest.approx(list(per_query.values()), abs=1e-9), name
    runs = {"one": run, "other": Run(run.qid, run.docid, np.roll(run.scores, 1))}
    their_runs = [ranx.Run(one.to_dict(), name=name) for name, one in runs.items()]
    report = ranx.compare(their_qrels, their_runs, ["map", "mrr"], stat_test="student")
    compared = pk.compare_runs(qrels, runs, metrics="map,mrr", convention="ranx")
    for name in compared.metrics:
        expected = report.comparisons[frozenset(runs)][name]["p_value"]
        assert compared.differences(name)[0].p_t == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [3, 10, None])
def test_sklearn_equals_ndcg_score(seed, k):
    sklearn_metrics = tool("sklearn.metrics")
    labels, scores, qid, _ = lists(seed)
    ours = pk.evaluate(labels, scores, qid=qid, metrics=["ndcg" if k is None else f"ndcg@{k}"], convention="sklearn")
    for place, query in enumerate(ours.queries.tolist()):
        rows = qid == query
        if rows.sum() > 1:  # ndcg_score refuses a single document
            expected = sklearn_metrics.ndcg_score([labels[rows]], [scores[rows]], k=k)
            assert ours.values[place, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore:unsafe cast")
@pytest.mark.parametrize("seed", range(2))
def test_ranx_has_the_same_rank_biased_precision(seed):
    ranx = tool("ranx")
    labels, scores, qid, docid = lists(seed)
    qrels, run = as_run((labels > 0).astype(int), without_ties(scores), qid, docid)  # its RBP multiplies by the label
    their_qrels, their_run = ranx.Qrels(qrels.to_dict()), ranx.Run(run.to_dict())
    ours = pk.evaluate(qrels, run, metrics="rbp(p=0.8),rbp(p=0.5)", convention="ranx")
    for theirs, name in {"rbp.80": "rbp(p=0.8)", "rbp.50": "rbp(p=0.5)"}.items():
        ranx.evaluate(their_qrels, their_run, theirs)
        expected = np.array([their_run.scores[theirs][query] for query in ours.queries.tolist()])
        assert ours[name] == pytest.approx(expected, abs=1e-9), name


@pytest.mark.filterwarnings("ignore:Only one class")
def test_auc_equals_roc_auc_score():
    sklearn_metrics = tool("sklearn.metrics")
    labels, scores, qid, _ = lists(4)
    ours = pk.evaluate(labels, scores, qid=qid, metrics=["auc"], convention="sklearn")
    for place, query in enumerate(ours.queries.tolist()):
        rows = qid == query
        expected = sklearn_metrics.roc_auc_score(labels[rows] > 0, scores[rows])
        assert ours.values[place, 0] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.filterwarnings("ignore:No positive class")
def test_sklearn_equals_average_precision_score():
    sklearn_metrics = tool("sklearn.metrics")
    labels, scores, qid, _ = lists(4)
    ours = pk.evaluate(labels, scores, qid=qid, metrics=["map"], convention="sklearn")
    for place, query in enumerate(ours.queries.tolist()):
        rows = qid == query
        expected = sklearn_metrics.average_precision_score(labels[rows] > 0, scores[rows])
        assert ours.values[place, 0] == pytest.approx(expected, abs=1e-12)


def test_kendall_equals_scipy_on_strict_orders():
    stats = tool("scipy.stats")
    rng = np.random.default_rng(3)
    for n in (2, 17, 300, 2000):
        labels, scores = rng.permutation(n), rng.random(n)
        tau = stats.kendalltau(labels, scores).statistic
        assert pk.metrics.kendall(labels, scores)[0] == pytest.approx((1 - tau) / 2, abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_lightgbm_equals_lightgbm(seed):
    lightgbm = tool("lightgbm")
    labels, scores, qid, _ = lists(seed)
    sizes = np.bincount(qid)
    data = lightgbm.Dataset(
        np.zeros((qid.size, 1)), label=labels, group=sizes, init_score=scores, params={"verbose": -1}
    )
    found = {}
    parameters = {
        "objective": "none",
        "metric": ["ndcg", "map"],
        "eval_at": [1, 3, 5, 10],
        "verbose": -1,
        "feature_pre_filter": False,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster = lightgbm.Booster(parameters, data)
        for _, name, value, _ in booster.eval_train():
            found[name] = value
    assert len(found) == 8
    ours = pk.evaluate(labels, scores, qid=qid, metrics=list(found), convention="lightgbm").mean()
    assert ours == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_xgboost_equals_xgboost(seed):
    xgboost = tool("xgboost")
    labels, scores, qid, _ = lists(seed, dtype=np.float32)

    def theirs(labels, names):
        data = xgboost.DMatrix(np.zeros((qid.size, 1)), label=labels, qid=qid, base_margin=scores)
        booster = xgboost.train({"objective": "rank:ndcg", "eval_metric": names}, data, 0)
        words = booster.eval_set([(data, "x")]).split("\t")[1:]
        return {word.rpartition(":")[0].removeprefix("x-"): float(word.rpartition(":")[2]) for word in words}

    graded = theirs(labels, ["ndcg", "ndcg@1", "ndcg@5", "ndcg@10"])
    ours = pk.evaluate(labels, scores, qid=qid, metrics=list(graded), convention="xgboost").mean()
    assert ours == pytest.approx(graded, abs=1e-6)
    binary = (labels > 0).astype(int)  # XGBoost takes only binary labels for these
    found = theirs(binary, ["map", "map@3", "map@10", "pre", "pre@5", "pre@20"])
    ours = pk.evaluate(
        binary, scores, qid=qid, metrics=["map", "map@3", "map@10", "p", "p@5", "p@20"], convention="xgboost"
    ).mean()
    assert list(ours.values()) == pytest.approx(list(found.values()), abs=1e-6)
