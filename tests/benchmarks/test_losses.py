"""The comparison of all losses."""

import pytest

import plackett as pk
from benchmarks import losses
from plackett.losses import loss_names
from plackett.reproductions.base import Job, Verdict


class Reversed(pk.losses.Loss):
    """Regression on the labels with the wrong sign."""

    ignores_shifts, is_pointwise = False, True

    def value_and_slope(self, scores, queries):
        error = scores + queries.labels
        return 0.5 * error @ error, error


@pytest.mark.parametrize("scorer", losses.SCORERS)
def test_all_losses_are_compared_on_made_data(scorer):
    pytest.importorskip({"linear": "numpy", "trees": "lightgbm", "neural": "torch"}[scorer])
    data = pk.datasets.make_web_like(20, 6, 4, random_state=0)
    heard = []
    comparison = losses.compare_losses(scorer, Job(is_quick=True, progress=heard.append), data, cv=2)
    table = losses.table_of(comparison, scorer)
    wanted = {*loss_names(), *([losses.LIGHTGBM] if scorer == "trees" else [])}
    assert {row.what for row in table.rows} == wanted
    assert not comparison.failures
    values = [row.ours for row in table.rows]
    assert values == sorted(values, reverse=True)
    assert next(row for row in table.rows if row.what == losses.BASELINE).verdict is Verdict.NOT_COMPARABLE
    assert "pairs" in table.notes[0]
    assert heard


def test_significant_differences_are_named():
    data = pk.datasets.make_web_like(80, 8, 4, random_state=0)
    rankers = {"listmle": pk.ranker("listmle"), "reversed": pk.LinearRanker(Reversed())}
    comparison = pk.compare(rankers, data, cv=2, metrics="ndcg@10", baseline="listmle")
    table = losses.table_of(comparison, "linear")
    assert [row.what for row in table.rows] == ["listmle", "reversed"]
    assert table.rows[1].verdict is Verdict.NOT_CONFIRMED
    assert table.notes[0] == "Significant at 5% after Holm's correction: 1 of 1 pair; reversed is below listmle."
