"""Parameters of other packages that rankers by their trees pass on: those that say how trees grow.

The rest of them is said otherwise here (rounds, threads, seeds, what is minimised and measured), or is about files and
machines, which a model file must not be able to name.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


GROWTH = _names(
    """
    max_depth min_sum_hessian_in_leaf min_gain_to_split max_delta_step lambda_l1 path_smooth extra_trees extra_seed
    data_sample_strategy top_rate other_rate bagging_fraction bagging_freq bagging_seed bagging_by_query
    feature_fraction feature_fraction_bynode feature_fraction_seed feature_contri feature_pre_filter
    monotone_constraints monotone_constraints_method monotone_penalty interaction_constraints
    max_bin max_bin_by_feature min_data_in_bin bin_construct_sample_cnt data_random_seed is_enable_sparse enable_bundle
    cegb_tradeoff cegb_penalty_split cegb_penalty_feature_lazy cegb_penalty_feature_coupled
    use_quantized_grad num_grad_quant_bins quant_train_renew_leaf stochastic_rounding
    histogram_pool_size force_col_wise force_row_wise device_type gpu_platform_id gpu_device_id gpu_use_dp
    """
)
DRAWING = _names(  # by which each round sees other rows, columns or thresholds
    """
    bagging_freq data_sample_strategy feature_fraction feature_fraction_bynode extra_trees use_quantized_grad
    """
)
OF_LAMBDARANK = _names(
    "lambdarank_truncation_level lambdarank_norm lambdarank_position_bias_regularization sigmoid label_gain"
)
LIGHTGBM_OTHER_NAMES = {
    "n_estimators": "n_rounds",
    "num_iterations": "n_rounds",
    "num_boost_round": "n_rounds",
    "early_stopping_round": "patience",
    "early_stopping_rounds": "patience",
    "eta": "learning_rate",
    "min_child_samples": "min_data_in_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_split_gain": "min_gain_to_split",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "seed": "random_state",
    "num_threads": "n_jobs",
    "objective": "loss",
}
_TREES_STAY = "trees must stay as they are once they are grown, or the best number of them could not be chosen"
_NUMBERS_ONLY = "all columns are numbers here; write categories as columns of 0 and 1"
LIGHTGBM_REFUSED = {
    "boosting": _TREES_STAY,
    "boosting_type": _TREES_STAY,
    "categorical_feature": _NUMBERS_ONLY,
    "categorical_features": _NUMBERS_ONLY,
    "linear_tree": "leaves are numbers here",
    "zero_as_missing": "a zero is a number here",
}

OF_XGBOOST = _names(
    """
    gamma min_split_loss max_delta_step subsample sampling_method colsample_bytree colsample_bylevel colsample_bynode
    reg_alpha tree_method grow_policy max_leaves max_bin monotone_constraints interaction_constraints
    num_parallel_tree device ndcg_exp_gain lambdarank_pair_method lambdarank_num_pair_per_sample
    lambdarank_normalization lambdarank_score_normalization lambdarank_unbiased lambdarank_bias_norm
    """
)
XGBOOST_OTHER_NAMES = {
    "n_estimators": "n_rounds",
    "num_boost_round": "n_rounds",
    "early_stopping_rounds": "patience",
    "eta": "learning_rate",
    "lambda": "reg_lambda",
    "alpha": "reg_alpha",
    "seed": "random_state",
    "nthread": "n_jobs",
}
