"""The tables of a comparison."""

import csv
import io
import json

import numpy as np
import pytest

from plackett.evaluation.evaluate import Evaluation
from plackett.report.tables import summary_table, tables
from tests.report.made_up import HOSTILE, made_up


@pytest.fixture(scope="module")
def comparison():
    return made_up(baseline="ranksvm")


def table_named(comparison, name):
    return next(table for table in tables(comparison) if table.name == name)


def test_the_summary_has_the_best_first_with_means_marks_and_costs(comparison):
    table = summary_table(comparison)
    means = comparison.mean()
    names = sorted(means, key=lambda name: -means[name]["ndcg@10"])
    assert [row[1] for row in table.rows] == names == comparison.ranked()
    assert [row[0] for row in table.rows] == [1, 2, 3]
    marks = comparison.marks("map")
    for row in table.rows:
        assert row[2].value == means[row[1]]["ndcg@10"]
        assert row[3].mark == marks[row[1]]
        assert row[5] == sum(fit.seconds for fit in comparison.fits[row[1]])
    assert table.rows[0][2].is_best
    assert not table.rows[1][2].is_best
    pairs = {pair.a: pair for pair in comparison.differences(against="ranksvm")}
    for row in table.rows:
        assert row[4] == (
            "baseline" if row[1] == "ranksvm" else (*_ends(pairs[row[1]]), pairs[row[1]].p_random_holm, True)
        )
    assert [row[1] for row in table.foot] == ["random order", "best feature"]


def _ends(pair):
    return pair.mean, pair.low, pair.high


def test_every_table_of_a_comparison_is_there_in_every_format(comparison):
    names = [table.name for table in tables(comparison)]
    assert names == [
        "summary",
        "baseline",
        "pairs",
        "slices",
        "features",
        "folds",
        "fits",
        "hardest",
        "data",
        "settings",
        "versions",
    ]
    for table in tables(comparison):
        n_rows = len(table.rows) + len(table.foot)
        assert len(table.to_markdown().splitlines()) == 2 + n_rows
        assert len(table.to_latex().splitlines()) == 6 + n_rows
        assert len(list(csv.reader(io.StringIO(table.to_csv())))) == 1 + n_rows
        assert len(json.loads(table.to_json())["rows"]) == n_rows


def test_folds_and_fits_say_what_the_comparison_says(comparison):
    folds = table_named(comparison, "folds")
    row = next(row for row in folds.rows if row[:2] == ["map", "p-listmle"])
    assert row[2:7] == comparison.by_fold("map")["p-listmle"]
    assert row[7] == pytest.approx(np.mean(row[2:7]))
    fits = table_named(comparison, "fits")
    assert len(fits.rows) == 15
    assert fits.rows[0][:5] == ["listmle", 1, "l2=0.1, loss=listmle", pytest.approx(0.41), 4]


def test_failures_have_a_table_and_a_line_in_the_summary():
    comparison = made_up(failures={"broken": ["fold 1: ValueError: no", "fold 2: ValueError: no"]})
    assert table_named(comparison, "failures").rows[1] == ["broken", "fold 2: ValueError: no"]
    assert summary_table(comparison).foot[-1][1] == "broken (failed)"


def test_with_two_rankers_the_pairs_are_those_with_the_baseline_and_not_repeated():
    names = [table.name for table in tables(made_up(names=("a", "b"), n_queries=5))]
    assert "baseline" in names
    assert "pairs" not in names


def test_slices_name_the_best_and_none_where_all_are_equal():
    # in three of four lists nothing is relevant, and in the others the third ranker is a copy of the first
    comparison = made_up(n_queries=40, labels=lambda n: (np.arange(n) // 12 % 4 == 0).astype(float))
    comparison.tables["p-listmle"] = comparison.tables["listmle"]
    table = table_named(comparison, "slices")
    best = {row[1]: row[-1] for row in table.rows if row[0] == "highest label"}
    assert best["0"] == "all equal"
    assert best["1"] in ("listmle and p-listmle", "ranksvm")
    single = made_up(["listmle"])
    table = table_named(single, "slices")
    assert table.columns[-1].name == "B − A"
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_a_measure_of_which_less_is_better_turns_the_order_around():
    comparison = made_up(metrics=("mre",))
    means = {name: values["mre"] for name, values in comparison.mean().items()}
    assert comparison.ranked() == sorted(means, key=means.get)
    assert summary_table(comparison).rows[0][2].is_best


def test_values_that_are_nan_stand_last_and_are_never_the_best():
    comparison = made_up(n_queries=4)
    empty = Evaluation(["ndcg@10", "map"], comparison.queries.ids, np.full((4, 2), np.nan), convention="standard")
    comparison.tables["listmle"] = empty
    table = summary_table(comparison)
    assert table.rows[-1][1] == "listmle"
    assert not table.rows[-1][2].is_best
    assert "–" in table.to_markdown().splitlines()[4]


def test_hostile_names_stay_in_their_cells():
    comparison = made_up(names=HOSTILE, n_queries=4)
    for table in tables(comparison):
        rows = list(csv.reader(io.StringIO(table.to_csv())))
        assert {len(row) for row in rows} == {len(rows[0])}
        assert "<script" not in table.to_markdown()
    names = [row[1] for row in csv.reader(io.StringIO(summary_table(comparison).to_csv()))]
    assert set(HOSTILE) <= set(names)
