"""Corrected labels against loops over sessions, enumerations of all clicks, and simulated users; training on them."""

import importlib.util
import itertools
import pickle

import numpy as np
import pytest

import plackett as pk
from plackett._threads import n_threads, set_n_threads
from plackett.clicks.correction.regression import RIDGE
from plackett.clicks.propensities.counts import count_pairs
from plackett.clicks.propensities.estimate import harvest_counts
from plackett.clicks.users import LOOKED_AT
from plackett.exceptions import DataWarning
from plackett.losses import linear_form, loss_names
from tests.clicks.logs import lists_of

METHODS = ["naive", "ips", "affine", "policy-aware", "dr"]
THETA = np.array(LOOKED_AT) / LOOKED_AT[0]
TRUST = pk.clicks.Propensities(
    [1.0, 0.8, 0.5, 0.3, 0.2], a=[0.7, 0.5, 0.3, 0.2, 0.1], b=[0.3, 0.2, 0.15, 0.1, 0.02], method="given"
)


@pytest.fixture(scope="module")
def queries():
    return pk.datasets.make_web_like(30, 12, 4, random_state=0)


@pytest.fixture(scope="module")
def log(queries):
    rankers = {"a": queries.X[:, 0], "b": -queries.X[:, 1]}
    return pk.clicks.simulate_clicks(queries, rankers, 400, k=5, user="trust")


def log_of(sessions, **parts):
    """A log of (query, documents, clicks)."""
    queries, docs, clicks = zip(*sessions, strict=True)
    indptr = np.append(0, np.cumsum([len(one) for one in docs]))
    return pk.clicks.ClickLog.from_arrays(queries, np.concatenate(docs), np.concatenate(clicks), indptr=indptr, **parts)


# --- The formulas -----------------------------------------------------------------------------------------------------


def literal(log, bias, method, clip, predicted=None):
    """Relevance and variance of each pair by loops over the sessions; ``predicted`` by (query, document)."""
    sessions = lists_of(log)
    a = TRUST.values if method == "ips" else TRUST.a
    b = np.zeros(5) if method == "ips" else TRUST.b
    if not bias:
        a, b = TRUST.values, np.zeros(5)
    if method == "naive":
        a, b = np.ones(5), np.zeros(5)
    answer = {}
    for query, doc in {(query, doc) for query, docs, _ in sessions for doc in docs}:
        terms, looks = [], []  # (c, a, b) of each session
        for own, docs, clicks in sessions:
            if own != query:
                continue
            if doc in docs:
                rank = docs.index(doc)
                terms.append((clicks[rank], a[rank], b[rank]))
            elif method in ("policy-aware", "dr"):
                terms.append((0, 0.0, 0.0))
            looks.append(terms[-1][1] if terms else 0)
        n = len(terms)
        if method not in ("policy-aware", "dr"):
            values = [(c - off) / max(look, clip) for c, look, off in terms]
            answer[query, doc] = np.mean(values), np.var(values, ddof=1) / n if n > 1 else np.nan
            continue
        mean = sum(look for _, look, _ in terms) / n
        rho = max(mean, clip)
        base = predicted[query, doc] if predicted else 0.0
        relevance = base + sum(c - off - look * base for c, look, off in terms) / n / rho
        center = relevance if mean >= clip else base
        errors = [(c - off - look * center) / rho for c, look, off in terms]
        answer[query, doc] = relevance, np.var(errors, ddof=1) / n if n > 1 else np.nan
    return answer


CASES = [("naive", False, None), ("affine", True, None), ("affine", True, 0.25)]
CASES += list(itertools.product(["ips", "policy-aware", "dr"], [False, True], [None, 0.25]))


@pytest.mark.parametrize(("method", "has_trust", "clip"), CASES)
def test_labels_follow_their_formulas(log, method, has_trust, clip):
    given = TRUST if has_trust else TRUST.values
    guess = np.random.default_rng(0).random(log.n_pairs) if method == "dr" else None
    found = pk.clicks.corrected_labels(log, given, method, clip=clip, regression=guess)
    predicted = None if guess is None else {log.pairs[code]: guess[code] for code in range(log.n_pairs)}
    tau = clip or (10 / np.sqrt(len(log)) if method == "dr" else 0.0)
    expected = literal(log, has_trust, method, tau, predicted)
    assert len(found) == len(expected)
    for row, pair in enumerate(zip(found.query.tolist(), found.docid.tolist(), strict=True)):
        assert found.relevance[row] == pytest.approx(expected[pair][0], rel=1e-12, abs=1e-12)
        assert found.variance[row] == pytest.approx(expected[pair][1], rel=1e-9, abs=1e-12, nan_ok=True)
    shown = [(query, doc) for query, docs, _ in lists_of(log) for doc in docs]
    assert found.impressions.sum() == len(shown)
    assert found.clicks.sum() == log.n_clicks


def all_clicks(lists, chance):
    """Every outcome of the clicks of some lists, with its chance; ``chance(document, rank)`` is that of a click."""
    cells = [(doc, rank) for docs in lists for rank, doc in enumerate(docs)]
    for outcome in itertools.product([0, 1], repeat=len(cells)):
        weight = np.prod([p if c else 1 - p for c, p in zip(outcome, itertools.starmap(chance, cells), strict=True)])
        clicks, sessions = iter(outcome), []
        for docs in lists:
            sessions.append(("q", docs, [next(clicks) for _ in docs]))
        yield weight, log_of(sessions)


@pytest.mark.parametrize("method", ["ips", "affine", "policy-aware", "dr"])
def test_labels_are_unbiased(method):
    relevance, lists = {"a": 0.9, "b": 0.3, "c": 0.6}, [["a", "b"], ["b", "a"], ["c", "a"]]
    has_trust = method == "affine"
    a, b = (TRUST.a, TRUST.b) if has_trust else (TRUST.values, np.zeros(5))
    given = TRUST if has_trust else TRUST.values
    options = {"regression": [0.5, 0.1, 0.9], "clip": 0.0} if method == "dr" else {}
    sums = np.zeros(3)
    for weight, log in all_clicks(lists, lambda doc, rank: a[rank] * relevance[doc] + b[rank]):
        sums += weight * pk.clicks.corrected_labels(log, given, method, **options).relevance
    assert sums == pytest.approx([0.9, 0.3, 0.6], abs=1e-12)


def test_what_clipping_removes_comes_from_the_regression():
    relevance, lists = {"a": 0.9, "b": 0.3}, [["a", "b"], ["a", "b"], ["a"]]
    sums = np.zeros(2)
    for weight, log in all_clicks(lists, lambda doc, rank: TRUST.values[rank] * relevance[doc]):
        sums += weight * pk.clicks.corrected_labels(log, TRUST.values, "dr", clip=0.8, regression=[0.5, 0.1]).relevance
    mean = 2 * 0.8 / 3  # of the propensity of b
    assert sums == pytest.approx([0.9, 0.1 + mean / 0.8 * (0.3 - 0.1)], abs=1e-12)


def test_the_variance_is_that_of_repeated_logs(queries):
    some = queries[:2]
    scores, logs = {"a": some.X[:, 0], "b": some.X[:, 1]}, []
    for seed in range(300):
        log = pk.clicks.simulate_clicks(some, scores, 200, k=3, random_state=seed)
        logs.append(pk.clicks.corrected_labels(log, THETA[:3], "policy-aware"))
    longest = max(map(len, logs))
    full = [one for one in logs if len(one) == longest]
    values, variance = np.stack([one.relevance for one in full]), np.stack([one.variance for one in full])
    assert np.nanmean(variance, axis=0).sum() == pytest.approx(values.var(axis=0, ddof=1).sum(), rel=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_sessions_and_threads_change_nothing(log, queries, method):
    given = TRUST if method == "affine" else THETA[:5]
    first = pk.clicks.corrected_labels(log, given, method, features=queries)
    moved = log[np.random.default_rng(1).permutation(len(log))]
    before = n_threads()
    try:
        set_n_threads(1)
        other = pk.clicks.corrected_labels(moved, given, method, features=queries)
    finally:
        set_n_threads(before)
    assert np.array_equal(first.relevance, other.relevance)
    assert np.array_equal(first.variance, other.variance, equal_nan=True)
    assert np.array_equal(first.n_sessions, other.n_sessions)
    assert first.docid.tolist() == other.docid.tolist()


def test_ranks_without_a_propensity_are_left_out():
    log = log_of([("q", ["a", "b", "c"], [1, 0, 1]), ("q", ["c", "b", "a"], [0, 1, 1])])
    with pytest.warns(DataWarning, match=r"rank 3 has no propensity: 2 impressions of 6 are left out"):
        found = pk.clicks.corrected_labels(log, [1.0, 0.5], "ips")
    assert found.impressions.tolist() == [1, 2, 1]
    assert found.relevance.tolist() == [1.0, 1.0, 0.0]
    with pytest.warns(DataWarning, match="ranks 2 to 3 have no propensity"):
        found = pk.clicks.corrected_labels(log, [1.0, np.nan, np.nan], "policy-aware")
    assert found.docid.tolist() == ["a", "c"]
    assert found.relevance.tolist() == [1.0, 0.0]
    assert found.n_sessions.tolist() == [2]


def test_mistakes_are_named(log):
    labels = pk.clicks.corrected_labels
    with pytest.raises(ValueError, match=r"method='ips' needs propensities"):
        labels(log, method="ips")
    with pytest.raises(ValueError, match=r'"affine" needs propensities with trust bias'):
        labels(log, THETA, "affine")
    with pytest.raises(ValueError, match=r'"dr" needs features'):
        labels(log, THETA, "dr")
    with pytest.raises(ValueError, match=r"regression is for method="):
        labels(log, THETA, "ips", regression=np.zeros(log.n_pairs))
    with pytest.raises(ValueError, match=r"regression has shape \(3,\)"):
        labels(log, THETA, "dr", regression=np.zeros(3))
    with pytest.raises(ValueError, match=r"the propensity at ranks 2 to 3 is 0\. Set clip above 0"):
        labels(log, [1.0, 0, 0, 0.5, 0.5], "ips")
    assert np.isfinite(labels(log, [1.0, 0, 0, 0.5, 0.5], "ips", clip=0.1).relevance).all()
    with pytest.raises(ValueError, match="clip=2; propensities are at most 1"):
        labels(log, THETA, clip=2)
    with pytest.raises(ValueError, match="folds=1"):
        labels(log, THETA, folds=1)
    with pytest.raises(ValueError, match=r"does not divide by propensities"):
        labels(log, method="naive", clip=0.1)
    with pytest.raises(ValueError, match=r"method='dcm'|method="):
        labels(log, THETA, "dcm")
    with pytest.raises(ValueError, match="no sessions"):
        labels(log[:0], THETA)
    with pytest.raises(ValueError, match="the log shows no other"):
        labels(log, [*[np.nan] * 5, 1.0])
    with pytest.raises(ValueError, match=r"propensities='harvest'.*harvesting"):
        labels(log, "harvest")


# --- The regression ---------------------------------------------------------------------------------------------------


def test_the_default_regression_is_weighted_ridge(log, queries):
    found = pk.clicks.corrected_labels(log, TRUST, "dr", features=queries, folds=None)
    labels = {(str(qid), str(row)): row for row, qid in enumerate(queries.qid)}
    rows, targets, weights, pairs = [], [], [], []
    for query, docs, clicks in lists_of(log):  # one row for each impression
        for rank, (doc, click) in enumerate(zip(docs, clicks, strict=True)):
            rows.append(queries.X[labels[query, doc]])
            targets.append((click - TRUST.b[rank]) / TRUST.a[rank])
            weights.append(TRUST.a[rank] ** 2)
            pairs.append((query, doc))
    different = sorted(set(pairs))
    X = np.stack([queries.X[labels[pair]] for pair in different])
    mean, spread = X.mean(axis=0), X.std(axis=0)
    design = np.column_stack([np.ones(len(rows)), (np.stack(rows) - mean) / spread])
    weights = np.array(weights) * len(different) / np.sum(weights)
    penalty = np.diag(np.append(0.0, np.full(X.shape[1], RIDGE)))
    coef = np.linalg.solve((design * weights[:, None]).T @ design + penalty, design.T @ (weights * np.array(targets)))
    expected = coef[0] + (X - mean) / spread @ coef[1:]
    assert dict(zip(zip(found.query, found.docid, strict=True), found.regression, strict=True)) == pytest.approx(
        dict(zip(different, expected, strict=True))
    )


def test_cross_fitting_predicts_a_query_without_its_clicks(log, queries):
    first = pk.clicks.corrected_labels(log, THETA[:5], "dr", features=queries)
    of_query = np.repeat(log.session_query == 3, np.diff(log.indptr))
    changed = log.with_clicks(log.click ^ of_query)
    other = pk.clicks.corrected_labels(changed, THETA[:5], "dr", features=queries)
    own = first.pairs.pair_query == 3
    assert np.array_equal(first.regression[own], other.regression[own])
    assert not np.array_equal(first.regression[~own], other.regression[~own])
    with pytest.raises(ValueError, match=r"the log has 1 query\. Set folds=None"):
        pk.clicks.corrected_labels(log[log.session_query == 3], THETA[:5], "dr", features=queries)


def test_the_regression_may_be_any_regressor(log, queries):
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(max_iter=5)
    found = pk.clicks.corrected_labels(log, THETA[:5], "dr", features=queries, regression=model)
    default = pk.clicks.corrected_labels(log, THETA[:5], "dr", features=queries)
    assert not np.allclose(found.regression, default.regression)
    sparse = pytest.importorskip("scipy.sparse")
    flat = pk.Queries(sparse.csr_matrix(queries.X), y=queries.y, qid=queries.qid)
    assert np.isfinite(pk.clicks.corrected_labels(log, THETA[:5], "dr", features=flat).relevance).all()
    X = queries.X.copy()
    X[::7, 1] = np.nan
    gaps = pk.Queries(X, y=queries.y, qid=queries.qid)
    assert np.isfinite(pk.clicks.corrected_labels(log, THETA[:5], "dr", features=gaps).relevance).all()


# --- Queries ----------------------------------------------------------------------------------------------------------


def test_queries_hold_the_shown_documents(log, queries):
    labels = pk.clicks.corrected_labels(log, THETA[:5])
    names = np.array([f"d{row}" for row in range(queries.n_docs)])
    order = np.random.default_rng(0).permutation(queries.n_docs)
    mixed = pk.Queries(queries.X[order], qid=queries.qid[order], docid=order)  # named by the rows of the simulation
    for source in (queries, mixed):
        made = labels.to_queries(source)
        assert made.has_estimated_labels
        assert made.n_docs == len(labels)
        assert made.ids.dtype == queries.ids.dtype
        for row in range(made.n_docs):
            place = int(made.docid[row])
            assert np.array_equal(made.X[row], queries.X[place])
            assert made.qid[row] == queries.qid[place]
        assert np.array_equal(made.y, labels.relevance)
        weight = labels.sample_weight(made)
        assert weight.tolist() == [sum(query == str(qid) for query, _, _ in lists_of(log)) for qid in made.ids]
        assert labels.sample_weight(made[3:5]).tolist() == weight[3:5].tolist()
    with pytest.raises(
        ValueError, match=r"no shown pair of the log is in the features: the log has query .* check qid"
    ):
        labels.to_queries(pk.Queries(queries.X, qid=queries.qid, docid=names))
    with pytest.raises(ValueError, match="no session in the log"):
        labels.sample_weight(pk.Queries([[0.0]], qid=["unknown"]))
    with pytest.raises(ValueError, match="has two rows of document"):
        labels.to_queries(pk.Queries(queries.X, qid=queries.qid, docid=np.zeros(queries.n_docs, dtype=int)))
    with pytest.raises(ValueError, match="the pairs have no features"):
        labels.to_queries()


def test_pairs_without_features_are_left_out(log, queries):
    labels = pk.clicks.corrected_labels(log, THETA[:5])
    kept = np.flatnonzero(~np.isin(np.arange(queries.n_docs), [int(labels.docid[0]), int(labels.docid[7])]))
    part = pk.Queries(queries.X[kept], qid=queries.qid[kept], docid=kept)
    with pytest.warns(DataWarning, match=rf"2 shown pairs of {len(labels):,} have no row in the features"):
        made = labels.to_queries(part)
    assert made.n_docs == len(labels) - 2
    with pytest.warns(DataWarning, match="and are left out"):
        fewer = pk.clicks.corrected_labels(log, THETA[:5], features=part)
    assert np.array_equal(fewer.to_queries().y, made.y)


def test_features_of_the_log_are_used(log, queries):
    X = np.stack([queries.X[int(log.pairs[code][1])] for code in range(log.n_pairs)])
    labels = pk.clicks.corrected_labels(log.with_features(X, ["a", "b", "c", "d"]), THETA[:5], "dr")
    made = labels.to_queries()
    assert made.feature_names == ["a", "b", "c", "d"]
    assert np.array_equal(made.X, labels.to_queries(queries).X)
    assert made.has_estimated_labels
    part = labels.to_queries(X[:, :1])
    assert part.n_features == 1
    assert part.has_estimated_labels


def test_tables_of_labels(log):
    labels = pk.clicks.corrected_labels(log, THETA[:5])
    frame = labels.to_frame()
    assert frame["relevance"].tolist() == labels.relevance.tolist()
    assert labels.to_csv().splitlines()[0] == "query,docid,relevance,variance,impressions,clicks"
    assert len(labels.to_csv().splitlines()) == len(labels) + 1


# --- Training ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    """Judged lists to test on, and labels from clicks on the lists of a weak ranker."""
    data = pk.datasets.make_web_like(240, 15, 6, random_state=3)
    train, test = data[:120], data[120:]
    weak = pk.LinearRanker("softmax", normalize="zscore").fit(train[:2])
    log = pk.clicks.simulate_clicks(train, weak, 60_000, random_state=1)
    return log, train, test


REFUSED = [
    "listmle", "p-listmle", "cs-listmle", "listnet", "lambdarank", "ndcg-loss2", "ndcg-loss2++", "xe-ndcg",
    "rankcosine", "unique-softmax", "poly1-softmax", "approx-mrr", "approx-map",
]  # fmt: skip
RANKERS = {
    "linear": lambda loss: pk.LinearRanker(loss, normalize="zscore"),
    "trees": lambda loss: pk.TreeRanker(loss, n_rounds=40),
    "neural": lambda loss: pk.NeuralRanker(loss, hidden=(16,), n_epochs=10, random_state=0),
}


@pytest.mark.parametrize("kind", RANKERS)
def test_each_scorer_learns_more_from_corrected_labels_than_from_naive_ones(study, kind):
    pytest.importorskip({"linear": "numpy", "trees": "lightgbm", "neural": "torch"}[kind])
    log, train, test = study
    scores = {}
    for method in ("naive", "ips", "dr"):
        labels = pk.clicks.corrected_labels(log, THETA, method, features=train)
        queries = labels.to_queries()
        ranker = RANKERS[kind]("softmax").fit(queries, sample_weight=labels.sample_weight(queries))
        scores[method] = ranker.score(test)
    assert min(scores["ips"], scores["dr"]) > scores["naive"]


@pytest.mark.parametrize("loss", loss_names())
def test_losses_that_are_not_linear_refuse_estimates(study, loss):
    log, train, _ = study
    queries = pk.clicks.corrected_labels(log[:3000], THETA, "ips", features=train).to_queries()[:20]
    own = pk.losses.get_loss(loss)
    if not own.is_linear_in_labels:
        nets = [pk.NeuralRanker(loss)] if importlib.util.find_spec("torch") else []
        for ranker in (pk.LinearRanker(loss), pk.TreeRanker(loss), *nets):
            with pytest.raises(ValueError, match="cannot learn from labels that were estimated from clicks"):
                ranker.fit(queries)
        with pytest.raises(ValueError, match="estimated from clicks"):
            own.as_lightgbm(queries)
    if loss not in REFUSED:
        pk.TreeRanker(linear_form(loss), n_rounds=2).fit(queries)


def test_data_in_parts_are_refused_too(log, queries):
    made = pk.clicks.corrected_labels(log, THETA[:5]).to_queries(queries)
    with pytest.raises(ValueError, match="estimated from clicks"):
        pk.LinearRanker("listmle").fit([made[:10], made[10:]])
    pk.LinearRanker("softmax").fit([made[:10], made[10:]])


@pytest.mark.parametrize("loss", REFUSED)
def test_some_losses_have_no_linear_form(loss):
    with pytest.raises(ValueError, match="not linear in the labels"):
        linear_form(loss)


def test_rankers_without_a_loss_refuse_estimates(log, queries):
    made = pk.clicks.corrected_labels(log, THETA[:5]).to_queries(queries)
    for name in ("adarank", "rankboost", "lightgbm", "svm-map", "prank"):
        with pytest.raises(ValueError, match="cannot learn from labels that were estimated from clicks"):
            pk.ranker(name).fit(made)
    pk.LinearRanker("listmle").fit(made.X, made.y, qid=made.qid)  # as ordinary labels, on purpose


def test_queries_remember_that_labels_are_estimates(log, queries):
    made = pk.clicks.corrected_labels(log, THETA[:5]).to_queries(queries)
    mixed = pk.Queries(made.X, made.y, made.qid).replace(has_estimated_labels=True)
    parts = [made[:3], made.subset(made.ids[2:4]), made.replace(X=made.X[:, :1]), made.lists.part(0, 2), mixed.grouped]
    for part in (*parts, pickle.loads(pickle.dumps(made)), pk.Queries.concat([made[:3], made[3:]])):
        assert part.has_estimated_labels
    assert not made.replace(y=np.zeros(made.n_docs)).has_estimated_labels
    assert not queries.has_estimated_labels


def test_estimates_are_no_judgements(study):
    log, train, test = study
    queries = pk.clicks.corrected_labels(log, THETA, "ips", features=train).to_queries()
    ranker = RANKERS["linear"]("softmax").fit(queries, eval_set=test)
    with pytest.warns(DataWarning, match="measured as if they were judgements"):
        ranker.score(queries)
    with pytest.warns(DataWarning, match="evaluate_from_clicks"):
        ranker.fit(queries, eval_set=queries)
    with pytest.warns(DataWarning, match="measured as if"):
        pk.evaluate(queries, ranker.predict(queries), metrics="ndcg@10")


def test_metrics_losses_start_near_softmax(study):
    log, train, test = study
    labels = pk.clicks.corrected_labels(log, THETA, "ips", features=train)
    queries = labels.to_queries()
    ranker = RANKERS["linear"](linear_form("approx-ndcg")).fit(queries, sample_weight=labels.sample_weight(queries))
    assert ranker.score(test) > RANKERS["linear"]("softmax").fit(train[:2]).score(test)
    pk.LinearRanker(linear_form("approx-ndcg"), normalize="zscore", l2=0.0).fit(queries)


# --- Diagnosis --------------------------------------------------------------------------------------------------------


def test_the_diagnosis_counts_weights(log):
    found = pk.clicks.corrected_labels(log, THETA[:5], "ips", clip=0.5).diagnose()
    weights, unclipped = [], []
    for _, _, clicks in lists_of(log):
        for rank, click in enumerate(clicks):
            if click:
                weights.append(1 / max(THETA[rank], 0.5))
                unclipped.append(1 / THETA[rank])
    assert found.effective_clicks == pytest.approx(np.sum(weights) ** 2 / np.sum(np.square(weights)))
    assert found.share_clipped == pytest.approx(1 - np.sum(weights) / np.sum(unclipped))
    assert found.n_clicks == len(weights)
    assert found.to_dict()["rank_groups"] == found.rank_groups == [[1, 2, 3, 4, 5]]
    assert found.advice or not found.findings


def test_the_diagnosis_says_what_the_log_cannot_tell(queries):
    log = pk.clicks.simulate_clicks(queries, queries.X[:, 0], 2000, k=6)
    found = pk.clicks.corrected_labels(log, THETA[:6], "ips", clip=0.9).diagnose()
    assert not found.is_connected
    assert found.rank_groups == [[1], [2], [3], [4], [5], [6]]
    text = str(found)
    assert "Ranks 2 to 6 share no clicked pair with rank 1: this log cannot identify" in text
    assert "Clipping dominates" in text
    assert "Swap two neighbouring documents in some sessions, or serve a second ranker to some users, so that" in text
    assert "Shuffle the first ranks of 1 %" in text
    assert "Log the name of the ranker" in text
    naive = pk.clicks.corrected_labels(log, method="naive").diagnose()
    assert naive.is_naive_preferred is None
    assert "mistake a high rank for relevance" in str(naive)
    nothing = pk.clicks.corrected_labels(log.with_clicks(np.zeros(log.n_shown)), THETA[:6]).diagnose()
    assert "Nothing was clicked" in str(nothing)


def test_propensities_may_be_the_name_of_a_method_and_are_used_as_given(log):
    labels = pk.clicks.corrected_labels
    named = labels(log, "harvesting")
    known = labels(log, pk.clicks.estimate_propensities(log, "harvesting"))
    np.testing.assert_array_equal(named.relevance, known.relevance)
    np.testing.assert_array_equal(named.propensities.intervals, known.propensities.intervals)
    relative = np.array(THETA[:5]) / THETA[0]
    absolute = labels(log, 0.5 * relative)
    np.testing.assert_allclose(absolute.relevance, 2 * labels(log, relative).relevance)


def test_the_diagnosis_says_that_it_takes_propensities_as_right(log):
    found = pk.clicks.corrected_labels(log, THETA[:5], "ips").diagnose()
    assert f"corrected {found.correlation_corrected:.2f}, if the propensities are right" in str(found)


def test_the_diagnosis_compares_a_model_with_harvesting(queries):
    rankers = {"a": queries.X[:, 0], "b": -queries.X[:, 1]}
    log = pk.clicks.simulate_clicks(queries, rankers, 20_000, k=4, random_share=0.2)
    known = pk.clicks.estimate_propensities(log, "harvesting")
    counts = count_pairs(log, log.longest)
    values, ends = harvest_counts(counts, log.pair_query, 0.95)
    np.testing.assert_allclose(values, known.values, rtol=1e-6)
    ratio = np.diff(ends[1:])[:, 0] / np.diff(known.intervals[1:])[:, 0]
    assert ((ratio > 0.3) & (ratio < 3)).all()
    right = pk.clicks.Propensities(known.values, known.intervals, level=0.95, method="em")
    assert "disagrees" not in str(pk.clicks.corrected_labels(log, right).diagnose())
    scale = np.array([1, 1, 2, 1])
    wrong = pk.clicks.Propensities(
        known.values * scale, known.intervals * scale[:, None], level=0.95, method="regression-em"
    )
    assert "The propensity at rank 3 by regression-em disagrees with harvesting" in str(
        pk.clicks.corrected_labels(log, wrong).diagnose()
    )
    alone = pk.clicks.simulate_clicks(queries, queries.X[:, 0], 2_000, k=4)
    assert "disagrees" not in str(pk.clicks.corrected_labels(alone, wrong).diagnose())


def test_several_rankers_are_not_advised_to_serve_a_second(queries):
    given = pk.clicks.Propensities(THETA[:5], [[0.1, 0.9]] * 5, level=0.95)
    rankers = {"a": queries.X[:, 0], "b": queries.X[:, 1]}
    log = pk.clicks.simulate_clicks(queries, rankers, 400, k=5, random_share=0.3)
    advice = pk.clicks.corrected_labels(log, given, "ips").diagnose().advice
    assert not any("second ranker" in line for line in advice)
    assert any(line.startswith("Swap two neighbouring documents in some sessions so that") for line in advice)
    assert f"Shuffle more of the lists (now {np.mean(log.is_random):.1%}), down to the last rank." in advice


def test_the_diagnosis_passes_on_what_propensities_lack(queries):
    log = pk.clicks.simulate_clicks(queries, queries.X[:, 0], 3000, k=3)
    given = pk.clicks.Propensities(
        THETA[:3], [[1, 1], [0.5, 1.2], [0.6, 0.8]], level=0.95, method="em", notes=["rank 7 is unknown."]
    )
    found = pk.clicks.corrected_labels(log, given).diagnose()
    assert "rank 7 is unknown." in found.findings
    assert "The propensity at rank 2 is uncertain by a factor of 2 or more." in found.findings


@pytest.mark.parametrize(("n_judged", "n_sessions", "is_naive_better"), [(2, 40_000, False), (120, 800, True)])
def test_the_diagnosis_prefers_naive_labels_where_they_teach_more(n_judged, n_sessions, is_naive_better):
    data = pk.datasets.make_web_like(240, 15, 6, random_state=3)
    train, test = data[:120], data[120:]
    ranker = pk.LinearRanker("softmax", normalize="zscore").fit(train[:n_judged])
    scores, preferred = [], []
    for seed in range(5):
        log = pk.clicks.simulate_clicks(train, ranker, n_sessions, random_state=seed)
        for method in ("naive", "ips"):
            labels = pk.clicks.corrected_labels(log, THETA, method, features=train)
            queries = labels.to_queries()
            fitted = pk.LinearRanker("softmax", normalize="zscore")
            scores.append(fitted.fit(queries, sample_weight=labels.sample_weight(queries)).score(test))
        found = labels.diagnose()
        preferred.append(found.is_naive_preferred)
        texts = ("Naive labels are estimated to be closer", "Corrected labels are noise")
        assert any(text in str(found) for text in texts) == found.is_naive_preferred
    means = np.reshape(scores, (5, 2)).mean(axis=0)
    assert (means[0] > means[1]) == is_naive_better
    assert np.mean(preferred) == is_naive_better


@pytest.mark.parametrize("has_features", [False, True])
def test_estimated_correlations_are_those_with_the_relevance(has_features, monkeypatch):
    data = pk.datasets.make_web_like(200, 12, 5, random_state=1)
    rankers = {"a": data.X[:, 0], "b": data.X[:, 1] - data.X[:, 0]}
    log = pk.clicks.simulate_clicks(data, rankers, 30_000, k=6)
    labels = pk.clicks.corrected_labels(log, THETA, "ips", features=data if has_features else None)
    found = labels.diagnose()
    assert found.has_features == has_features
    made = labels.to_queries(data)
    used = np.isfinite(labels.variance)
    used &= np.bincount(made.query_of_row[used], minlength=made.n_queries)[made.query_of_row] > 1
    place = made.query_of_row[used]
    truth = np.exp2(data.y[made.docid[used].astype(int)]) - 1
    weight = np.sqrt(labels.sample_weight(made)[place])
    naive = (labels.clicks / labels.impressions)[used]

    def within(values):
        return values - (np.bincount(place, values, made.n_queries) / np.maximum(1, np.bincount(place)))[place]

    columns = [weight * within(values) for values in (truth, naive, labels.relevance[used])]
    if has_features:
        X = np.stack([weight * within(column) for column in made.X[used].T], axis=1)
        columns = [X @ np.linalg.lstsq(X, column, rcond=None)[0] for column in columns]
    truth, naive, corrected = columns

    def cosine(one, other):
        return one @ other / np.sqrt((one @ one) * (other @ other))

    monkeypatch.setattr("plackett.clicks.correction.diagnosis.MOST_VALUES", labels.impressions.size * 4)  # of 5 columns
    sampled = labels.diagnose()
    assert (sampled.correlation_naive != found.correlation_naive) == has_features
    assert sampled.correlation_naive == pytest.approx(found.correlation_naive, abs=0.05)
    assert found.correlation_naive == pytest.approx(cosine(naive, truth), abs=0.05)
    assert found.correlation_corrected == pytest.approx(cosine(corrected, truth), abs=0.05)
