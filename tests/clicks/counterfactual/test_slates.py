"""Estimates by logging probabilities against loops, enumerations and published code."""

import itertools
import math

import numpy as np
import pytest

import plackett as pk
from plackett._threads import n_threads, set_n_threads
from plackett.clicks.counterfactual.policy import joint_chances, race_chances
from plackett.clicks.counterfactual.slates import SHRINKAGE
from plackett.clicks.propensities.counts import session_groups
from plackett.exceptions import DataWarning
from tests.clicks.logs import lists_of

evaluate = pk.clicks.evaluate_from_clicks
LoggingPolicy = pk.clicks.LoggingPolicy
SLATES = ["list", "item-position", "rips", "cascade-dr", "pseudo-inverse"]
N_QUERIES, N_DOCS, K = 3, 4, 3
pytestmark = pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")  # few clicks, in most tests


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    old = rng.normal(size=(N_QUERIES, N_DOCS))
    return old, np.array([[3, 2, 1, 0], [1, 1, 1, 0], [2, 0, 1, 0]], dtype=float)  # two with ties


def log_of(lists, clicks, queries, **parts):
    indptr = np.append(0, np.cumsum([len(one) for one in lists]))
    return pk.clicks.ClickLog.from_arrays(
        queries, np.concatenate(lists), np.concatenate(clicks), indptr=indptr, **parts
    )


def sampled(old, n=400, seed=0, **parts):
    rng = np.random.default_rng(seed)
    query = rng.integers(N_QUERIES, size=n)
    order = np.argsort(-(old[query] + rng.gumbel(size=(n, N_DOCS))), axis=1)[:, :K]
    return log_of(order, rng.random((n, K)) < 0.4, [f"q{q}" for q in query], **parts)


def list_chance(weights, docs):
    left, chance = sum(weights), 1.0
    for doc in docs:
        chance *= weights[doc] / left
        left -= weights[doc]
    return chance


def new_lists(score, k):
    """The lists of a ranking with their chances: all orders of equal scores are equally likely."""
    orders = [
        order
        for order in itertools.permutations(range(len(score)))
        if all(score[a] >= score[b] for a, b in itertools.pairwise(order))
    ]
    chances = dict.fromkeys(itertools.permutations(range(len(score)), k), 0.0)
    for order in orders:
        chances[order[:k]] += 1 / len(orders)
    return chances


def discount(rank):
    return 1 / math.log2(2 + rank)


def prefix_sum(chances, docs):
    return sum(p for other, p in chances.items() if other[: len(docs)] == docs)


def item_sum(chances, doc, rank):
    return sum(p for other, p in chances.items() if other[rank] == doc)


def literal(log, old, new, estimator, half=None):
    """The estimate by loops over lists and their chances."""
    weights, total = np.exp(old), 0.0
    perms = list(itertools.permutations(range(N_DOCS), K))
    rates = None if half is None else baseline_rates(log, half)
    for i, (query, docs, clicks) in enumerate(lists_of(log)):
        q, shown = int(query[1:]), tuple(map(int, docs))
        old_chances = {one: list_chance(weights[q], one) for one in perms}
        new_chances = new_lists(new[q], K)
        reward = [discount(rank) * click for rank, click in enumerate(clicks)]
        if estimator == "list":
            total += sum(reward) * new_chances[shown] / old_chances[shown]
        elif estimator == "item-position":
            for rank, doc in enumerate(shown):
                total += reward[rank] * item_sum(new_chances, doc, rank) / item_sum(old_chances, doc, rank)
        elif estimator == "pseudo-inverse":
            cells = list(itertools.product(range(N_DOCS), range(K)))
            vector = {one: np.array([one[rank] == doc for doc, rank in cells], dtype=float) for one in perms}
            moments = sum(p * np.outer(vector[one], vector[one]) for one, p in old_chances.items())
            mean = sum(p * vector[one] for one, p in new_chances.items())
            total += sum(reward) * (mean @ np.linalg.pinv(moments) @ vector[shown])
        else:
            before = 1.0
            for rank in range(K):
                prefix = shown[: rank + 1]
                weight = prefix_sum(new_chances, prefix) / prefix_sum(old_chances, prefix)
                total += weight * reward[rank]
                if estimator == "cascade-dr":
                    by_rank, by_doc = rates[half[i]]
                    expected = sum(
                        p * discount(r) * by_rank[r] * by_doc[query, str(one[r])]
                        for one, p in new_chances.items()
                        for r in range(rank, K)
                    )
                    total += (before - weight) * expected
                before = weight
    return total / len(log)


def baseline_rates(log, half):
    """Click rates of ranks, and clicks over expected clicks of documents, in the other half of the log."""
    rates, sessions = [], lists_of(log)
    for number in (0, 1):
        other = [one for one, h in zip(sessions, half, strict=True) if h != number]
        by_rank = [np.mean([clicks[rank] for _, _, clicks in other]) for rank in range(K)]
        by_doc = {}
        for code in range(log.n_pairs):
            query, doc = log.pairs[code]
            own = [(docs.index(doc), clicks) for q, docs, clicks in other if q == query and doc in docs]
            hits = sum(clicks[rank] for rank, clicks in own)
            by_doc[query, doc] = (hits + SHRINKAGE) / (sum(by_rank[rank] for rank, _ in own) + SHRINKAGE)
        rates.append((by_rank, by_doc))
    return rates


@pytest.mark.parametrize("estimator", SLATES)
def test_sampled_lists_are_weighted_as_the_papers_say(scores, estimator):
    old, new = scores
    log = sampled(old)
    policy = LoggingPolicy.plackett_luce(2 * old.reshape(-1), temperature=2.0)
    found = evaluate(log, new.reshape(-1), logging=policy, metric="dcg", estimator=estimator)
    half = np.zeros(len(log), dtype=int)
    half[list(session_groups(log, 2, 0))[1]] = 1
    assert found.value == pytest.approx(literal(log, old, new, estimator, half), rel=1e-9)
    assert found.candidates == "query"


@pytest.mark.parametrize("estimator", ["list", "item-position", "rips", "pseudo-inverse"])
def test_the_expectation_over_all_lists_and_clicks_is_the_value(scores, estimator):
    """Users who click by document and rank alone suit all estimators; their clicks are enumerated."""
    old, new = scores
    chance = np.random.default_rng(1).uniform(0.1, 0.9, (N_DOCS, K))
    perms, weights = list(itertools.permutations(range(N_DOCS), K)), np.exp(old[0])
    truth = sum(
        p * sum(discount(rank) * chance[doc, rank] for rank, doc in enumerate(one))
        for one, p in new_lists(new[0], K).items()
    )
    patterns = list(itertools.product([0, 1], repeat=K))
    sessions = [(one, clicks) for one in perms for clicks in patterns]
    log = log_of([one for one, _ in sessions], [clicks for _, clicks in sessions], ["q"] * len(sessions))
    policy = LoggingPolicy.plackett_luce(old[0])
    expected = 0.0
    for place, (one, clicks) in enumerate(sessions):
        p = [chance[doc, rank] for rank, doc in enumerate(one)]
        likely = math.prod(a if click else 1 - a for a, click in zip(p, clicks, strict=True))
        found = evaluate(log[place : place + 1], new[0], logging=policy, metric="dcg", estimator=estimator)
        expected += list_chance(weights, one) * likely * found.value
    assert expected == pytest.approx(truth, rel=1e-9)


def test_the_control_variate_of_cascade_dr_has_no_expectation(scores):
    """Weights above less weights have the mean 0 at every rank, whatever is expected from there on."""
    old, new = scores
    perms, weights = list(itertools.permutations(range(N_DOCS), K)), np.exp(old[0])
    chances = new_lists(new[0], K)
    for rank in range(K):
        mean = 0.0
        for one in perms:
            old_chances = {other: list_chance(weights, other) for other in perms}
            weight = [
                prefix_sum(chances, one[:stop]) / prefix_sum(old_chances, one[:stop]) for stop in (rank, rank + 1)
            ]
            mean += old_chances[one] * (weight[0] - weight[1])
        assert mean == pytest.approx(0.0, abs=1e-12)


def test_cascade_dr_has_less_variance_than_rips(scores):
    old, new = scores
    policy = LoggingPolicy.plackett_luce(old.reshape(-1))
    log = sampled(old, 4_000)
    errors = [
        evaluate(log, new.reshape(-1), logging=policy, metric="dcg", estimator=one).standard_error
        for one in ("list", "rips", "cascade-dr")
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("estimator", SLATES)
def test_shuffled_lists_are_those_of_equal_scores(estimator):
    rng = np.random.default_rng(0)
    lists = [rng.permutation(4) for _ in range(200)]
    queries = rng.integers(3, size=200).astype(str)
    log = log_of(lists, rng.random((200, 4)) < 0.4, queries, is_random=np.ones(200, dtype=bool))
    new = rng.integers(0, 3, log.n_pairs).astype(float)
    shuffled = evaluate(log, new, logging="shuffled", metric="clicks@3", estimator=estimator)
    policy = LoggingPolicy.plackett_luce(np.zeros(log.n_pairs))
    assert shuffled.value == pytest.approx(
        evaluate(log, new, logging=policy, metric="clicks@3", estimator=estimator).value, rel=1e-9
    )
    assert shuffled.candidates == "session"


def test_only_shuffled_sessions_are_used():
    rng = np.random.default_rng(0)
    lists = [rng.permutation(3) for _ in range(100)]
    is_random = rng.random(100) < 0.5
    log = log_of(lists, rng.random((100, 3)) < 0.4, ["q"] * 100, is_random=is_random)
    new = [0.1, 0.3, 0.2]
    found = evaluate(log, new, logging="shuffled", estimator="rips", unit=np.arange(100))
    assert found.n_sessions == is_random.sum()
    assert found.value == evaluate(log[is_random], new, logging="shuffled", estimator="rips").value


def test_probabilities_may_be_those_that_a_service_logged(scores):
    old, new = scores
    log = sampled(old)
    policy = LoggingPolicy.plackett_luce(old.reshape(-1))
    given = LoggingPolicy.from_probabilities(step=policy.step(log), marginal=policy.marginal(log))
    for estimator in SLATES[:4]:
        values = [evaluate(log, new.reshape(-1), logging=one, estimator=estimator).value for one in (policy, given)]
        assert values[0] == pytest.approx(values[1], rel=1e-12)
    for missing, estimator in (("step", "rips"), ("marginal", "item-position")):
        other = {"step": "marginal", "marginal": "step"}[missing]
        part = LoggingPolicy.from_probabilities(**{other: policy.step(log)})
        with pytest.raises(ValueError, match=rf"from_probabilities\({missing}=\.\.\.\)"):
            evaluate(log, new.reshape(-1), logging=part, estimator=estimator)


@pytest.mark.parametrize("estimator", ["list", "item-position", "rips"])
def test_normalised_weights_have_the_mean_1_at_every_rank(scores, estimator):
    old, new = scores
    log = sampled(old)
    perms, weights = list(itertools.permutations(range(N_DOCS), K)), np.exp(old)
    sessions = lists_of(log)
    gain, norm = np.zeros((2, K))
    for query, docs, clicks in sessions:
        q, shown = int(query[1:]), tuple(map(int, docs))
        old_chances, new_chances = {one: list_chance(weights[q], one) for one in perms}, new_lists(new[q], K)
        for rank, doc in enumerate(shown):
            if estimator == "item-position":
                weight = item_sum(new_chances, doc, rank) / item_sum(old_chances, doc, rank)
            else:
                prefix = shown if estimator == "list" else shown[: rank + 1]
                weight = prefix_sum(new_chances, prefix) / prefix_sum(old_chances, prefix)
            gain[rank] += weight * clicks[rank] * discount(rank)
            norm[rank] += weight
    policy = LoggingPolicy.plackett_luce(old.reshape(-1))
    options = {"logging": policy, "metric": "dcg", "estimator": estimator}
    found = evaluate(log, new.reshape(-1), normalise=True, **options)
    assert found.value == pytest.approx((gain / norm).sum(), rel=1e-9)


def test_the_logged_order_has_the_clicks_of_the_log(scores):
    log = sampled(scores[0])
    policy = LoggingPolicy.plackett_luce(scores[0].reshape(-1))
    for estimator in SLATES:
        found = evaluate(log, "logged", logging=policy, metric="clicks", estimator=estimator)
        assert found.value == pytest.approx(log.n_clicks / len(log))
        assert found.mean_weight == pytest.approx(1)


def test_wrong_logging_probabilities_show_in_the_mean_weight(scores):
    old, _ = scores
    log = sampled(old, 2_000)
    wrong = LoggingPolicy.plackett_luce(np.zeros(log.n_pairs))
    with pytest.warns(DataWarning, match=r"The mean weight is .* but 1 is expected"):
        evaluate(log, old.reshape(-1), logging=wrong, estimator="item-position")


@pytest.mark.parametrize("estimator", SLATES)
def test_results_depend_neither_on_the_order_of_sessions_nor_on_threads(monkeypatch, scores, estimator):
    old, new = scores
    log, policy = sampled(old), LoggingPolicy.plackett_luce(old.reshape(-1))
    options = {"logging": policy, "metric": "dcg", "estimator": estimator}
    first = evaluate(log, {"a": new.reshape(-1), "b": "logged"}, **options).to_dict()
    monkeypatch.setattr("plackett.clicks.models.collapse.ROWS_PER_BLOCK", 100)
    before = n_threads()
    try:
        set_n_threads(3)
        order = np.random.default_rng(3).permutation(len(log))
        assert evaluate(log[order], {"a": new.reshape(-1), "b": "logged"}, **options).to_dict() == first
    finally:
        set_n_threads(before)


@pytest.mark.parametrize("estimator", ["list", "item-position", "rips", "pseudo-inverse"])
def test_bernstein_bounds_what_a_session_may_add(estimator):
    rng = np.random.default_rng(0)
    lists = [rng.permutation(3) for _ in range(300)]
    log = log_of(lists, rng.random((300, 3)) < 0.4, ["q"] * 300, is_random=np.ones(300, dtype=bool))
    found = evaluate(
        log, [0.1, 0.3, 0.2], logging="shuffled", metric="clicks", estimator=estimator, interval="bernstein"
    )
    largest = {"list": 3 * 6, "item-position": 3 * 3, "rips": 3 + 6 + 6, "pseudo-inverse": 3 * (2 * 3 - 1)}[estimator]
    assert found.range == pytest.approx((-3.0 if estimator == "pseudo-inverse" else 0.0, largest))


# --- Chances of the Plackett–Luce model -------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_chances_of_ranks_are_those_of_all_orders(spread):
    weights = np.exp(spread * np.random.default_rng(0).normal(size=5))
    marginal, joint = np.zeros((5, 3)), np.zeros((5, 3, 5, 3))
    for order in itertools.permutations(range(5)):
        chance = list_chance(weights, order)
        for rank, doc in enumerate(order[:3]):
            marginal[doc, rank] += chance
            for other, further in enumerate(order[:3]):
                joint[doc, rank, further, other] += chance
    assert race_chances(weights, 3) == pytest.approx(marginal, abs=1e-12)
    assert joint_chances(weights, 3) == pytest.approx(joint, abs=1e-12)


def test_chances_of_ranks_of_a_long_list_sum_up_to_1():
    chances = race_chances(np.exp(3 * np.random.default_rng(0).normal(size=60)), 60)
    assert chances.sum(axis=0) == pytest.approx(np.ones(60), abs=1e-9)
    assert chances.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-9)


# --- Mistakes ---------------------------------------------------------------------------------------------------------


MISTAKES = [
    ({"logging": None}, "needs logging: a LoggingPolicy"),
    ({"logging": "shuffled"}, r"needs sessions with shuffled lists \(log.is_random\), and there are none"),
    ({"propensities": [1, 1, 1]}, "propensities is for estimators by propensities; 'rips' uses logging"),
    ({"clip": 0.1}, "clip is for estimators by propensities"),
    ({"metric": "average-rank"}, "average-rank is not a value of clicks"),
    ({"estimator": "cascade-dr", "normalise": True}, "normalise=True is for list, item-position and rips"),
    ({"estimator": "cascade-dr", "interval": "bernstein"}, "needs a mean of bounded values, which cascade-dr is not"),
    ({"logging": LoggingPolicy.plackett_luce([1.0])}, "the policy has 1 score but the log has 12 pairs"),
    ({"logging": LoggingPolicy.from_probabilities(step=[0.5])}, "step has 1 probability but the log has 1,200 shown"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_explained(scores, given, message):
    old, new = scores
    options = {"logging": LoggingPolicy.plackett_luce(old.reshape(-1)), "estimator": "rips"}
    with pytest.raises(ValueError, match=message):
        evaluate(sampled(old), new.reshape(-1), **{**options, **given})


def test_policies_are_checked():
    with pytest.raises(ValueError, match="step is 0 in row 1; probabilities must be above 0 and at most 1"):
        LoggingPolicy.from_probabilities(step=[0.5, 0.0])
    with pytest.raises(ValueError, match="step or marginal is needed"):
        LoggingPolicy.from_probabilities()
    with pytest.raises(ValueError, match="temperature=0"):
        LoggingPolicy.plackett_luce([1.0], temperature=0)
    with pytest.raises(ValueError, match="holds an infinite number"):
        LoggingPolicy.plackett_luce([math.inf])


def test_pseudo_inverse_says_what_it_cannot_do(scores):
    old, new = scores
    log = sampled(old)
    given = LoggingPolicy.from_probabilities(step=np.full(log.n_shown, 0.5))
    with pytest.raises(ValueError, match="needs the joint probabilities of documents at two ranks"):
        evaluate(log, new.reshape(-1), logging=given, estimator="pseudo-inverse")
    lists = [np.arange(12)]
    wide = log_of(lists, [np.zeros(12, dtype=bool)], ["q"])
    with pytest.raises(ValueError, match='"pseudo-inverse" takes up to 10 documents'):
        evaluate(wide, np.arange(12.0), logging=LoggingPolicy.plackett_luce(np.zeros(12)), estimator="pseudo-inverse")
