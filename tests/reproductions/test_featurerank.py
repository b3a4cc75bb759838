"""The reproduction of the paper on feature ranking discovery."""

import pytest

from plackett.reproductions import featurerank
from plackett.reproductions.base import Job, Verdict


@pytest.fixture
def job(shared_data):
    return Job(is_quick=True, folder=shared_data)


def test_diff_rank_is_ahead_of_its_own_family(job, monkeypatch):
    few = {name: featurerank.CONTESTANTS[name] for name in ("DiffRank", "FeatureRank")}
    monkeypatch.setattr(featurerank, "CONTESTANTS", few)
    table = featurerank.tables_1_and_2(job)
    numbers, claims = ([row for row in table.rows if bool(row.cell) is is_cell] for is_cell in (True, False))
    assert len(claims) == 12
    assert "not on MQ2008-list" in table.title
    assert claims[0].what == "Kendall distance: DiffRank below FeatureRank"
    assert claims[0].printed == "0.180 and 0.208"
    assert claims[0].verdict is Verdict.CONFIRMED
    assert len(numbers) == 24
    assert numbers[0].cell == ("Table 1", "DiffRank", "Kendall distance")
    assert {row.reason for row in numbers} == {"other data"}
    printed, ours = table.figures
    assert printed.series["FeatureRank"][9] == (10, 0.966)
    assert dict(ours.series["DiffRank"])[10] == numbers[-2].ours


def test_the_claims_on_training_hold(job):
    for table in (featurerank.figure_6(job), featurerank.figure_7(job)):
        assert {row.verdict for row in table.rows} == {Verdict.CONFIRMED}


def test_centres_are_alike_where_the_feature_follows_the_order(job):
    rows = {row.what.partition(":")[0]: row for row in featurerank.figure_5(job).rows}
    assert rows["feature 21"].verdict is Verdict.CONFIRMED


def test_figure_9_confirms_all_but_the_centre_that_its_own_interval_does_not_have(job):
    table = featurerank.figure_9(job)
    assert [row.verdict for row in table.rows] == [Verdict.NOT_CONFIRMED, *[Verdict.CONFIRMED] * 3]
    assert table.rows[0].ours == pytest.approx(-3.5)
    assert "its values are −5 to −2" in table.rows[0].reason
    (figure,) = table.figures
    assert dict(figure.series["equation (19)"])[figure.series["equation (19)"][0][0]] == pytest.approx(-22, abs=0.1)
