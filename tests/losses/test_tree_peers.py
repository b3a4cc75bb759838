"""LambdaRank beside LightGBM's lambdarank and XGBoost's rank:ndcg: the leaves of one tree grown from the same scores.

A tree of two leaves over a random column sums slopes and curvatures of a random half of the documents. No scores tie,
because both packages break ties by the order of rows.
"""

import numpy as np
import pytest

from plackett import losses
from tests.losses import literal

RNG = np.random.default_rng(0)
LISTS = literal.lists_of(*(RNG.integers(0, 5, size) for size in (12, 3, 25, 1, 20)))
SCORES = RNG.permutation(LISTS.n_docs) * 0.07 - 2.0
HALVES = RNG.random((4, LISTS.n_docs)) < 0.5
each_setting = pytest.mark.parametrize(
    ("k", "score_norm"), [(k, norm) for k in (3, 10, None) for norm in (False, True)]
)


def check_leaves(k, score_norm, tree_of, *, curvature_factor=1.0):
    """Compare the leaves of a peer's trees, ``tree_of(column, l2)``, with sums of our slopes and curvatures."""
    loss = losses.Pairwise("logistic", "lambdarank", k, score_norm=score_norm)
    slope = loss.value_and_slope(SCORES, LISTS)[1]
    curvature = curvature_factor * loss.curvature_diagonal(SCORES, LISTS)
    for half, l2 in zip(HALVES, (0.0, 5.0, 0.0, 5.0), strict=True):
        found = tree_of(half[:, None].astype(float), l2)
        for leaf in (half, ~half):
            total = curvature[leaf].sum() + l2
            scale = np.abs(slope[leaf]).sum() / total  # the slopes of a leaf may cancel
            np.testing.assert_allclose(found[leaf], -slope[leaf].sum() / total, rtol=0, atol=1e-4 * scale)


@each_setting
def test_lightgbm_lambdarank_grows_the_same_leaves(k, score_norm):
    lightgbm = pytest.importorskip("lightgbm")

    def tree_of(column, l2):
        params = {
            "objective": "lambdarank", "lambdarank_truncation_level": k or 1000, "lambdarank_norm": score_norm,
            "learning_rate": 1.0, "num_leaves": 2, "lambda_l2": l2, "min_data_in_leaf": 1, "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0.0, "feature_pre_filter": False, "num_threads": 1, "verbosity": -1,
        }  # fmt: skip
        sizes = np.diff(LISTS.indptr)
        data = lightgbm.Dataset(column, LISTS.labels, group=sizes, init_score=SCORES, params=params)
        return lightgbm.train(params, data, 1).predict(column, raw_score=True)

    check_leaves(k, score_norm, tree_of)


@each_setting
def test_xgboost_rank_ndcg_of_top_pairs_grows_the_same_leaves_with_twice_the_curvature(k, score_norm):
    xgboost = pytest.importorskip("xgboost")

    def tree_of(column, l2):
        params = {
            "objective": "rank:ndcg", "lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": k or 1000,
            "lambdarank_normalization": score_norm, "lambdarank_score_normalization": score_norm, "eta": 1.0,
            "max_depth": 1, "min_child_weight": 0.0, "reg_lambda": l2, "base_score": 0.0, "nthread": 1,
        }  # fmt: skip
        data = xgboost.DMatrix(column, LISTS.labels, base_margin=SCORES)
        data.set_group(np.diff(LISTS.indptr))
        return xgboost.train(params, data, 1).predict(xgboost.DMatrix(column), output_margin=True).astype(float)

    check_leaves(k, score_norm, tree_of, curvature_factor=2.0)
