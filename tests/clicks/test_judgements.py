"""Grades from click models: values, intervals, cut points and what is left out."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta

import plackett as pk
from plackett.clicks import DBN, DCTR, PBM, SDBN, ClickLog, get_click_model, simulate_clicks
from plackett.clicks.judgements import cut_points

LISTS = pk.datasets.make_web_like(15, 8, 3, random_state=2)


@pytest.fixture(scope="module")
def log():
    rankers = {"a": LISTS.X[:, 0], "b": LISTS.X[:, 1]}
    return simulate_clicks(LISTS, rankers, 3000, user="cascade", random_state=4)


def make_log(counts):
    """Sessions of one document each, from {(query, docid): (clicks, skips)}."""
    rows = [(*pair, click) for pair, (yes, no) in counts.items() for click in [1] * yes + [0] * no]
    query, docid, click = zip(*rows, strict=True)
    return ClickLog.from_arrays(query, docid, click, indptr=range(len(rows) + 1))


COUNTS = {("q", "a"): (9, 1), ("q", "b"): (2, 18), ("r", "a"): (900, 100), ("r", "c"): (3, 0), ("r", "d"): (0, 40)}


def test_values_and_intervals_are_those_of_the_posterior():
    model = DCTR(prior="fitted").fit(make_log(COUNTS))
    found = model.judgements(min_impressions=0, level=0.9)
    a, b = model.prior_strength_ * model.prior_mean_, model.prior_strength_ * (1 - model.prior_mean_)
    yes, no = np.array(list(COUNTS.values())).T
    assert list(zip(found.query.tolist(), found.docid.tolist(), strict=True)) == list(COUNTS)
    np.testing.assert_allclose(found.value, (a + yes) / (a + b + yes + no), rtol=1e-12)
    np.testing.assert_allclose(found.value, model.attractiveness_, rtol=1e-9)
    np.testing.assert_allclose(found.low, beta.ppf(0.05, a + yes, b + no), rtol=1e-9)
    np.testing.assert_allclose(found.high, beta.ppf(0.95, a + yes, b + no), rtol=1e-9)
    assert found.impressions.tolist() == [10, 20, 1000, 3, 40]


def test_the_same_chance_has_the_same_grade_in_every_query_and_the_lower_end_asks_for_evidence():
    model = DCTR().fit(make_log(COUNTS))
    found = model.judgements(grades=[0.05, 0.5, 0.8])
    assert found.to_qrels().to_dict() == {"q": {"a": 3, "b": 1}, "r": {"a": 3, "d": 0}}
    careful = model.judgements(grades=[0.05, 0.5, 0.8], lower=True)
    assert careful.to_qrels().to_dict() == {"q": {"a": 2, "b": 0}, "r": {"a": 3, "d": 0}}
    assert found.left_out == {"too few impressions": 1, "too little evidence": 0}
    assert repr(found) == "Judgements(4 pairs of 2 queries, grades 0..3, 1 pair left out)"
    assert found.to_dict()["pairs_by_grade"] == [1, 1, 0, 2]


def test_cut_points_are_weighted_quantiles_and_equal_values_stay_together():
    values = np.array([0.4, 0.1, 0.2, 0.3])
    assert cut_points(values, np.ones(4), 3).tolist() == [0.2, 0.3]
    assert cut_points(values, np.array([1.0, 1, 1, 6]), 3).tolist() == [0.3]
    assert cut_points(values, np.array([6.0, 1, 1, 1]), 3).tolist() == []
    same = make_log({("q", str(i)): (5, 5) for i in range(6)})
    with pytest.warns(pk.exceptions.DataWarning, match="no quantile separates the values of the pairs"):
        assert DCTR().fit(same).judgements().grade.tolist() == [0] * 6


@pytest.mark.parametrize("name", ["dctr", "pbm", "dcm", "ccm", "dbn", "sdbn", "ubm"])
def test_every_model_with_attractiveness_judges(name, log):
    found = get_click_model(name, prior="fitted").fit(log).judgements(log, lower=True)
    usual = get_click_model(name, prior="fitted").fit(log).judgements()
    assert ((found.low < found.value) & (found.value < found.high)).all()
    assert (found.grade <= usual.grade).all()
    assert (found.cuts == usual.cuts).all()
    shares = np.cumsum(np.bincount(usual.grade, usual.evidence, 5))[:-1] / usual.evidence.sum()
    np.testing.assert_allclose(shares, [0.5, 0.75, 0.875, 0.9375], atol=0.05)


def test_pairs_of_another_log_are_found_by_name():
    model = DCTR().fit(make_log(COUNTS))
    other = make_log({("q", "b"): (1, 0), ("q", "z"): (1, 0), ("r", "a"): (0, 1), ("r", "c"): (1, 0)})
    found = model.judgements(other.with_features(np.arange(8.0).reshape(4, 2), ["x", "y"]), grades=[0.5])
    assert found.left_out == {"not in the log of the fit": 1, "too few impressions": 1, "too little evidence": 0}
    assert found.impressions.tolist() == [20, 1000]
    queries = found.to_queries()
    assert queries.X.tolist() == [[0, 1], [4, 5]]
    assert (queries.y.tolist(), queries.qid.tolist(), queries.docid.tolist()) == ([0, 1], ["q", "r"], ["b", "a"])
    assert list(queries.feature_names) == ["x", "y"]
    assert found.to_queries([[7.0], [8.0]]).X.tolist() == [[7], [8]]


def test_evidence_counts_looks_not_impressions(log):
    model = PBM(prior="fitted").fit(log)
    worth = model.evidence_.sum(axis=1)
    found = model.judgements(min_evidence=90)
    assert len(found) == np.sum((model.impressions_ >= 10) & (worth >= 90)) < len(model.judgements())
    assert (found.evidence >= 90).all()


@pytest.mark.parametrize("cls", [DBN, SDBN])
def test_evidence_about_satisfaction_is_the_curvature_of_the_likelihood(cls, log, monkeypatch):
    model = cls(prior=(2.0, 3.0)).fit(log)
    monkeypatch.setattr("plackett.clicks.models.chain.fitted_posterior", lambda evidence: evidence)
    monkeypatch.setattr("plackett.clicks.models.chain.ROWS_AT_ONCE", 5000)
    evidence = model.satisfaction_posterior(log)
    values, h = model.satisfaction_.copy(), 1e-2

    def likelihood(pair, step):
        model.satisfaction_ = values.copy()
        model.satisfaction_[pair] = expit(logit(values[pair]) + step)
        return model.log_likelihood(log) * len(log)

    for pair in np.argsort(-model.impressions_)[:5]:
        curvature = (2 * likelihood(pair, 0) - likelihood(pair, h) - likelihood(pair, -h)) / h**2
        p = values[pair]
        expected = curvature / (p * (1 - p)) + 5 - np.array([2 / p, 3 / (1 - p)])
        expected = np.maximum(np.array([p, 1 - p]) * expected, 0)
        np.testing.assert_allclose(evidence[pair], expected, rtol=2e-3, atol=0.02)


def test_satisfaction_grades_by_the_product(log):
    model = DBN(prior="fitted").fit(log)
    found = model.judgements(log, by="satisfaction", min_impressions=0, min_evidence=0)
    first, second = model.posterior(), model.satisfaction_posterior(log)
    rng = np.random.default_rng(0)
    pair = int(np.argmax(model.impressions_))
    draws = rng.beta(*first[pair], 200_000) * rng.beta(*second[pair], 200_000)
    row = [found.value[pair], found.low[pair], found.high[pair]]
    np.testing.assert_allclose(row, [draws.mean(), *np.quantile(draws, [0.025, 0.975])], rtol=0.02, atol=5e-3)


def test_blanks_are_encoded_for_files(tmp_path):
    found = DCTR().fit(make_log({("50% red shoes", "a b"): (5, 5), ("hat", "c"): (5, 5)})).judgements(grades=[0.6])
    qrels = found.to_qrels(encode=True)
    assert qrels.qid.tolist() == ["50%25%20red%20shoes", "hat"]
    assert qrels.docid.tolist() == ["a%20b", "c"]
    pk.write_qrels(qrels, tmp_path / "out.qrels")
    assert (tmp_path / "out.qrels").read_text(encoding="utf-8") == "50%25%20red%20shoes 0 a%20b 0\nhat 0 c 0\n"
    assert found.to_csv().splitlines()[0] == "query,docid,grade,value,low,high,impressions,evidence"


def test_frame_has_a_row_for_each_judgement():
    pytest.importorskip("pandas")
    frame = DCTR().fit(make_log(COUNTS)).judgements(grades=[0.5]).to_frame()
    assert frame["grade"].tolist() == [1, 0, 1, 0]
    assert frame["docid"].tolist() == ["a", "b", "a", "d"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grades": 1}, "grades=1; at least 2"),
        ({"grades": [0.5, 0.5]}, "rising cut points between 0 and 1"),
        ({"grades": [0.5, 2]}, "rising cut points between 0 and 1"),
        ({"level": 1}, "level=1; it must be between 0 and 1"),
        ({"by": "beauty"}, "by='beauty'"),
        ({"by": "satisfaction"}, "needs the log of the fit"),
    ],
)
def test_wrong_options_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        DCTR().fit(make_log(COUNTS)).judgements(**options)


def test_what_a_model_does_not_have_is_named():
    log = make_log(COUNTS)
    with pytest.raises(ValueError, match="gctr has no attractiveness of pairs"):
        get_click_model("gctr").fit(log).judgements()
    with pytest.raises(ValueError, match="dctr has no satisfaction of pairs"):
        DCTR().fit(log).judgements(log, by="satisfaction")
    with pytest.raises(ValueError, match="the pairs have no features"):
        DCTR().fit(log).judgements(grades=[0.5]).to_queries()
    assert len(DCTR().fit(log).judgements(min_impressions=10**6)) == 0


def test_features_of_queries_are_found_by_names():
    found = DCTR().fit(make_log(COUNTS)).judgements(min_impressions=0, grades=[0.3, 0.6])
    rows = [("r", "a"), ("q", "zz"), ("q", "b"), ("q", "a")]
    lists = pk.Queries([[1.0], [2.0], [3.0], [4.0]], qid=[q for q, _ in rows], docid=[d for _, d in rows])
    grades = dict(zip(zip(found.query.tolist(), found.docid.tolist(), strict=True), found.grade.tolist(), strict=True))
    with pytest.warns(pk.exceptions.DataWarning, match="2 shown pairs of 5 have no row"):
        queries = found.to_queries(lists)
    qid = np.repeat(queries.ids, np.diff(queries.indptr)).tolist()
    known = {(q, d): (x, y) for q, d, x, y in zip(qid, queries.docid, queries.X[:, 0], queries.y, strict=True)}
    assert known == {pair: (rows.index(pair) + 1.0, grades[pair]) for pair in grades if pair in rows}


def test_nothing_or_everything_clicked_leaves_wide_intervals():
    for counts in ((1, 0), (0, 20)):
        low, high = DCTR().fit(make_log({("q", "a"): counts})).intervals()[0]
        assert high - low > 0.05
