"""Propensities against plain loops, and against the users of simulated logs."""

import warnings
from collections import defaultdict

import numpy as np
import pytest
from scipy.optimize import minimize

import plackett as pk
from plackett._threads import n_threads, set_n_threads
from plackett.clicks.propensities.counts import count_pairs, session_groups, shared_evidence
from plackett.clicks.propensities.em import trust_em, trust_gauge
from plackett.clicks.propensities.harvesting import harvested
from plackett.clicks.users import LOOKED_AT, get_user
from plackett.exceptions import DataFormatError, DataWarning
from tests.clicks.logs import lists_of

METHODS = ["randomised", "swap", "harvesting", "em", "regression-em", "trust"]
K = 5
THETA = np.array(LOOKED_AT[:K]) / LOOKED_AT[0]


@pytest.fixture(scope="module")
def queries():
    return pk.datasets.make_web_like(40, 12, 3, random_state=0)


def simulated(queries, n_sessions=30_000, random_share=0.3, k=K, **settings):
    rankers = {"a": queries.X[:, 0], "b": queries.X[:, 1], "c": -queries.X[:, 0]}
    log = pk.clicks.simulate_clicks(queries, rankers, n_sessions, k=k, random_share=random_share, **settings)
    label = {(str(qid), str(row)): queries.y[row] for row, qid in enumerate(queries.qid)}
    labels = np.array([label[log.pairs[code]] for code in range(log.n_pairs)])
    return log.with_features((labels[:, None] == np.unique(queries.y)).astype(float))


@pytest.fixture(scope="module")
def log(queries):
    return simulated(queries)


def log_of(sessions, **parts):
    """A log of (query, documents, clicks)."""
    queries, docs, clicks = zip(*sessions, strict=True)
    indptr = np.append(0, np.cumsum([len(one) for one in docs]))
    return pk.clicks.ClickLog.from_arrays(queries, np.concatenate(docs), np.concatenate(clicks), indptr=indptr, **parts)


def counted(log):
    """Clicks and impressions by (pair, rank)."""
    counts = defaultdict(lambda: [0, 0])
    for query, docs, clicks in lists_of(log):
        for rank, (doc, click) in enumerate(zip(docs, clicks, strict=True)):
            counts[query, doc, rank][0] += click
            counts[query, doc, rank][1] += 1
    return counts


def evidence_loop(log, n_ranks):
    counts, clicks, skips = counted(log), np.zeros((n_ranks, n_ranks)), np.zeros((n_ranks, n_ranks))
    for (query, doc, k), (clicked, shown) in counts.items():
        for other in range(n_ranks):
            if other != k and (query, doc, other) in counts:
                weight = min(shown, counts[query, doc, other][1])
                clicks[k, other] += weight * clicked / shown
                skips[k, other] += weight * (1 - clicked / shown)
    return clicks, skips


def quick(log, method, **options):
    return pk.clicks.estimate_propensities(log, method, level=None, **options)


# --- Against loops ----------------------------------------------------------------------------------------------------


def test_shuffled_lists_compare_a_rank_with_the_first_on_lists_that_reach_it(log):
    rng = np.random.default_rng(0)
    sessions = [(q, docs[: (n := rng.integers(1, 6))], clicks[:n]) for q, docs, clicks in lists_of(log[:900])]
    is_random = log.is_random[:900]
    expected = []
    for rank in range(K):
        kept = [sessions[i][2] for i in np.flatnonzero(is_random) if len(sessions[i][2]) > rank]
        expected.append(np.mean([clicks[rank] for clicks in kept]) / np.mean([clicks[0] for clicks in kept]))
    found = quick(log_of(sessions, is_random=is_random), "randomised").values
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_shared_evidence_is_that_of_loops(log):
    part = log[:400]
    for found, expected in zip(shared_evidence(count_pairs(part, K)), evidence_loop(part, K), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_shared_evidence_does_not_depend_on_blocks(log, monkeypatch):
    whole = shared_evidence(count_pairs(log[:2000], K))
    monkeypatch.setattr("plackett.clicks.propensities.counts.PAIRS_AT_ONCE", 7)
    np.testing.assert_allclose(shared_evidence(count_pairs(log[:2000], K)), whole, rtol=1e-12)


def test_swaps_compare_pairs_shown_at_both_ranks():
    sessions = [("q", ["a", "b"], [1, 0])] * 6 + [("q", ["a", "b"], [0, 1])] * 2 + [("q", ["b", "a"], [1, 0])] * 3
    sessions += [("q", ["b", "a"], [0, 1])]
    at_first = 3 * (6 / 8) * (4 / 3) + 4 * (3 / 4)  # min(8, 4) impressions of a, min(4, 8) of b
    at_second = 4 * (1 / 4) + 4 * (2 / 8)
    assert quick(log_of(sessions), "swap").values[1] == pytest.approx(at_second / at_first)


def test_harvesting_maximises_its_likelihood(log):
    clicks, skips = evidence_loop(log[:1500], K)
    pairs = [(i, j) for i in range(K) for j in range(i)]

    def loss(x):
        chance, rho = 1 / (1 + np.exp(-x[:K])), dict(zip(pairs, 1 / (1 + np.exp(-x[K:])), strict=True))
        value = 0.0
        for (i, j), r in rho.items():
            for one, other in ((i, j), (j, i)):
                p = chance[one] * r
                value -= clicks[one, other] * np.log(p) + skips[one, other] * np.log(1 - p)
        return value

    best = minimize(loss, np.zeros(K + len(pairs)), options={"gtol": 1e-5}).x[:K]
    best = 1 / (1 + np.exp(-best))
    np.testing.assert_allclose(harvested(clicks, skips), best / best[0], rtol=1e-4)


def test_em_is_the_position_based_model_by_marginal_likelihood(log):
    model = pk.clicks.PBM(prior="fitted").fit(log)
    np.testing.assert_allclose(quick(log, "em").values, model.examination_, atol=1e-4)
    prior = pk.clicks.PBM(prior=(0.1, 0.1))
    np.testing.assert_array_equal(quick(log, "em", model=prior).values, prior.fit(log).examination_)


def test_trust_bias_maximises_its_likelihood(queries):
    counts = count_pairs(simulated(queries, 5000, user="trust"), K)
    found, relevance = trust_em(counts, None, max_iter=500, tol=1e-6)
    assert (np.diff(found.history) >= -1e-8 * abs(found.history[-1])).all()

    def value(chances, relevance):
        trusted, doubted = np.split(chances, 2)
        total = 0.0
        for pair, rank, clicks, skips in zip(counts.pair, counts.rank, counts.clicks, counts.skips, strict=True):
            click = trusted[rank] * relevance[pair] + doubted[rank] * (1 - relevance[pair])
            total += clicks * np.log(click) + skips * np.log(1 - click)
        return total

    best = value(found.globals, relevance)
    assert best == pytest.approx(found.history[-1])
    rng = np.random.default_rng(0)
    for _ in range(10):
        chances = np.clip(found.globals + 3e-3 * rng.normal(size=2 * K), 1e-6, 1 - 1e-6)
        assert value(chances, relevance) < best


def test_every_shift_and_scale_of_relevance_has_the_same_trust_bias():
    a, b = np.array([0.35, 0.6, 0.7]), np.array([0.65, 0.2, 0.1])
    expected = trust_gauge(a + b, b)
    assert expected[0][0] + expected[1][0] == pytest.approx(1)
    assert expected[1].min() == 0
    shifted = b - 0.1 * a
    np.testing.assert_allclose(trust_gauge(0.5 * a + shifted, shifted), expected, atol=1e-12)


# --- Recovery ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS[:-1])
def test_propensities_of_a_position_based_user_are_found(log, method):
    found = pk.clicks.estimate_propensities(log, method)
    assert found.values[0] == 1
    np.testing.assert_allclose(found.values, THETA, rtol=0.15)
    low, high = found.intervals.T
    assert (low <= found.values).all()
    assert (found.values <= high).all()
    assert ((low - 1e-12 <= THETA) & (high + 1e-12 >= THETA)).sum() >= K - 1
    assert (high - low)[1:].max() < 0.3


def test_trust_bias_is_found(queries):
    found = pk.clicks.estimate_propensities(simulated(queries, user="trust"), "trust")
    user = get_user("trust", np.array([0.0, 4.0]), K, eta=1, epsilon=0.1, max_label=None)
    a, b = trust_gauge(user.slope + user.offset, user.offset)
    np.testing.assert_allclose(found.a, a, atol=0.06)
    np.testing.assert_allclose(found.b, b, atol=0.03)
    np.testing.assert_array_equal(found.values, found.a + found.b)


def test_a_user_who_looks_at_everything_has_propensities_of_one(queries):
    flat = simulated(queries, eta=0)
    for method in ("harvesting", "em", "randomised"):
        np.testing.assert_allclose(quick(flat, method).values, 1, atol=0.06)


def test_intervals_cover_the_truth(queries):
    is_inside = []
    for seed in range(12):
        log = simulated(queries, 8000, random_state=seed)
        low, high = pk.clicks.estimate_propensities(log, "harvesting").intervals[1:].T
        is_inside.append((low <= THETA[1:]) & (THETA[1:] <= high))
    assert np.mean(is_inside) > 0.85


def test_more_sessions_make_narrower_intervals(log):
    def width(log):
        return np.diff(pk.clicks.estimate_propensities(log, "harvesting").intervals[1:], axis=1).mean()

    assert width(log) < 0.7 * width(log[:5000])


def test_regression_em_needs_no_shared_pairs(queries):
    """One list for each query: only features tell how much less a rank is looked at."""
    fixed = pk.clicks.simulate_clicks(queries, queries.X[:, 0], 60_000, k=3)
    rows = [int(fixed.pairs[code][1]) for code in range(fixed.n_pairs)]
    features = (queries.y[rows][:, None] == np.unique(queries.y)).astype(float)
    fixed = fixed.with_features(features)
    with pytest.raises(ValueError, match="Ranks 2 to 3 share no clicked pair"):
        quick(fixed, "harvesting")
    np.testing.assert_allclose(quick(fixed, "regression-em").values, THETA[:3], rtol=0.12)


def test_regression_em_does_not_stop_at_the_bound():
    """Extrapolated to the bound, the chance of a look at rank 2 stayed at 1."""
    queries = pk.datasets.make_web_like(60, 15, 3, random_state=0)
    log = simulated(queries, 40_000, random_state=3, k=6)
    np.testing.assert_allclose(quick(log, "regression-em").values[:K], THETA, rtol=0.06)


def test_regression_em_takes_any_classifier(log):
    from sklearn.linear_model import LogisticRegression

    own = quick(log, "regression-em").values
    other = quick(log, "regression-em", model=LogisticRegression(C=1e4), max_iter=60, tol=1e-3).values
    np.testing.assert_allclose(other, own, rtol=0.04)  # stopped early


# --- Order and threads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_results_depend_neither_on_the_order_of_sessions_nor_on_threads(log, method):
    part = log[:3000]
    before = n_threads()
    try:
        set_n_threads(1)
        one = pk.clicks.estimate_propensities(part, method, n_groups=4)
        set_n_threads(3)
        other = pk.clicks.estimate_propensities(part[np.random.default_rng(1).permutation(3000)], method, n_groups=4)
    finally:
        set_n_threads(before)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.intervals, other.intervals)


def test_groups_are_random_and_share_out_the_sessions(log):
    groups = list(session_groups(log[:1000], 7, 0))
    assert sorted(np.concatenate(groups).tolist()) == list(range(1000))
    assert {group.size for group in groups} <= {142, 143}
    other = pk.clicks.estimate_propensities(log, "harvesting", random_state=1)
    assert not np.array_equal(other.intervals, pk.clicks.estimate_propensities(log, "harvesting").intervals)


# --- What cannot be found ---------------------------------------------------------------------------------------------


def test_ranks_that_are_not_connected_are_named():
    rng, look, sessions = np.random.default_rng(0), np.array([1, 0.6, 0.4, 0.3]), []
    for i in range(4000):
        docs = rng.permuted([list("abe"), list("cdf")], axis=1)[:, :2].ravel()  # a, b and e are never below rank 2
        attraction = np.array([{"a": 0.9, "b": 0.5, "c": 0.9, "d": 0.5}.get(doc, 0.2) for doc in docs])
        sessions.append((f"q{i % 3}", docs.tolist(), (rng.random(4) < look * attraction).astype(int).tolist()))
    for method in ("harvesting", "em", "trust"):
        with pytest.warns(DataWarning, match="Ranks 3 to 4 share no clicked pair .* directly or through other ranks"):
            found = pk.clicks.estimate_propensities(log_of(sessions), method)
        assert np.isfinite(found.values[:2]).all()
        assert np.isnan(found.values[2:]).all()
        assert np.isnan(found.intervals[2:]).all()
        assert "Ranks 3 to 4" in found.notes[0]
        assert "Ranks 3 to 4" in str(found)


def test_swaps_connect_with_rank_1_only():
    sessions = [("q", list("abc"), [1, 0, 1]), ("q", list("bac"), [1, 1, 0]), ("q", list("acb"), [1, 1, 0])] * 3
    sessions = [("q", docs, clicks) for _, docs, clicks in sessions if docs[0] != "b"] + [("r", ["x", "y"], [1, 0])]
    sessions += [("r", ["y", "x"], [1, 1])]
    with pytest.warns(DataWarning, match="Rank 3 shares no clicked pair of query and document with rank 1:"):
        assert np.isnan(quick(log_of(sessions), "swap").values).tolist() == [False, False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(quick(log_of(sessions), "harvesting").values).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_log_of_one_rank_has_one_propensity(method):
    sessions = [("q", ["a"], [1]), ("q", ["b"], [0])] * 50
    one = log_of(sessions, is_random=[True] * 100, features=[[1.0], [0.0]])
    found = pk.clicks.estimate_propensities(one, method)
    np.testing.assert_allclose(found.values, [1])


@pytest.mark.parametrize("method", METHODS)
def test_a_log_without_clicks_is_rejected(method):
    none = log_of([("q", list("ab"), [0, 0]), ("q", list("ba"), [0, 0])], is_random=[1, 1], features=np.eye(2))
    with pytest.raises(ValueError, match="rank 1 has no click"):
        pk.clicks.estimate_propensities(none, method)


def test_a_rank_without_clicks_has_the_propensity_0_without_an_interval():
    sessions = [("q", list("ab"), [1, 0]), ("q", list("ba"), [1, 0]), ("q", list("ba"), [0, 0])] * 9
    log = log_of(sessions, is_random=[1] * 27)
    for method in ("randomised", "swap", "harvesting"):
        found = pk.clicks.estimate_propensities(log, method)
        np.testing.assert_allclose(found.values, [1, 0], atol=1e-6)
        assert np.isnan(found.intervals[1]).all()


def test_wrong_requests_are_named(log):
    plain = log_of([("q", list("ab"), [1, 0])])
    for method, what in {"randomised": "needs is_random", "regression-em": "needs a log with features"}.items():
        with pytest.raises(ValueError, match=what):
            pk.clicks.estimate_propensities(plain, method)
    with pytest.raises(ValueError, match="no session of the log has a shuffled list"):
        pk.clicks.estimate_propensities(log_of([("q", ["a"], [1])], is_random=[0]), "randomised")
    with pytest.raises(ValueError, match="method="):
        pk.clicks.estimate_propensities(log, "swaps")
    with pytest.raises(ValueError, match=r"no pair was shown 50 times \(at most 1\)"):
        pk.clicks.estimate_propensities(plain, "trust")
    with pytest.raises(ValueError, match="level=1"):
        pk.clicks.estimate_propensities(log, level=1)
    with pytest.raises(ValueError, match='model is for "em"'):
        pk.clicks.estimate_propensities(log, "trust", model=pk.clicks.PBM())
    with pytest.raises(ValueError, match="takes a PBM as model, not UBM"):
        pk.clicks.estimate_propensities(log, "em", model=pk.clicks.UBM())
    with pytest.raises(ValueError, match="the log has no sessions"):
        pk.clicks.estimate_propensities(log[:0])


# --- Results ----------------------------------------------------------------------------------------------------------


def test_propensities_are_saved_and_loaded(tmp_path, queries):
    path = tmp_path / "propensities.bin"
    found = pk.clicks.estimate_propensities(simulated(queries, 3000, user="trust"), "trust", n_groups=3)
    found.save(path)
    loaded = pk.clicks.Propensities.load(path)
    for name in ("values", "intervals", "a", "b"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))
    assert (loaded.method, loaded.level, loaded.notes) == ("trust", 0.95, [])
    assert repr(loaded) == repr(found)
    assert repr(found).startswith("Propensities(1, ")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataFormatError, match="cannot be read"):
        pk.clicks.Propensities.load(path)


def test_propensities_are_shown_as_a_table_and_a_plot(log):
    pytest.importorskip("matplotlib").use("agg")
    found = pk.clicks.estimate_propensities(log, "harvesting")
    assert len(str(found).splitlines()) >= K
    ax = found.plot()
    assert quick(log, "em").plot(ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["harvesting", "em"]


def test_given_propensities_are_checked():
    with pytest.raises(ValueError, match="a and b belong together"):
        pk.clicks.Propensities([1, 0.5], a=[1, 1])
    for wrong in (-0.5, -np.inf, np.inf):
        with pytest.raises(ValueError, match=rf"the propensity at rank 2 is {wrong:g}; a number of at least 0"):
            pk.clicks.Propensities([1, wrong])
    with pytest.raises(ValueError, match=r"values has shape \(1, 2\); a number for each rank"):
        pk.clicks.Propensities([[1, 0.5]])
    with pytest.raises(ValueError, match="all propensities are NaN; one above 0 is needed"):
        pk.clicks.Propensities([np.nan, np.nan])
    with pytest.raises(ValueError, match="all propensities are 0 or NaN"):
        pk.clicks.Propensities([0, np.nan])
    with pytest.raises(ValueError, match="intervals has shape"):
        pk.clicks.Propensities([1, 0.5], [[1, 1]])
