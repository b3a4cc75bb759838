"""Small models of other tools, with categories and missing values where the tool has them."""

import numpy as np
import pytest

import plackett as pk

N_DOCS = 240
GROUPS = [12] * 20
CATEGORY = 4
TREES = """## LambdaMART
## No. of trees = 2

<ensemble>
	<tree id="1" weight="0.1">
		<split>
			<feature> 2 </feature>
			<threshold> 0.3 </threshold>
			<split pos="left">
				<output> -1.5 </output>
			</split>
			<split pos="right">
				<feature> 5 </feature>
				<threshold> -0.25 </threshold>
				<split pos="left">
					<output> 0.7 </output>
				</split>
				<split pos="right">
					<output> 2.25 </output>
				</split>
			</split>
		</split>
	</tree>
	<tree id="2" weight="0.1">
		<split>
			<output> 0.125 </output>
		</split>
	</tree>
</ensemble>
"""


def rows(seed, share=0.3):
    """Rows of both signs with missing values, a column of codes and one of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_DOCS, 6))
    X[:, CATEGORY] = rng.integers(0, 9, N_DOCS)
    X[:, 5] = rng.integers(0, 3, N_DOCS) - 1
    return np.where(rng.random(X.shape) < share, np.nan, X)


def labels(X):
    return np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, CATEGORY]) % 3, [0.5, 1.5, 2.5]).astype(float)


def of_lightgbm(params=None, n_rounds=5, share=0.3, **of_data):
    lightgbm = pytest.importorskip("lightgbm")
    X = rows(0, share)
    params = {
        "objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 5, "min_data_per_group": 5, "cat_smooth": 1,
        "verbosity": -1, "num_threads": 1, **(params or {}),
    }  # fmt: skip
    y = (labels(X) > 1).astype(float) if params["objective"] == "binary" else labels(X)
    return lightgbm.train(params, lightgbm.Dataset(X, y, group=GROUPS, **of_data), n_rounds)


def of_xgboost(params=None, n_rounds=5, share=0.3, **of_data):
    xgboost = pytest.importorskip("xgboost")
    X = rows(0, share)
    params = {"objective": "rank:ndcg", "max_depth": 3, "nthread": 1, "verbosity": 0, **(params or {})}
    y = (labels(X) > 1).astype(float) if params["objective"] == "binary:logistic" else labels(X)
    return xgboost.train(params, xgboost.DMatrix(X, y, group=GROUPS, **of_data), n_rounds)


CODES = {"feature_types": ["q"] * CATEGORY + ["c", "q"], "enable_categorical": True}


def lists(X, n_features):
    return pk.Queries(X[:, :n_features], labels(X), np.repeat(np.arange(20), 12))
