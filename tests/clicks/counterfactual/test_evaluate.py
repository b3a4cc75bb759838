"""Estimates by position against plain loops and enumerations, and what results promise."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest

import plackett as pk
from plackett._threads import n_threads, set_n_threads
from plackett.clicks.counterfactual.intervals import bootstrap_intervals, unit_values
from plackett.clicks.counterfactual.ranking import find_places
from plackett.clicks.users import get_user
from plackett.exceptions import DataWarning
from tests.clicks.logs import lists_of

evaluate = pk.clicks.evaluate_from_clicks
THETA = [1.0, 0.6, 0.5, 0.3, 0.2]
TRUST = pk.clicks.Propensities(THETA, a=[0.7, 0.5, 0.4, 0.3, 0.15], b=[0.3, 0.1, 0.05, 0.02, 0.01])
pytestmark = pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")  # few clicks, in most tests


def made_log(n=300, seed=0, n_queries=4, n_docs=6, longest=5):
    rng = np.random.default_rng(seed)
    queries = rng.integers(n_queries, size=n)
    docs = [rng.permutation(n_docs)[: rng.integers(2, longest + 1)] for _ in range(n)]
    clicks = [(rng.random(len(one)) < 0.4 / (1 + np.arange(len(one)))) for one in docs]
    indptr = np.append(0, np.cumsum([len(one) for one in docs]))
    arrays = np.concatenate(docs), np.concatenate(clicks)
    return pk.clicks.ClickLog.from_arrays([f"q{q}" for q in queries], *arrays, indptr=indptr)


@pytest.fixture(scope="module")
def log():
    return made_log()


@pytest.fixture(scope="module")
def scores(log):
    return np.random.default_rng(1).integers(0, 4, log.n_pairs).astype(float)  # with ties


def by_name(log, values):
    return {log.pairs[code]: value for code, value in enumerate(values)}


def mean_over_orders(docs, score, weight):
    """The weight of the rank of each document, the mean over all orders of equal scores."""
    total, orders = dict.fromkeys(docs, 0.0), 0
    for order in itertools.permutations(docs):
        if all(score[a] >= score[b] for a, b in itertools.pairwise(order)):
            orders += 1
            for rank, doc in enumerate(order, start=1):
                total[doc] += weight(rank)
    return {doc: value / orders for doc, value in total.items()}


def dcg(k):
    return lambda rank: 1 / math.log2(1 + rank) if rank <= k else 0.0


WEIGHTS = {
    "dcg@3": dcg(3),
    "dcg": dcg(100),
    "precision@2": lambda rank: (rank <= 2) / 2,
    "p@2": lambda rank: (rank <= 2) / 2,
    "average-rank": float,
}


# --- Against loops ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", WEIGHTS)
@pytest.mark.parametrize("propensities", [pk.clicks.Propensities(THETA), TRUST], ids=["position", "trust"])
def test_each_click_counts_one_over_its_propensity_times_the_discount_of_the_new_rank(
    log, scores, metric, propensities
):
    a = THETA if propensities.a is None else propensities.a
    b = [0.0] * 5 if propensities.b is None else propensities.b
    score, total, norm, clipped = by_name(log, scores), 0.0, 0.0, 0.0
    for query, docs, clicks in lists_of(log):
        new = mean_over_orders(docs, {doc: score[query, doc] for doc in docs}, WEIGHTS[metric])
        for rank, (doc, click) in enumerate(zip(docs, clicks, strict=True)):
            relevance = (click - b[rank]) / a[rank]
            total, norm = total + relevance * new[doc], norm + relevance
            clipped += (click - b[rank]) / max(a[rank], 0.45) * new[doc]
    options = {"propensities": propensities, "metric": metric}
    found = evaluate(log, scores, **options)
    assert found.value == pytest.approx(total / len(log), rel=1e-12)
    assert evaluate(log, scores, estimator="snips", **options).value == pytest.approx(total / norm, rel=1e-12)
    found = evaluate(log, scores, estimator="clipped", clip=0.45, **options)
    assert found.value == pytest.approx(clipped / len(log), rel=1e-12)
    assert found.bias == pytest.approx((clipped - total) / len(log), rel=1e-9)


def test_over_queries_a_click_counts_one_over_the_mean_propensity_of_its_document(log, scores):
    sessions, score = lists_of(log), by_name(log, scores)
    total = norm = clipped = robust = 0.0
    guess = by_name(log, np.linspace(0.1, 0.9, log.n_pairs))
    for query in {query for query, *_ in sessions}:
        own = [(docs, clicks) for q, docs, clicks in sessions if q == query]
        new = mean_over_orders(
            [d for q, d in score if q == query], {d: s for (q, d), s in score.items() if q == query}, dcg(3)
        )
        for doc, weight in new.items():
            looks = [THETA[docs.index(doc)] if doc in docs else 0.0 for docs, _ in own]
            hits = [clicks[docs.index(doc)] if doc in docs else 0 for docs, clicks in own]
            rho, r = np.mean(looks), guess[query, doc]
            total += len(own) * weight * np.mean(hits) / rho
            norm += len(own) * np.mean(hits) / rho
            clipped += len(own) * weight * np.mean(hits) / max(rho, 0.4)
            robust += weight * sum(r + (c - a * r) / max(rho, 0.4) for c, a in zip(hits, looks, strict=True))
    options = {"propensities": THETA, "metric": "dcg@3", "candidates": "query"}
    assert evaluate(log, scores, **options).value == pytest.approx(total / len(log), rel=1e-12)
    assert evaluate(log, scores, estimator="snips", **options).value == pytest.approx(total / norm, rel=1e-12)
    found = evaluate(log, scores, estimator="clipped", clip=0.4, **options)
    assert found.value == pytest.approx(clipped / len(log), rel=1e-12)
    assert found.bias == pytest.approx((clipped - total) / len(log), rel=1e-9)
    prior = [guess[log.pairs[code]] for code in range(log.n_pairs)]
    found = evaluate(log, scores, estimator="dr", clip=0.4, regression=prior, **options)
    assert found.value == pytest.approx(robust / len(log), rel=1e-12)


def test_doubly_robust_replaces_what_clipping_takes_by_the_regression(log, scores):
    guess = np.linspace(0.1, 0.9, log.n_pairs)
    prior, score, total = by_name(log, guess), by_name(log, scores), 0.0
    for query, docs, clicks in lists_of(log):
        new = mean_over_orders(docs, {doc: score[query, doc] for doc in docs}, dcg(3))
        for rank, (doc, click) in enumerate(zip(docs, clicks, strict=True)):
            r = prior[query, doc]
            total += new[doc] * (r + (click - THETA[rank] * r) / max(THETA[rank], 0.45))
    options = {"propensities": THETA, "metric": "dcg@3"}
    found = evaluate(log, scores, estimator="dr", clip=0.45, regression=guess, **options)
    assert found.value == pytest.approx(total / len(log), rel=1e-12)
    assert evaluate(log, scores, estimator="dr", clip=0, **options).value == pytest.approx(
        evaluate(log, scores, **options).value, rel=1e-12
    )


@pytest.mark.parametrize("propensities", [pk.clicks.Propensities(THETA), TRUST], ids=["position", "trust"])
def test_expected_clicks_of_the_logged_order_are_the_clicks_of_the_log(log, propensities):
    found = evaluate(log, "logged", propensities=propensities, metric="clicks")
    assert found.value == pytest.approx(log.n_clicks / len(log), rel=1e-12)


@pytest.mark.parametrize("user", ["pbm", "trust"])
@pytest.mark.parametrize("candidates", ["session", "query"])
def test_the_expectation_over_all_clicks_is_the_value(user, candidates):
    k, relevance, docs = 3, np.array([0.1, 0.9, 0.4]), ["a", "b", "c"]
    made = get_user(user, np.array([0.0, 1.0, 1.0]), k, eta=1.0, epsilon=0.1, max_label=1)
    shown = [(0, 1, 2), (2, 0, 1)]
    new, expected = [0.3, 0.1, 0.2], 0.0
    for rank, doc in enumerate(np.argsort([-s for s in new]), start=1):
        expected += relevance[doc] / math.log2(1 + rank)
    theta = pk.clicks.Propensities(made.slope + made.offset, a=made.slope, b=made.offset)
    found = 0.0
    for patterns in itertools.product(itertools.product([0, 1], repeat=k), repeat=len(shown)):
        chance = 1.0
        for order, clicks in zip(shown, patterns, strict=True):
            p = made.slope * relevance[list(order)] + made.offset
            chance *= np.prod(np.where(clicks, p, 1 - p))
        log = pk.clicks.ClickLog.from_arrays(
            ["q"] * 2, [docs[d] for one in shown for d in one], np.ravel(patterns), indptr=[0, 3, 6]
        )
        found += chance * evaluate(log, new, propensities=theta, metric="dcg", candidates=candidates).value
    assert found == pytest.approx(expected, rel=1e-12)


# --- Intervals --------------------------------------------------------------------------------------------------------


def test_bootstrap_intervals_are_those_of_resampled_t_values(monkeypatch):
    monkeypatch.setattr("plackett.clicks.counterfactual.intervals.DRAWS", 20_000)
    rng = np.random.default_rng(0)
    values = rng.lognormal(0, 1, (60, 1))
    found = bootstrap_intervals(np.column_stack([values, np.full(60, 3.0)]), 0.9, 0)
    drawn = values[rng.integers(60, size=(20_000, 60)), 0]
    t = (drawn.mean(axis=1) - values.mean()) / drawn.std(axis=1)
    low, high = np.quantile(t, [0.05, 0.95])
    expected = values.mean() - high * values.std(), values.mean() - low * values.std()
    assert found[0] == pytest.approx(expected, rel=0.03)
    assert found[1] == (3.0, 3.0)


def test_units_of_several_sessions_give_the_error_of_a_ratio():
    rng = np.random.default_rng(0)
    units, values = rng.integers(0, 40, 500), rng.normal(1, 1, 500)
    found = unit_values(values[:, None], units, 0)[:, 0]
    sums = np.array([values[units == u].sum() for u in range(40)])
    sizes = np.array([(units == u).sum() for u in range(40)])
    assert found.mean() == pytest.approx(values.mean())
    assert found == pytest.approx(values.mean() + (sums - values.mean() * sizes) / sizes.mean())


def test_units_widen_the_interval_where_sessions_repeat(log, scores):
    doubled = log[np.repeat(np.arange(len(log)), 4)]
    options = {"propensities": THETA, "metric": "dcg@3"}
    alone = evaluate(doubled, scores, **options)
    together = evaluate(doubled, scores, unit=np.repeat(np.arange(len(log)), 4), **options)
    assert together.value == pytest.approx(alone.value)
    assert together.standard_error == pytest.approx(evaluate(log, scores, **options).standard_error, rel=1e-9)
    assert together.standard_error > 1.9 * alone.standard_error
    by_query = evaluate(log, scores, unit="query", **options)
    assert by_query.value == pytest.approx(evaluate(log, scores, **options).value)


def test_many_units_are_grouped(monkeypatch, log, scores):
    options = {"propensities": THETA, "metric": "dcg@3"}
    whole = evaluate(log, scores, **options)
    monkeypatch.setattr("plackett.clicks.counterfactual.intervals.MOST_UNITS", 60)
    grouped = evaluate(log, scores, **options)
    assert grouped.value == whole.value
    assert grouped.standard_error == pytest.approx(whole.standard_error, rel=0.3)


def test_intervals_contain_the_truth_of_simulated_users_in_nearly_all_runs(monkeypatch):
    monkeypatch.setattr("plackett.clicks.counterfactual.intervals.DRAWS", 500)
    lists = pk.datasets.make_web_like(20, 6, 3, random_state=0)
    noise = np.random.default_rng(0).normal(size=(3, lists.n_docs))
    user, served, new = "pbm", {"a": noise[0], "b": noise[1]}, lists.y + noise[2]
    found = get_user(user, lists.y, 6, eta=1.0, epsilon=0.1, max_label=None)
    truth = 0.0
    for qid in lists.ids:
        docs = np.flatnonzero(lists.qid == qid)
        order = docs[np.argsort(-new[docs])][:3]
        truth += float(found.relevance[order] @ (1 / np.log2(2 + np.arange(3)))) / lists.n_queries
    inside, values = 0, []
    for seed in range(150):
        log = pk.clicks.simulate_clicks(lists, served, 600, user=user, k=6, random_state=seed)
        scores = [new[int(log.pairs[code][1])] for code in range(log.n_pairs)]
        one = evaluate(log, scores, propensities=found.slope, metric="dcg@3")
        inside += one.interval.low <= truth <= one.interval.high
        values.append(one.value)
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / math.sqrt(150)
    assert inside >= 132  # 88 %; 95 % of 150 is 142.5, with a standard deviation of 2.7


# --- Several rankings -------------------------------------------------------------------------------------------------


def test_rankings_of_a_dict_are_compared_on_the_same_sessions(log, scores):
    options = {"propensities": THETA, "metric": "dcg@3"}
    found = evaluate(log, {"new": scores, "old": "logged", "reversed": -scores}, **options)
    assert [f"{one.ranker} {one.other}" for one in found.differences] == ["new old", "new reversed", "old reversed"]
    for one in found.differences:
        assert one.value == pytest.approx(found[one.ranker].value - found[one.other].value)
        assert one.interval.low < one.value < one.interval.high
    alone = evaluate(log, scores, **options)
    assert found["new"].value == alone.value
    assert found["new"].interval == pytest.approx(alone.interval)
    assert found.best == max(found.results, key=lambda name: found[name].value)
    assert len(found.to_table().rows) == len(found.to_differences().rows) == 3
    assert "new - old" in str(found)
    assert list(json.loads(json.dumps(found.to_dict()))["rankers"]) == ["new", "old", "reversed"]
    lower = evaluate(log, {"new": scores, "old": "logged"}, propensities=THETA, metric="average-rank")
    assert lower.best == min(lower.results, key=lambda name: lower[name].value)


def test_the_same_ranking_twice_does_not_differ(log, scores):
    found = evaluate(log, {"a": scores, "b": scores + 1}, propensities=THETA)
    assert found.differences[0][2:] == (0.0, (0.0, 0.0), 1.0, False)


# --- Promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["ips", "snips", "clipped", "dr"])
@pytest.mark.parametrize("candidates", ["session", "query"])
def test_results_depend_neither_on_the_order_of_sessions_nor_on_threads(
    monkeypatch, log, scores, estimator, candidates
):
    options = {"propensities": TRUST, "metric": "dcg@3", "estimator": estimator, "candidates": candidates}
    first = evaluate(log, {"a": scores, "b": -scores}, **options).to_dict()
    monkeypatch.setattr("plackett.clicks.models.collapse.ROWS_PER_BLOCK", 100)
    before = n_threads()
    try:
        set_n_threads(3)
        order = np.random.default_rng(3).permutation(len(log))
        assert evaluate(log[order], {"a": scores, "b": -scores}, **options).to_dict() == first
    finally:
        set_n_threads(before)


def test_equal_scores_share_their_places():
    places = find_places(np.array([0, 4, 5]), np.array([1.0, 2.0, 1.0, 1.0, 7.0]))
    assert places.start.tolist() == [1, 0, 1, 1, 0]
    assert places.stop.tolist() == [4, 1, 4, 4, 1]


def test_rankers_score_the_features_of_the_log(log, scores):
    X = np.column_stack([scores, -scores])
    ranker = pk.LinearRanker(loss="squared").fit(X, scores, qid=log.pair_query)
    with_features = log.with_features(X)
    found = evaluate(with_features, ranker, propensities=THETA)
    assert found.value == pytest.approx(evaluate(log, scores, propensities=THETA).value)
    with pytest.raises(ValueError, match="which scores features, but the log has none"):
        evaluate(log, ranker, propensities=THETA)


def test_a_run_ranks_documents_that_were_never_shown(log, scores):
    query, docid = zip(*(log.pairs[code] for code in range(log.n_pairs)), strict=True)
    run = pk.Run(query, docid, scores)
    options = {"propensities": THETA, "metric": "dcg@3", "candidates": "query"}
    same = evaluate(log, scores, **options)
    found = evaluate(log, run, **options)
    assert found.value == pytest.approx(same.value, rel=1e-12)
    assert found.coverage == 1
    new = [f"new {q}" for q in sorted(set(query))]
    more = pk.Run([*query, *sorted(set(query))], [*docid, *new], [*scores, *([99.0] * len(new))])
    with pytest.warns(DataWarning, match="was ever shown for its query; the rest counts as irrelevant"):
        found = evaluate(log, more, **options)
    first, others = 1.0, 1 / math.log2(3) + 1 / 2
    assert found.coverage == pytest.approx(others / (first + others))
    assert found.bias_bound == pytest.approx(first)
    within = evaluate(log, more, propensities=THETA, metric="dcg@3")
    assert within.value == pytest.approx(evaluate(log, scores, propensities=THETA, metric="dcg@3").value)
    assert "shown lists in a new order" in within.notes[-1]


def test_a_run_of_other_queries_is_refused_and_missing_ones_are_named(log):
    with pytest.raises(ValueError, match="answers none of the queries of the log, such as 'q0'"):
        evaluate(log, pk.Run(["other"], ["a"], [1.0]), propensities=THETA)
    with pytest.warns(DataWarning, match="does not answer 3 queries of the log, such as 'q1'"):
        evaluate(log, pk.Run(["q0"], ["1"], [1.0]), propensities=THETA)


def test_a_run_without_the_shown_documents_is_refused_and_one_with_few_is_warned_of(log, scores):
    query, docid = (np.array(part) for part in zip(*(log.pairs[code] for code in range(log.n_pairs)), strict=True))
    other = pk.Run(query, [f"x{one}" for one in docid], scores)
    with pytest.raises(ValueError, match=r"ranks none of the documents that were shown, such as '\d' for 'q\d'"):
        evaluate(log, other, propensities=THETA)
    assert evaluate(log, other, propensities=THETA, candidates="query").coverage == 0
    few = np.isin(docid, ["0", "1"])
    with pytest.warns(DataWarning, match=r"ranker ranks \d\d.\d% of the shown documents; the others follow"):
        evaluate(log, pk.Run(query[few], docid[few], scores[few]), propensities=THETA)
    most = pk.Run(query[docid != "0"], docid[docid != "0"], scores[docid != "0"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(log[np.repeat(np.arange(len(log)), 5)], most, propensities=THETA)


def test_percent_encoded_ids_of_a_run_are_those_of_the_log():
    clicks = np.arange(24) % 3 == 0
    queries, docids = ["red shoes"] * 6 + ["100%25"] * 6, ["big hat", "b"] * 12
    log = pk.clicks.ClickLog.from_arrays(queries, docids, clicks, indptr=np.arange(0, 26, 2))
    run = pk.Run(["red%20shoes"] * 2 + ["100%25"] * 2, ["big%20hat", "b"] * 2, [1.0, 2.0, 1.0, 2.0])
    same = pk.Run(["red shoes"] * 2 + ["100%25"] * 2, ["big hat", "b"] * 2, [1.0, 2.0, 1.0, 2.0])
    found, known = (evaluate(log, one, propensities=[1.0, 0.5]) for one in (run, same))
    assert found.value == known.value
    assert found.coverage == 1


@pytest.mark.parametrize(
    ("n", "has_clicks", "reason"), [(2, True, "2 sessions, fewer than 10"), (50, False, "no click")]
)
def test_a_bootstrap_without_evidence_has_no_interval(log, scores, n, has_clicks, reason):
    part = log[:n]
    if not has_clicks:
        sizes = np.diff(part.indptr)
        names = [log.pairs[int(code)] for code in part.pair]
        part = pk.clicks.ClickLog.from_arrays(
            [names[start][0] for start in part.indptr[:-1]],
            [doc for _, doc in names],
            np.zeros(sizes.sum(), dtype=bool),
            indptr=part.indptr,
        )
        scores = scores[: part.n_pairs]
    found = evaluate(part, {"a": scores, "b": -scores}, propensities=THETA)
    assert all(math.isnan(end) for one in found.results.values() for end in one.interval)
    assert all(math.isnan(end) for end in found.differences[0].interval)
    assert f"There is no interval: the log has {reason}." in str(found)
    assert "interval – to –" in str(found["a"])


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        ("ips", 'a smaller cut-off, or estimator="clipped".'),
        ("clipped", "a smaller cut-off, or a larger clip."),
        ("rips", "Use more sessions, or a smaller cut-off."),
    ],
)
def test_advice_fits_the_estimator(scores, estimator, advice):
    lists = pk.datasets.make_web_like(5, 6, 3, random_state=0)
    log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 40, k=3, random_share=1.0)
    given = {"propensities": THETA} if estimator in ("ips", "clipped") else {"logging": "shuffled"}
    found = evaluate(log, np.arange(log.n_pairs), estimator=estimator, **given)
    assert advice in " ".join(found.notes)


def test_no_click_is_advised_to_use_more_sessions():
    log = pk.clicks.ClickLog.from_arrays(["q"] * 20, ["a"] * 20, [False] * 20, indptr=np.arange(21))
    with pytest.warns(DataWarning, match="Nothing was clicked in 20 sessions. Use more sessions"):
        found = evaluate(log, [1.0], propensities=[1.0], estimator="clipped")
    assert not any("clip" in note.lower().replace("clicked", "") for note in found.notes)


def test_given_estimates_are_noted(log, scores):
    found = evaluate(log, scores, propensities=pk.clicks.Propensities(THETA, method="em"))
    assert "The propensities are estimates (em); the interval treats them as known." in found.notes
    assert not any("estimates" in note for note in evaluate(log, scores, propensities=THETA).notes)


def test_effective_sample_size_is_that_of_kish(log, scores):
    weights = []
    score = by_name(log, scores)
    for query, docs, clicks in lists_of(log):
        new = mean_over_orders(docs, {doc: score[query, doc] for doc in docs}, dcg(3))
        weights += [new[d] / THETA[r] for r, (d, c) in enumerate(zip(docs, clicks, strict=True)) if c]
    found = evaluate(log, scores, propensities=THETA, metric="dcg@3")
    assert found.effective_sample_size == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights))


def test_few_effective_clicks_and_dominating_clipping_are_warned_of(log, scores):
    with pytest.warns(DataWarning, match="rests on .* effective clicks of"):
        evaluate(log[:20], scores, propensities=THETA)
    with pytest.warns(DataWarning, match="Clipping changed the value by -"):
        evaluate(log, scores, propensities=THETA, estimator="clipped", clip=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(log[np.repeat(np.arange(len(log)), 5)], scores, propensities=THETA)


def test_the_text_says_what_was_found(log, scores):
    found = evaluate(log, scores, propensities=THETA, metric="dcg@3", estimator="clipped", clip=0.45)
    assert "95% interval" in str(found)
    assert "clipped below" in str(found)
    assert repr(found).startswith("ClickEvaluation(ranker: dcg@3 0.")
    assert found.to_table().columns[1].name == "dcg@3"
    assert found.to_dict()["interval"] == [found.interval.low, found.interval.high]


def test_a_metric_may_be_a_function_of_ranks(log, scores):
    found = evaluate(log, scores, propensities=THETA, metric=lambda rank: (rank <= 2) / 2)
    assert found.value == pytest.approx(evaluate(log, scores, propensities=THETA, metric="precision@2").value)
    with pytest.raises(ValueError, match="a number of at least 0 for each of the 5 ranks"):
        evaluate(log, scores, propensities=THETA, metric=lambda rank: -rank)


def test_propensities_may_be_estimated_from_the_log():
    lists = pk.datasets.make_web_like(10, 6, 3, random_state=0)
    served = {"a": lists.X[:, 0], "b": -lists.X[:, 0], "c": lists.X[:, 1]}
    log = pk.clicks.simulate_clicks(lists, served, 4_000, k=4, random_state=0)
    found = evaluate(log, "logged", propensities="harvesting")
    known = pk.clicks.estimate_propensities(log, "harvesting", level=None)
    assert found.value == evaluate(log, "logged", propensities=known).value
    assert any("estimates from this log (harvesting)" in note for note in found.notes)


def test_one_order_of_every_query_is_noted(log, scores):
    one = made_log(1)[np.zeros(200, dtype=int)]
    assert any("shown at one rank only" in note for note in evaluate(one, "logged", propensities=THETA).notes)


# --- Mistakes ---------------------------------------------------------------------------------------------------------


MISTAKES = [
    ({"propensities": None}, "the estimator 'ips' needs propensities"),
    ({"propensities": THETA[:3]}, "propensities for 3 ranks but lists of up to 5 documents. Cut the lists"),
    ({"propensities": [1, 0.5, math.nan, 0.2, math.nan]}, r"ranks 3 and 5 is not known \(NaN\)"),
    ({"propensities": [1, 0.5, 0.3, 0.2, 0]}, "rank 5 is not above 0"),
    ({"metric": "ndcg@10"}, "metric='ndcg@10' is not known; choose dcg"),
    ({"metric": "precision"}, "metric='precision' is not known"),
    ({"metric": "average-rank@3"}, "average-rank has no cut-off"),
    ({"estimator": "best"}, "estimator='best' is not known"),
    ({"candidates": "all"}, "candidates='all' is not known"),
    ({"clip": 0.1}, 'clip is for estimator="clipped" and "dr"'),
    ({"regression": [1.0]}, 'regression is for estimator="dr"'),
    ({"estimator": "dr", "regression": [1.0]}, "regression has 1 value; a finite number for each of the"),
    ({"logging": "shuffled"}, "logging is for estimators by logging probabilities"),
    ({"level": 1.0}, "level=1.0; it must be between 0 and 1"),
    ({"unit": "user"}, "unit='user'; it must be"),
    ({"unit": ["a", "b"]}, "unit has 2 values but the log has 300 sessions"),
]


@pytest.mark.parametrize(
    ("given", "message"), MISTAKES, ids=[str(list(given)[-1]) + str(i) for i, (given, _) in enumerate(MISTAKES)]
)
def test_mistakes_are_explained(log, scores, given, message):
    with pytest.raises(ValueError, match=message):
        evaluate(log, scores, **{"propensities": THETA, **given})


def test_rankers_that_do_not_fit_the_log_are_explained(log, scores):
    with pytest.raises(ValueError, match=r"new has 3 scores but the log has \d+ pairs; one for each of log.pairs"):
        evaluate(log, {"new": [1.0, 2.0, 3.0]}, propensities=THETA)
    with pytest.raises(ValueError, match="'bm25'; scores, a fitted ranker"):
        evaluate(log, "bm25", propensities=THETA)
    with pytest.raises(ValueError, match='"logged" orders the documents of each list'):
        evaluate(log, "logged", propensities=THETA, candidates="query")
    with pytest.raises(ValueError, match="an empty dict"):
        evaluate(log, {}, propensities=THETA)
    with pytest.raises(ValueError, match="the log has no sessions"):
        evaluate(log[:0], scores, propensities=THETA)
