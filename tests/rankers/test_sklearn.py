"""scikit-learn's own checks, which give no qid, so that all rows are one list; and its pipelines and searches."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import plackett as pk
from plackett.rankers.boosting.feature_rank import BLFeatureRank

RANKERS = [
    pk.LinearRanker(),
    pk.LinearRanker(loss="squared", solver="lbfgs"),
    pk.LinearRanker(loss="hinge"),
    pk.FeatureRank(),
    BLFeatureRank(),
    pk.DiffRank(),
    pk.AdaRank(),
    pk.RankBoost(n_rounds=20),
    pk.PRank(random_state=0),
    pk.SVMMap(),
    pk.QueryDependentRanker(),
]
RANKS_WITHIN_THE_LIST = (pk.FeatureRank, BLFeatureRank, pk.DiffRank)

WEIGHTS_ARE_OF_QUERIES = "a query is weighted as a whole; the check gives documents of one list different weights"
COLUMNS_ARE_TAKEN_BY_NAME = "a frame's columns are taken by name, in any order; the check wants an error"
SCORES_DEPEND_ON_THE_LIST = "a document is scored by its rank in the list; the check takes the list apart"


def why_a_check_does_not_apply(estimator):
    reasons = {
        "check_dataframe_column_names_consistency": COLUMNS_ARE_TAKEN_BY_NAME,
        "check_sample_weights_not_overwritten": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_OF_QUERIES,
    }
    if isinstance(estimator, RANKS_WITHIN_THE_LIST):
        reasons["check_methods_subset_invariance"] = SCORES_DEPEND_ON_THE_LIST
    return reasons


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:with relevant_from=1 no query has both:plackett.exceptions.DataWarning")
@parametrize_with_checks(RANKERS, expected_failed_checks=why_a_check_does_not_apply)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


# ---- pipelines and searches ----------------------------------------------------------------------------------------

DATA = pk.datasets.make_web_like(30, n_features=5, random_state=0)
SEARCHED = [
    (pk.AdaRank("ndcg@5"), {"n_rounds": [1, 20]}),
    (pk.RankBoost(n_rounds=15), {"alpha": ["r", "exact"]}),
    (pk.PRank(random_state=0), {"n_epochs": [1, 5]}),
    (pk.SVMMap(relevant_from=2), {"C": [0.01, 10.0]}),
    (pk.DiffRank(), {"n_intervals": [1, 3]}),
]


@pytest.mark.parametrize(("ranker", "grid"), SEARCHED, ids=[type(ranker).__name__ for ranker, _ in SEARCHED])
def test_searches_and_pipelines_pass_qid_on(ranker, grid):
    X = DATA.X.astype(float)
    step = type(ranker).__name__.lower()
    [(name, values)] = grid.items()
    pipeline = make_pipeline(StandardScaler(), clone(ranker))
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(pipeline, {f"{step}__{name}": values}, cv=GroupKFold(3))
        search.fit(X, DATA.y, qid=DATA.qid, groups=DATA.qid)
        scores = search.best_estimator_.predict(X, qid=DATA.qid)
    means = []
    for value in values:
        of_folds = []
        for train, test in GroupKFold(3).split(X, DATA.y, DATA.qid):
            scaler = StandardScaler().fit(X[train])
            fitted = clone(ranker).set_params(**{name: value})
            fitted.fit(scaler.transform(X[train]), DATA.y[train], qid=DATA.qid[train])
            found = fitted.predict(scaler.transform(X[test]), qid=DATA.qid[test])
            of_folds.append(pk.metrics.ndcg(DATA.y[test], found, qid=DATA.qid[test], k=10).mean())
        means.append(np.mean(of_folds))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, atol=1e-12)
    scaled = StandardScaler().fit_transform(X)
    best = clone(ranker).set_params(**{name: values[int(np.argmax(means))]}).fit(scaled, DATA.y, qid=DATA.qid)
    np.testing.assert_array_equal(scores, best.predict(scaled, qid=DATA.qid))
