"""What a judge is worth."""

import numpy as np
import pytest

from plackett.evaluation import judge_plan
from plackett.evaluation.judges.plan import _correlation

pytestmark = pytest.mark.timeout(60)


def made(n_queries=30, seed=0):
    rng = np.random.default_rng(seed)
    people = {f"q{q}": {f"d{d}": int(rng.integers(4)) for d in range(8)} for q in range(n_queries)}
    model = {q: {d: grade if rng.random() < 0.6 else 1 for d, grade in docs.items()} for q, docs in people.items()}
    runs = {n: {q: {d: rng.random() for d in docs} for q, docs in people.items()} for n in "abc"}
    return people, model, runs


def test_the_correlation_is_the_mean_of_pairs_through_fishers_z():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(4, 25))
    f = 0.5 * y + rng.normal(size=y.shape)

    def mean(which):
        return np.mean([np.arctanh(np.corrcoef(a[which], b[which])[0, 1]) for a, b in zip(y, f, strict=True)])

    every = np.arange(25)
    without = np.array([mean(every != one) for one in every])
    half = 2.0638985616280205 * np.sqrt(24 / 25 * ((without - without.mean()) ** 2).sum())
    value, (low, high) = _correlation(y, f)
    assert value == pytest.approx(np.tanh(mean(every)), abs=1e-9)
    assert (low, high) == pytest.approx((np.tanh(mean(every) - half), np.tanh(mean(every) + half)), abs=1e-9)


def test_the_interval_of_the_correlation_covers_it():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 30))
    f = 0.6 * z + 0.8 * rng.normal(size=z.shape)
    ends = [_correlation(a[None], b[None])[1] for a, b in zip(z, f, strict=True)]
    assert np.mean([low <= 0.6 <= high for low, high in ends]) > 0.925


def test_the_worth_is_that_of_the_variance():
    people, model, runs = made()
    plan = judge_plan(people, model, runs, metric="ndcg@5", n_model=400, n_human=40)
    assert plan.worth(0.7) == pytest.approx(40 / (1 - 0.49 * 400 / 440))
    assert plan.worth(-0.5) == 40
    n = plan.queries_for(0.05, 0.2)
    half = [plan._half_width(size, 0.2, 0.0) for size in (n - 1, n)]
    assert half[0] > 0.05 >= half[1]
    assert plan.queries_for(1e-6, 0.2) is None
    assert plan.queries_for(0.05, 0.2, 0.7) < n


def test_a_plan_opens_with_what_the_judge_is_worth():
    people, model, runs = made()
    text = str(judge_plan(people, model, runs, metric="ndcg@5"))
    assert text.startswith("For differences of two by ndcg@5, the model has the correlation ")
    assert "± 0.05" in text
    assert "differences" not in str(judge_plan(people, model, {"a": runs["a"]}, metric="ndcg@5"))


def test_a_judge_without_variance_is_worth_nothing():
    people, _, runs = made()
    plan = judge_plan(people, {qid: dict.fromkeys(docs, 1) for qid, docs in people.items()}, runs, metric="ndcg@5")
    assert plan.correlation["single systems"][0] == 0
    assert plan.worth(plan.correlation["single systems"][0]) == 40


def test_fewer_than_ten_queries_are_refused_and_others_counted():
    people, model, runs = made(n_queries=12)
    del model["q3"]
    assert "1 query that the model did not judge left out" in str(judge_plan(people, model, runs, metric="ndcg@5"))
    for qid in ("q4", "q5"):
        del model[qid]
    with pytest.raises(ValueError, match="both judged 9 queries; a plan needs 10"):
        judge_plan(people, model, runs)
