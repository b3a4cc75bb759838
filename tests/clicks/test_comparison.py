"""Comparing click models on held-out sessions."""

import numpy as np
import pytest

import plackett as pk
from plackett.clicks import PBM, ClickLog, compare_click_models, simulate_clicks

LISTS = pk.datasets.make_web_like(15, 8, 3, random_state=2)
LOG = simulate_clicks(LISTS, {"a": LISTS.X[:, 0], "b": LISTS.X[:, 1]}, 3000, random_state=4)


def test_each_session_is_predicted_by_the_others():
    clicks = np.array([[1, 0], [0, 0], [1, 1], [1, 0]])
    log = ClickLog.from_arrays(["q"] * 4, ["a", "b"] * 4, clicks.ravel(), indptr=[0, 2, 4, 6, 8])
    found = compare_click_models(["gctr"], log, cv=4, n_draws=10)
    rates = (clicks.sum() - clicks.sum(axis=1) + 1) / (6 + 2)
    chances = np.log(np.where(clicks, rates[:, None], 1 - rates[:, None]))
    assert found.log_likelihood["gctr"] == pytest.approx(chances.sum() / 4)
    np.testing.assert_allclose(found.perplexity_by_rank["gctr"], np.exp(-chances.mean(axis=0)))
    assert found.perplexity["gctr"] == pytest.approx(np.exp(-chances.mean(axis=0)).mean())
    assert (found.differences, found.n_sessions, found.share_unseen) == ([], 4, 0.0)


def test_the_users_own_model_wins_and_twins_do_not_differ():
    found = compare_click_models({"pbm": "pbm", "twin": PBM(), "rates": "rctr"}, LOG, cv=2, n_draws=300)
    assert found.best in ("pbm", "twin")
    significant = {(one.measure, one.model, one.other) for one in found.differences if one.is_significant}
    for measure in ("log-likelihood", "perplexity"):
        assert (measure, "pbm", "rates") in significant
        assert (measure, "pbm", "twin") not in significant
        low, high = found.intervals[measure, "pbm"]
        assert low < {"log-likelihood": found.log_likelihood, "perplexity": found.perplexity}[measure]["pbm"] < high
    table = found.to_table()
    assert [row[0] for row in table.rows][-1] == "rates"
    assert "pbm - rates" in str(found)
    assert found.to_dict()["models"]["pbm"]["perplexity"] == found.perplexity["pbm"]


def test_intervals_are_as_wide_as_the_standard_error_says():
    found = compare_click_models(["gctr"], LOG, cv=2)
    rate = LOG.n_clicks / LOG.n_shown
    sums = np.add.reduceat(np.log(np.where(LOG.click, rate, 1 - rate)), LOG.indptr[:-1])
    low, high = found.intervals["log-likelihood", "gctr"]
    assert high - low == pytest.approx(2 * 1.96 * sums.std() / np.sqrt(len(LOG)), rel=0.1)
    assert found.intervals_by_rank["gctr"].shape == (LOG.longest, 2)


def test_held_out_queries_are_new_and_results_can_be_repeated():
    found, again = (compare_click_models(["pbm"], LOG, cv=3, by="query", n_draws=20, random_state=1) for _ in range(2))
    assert found.share_unseen == 1.0
    assert found.to_dict() == again.to_dict()


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (["pbm", "pbm"], {}, "models holds 'pbm' twice"),
        ("pbm", {}, "a list of names or models"),
        (["pbm"], {"cv": 1}, "cv=1; it must be from 2 to the number of sessions, 3,000"),
        (["pbm"], {"cv": 16, "by": "query"}, "number of queries, 15"),
        (["pbm"], {"by": "user"}, "by='user'"),
        (["pbm"], {"level": 0}, "level=0"),
    ],
)
def test_wrong_options_are_explained(models, options, message):
    with pytest.raises(ValueError, match=message):
        compare_click_models(models, LOG, **options)
