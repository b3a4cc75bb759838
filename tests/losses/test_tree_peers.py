"""LambdaRank and XE-NDCG beside losses of LightGBM and XGBoost: the leaves of one tree grown from the same scores.

A tree of two leaves over a random column sums slopes and curvatures of a random half of the documents. No scores tie,
because both packages break ties by the order of rows.
"""

import itertools

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


LIGHTGBM = {
    "learning_rate": 1.0, "num_leaves": 2, "min_data_in_leaf": 1, "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 0.0, "feature_pre_filter": False, "num_threads": 1, "verbosity": -1,
}  # fmt: skip


def lightgbm_tree(column, scores, **params):
    """Return the predictions of one tree of LightGBM, grown from ``scores``."""
    lightgbm = pytest.importorskip("lightgbm")
    params = LIGHTGBM | params
    data = lightgbm.Dataset(column, LISTS.labels, group=np.diff(LISTS.indptr), init_score=scores, params=params)
    return lightgbm.train(params, data, 1).predict(column, raw_score=True)


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
    def tree_of(column, l2):
        return lightgbm_tree(
            column, SCORES, objective="lambdarank", lambdarank_truncation_level=k or 1000, lambdarank_norm=score_norm,
            lambda_l2=l2,
        )  # fmt: skip

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


def xendcg_slope(scores):
    """The mean of rank_xendcg's gradient over its draws: the slope of XE-NDCG, and terms of second and third order."""
    total = losses.XENDCG().value_and_slope(scores, LISTS)[1]
    for start, stop in itertools.pairwise(LISTS.indptr):
        share = np.exp(scores[start:stop]) / np.exp(scores[start:stop]).sum()
        term = total[start:stop].copy()
        if len(term) > 1:
            for _ in (2, 3):
                ratio = term / (1.0 - share)
                term = share * (ratio.sum() - ratio)
                total[start:stop] += term
    return total


@pytest.mark.parametrize(("scores", "distance"), [(SCORES, 0.096), (0.0 * SCORES, 0.166)])
def test_lightgbm_rank_xendcg_adds_terms_to_the_slope_of_xe_ndcg(scores, distance):
    loss, half = losses.XENDCG(), HALVES[0]
    # not 0, 1, 2 …, whose first draws are all small
    seeds = np.random.default_rng(0).integers(2**31, size=100).tolist()
    trees = [
        lightgbm_tree(half[:, None].astype(float), scores, objective="rank_xendcg", objective_seed=seed)
        for seed in seeds
    ]
    found, error = np.mean(trees, 0), np.std(trees, 0) / np.sqrt(len(trees))
    slope, curvature, total = (
        loss.value_and_slope(scores, LISTS)[1],
        loss.curvature_diagonal(scores, LISTS),
        xendcg_slope(scores),
    )
    for leaf in (half, ~half):
        own, expected = (-of[leaf].sum() / curvature[leaf].sum() for of in (slope, total))
        assert abs(found[leaf][0] - expected) < 4 * error[leaf][0]
        assert abs(found[leaf][0] - own) > 20 * error[leaf][0]
    assert np.linalg.norm(total - slope) / np.linalg.norm(slope) == pytest.approx(distance, abs=0.001)
