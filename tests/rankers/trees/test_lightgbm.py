"""LightGBM's own ranking objective."""

import numpy as np
import pytest

import plackett as pk

DATA = pk.datasets.make_web_like(50, 12, 6, random_state=1)
TRAIN, VALIDATION = DATA[:30], DATA[30:]


def test_lambdarank_has_no_table_of_a_billion_gains():
    pytest.importorskip("lightgbm")
    with pytest.raises(ValueError, match=r"at most 10,000 labels; found the label 1e\+09"):
        pk.TreeRanker("lightgbm").fit(TRAIN.X, TRAIN.y.astype(bool) * 1e9, qid=TRAIN.qid)


def test_lambdarank_is_lightgbm_s_own():
    lightgbm = pytest.importorskip("lightgbm")
    ranker = pk.TreeRanker(
        "lightgbm", n_rounds=12, learning_rate=0.3, min_data_in_leaf=5, lambdarank_truncation_level=5
    )
    ranker.fit(TRAIN)
    params = {
        "objective": "lambdarank", "learning_rate": 0.3, "num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1,
        "lambdarank_truncation_level": 5, "num_threads": 1, "deterministic": True, "force_row_wise": True,
    }  # fmt: skip
    own = lightgbm.train(params, lightgbm.Dataset(TRAIN.X, TRAIN.y, group=np.diff(TRAIN.indptr)), 12)
    np.testing.assert_array_equal(ranker.predict(VALIDATION), own.predict(VALIDATION.X))
    np.testing.assert_array_equal(ranker.importances("split"), own.feature_importance("split"))
