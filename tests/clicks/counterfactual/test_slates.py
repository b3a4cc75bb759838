"""Estimates by logging probabilities against loops, enumerations and published code."""

import io
import itertools
import math

import numpy as np
import pytest

import plackett as pk
from plackett._threads import n_threads, set_n_threads
from plackett.exceptions import DataWarning
from tests.clicks.logs import lists_of

evaluate = pk.clicks.evaluate_from_clicks
LoggingPolicy = pk.clicks.LoggingPolicy
SAMPLED = ["list", "item-position", "rips"]
SLATES = [*SAMPLED, "pseudo-inverse"]
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


def policy_of(log, scores):
    """The probabilities that a Plackett–Luce policy would have logged."""
    step, marginal = [], []
    for query, docs, _ in lists_of(log):
        weights, shown = np.exp(scores[int(query[1:])]), tuple(map(int, docs))
        chances = {one: list_chance(weights, one) for one in itertools.permutations(range(len(weights)), len(shown))}
        step += [
            prefix_sum(chances, shown[: rank + 1]) / prefix_sum(chances, shown[:rank]) for rank in range(len(shown))
        ]
        marginal += [item_sum(chances, doc, rank) for rank, doc in enumerate(shown)]
    return LoggingPolicy.from_probabilities(step=step, marginal=marginal)


def discount(rank):
    return 1 / math.log2(2 + rank)


def prefix_sum(chances, docs):
    return sum(p for other, p in chances.items() if other[: len(docs)] == docs)


def item_sum(chances, doc, rank):
    return sum(p for other, p in chances.items() if other[rank] == doc)


def literal(log, old, new, estimator, k=K):
    """The estimate by loops over lists and their chances."""
    weights, total = np.exp(old), 0.0
    perms = list(itertools.permutations(range(N_DOCS), k))
    for query, docs, clicks in lists_of(log):
        q, shown = int(query[1:]), tuple(map(int, docs))
        old_chances = {one: list_chance(weights[q], one) for one in perms}
        new_chances = new_lists(new[q], k)
        reward = [discount(rank) * click for rank, click in enumerate(clicks)]
        if estimator == "list":
            total += sum(reward) * new_chances[shown] / old_chances[shown]
        elif estimator == "item-position":
            for rank, doc in enumerate(shown):
                total += reward[rank] * item_sum(new_chances, doc, rank) / item_sum(old_chances, doc, rank)
        elif estimator == "pseudo-inverse":
            cells = list(itertools.product(range(N_DOCS), range(k)))
            vector = {one: np.array([one[rank] == doc for doc, rank in cells], dtype=float) for one in perms}
            moments = sum(p * np.outer(vector[one], vector[one]) for one, p in old_chances.items())
            mean = sum(p * vector[one] for one, p in new_chances.items())
            total += sum(reward) * (mean @ np.linalg.pinv(moments) @ vector[shown])
        else:
            for rank in range(k):
                prefix = shown[: rank + 1]
                total += reward[rank] * prefix_sum(new_chances, prefix) / prefix_sum(old_chances, prefix)
    return total / len(log)


@pytest.mark.parametrize("estimator", SAMPLED)
def test_sampled_lists_are_weighted_as_the_papers_say(scores, estimator):
    old, new = scores
    log = sampled(old)
    found = evaluate(log, new.reshape(-1), logging=policy_of(log, old), metric="dcg", estimator=estimator)
    assert found.value == pytest.approx(literal(log, old, new, estimator), rel=1e-9)
    assert found.candidates == "query"


@pytest.mark.parametrize("estimator", SLATES)
def test_shuffled_lists_are_weighted_as_the_papers_say(scores, estimator):
    rng = np.random.default_rng(0)
    lists = [rng.permutation(N_DOCS) for _ in range(200)]
    queries = [f"q{q}" for q in rng.integers(N_QUERIES, size=200)]
    log = log_of(lists, rng.random((200, N_DOCS)) < 0.4, queries, is_random=np.ones(200, dtype=bool))
    new = scores[1]
    found = evaluate(log, new.reshape(-1), logging="shuffled", metric="dcg", estimator=estimator)
    assert found.value == pytest.approx(literal(log, np.zeros_like(new), new, estimator, N_DOCS), rel=1e-9)
    assert found.candidates == "session"


@pytest.mark.parametrize("estimator", SAMPLED)
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
    log = log_of([one for one, _ in sessions], [clicks for _, clicks in sessions], ["q0"] * len(sessions))
    expected = 0.0
    for place, (one, clicks) in enumerate(sessions):
        p = [chance[doc, rank] for rank, doc in enumerate(one)]
        likely = math.prod(a if click else 1 - a for a, click in zip(p, clicks, strict=True))
        part = log[place : place + 1]
        found = evaluate(part, new[0], logging=policy_of(part, old), metric="dcg", estimator=estimator)
        expected += list_chance(weights, one) * likely * found.value
    assert expected == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("estimator", ["item-position", "pseudo-inverse"])
def test_shuffled_lists_of_ten_are_unbiased(estimator):
    """Users who click by document and rank alone."""
    rng = np.random.default_rng(0)
    k, n = 10, 20_000
    chance, new = rng.uniform(0.0, 0.9, (k, k)), rng.normal(size=k)
    truth = chance[np.argsort(-new), np.arange(k)].sum()
    docs = np.argsort(rng.random((n, k)), axis=1)
    clicks = rng.random((n, k)) < chance[docs, np.arange(k)]
    log = log_of(docs, clicks, ["q"] * n, is_random=np.ones(n, dtype=bool))
    found = evaluate(log, new, logging="shuffled", estimator=estimator, metric="clicks")
    assert abs(found.value - truth) < 3 * found.standard_error
    assert found.interval.low < truth < found.interval.high
    assert found.standard_error < (0.05 if estimator == "item-position" else 0.4)


def test_only_shuffled_sessions_are_used():
    rng = np.random.default_rng(0)
    lists = [rng.permutation(3) for _ in range(100)]
    is_random = rng.random(100) < 0.5
    log = log_of(lists, rng.random((100, 3)) < 0.4, ["q"] * 100, is_random=is_random)
    new = [0.1, 0.3, 0.2]
    found = evaluate(log, new, logging="shuffled", estimator="rips", unit=np.arange(100))
    assert found.n_sessions == is_random.sum()
    assert found.value == evaluate(log[is_random], new, logging="shuffled", estimator="rips").value


def test_logged_probabilities_of_the_log_are_used():
    """Rows of slot, item, click and probability: the value is that of inverse propensity scores."""
    rng = np.random.default_rng(0)
    slot, item = rng.integers(3, size=4_000), rng.choice(4, size=4_000, p=[0.4, 0.3, 0.2, 0.1])
    chance = np.array([0.4, 0.3, 0.2, 0.1])[item]
    rate = np.array([0.1, 0.2, 0.3, 0.6])
    click = rng.random(4_000) < rate[item]
    rows = [f"{s},{i},{int(c)},{p}" for s, i, c, p in zip(slot, item, click, chance, strict=True)]
    text = "\n".join(["slot,item,click,p", *rows])
    log = pk.clicks.read_clicks(io.StringIO(text), query="slot", docid="item", propensity="p")
    new = [float(log.pairs[code][1]) for code in range(log.n_pairs)]  # prefers item 3
    found = evaluate(log, {"new": new, "logged": "logged"}, metric="clicks")
    assert found["new"].estimator == "item-position"
    assert found["new"].value == pytest.approx((click * (item == 3) / chance).mean())
    assert found["new"].interval.low < rate[3] < found["new"].interval.high
    assert found["logged"].value == pytest.approx(click.mean())
    assert evaluate(log, new, metric="clicks", estimator="rips").value == pytest.approx(found["new"].value)
    with pytest.raises(ValueError, match="'ips' needs propensities"):
        evaluate(log, new, estimator="ips")


def test_a_missing_probability_is_named(scores):
    old, new = scores
    log = sampled(old)
    for missing, estimator in (("step", "rips"), ("marginal", "item-position")):
        other = {"step": "marginal", "marginal": "step"}[missing]
        part = LoggingPolicy.from_probabilities(**{other: np.full(log.n_shown, 0.5)})
        with pytest.raises(ValueError, match=rf"from_probabilities\({missing}=\.\.\.\)"):
            evaluate(log, new.reshape(-1), logging=part, estimator=estimator)
    with pytest.raises(ValueError, match='"pseudo-inverse" needs lists in which all orders are equally likely'):
        evaluate(log, new.reshape(-1), logging=part, estimator="pseudo-inverse")


def test_the_logged_order_has_the_clicks_of_the_log(scores):
    log = sampled(scores[0])
    policy = policy_of(log, scores[0])
    for estimator in SAMPLED:
        found = evaluate(log, "logged", logging=policy, metric="clicks", estimator=estimator)
        assert found.value == pytest.approx(log.n_clicks / len(log))
        assert found.mean_weight == pytest.approx(1)


def test_wrong_logging_probabilities_show_in_the_mean_weight(scores):
    old, _ = scores
    log = sampled(old, 2_000)
    wrong = policy_of(log, np.zeros_like(old))
    with pytest.warns(DataWarning, match=r"The mean weight is .* but 1 is expected"):
        evaluate(log, old.reshape(-1), logging=wrong, estimator="item-position")


@pytest.mark.parametrize("estimator", SAMPLED)
def test_results_depend_neither_on_the_order_of_sessions_nor_on_threads(monkeypatch, scores, estimator):
    old, new = scores
    log = sampled(old)
    options = {"metric": "dcg", "estimator": estimator}
    rankings = {"a": new.reshape(-1), "b": "logged"}
    first = evaluate(log, rankings, logging=policy_of(log, old), **options).to_dict()
    monkeypatch.setattr("plackett.clicks.models.collapse.ROWS_PER_BLOCK", 100)
    before = n_threads()
    try:
        set_n_threads(3)
        order = np.random.default_rng(3).permutation(len(log))
        log = log[order]
        assert evaluate(log, rankings, logging=policy_of(log, old), **options).to_dict() == first
    finally:
        set_n_threads(before)


def test_intervals_lie_within_what_the_measure_can_be():
    """Few lists of five are those of the new ranking: one heavy click says nothing, and no list is none."""
    lists = pk.datasets.make_web_like(20, 8, 3, random_state=0)
    log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 600, k=5, random_share=1.0)
    rng = np.random.default_rng(0)
    largest = sum(discount(rank) for rank in range(5))
    for _ in range(20):
        rankings = {name: rng.normal(size=log.n_pairs) for name in "ab"}
        for estimator in ("list", "rips", "item-position"):
            found = evaluate(log, {**rankings, "logged": "logged"}, logging="shuffled", estimator=estimator)
            for one in found.results.values():
                low, high = one.interval
                assert math.isnan(low) == (one.effective_sample_size < 10)
                assert math.isnan(low) or 0 <= low < high <= largest
                assert math.isnan(low) == any("There is no interval" in note for note in one.notes)
            for one in found.differences:
                low, high = one.interval
                assert not one.is_significant if math.isnan(low) else -largest <= low < high <= largest


# --- Mistakes ---------------------------------------------------------------------------------------------------------


MISTAKES = [
    ({"logging": None}, "needs logging: a LoggingPolicy"),
    ({"logging": "shuffled"}, r"needs sessions with shuffled lists \(log.is_random\), and there are none"),
    ({"propensities": [1, 1, 1]}, "propensities is for estimators by propensities; 'rips' uses logging"),
    ({"clip": 0.1}, "clip is for estimators by propensities"),
    ({"metric": "average-rank"}, "average-rank is not a value of clicks"),
    ({"logging": LoggingPolicy.from_probabilities(step=[0.5])}, "step has 1 probability but the log has 1,200 shown"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_explained(scores, given, message):
    old, new = scores
    log = sampled(old)
    options = {"logging": policy_of(log, old), "estimator": "rips"}
    with pytest.raises(ValueError, match=message):
        evaluate(log, new.reshape(-1), **{**options, **given})


def test_policies_are_checked():
    with pytest.raises(ValueError, match="step is 0 in row 1; probabilities must be above 0 and at most 1"):
        LoggingPolicy.from_probabilities(step=[0.5, 0.0])
    with pytest.raises(ValueError, match="step or marginal is needed"):
        LoggingPolicy.from_probabilities()
