"""Names of categories in files of LightGBM and XGBoost: frames are encoded by name, or not at all."""

import numpy as np
import pandas as pd
import pytest

import plackett as pk
from plackett.exceptions import DataWarning

lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
DRAWS = np.random.default_rng(0)
CODES = DRAWS.integers(0, 3, 400)
NUMBERS = DRAWS.normal(size=400)
LABELS = np.clip(np.round(NUMBERS + 2 * (CODES == 1)), 0, 3)
KINDS = {"text": ["acme", "beta", "zeta"], "int": [1, 10, 2], "float": [0.5, 2.0, -1.0], "bool": [False, True]}


def frame_of(names, order=slice(None)):
    column = pd.Categorical.from_codes(CODES % len(names), categories=names)
    return pd.DataFrame({"bm25": NUMBERS, "kind": column.reorder_categories(names[order])})


@pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)
def test_lightgbm_s_categories_are_found_by_name(names, tmp_path):
    frame = frame_of(names)
    params = {"objective": "regression", "verbosity": -1, "min_data_per_group": 5, "cat_smooth": 1.0}
    booster = lightgbm.train(params, lightgbm.Dataset(frame, LABELS), 5)
    booster.save_model(tmp_path / "model.txt")
    other = frame_of(names, slice(None, None, -1))
    found = pk.load(tmp_path / "model.txt").predict(other)
    np.testing.assert_array_equal(found, booster.predict(other, raw_score=True))
    assert np.ptp(found - pk.load(tmp_path / "model.txt").predict(other.assign(kind=None))) > 0.1


@pytest.mark.parametrize("kind", ["text", "int"])
def test_xgboost_s_categories_are_found_by_name(kind, tmp_path):
    frame = frame_of(KINDS[kind])
    booster = xgboost.train({}, xgboost.DMatrix(frame, LABELS, enable_categorical=True), 5)
    booster.save_model(tmp_path / "model.json")
    found = pk.load(tmp_path / "model.json").predict(frame_of(KINDS[kind], slice(None, None, -1)))
    np.testing.assert_array_equal(found, booster.predict(xgboost.DMatrix(frame, enable_categorical=True)))


def test_names_that_xgboost_may_have_cut_are_not_used(tmp_path):
    frame = frame_of(["ä b", "x", "yz"])
    booster = xgboost.train({}, xgboost.DMatrix(frame, LABELS, enable_categorical=True), 5)
    booster.save_model(tmp_path / "model.json")
    with pytest.warns(DataWarning, match="may have truncated names of categories in column 1"):
        ranker = pk.load(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r'column 1 \("kind"\) of X holds text or categories'):
        ranker.predict(frame)
    found = ranker.predict(frame.assign(kind=CODES.astype(float)))
    np.testing.assert_array_equal(found, booster.predict(xgboost.DMatrix(frame, enable_categorical=True)))
