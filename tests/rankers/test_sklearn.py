"""scikit-learn's own checks; they give no qid, so that all rows are one list."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import plackett as pk

RANKERS = [pk.LinearRanker(), pk.LinearRanker(loss="squared", solver="lbfgs"), pk.LinearRanker(loss="hinge")]

WEIGHTS_ARE_OF_QUERIES = "a query is weighted as a whole; the check gives documents of one list different weights"


def why_a_check_does_not_apply(estimator):
    return {
        "check_sample_weights_not_overwritten": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_OF_QUERIES,
    }


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@parametrize_with_checks(RANKERS, expected_failed_checks=why_a_check_does_not_apply)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)
