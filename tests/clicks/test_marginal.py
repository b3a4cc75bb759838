"""Marginal likelihood: the attractiveness of each pair integrated out, against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln

import plackett as pk
from plackett.clicks.models.collapse import count_cells
from plackett.clicks.models.marginal import _expect, maximise
from plackett.clicks.models.priors import Prior

CHANCES = np.array([1.0, 0.7, 0.4, 0.05])


@pytest.fixture(scope="module")
def log():
    lists = pk.datasets.make_web_like(6, 7, 3, random_state=0)
    rankers = {"one": lists.X[:, 0], "other": lists.X[:, 1]}
    return pk.clicks.simulate_clicks(lists, rankers, 400, k=4, epsilon=0.3)


def counts_of(log):
    """Return clicks and skips of each pair at each rank, counted in a loop."""
    counts = np.zeros((log.n_pairs, 4, 2))
    for pair, rank, click in zip(log.pair, log.rank, log.click, strict=True):
        counts[pair, rank - 1, 0 if click else 1] += 1
    return counts


def test_value_and_expectations_are_integrals(log):
    yes, no = np.full(log.n_pairs, 1.3), np.full(log.n_pairs, 2.4)
    attraction = np.full(log.n_pairs, 0.5)
    value, looks, log_yes, log_no = _expect(count_cells(log, by_last_click=False), CHANCES, yes, no, attraction)
    total, expected = 0.0, np.zeros(4)
    for pair, (clicks, skips) in enumerate(counts_of(log).transpose(0, 2, 1)):

        def density(p, clicks=clicks, skips=skips, pair=pair):
            likelihood = np.prod((CHANCES * p) ** clicks * (1 - CHANCES * p) ** skips)
            return likelihood * p ** (yes[pair] - 1) * (1 - p) ** (no[pair] - 1) * 1e9

        def mean(f, density=density):
            return quad(lambda p: f(p) * density(p), 0, 1, limit=400)[0] / quad(density, 0, 1, limit=400)[0]

        total += np.log(quad(density, 0, 1, limit=400)[0] / 1e9)
        assert log_yes[pair] == pytest.approx(mean(np.log), rel=3e-3)
        assert log_no[pair] == pytest.approx(mean(lambda p: np.log1p(-p)), rel=3e-3)
        for rank in range(4):
            after_skip = mean(lambda p, t=CHANCES[rank]: t * (1 - p) / (1 - t * p))
            expected[rank] += clicks[rank] + skips[rank] * after_skip
    assert value == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(looks, expected, rtol=1e-4)


def test_the_maximum_is_one_of_the_marginal_likelihood(log):
    blocks = count_cells(log, by_last_click=False)
    prior, attraction = Prior(is_fitted=True), np.full(log.n_pairs, 0.5)
    shown = counts_of(log).sum(axis=(0, 2))
    settings = {"n_sessions": len(log), "max_iter": 200, "tol": 1e-6}
    found = maximise(blocks, np.full(3, 0.5), shown[1:], attraction, prior, **settings)
    assert found.converged
    assert np.diff(found.history).min(initial=0.0) > -1e-12
    mean, strength = prior.mean, prior.strength

    def value(looks, mean, strength):
        yes, no = np.full(log.n_pairs, strength * mean), np.full(log.n_pairs, strength * (1 - mean))
        total = _expect(blocks, np.append(1.0, looks), yes, no, attraction.copy())[0] - betaln(yes, no).sum()
        total += (np.log(looks) + np.log1p(-looks)).sum()
        return total - 0.5 * (np.log(strength / 2) / 1.5) ** 2 + np.log(mean) + np.log1p(-mean)

    best = value(found.globals, mean, strength)
    assert best / len(log) == pytest.approx(found.history[-1], abs=1e-6)
    for rank in range(3):
        for factor in (0.9, 1.1):
            looks = found.globals.copy()
            looks[rank] = min(looks[rank] * factor, 1 - 1e-6)
            assert value(looks, mean, strength) < best + 1e-3
    for other in ((mean * 1.1, strength), (mean * 0.9, strength), (mean, strength * 1.3), (mean, strength / 1.3)):
        assert value(found.globals, *other) < best + 1e-3


def test_chances_of_looks_are_not_biased_by_pairs_with_few_impressions():
    """Estimated together with every attractiveness, the looks would be too high."""
    rng = np.random.default_rng(0)
    n_queries, n_docs, n_sessions = 4_000, 6, 30_000
    query = rng.integers(n_queries, size=n_sessions).astype(np.int32)
    lists = np.argsort(np.arange(n_docs) / n_docs + 1.5 * rng.random((4, n_queries, n_docs)), axis=2)  # of 4 rankers
    doc = lists[rng.integers(4, size=n_sessions), query]
    attraction, looked_at = rng.beta(1, 4, (n_queries, n_docs)), np.array([1.0, 0.8, 0.6, 0.45, 0.3, 0.2])
    click = rng.random(doc.shape) < attraction[query[:, None], doc] * looked_at
    names = [f"{code:05d}" for code in range(n_queries)]
    log = pk.clicks.ClickLog.from_arrays(
        np.array(names)[query], doc.ravel(), click.ravel(), indptr=np.arange(n_sessions + 1) * n_docs
    )
    fitted = pk.clicks.PBM(prior="fitted").fit(log)
    np.testing.assert_allclose(fitted.examination_, looked_at, rtol=0.08)
    assert fitted.prior_mean_.mean() == pytest.approx(0.2, abs=0.01)
    assert fitted.prior_strength_ == pytest.approx(5, rel=0.15)
    low, high = fitted.intervals().T
    truth = attraction[np.array(list(fitted.pairs.queries), dtype=int)[fitted.pairs.pair_query], fitted.pairs.pair_doc]
    assert 0.93 < ((low <= truth) & (truth <= high)).mean() < 0.97
    together = pk.clicks.PBM(prior=(0, 0)).fit(log)
    assert (together.examination_[1:] / looked_at[1:]).mean() > 1.08


def test_rankers_that_show_better_documents_higher_do_not_bias_the_looks():
    lists = pk.datasets.make_web_like(300, 20, 10, random_state=0)
    rankers = {
        name: pk.LinearRanker("softmax", normalize="zscore").fit(part)
        for name, part in (("one", lists[:4]), ("other", lists[4:8]))
    }
    log = pk.clicks.simulate_clicks(lists, rankers, 30_000, random_state=1)
    looked_at = np.array([0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]) / 0.68
    model = pk.clicks.PBM(prior="fitted").fit(log)
    np.testing.assert_allclose(model.examination_, looked_at, rtol=0.16)
    assert abs(np.log(model.examination_ / looked_at)[1:].mean()) < 0.06
    assert model.feature_coef_ is None
    rank = np.bincount(log.pair, log.rank) / np.bincount(log.pair)
    assert np.corrcoef(model.prior_mean_, rank)[0, 1] < -0.9
