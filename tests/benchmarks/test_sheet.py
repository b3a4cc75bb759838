"""The sheet of results, on made lists in the layout of a published set, and the official scores."""

import csv

import numpy as np
import pytest

import plackett as pk
from benchmarks import sheet

pytestmark = pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")


@pytest.fixture
def made_sets(tmp_path):
    data = pk.datasets.make_web_like(30, 8, 46, random_state=0)
    (tmp_path / "MQ2008").mkdir()
    for part in range(5):
        pk.write_letor(data[6 * part : 6 * part + 6], tmp_path / "MQ2008" / f"S{part + 1}.txt")
    return tmp_path


@pytest.fixture(autouse=True)
def small_trees(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(sheet, "BUDGETS", {"lightgbm": {"n_rounds": [5], "num_leaves": [3]}})


def test_every_ranker_has_a_row_and_is_compared_with_the_reference(made_sets, capsys):
    sheet.main([str(made_sets), "mq2008", "--rankers", "regression,listmle"])
    text, lines = capsys.readouterr()
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in text.splitlines() if line.startswith("|")}
    assert set(rows) - {"", "---"} >= {"lightgbm", "regression", "listmle"}
    assert "30 test queries in 5 folds" in text
    assert "Of 2, " in text
    assert rows["lightgbm"][7] == "the reference"
    values = {name: float(rows[name][1]) for name in ("lightgbm", "listmle")}
    assert float(rows["listmle"][4]) == pytest.approx(values["listmle"] - values["lightgbm"], abs=1.1e-4)
    found = pk.compare("listmle", cv=pk.datasets.load_folds("mq2008", made_sets), metrics="ndcg@10")
    assert values["listmle"] == pytest.approx(found.mean()["listmle"]["ndcg@10"], abs=6e-5)
    assert lines.count("mq2008 ") == 3


def test_without_time_the_sheet_names_what_is_missing_and_a_later_run_resumes(made_sets, tmp_path, capsys, monkeypatch):
    words = [str(made_sets), "mq2008", "--folder", str(tmp_path / "fits")]
    sheet.main([*words, "--rankers", "regression,listmle", "--hours", "0"])
    assert "Missing: regression (no time), listmle (no time)." in capsys.readouterr().out
    n_fits = len(list((tmp_path / "fits").iterdir()))
    sheet.main([*words, "--rankers", "regression"])
    later = len(list((tmp_path / "fits").iterdir()))
    assert later > n_fits
    sheet.main([*words, "--rankers", "regression"])
    assert len(list((tmp_path / "fits").iterdir())) == later
    assert "Missing" not in capsys.readouterr().out


def test_all_rankers_are_on_the_sheet_once():
    assert len(set(sheet.RANKERS)) == len(sheet.RANKERS)
    with_any_loss = {"linear", "kernel", "query-dependent"}  # their default losses are on the sheet by other names
    same = {"lightgbm", "xgboost"}  # of the packages
    assert set(pk.ranker_names()) - with_any_loss - same <= set(sheet.RANKERS)


def test_official_scores_are_in_the_order_of_the_test_queries(shared_data):
    home = shared_data / "letor-reference" / "score-files"
    published = [
        row for row in csv.DictReader((home / "expected.csv").read_text().splitlines()) if row["algorithm"] == "ListNet"
    ]
    for set_name, in_files in (("mq2008", "MQ2008"), ("ohsumed", "OHSUMED")):
        result = pk.compare("regression", cv=pk.datasets.load_folds(set_name, shared_data), metrics="map")
        scores = sheet.official_scores(shared_data, set_name, "ListNet")
        values = pk.evaluate(result.queries, scores, metrics="map", convention="letor4")["map"]
        by_fold = {row["fold"]: float(row["MAP"]) for row in published if row["dataset"] == in_files}
        assert len(by_fold) == 5
        for fold, expected in by_fold.items():
            assert np.mean(values[result.fold_of == int(fold)]) == pytest.approx(expected, abs=6e-5)
