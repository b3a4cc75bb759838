"""Comparisons, selections and cross-validations of data with missing values and categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import plackett as pk
from plackett.evaluation.compare.contestants import as_contestants, with_preparation
from plackett.evaluation.store.keys import data_fingerprint
from tests.rankers.test_preparation import FRAME, QID, Y

TABLE = FRAME.assign(query=QID, grade=Y)
RULES = {"missing": "median", "missing_indicator": True, "encoding": "one-hot"}


def test_rules_go_to_contestants_that_have_the_parameters():
    linear, boosted = as_contestants({"linear": pk.LinearRanker(), "boost": pk.RankBoost()})
    found = with_preparation(linear, "mean", True, "target").estimator
    assert (found.missing, found.missing_indicator, found.encoding) == ("mean", True, "target")
    assert linear.estimator.missing == "error"
    assert with_preparation(boosted, "mean", True, "target").estimator.encoding == "target"
    (chosen,) = as_contestants({"chosen": (pk.LinearRanker(), {"missing": ["zero", "min"]})})
    assert with_preparation(chosen, "mean").estimator.missing == "error"


def test_compare_takes_a_frame_with_missing_values_and_text():
    result = pk.compare(
        {"linear": pk.LinearRanker(), "boost": pk.RankBoost(n_rounds=5)},
        TABLE, qid="query", label="grade", cv=3, metrics="ndcg@5", **RULES,
    )  # fmt: skip
    assert list(result.tables) == ["linear", "boost"]
    assert "brand" not in result.reference_scores["best feature"].best_features["ndcg@5"]


def test_a_contestant_that_must_not_encode_is_reported():
    result = pk.compare({"a": pk.LinearRanker(missing="zero"), "b": pk.TreeRanker(n_rounds=3)},
                        TABLE, qid="query", label="grade", encoding="error", cv=3, metrics="ndcg@5")  # fmt: skip
    assert list(result.tables) == ["b"]
    assert "text or categories in brand" in result.failures["a"][0]


def test_select_and_cross_validate_pass_the_rules_on():
    data = pk.from_frame(TABLE, qid="query", label="grade")
    found = pk.select("listmle", data, {"l2": [0.1, 0.01]}, cv=3, **RULES)
    assert found.best_.imputer_.rule == "median"
    assert pk.cross_validate(pk.LinearRanker(), data, cv=3, **RULES).mean()["ndcg@10"] > 0


def test_what_is_learned_in_a_fold_does_not_depend_on_its_test_queries():
    """Poisoned labels and rows of the test queries do not change the scores of other test queries."""
    data = pk.from_frame(TABLE, qid="query", label="grade").grouped
    train, test = data[:10], data[10:]
    X = np.array(test.X)
    X[test.query_of_row == 0] = np.nan
    poisoned = test.replace(X=X, y=np.where(test.query_of_row == 0, 2.0 - test.y, test.y))
    ranker = pk.LinearRanker(missing="query-median", missing_indicator=True, encoding="target").fit(train)
    kept = test.query_of_row != 0
    np.testing.assert_array_equal(ranker.predict(test)[kept], ranker.predict(poisoned)[kept])


def test_other_estimators_get_categories_in_a_data_frame():
    encoder = OneHotEncoder(handle_unknown="ignore")
    data = pk.from_frame(TABLE[["query", "grade", "brand"]], qid="query", label="grade")
    result = pk.compare({"tree": make_pipeline(encoder, DecisionTreeRegressor())}, data, cv=3, metrics="ndcg@5")
    assert list(result.tables) == ["tree"]


def test_names_of_categories_belong_to_the_fingerprint():
    data = pk.Queries([[0.0], [1.0]], [0, 1], categories={0: ["a", "b"]})
    other = data.replace(categories={0: np.array(["b", "a"])})
    assert data_fingerprint(data) != data_fingerprint(other) != data_fingerprint(data.replace(categories=None))


def test_mq2008_agg_goes_from_its_file_to_a_table(shared_data):
    """Of the ranks that 25 systems gave, 65 % are NULL: not retrieved."""
    data = pk.datasets.load("mq2008-agg", shared_data)[:150]
    assert np.isnan(data.X).mean() > 0.5
    rankers = {"linear": pk.LinearRanker(normalize="query-minmax"), "boost": pk.RankBoost(n_rounds=20)}
    result = pk.compare(rankers, data, cv=2, metrics="ndcg@10", missing="query-median", missing_indicator=True)
    random = result.reference_scores["random order"].mean()["ndcg@10"]
    assert all(table.mean()["ndcg@10"] > random for table in result.tables.values())
    assert len(result.tables) == 2


def test_a_wrong_rule_is_reported_before_the_fits():
    with pytest.raises(ValueError, match="missing='fill' is not known"):
        pk.compare("listmle", pd.DataFrame(TABLE), qid="query", label="grade", cv=3, missing="fill")


def test_nothing_said_fills_and_encodes_where_a_ranker_needs_it():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": rng.integers(0, 20, 200), "bm25": rng.normal(size=200), "price": rng.random(200)})
    frame = frame.assign(season=rng.choice(["a", "b"], 200), grade=rng.integers(0, 3, 200))
    frame.loc[::3, "price"] = np.nan
    roles = {"qid": "query", "label": "grade", "cv": 2}
    silent = pk.compare("listmle,lightgbm", frame, metrics="ndcg@10", **roles)
    stated = pk.compare("listmle,lightgbm", frame, metrics="ndcg@10", missing="median", encoding="one-hot", **roles)
    assert silent.failures == {}
    for name, table in stated.tables.items():
        np.testing.assert_array_equal(silent.tables[name].values, table.values)
    note = (
        'missing values are filled by the median of the training lists (missing="median") for listmle, '
        'categories are encoded one-hot (encoding="one-hot") for listmle'
    )
    assert note in silent.notes
    assert note not in stated.notes
    assert note in pk.cross_validate("listmle", frame, **roles).notes
    assert note in pk.select("listmle", frame, {"l2": [0.1]}, **roles).notes
    with pytest.raises(ValueError, match="encoding="):
        pk.LinearRanker().fit(frame, qid="query", label="grade")
    refused = pk.compare("listmle,lightgbm", frame, missing="error", encoding="one-hot", **roles)
    assert list(refused.failures) == ["listmle"]


def test_estimators_of_other_packages_do_not_fail_for_missing_values_or_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": rng.integers(0, 20, 200), "bm25": rng.normal(size=200), "price": rng.random(200)})
    frame = frame.assign(season=rng.choice(["a", "b"], 200), grade=rng.integers(0, 3, 200))
    frame.loc[100:, "price"] = np.nan
    roles = {"qid": "query", "label": "grade"}
    trees = DecisionTreeRegressor(max_depth=2, random_state=0)
    own = make_pipeline(make_column_transformer((OneHotEncoder(), ["season"]), remainder="passthrough"), trees)
    result = pk.compare(
        {"ridge": Ridge(), "squared": pk.LinearRanker("squared", l2=0), "own": own}, frame, cv=2, **roles
    )
    assert result.failures == {}
    assert any('(missing="median") for ridge, squared, cat' in note and "own" not in note for note in result.notes)
    chosen = pk.select(Ridge(), frame, {"alpha": [0.1, 1.0]}, cv=2, **roles)
    assert chosen.best_params["estimator__alpha"] in (0.1, 1.0)
    refused = pk.compare({"ridge": Ridge(), "own": own}, frame, cv=2, missing="error", **roles)
    assert list(refused.failures) == ["ridge"]
