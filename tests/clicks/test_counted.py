"""Logs of counts: models and propensities from them are those of the sessions that were counted."""

import numpy as np
import pytest

import plackett as pk
from plackett.clicks import ClickLog
from plackett.clicks.models.registry import CLICK_MODELS

LISTS = pk.datasets.make_web_like(15, 12, 3, random_state=0)
LOG = pk.clicks.simulate_clicks(LISTS, LISTS.X[:, 0], 4_000, k=4, random_share=0.5, random_state=1)


def counted(log, *, n_rows=None):
    """Count as SQL would; with ``n_rows`` in two passes, whose rows are added up."""
    rows = {}
    for row, (pair, rank, click) in enumerate(zip(log.pair, log.rank, log.click, strict=True)):
        query, doc = log.pairs[int(pair)]
        clicks, shown = rows.get((query, doc, rank, row < (n_rows or 0)), (0, 0))
        rows[query, doc, rank, row < (n_rows or 0)] = clicks + int(click), shown + 1
    query, doc, rank, _ = zip(*rows, strict=True)
    clicks, shown = zip(*rows.values(), strict=True)
    return ClickLog.from_counts(query, doc, rank, clicks, shown)


COUNTS = counted(LOG, n_rows=3_000)


@pytest.mark.parametrize("name", ["gctr", "rctr", "dctr", "pbm"])
def test_models_of_counts_are_those_of_the_sessions(name):
    expected = CLICK_MODELS[name]().fit(LOG)
    found = CLICK_MODELS[name]().fit(COUNTS)
    assert (found.n_sessions_, found.n_ranks_) == (expected.n_sessions_, expected.n_ranks_)
    for attribute in ("impressions_", "rate_", "rates_", "attractiveness_", "examination_", "evidence_"):
        if hasattr(expected, attribute):
            np.testing.assert_array_equal(getattr(found, attribute), getattr(expected, attribute))
    np.testing.assert_array_equal(found.predict(LOG), expected.predict(LOG))


def test_a_fitted_prior_needs_no_sessions():
    expected, found = (pk.clicks.PBM("fitted").fit(log).examination_ for log in (LOG, COUNTS))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", sorted(set(CLICK_MODELS) - {"gctr", "rctr", "dctr", "pbm"}))
def test_models_of_sessions_refuse_counts_by_name(name):
    with pytest.raises(ValueError, match=f"^{name.upper()} needs sessions, but this log has counts of pairs by rank"):
        CLICK_MODELS[name]().fit(COUNTS)


@pytest.mark.parametrize("method", ["swap", "harvesting", "em", "trust"])
def test_propensities_of_counts_are_those_of_the_sessions(method):
    expected, found = (pk.clicks.estimate_propensities(log, method) for log in (LOG, COUNTS))
    np.testing.assert_array_equal(found.values, expected.values)
    inner = slice(None) if method == "em" else slice(1, None)
    width = np.diff(found.intervals[inner], axis=1)
    assert (found.intervals[inner, 0] <= found.values[inner]).all()
    # other groups, of queries instead of sessions, but of the same size
    np.testing.assert_array_less(width, 4 * np.diff(expected.intervals[inner], axis=1) + 1e-9)


def test_features_are_attached_to_counts_too():
    features = np.random.default_rng(0).normal(size=(LOG.n_pairs, 2))
    values = [
        pk.clicks.estimate_propensities(log.with_features(features), "regression-em", level=None).values
        for log in (LOG, COUNTS)
    ]
    np.testing.assert_allclose(*values, rtol=1e-12)
    assert COUNTS.features is None


def test_the_size_of_a_log_of_counts_is_that_of_its_sessions():
    assert (len(COUNTS), COUNTS.n_shown, COUNTS.n_clicks, COUNTS.longest) == (4_000, LOG.n_shown, LOG.n_clicks, 4)
    assert repr(COUNTS) == f"ClickLog(counts by rank, 16,000 shown, {LOG.n_clicks:,} clicks, {LOG.n_pairs:,} pairs)"
    assert len(ClickLog.from_counts([], [], [], [], [])) == 0


def test_what_needs_sessions_says_so():
    for use in (ClickLog.describe, pk.clicks.PBM().fit(LOG).predict, lambda log: log[:10], lambda log: log.rank):
        with pytest.raises(ValueError, match="this log has counts of pairs by rank, and no sessions"):
            use(COUNTS)
    with pytest.raises(ValueError, match="needs is_random"):
        pk.clicks.estimate_propensities(COUNTS, "randomised")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([1], [2], [0], [0], [1]), "rank is 0 in row 0; a whole number of at least 1"),
        (([1, 1], [2, 3], [1, 2], [0, 0.5], [1, 1]), r"clicks is 0\.5 in row 1; a whole number of at least 0"),
        (([1], [2], [1], [float("nan")], [1]), "clicks is nan in row 0"),
        (([1], [2], [1], [3], [2]), "row 0 has 3 clicks but only 2 impressions"),
        (([1], [2], [1], [3, 4], [5]), r"clicks has shape \(2,\) but query has 1 values"),
        (([1], [2, 3], [1], [3], [5]), r"docid has shape \(2,\) but query has 1 values"),
        (([1, 1], [2, 2], [1, 1], [0, 0], [2**31 - 1, 1]), "a pair was shown 2,147,483,648 times at a rank"),
    ],
)
def test_counts_that_cannot_be_are_refused(columns, said):
    with pytest.raises(ValueError, match=said):
        ClickLog.from_counts(*columns)
