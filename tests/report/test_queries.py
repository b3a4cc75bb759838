"""The lists of the report: the contributions that they show sum to the scores that they show."""

import numpy as np
import pytest

import plackett as pk
from plackett.report.queries import queries_payload

RANKERS = {
    "linear": pk.LinearRanker(patience=None),
    "tree": pk.TreeRanker(n_rounds=1, patience=None),
    "boosted trees": pk.TreeRanker(n_rounds=8, patience=None),
    "boosted features": pk.RankBoost(n_rounds=8),
}


@pytest.fixture(scope="module")
def shown():
    """Of each shown document: the ranker, the mean score of its list, its score and the sum of its contributions.

    The documents have five features, as many as the report shows.
    """
    data = pk.datasets.make_web_like(20, 12, 5, random_state=3)
    result = pk.compare(RANKERS, data, cv=2, metrics="ndcg@5", explain=True)
    payload, indptr = queries_payload(result), result.queries.indptr
    found = []
    for place, one in payload["lists"].items():
        rows = slice(*indptr[int(place) : int(place) + 2])
        for name, top in zip(result.ranked(), one["lists"], strict=True):
            mean = result.scores[name][rows].mean()
            found += [(name, mean, score, sum(amount for _, _, amount in why)) for _, score, why in top]
    return found


@pytest.mark.parametrize("name", RANKERS)
def test_the_mean_score_of_a_list_and_the_shown_contributions_sum_to_the_shown_score(shown, name):
    means, scores, sums = np.transpose([numbers for ranker, *numbers in shown if ranker == name])
    assert scores.size == 20 * 10
    assert np.ptp(sums) > 0
    np.testing.assert_allclose(means + sums, scores, atol=2e-3 * np.abs(scores).max())  # they have four digits
