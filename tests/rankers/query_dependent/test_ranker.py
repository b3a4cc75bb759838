"""Query-dependent rankers: what they learn, against rankers told the same by hand, and what they make of odd data."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import plackett as pk
from plackett.exceptions import ConvergenceWarning, DataWarning
from plackett.losses import Pairwise
from plackett.rankers.query_dependent import ranker as query_models
from plackett.rankers.query_dependent.local_fits import LocalFits
from plackett.rankers.query_dependent.ranker import QueryDependentRanker
from plackett.rankers.query_dependent.weights import QueryWeights

RANK_SVM = Pairwise("hinge", normalize="all")
LOSSES = {
    "hinge": lambda u: np.maximum(0.0, 1.0 - u),
    "logistic": lambda u: np.logaddexp(0.0, -u),
    "psi": lambda u: np.minimum(1.0, np.maximum(0.0, 1.0 - u)),
}


def make_data(seed=0, n_queries=12, n_docs=8, n_features=4):
    """Queries of two kinds, which want opposite orders, and their features."""
    draws = np.random.default_rng(seed)
    sizes = draws.integers(3, n_docs + 1, n_queries)
    qid = np.repeat(np.arange(100, 100 + n_queries), sizes)
    X = draws.normal(size=(qid.size, n_features))
    sign = np.where(np.arange(n_queries) % 2, 1.0, -1.0)
    wanted = X[:, 0] * np.repeat(sign, sizes) + 0.3 * X[:, 1] + 0.3 * draws.normal(size=qid.size)
    labels = np.digitize(wanted, [-0.5, 0.5]).astype(float)
    return X, labels, qid, np.column_stack([sign, 0.1 * draws.normal(size=n_queries)])


X, LABELS, QID, FEATURES = make_data()
IDS = np.unique(QID)
N = IDS.size


def objective(coef, weights, l2, loss="hinge", rows=X, labels=LABELS, qid=QID):
    """(1/n) Σ π 2 / (N (N - 1)) Σ L + (l2 / 2) ‖coef‖², pair by pair."""
    total, scores = 0.0, rows @ coef
    for place, query in enumerate(np.unique(qid)):
        own = np.flatnonzero(qid == query)
        for i in own:
            for j in own:
                if labels[i] > labels[j]:
                    total += weights[place] * 2 / (own.size * (own.size - 1)) * LOSSES[loss](scores[i] - scores[j])
    return total / np.unique(qid).size + 0.5 * l2 * coef @ coef


def dense_weights(neighbors, target, n=N):
    weights = np.zeros(n)
    queries, values, _ = neighbors.of(target)
    weights[queries] = values
    return weights


def fit(X=X, labels=LABELS, qid=QID, query_features=FEATURES, fit_options=(), **parameters):
    return QueryDependentRanker(**parameters).fit(
        X, labels, qid=qid, query_features=query_features, **dict(fit_options)
    )


# ---- what it minimises ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_uniform_is_rank_svm(l2):
    ranker = fit(weights="uniform", query_features=None, l2=l2, tol=1e-5)
    told = pk.LinearRanker(loss=RANK_SVM, l2=l2, tol=1e-6, max_iter=1000).fit(X, LABELS, qid=QID)
    value = objective(told.coef_, np.ones(N), l2)
    assert objective(ranker.coef_[3], np.ones(N), l2) == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(ranker.objective_, value, rtol=1e-4)
    np.testing.assert_array_equal(ranker.coef_, np.tile(ranker.uniform_coef_, (N, 1)))
    own = X[QID == 103]
    np.testing.assert_array_equal(np.argsort(own @ told.coef_), np.argsort(ranker.predict(own, qid=[103] * len(own))))
    np.testing.assert_allclose(ranker.predict(own, qid=["new"] * len(own)), own @ ranker.uniform_coef_)


def test_individual_is_one_ranker_per_query():
    ranker = fit(weights="individual", query_features=None, l2=0.1, tol=1e-5)
    for place, query in enumerate(IDS):
        own = query == QID
        alone = pk.LinearRanker(loss=RANK_SVM, l2=0.1 / 1, tol=1e-7, max_iter=1000)
        alone.fit(X[own], LABELS[own], qid=QID[own])
        weights = np.where(query == IDS, float(N), 0.0)
        assert ranker.objective_[place] == pytest.approx(objective(alone.coef_, weights, 0.1), rel=1e-4)
        assert ranker.objective_[place] == pytest.approx(objective(ranker.coef_[place], weights, 0.1), rel=1e-9)


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("weights", ["knn", "gaussian", "tricube"])
def test_objectives_of_weighted_queries_are_literal_sums(weights, loss):
    ranker = fit(weights=weights, n_neighbors=5, loss=loss, l2=0.05)
    neighbors = QueryWeights(weights, n_neighbors=5).fit(FEATURES).of_observed(np.arange(N))
    for place in range(N):
        own = dense_weights(neighbors, place)
        assert own.sum() == pytest.approx(N)
        value = objective(ranker.coef_[place], own, 0.05, loss)
        assert ranker.objective_[place] == pytest.approx(value, rel=1e-9)
        if loss != "psi":
            for other in (ranker.uniform_coef_, ranker.coef_[place - 1], 0.9 * ranker.coef_[place]):
                assert objective(other, own, 0.05, loss) >= value - ranker.gap_[place]
    assert ranker.stop_reason_ == "all models converged"


def test_queries_of_two_kinds_are_told_apart():
    ranker = fit(n_neighbors=4, l2=0.01)
    assert (np.sign(ranker.coef_[:, 0]) == FEATURES[:, 0]).all()


# ---- kernels -------------------------------------------------------------------------------------------------------


def test_a_uniform_rbf_model_is_the_kernel_ranker_s():
    ranker = fit(weights="uniform", query_features=None, kernel="rbf", gamma=0.3, l2=0.05, tol=1e-5)
    told = pk.KernelRanker(loss=RANK_SVM, kernel="rbf", gamma=0.3, l2=0.05, tol=1e-6, max_iter=1000)
    told.fit(X, LABELS, qid=QID)
    one, other = ranker.predict(X, qid=QID), told.predict(X, qid=QID)
    for query in IDS:
        own = query == QID
        np.testing.assert_allclose(one[own] - one[own][0], other[own] - other[own][0], atol=0.02)


def test_a_linear_kernel_of_products_is_the_linear_model():
    linear = fit(l2=0.05, tol=1e-6)
    poly = fit(l2=0.05, tol=1e-6, kernel="poly", degree=1, gamma=1.0, coef0=0.0)
    np.testing.assert_allclose(poly.objective_, linear.objective_, rtol=1e-5)
    np.testing.assert_allclose(poly.predict(X, qid=QID), linear.predict(X, qid=QID), atol=0.02)


def test_all_documents_as_landmarks_are_the_exact_kernel():
    exact = fit(kernel="rbf", gamma=0.3, l2=0.05, tol=1e-6)
    nystroem = fit(kernel="rbf", gamma=0.3, l2=0.05, tol=1e-6, landmarks=X.shape[0], random_state=0)
    np.testing.assert_allclose(nystroem.objective_, exact.objective_, rtol=1e-4)
    few = fit(kernel="rbf", gamma=0.3, l2=0.05, landmarks=5, random_state=0)
    assert few.coef_.shape == (N, 5)


# ---- the strength of the penalty -----------------------------------------------------------------------------------

OTHER = make_data(7)  # other documents of the same queries


def validation(kind):
    rows, labels, qid, features = OTHER
    if kind == "observed":
        return (rows, labels, qid), None
    if kind == "new":
        return (rows, labels, qid + 1000), features
    return (rows, labels, np.where(qid < 106, qid, qid + 1000)), features


@pytest.mark.parametrize("kind", ["observed", "new", "both"])
@pytest.mark.parametrize("weights", ["gaussian", "uniform"])
def test_the_best_strength_is_that_of_separate_fits(kind, weights):
    (rows, labels, qid), features = validation(kind)
    strengths = [0.001, 10.0, 0.1]
    given = {"eval_set": (rows, labels, qid), "eval_metric": "ndcg@3"}
    if weights == "gaussian":
        given["eval_query_features"] = features
    training = FEATURES if weights == "gaussian" else None
    ranker = fit(weights=weights, query_features=training, n_neighbors=4, l2=strengths, tol=1e-6, fit_options=given)
    means = []
    for l2 in sorted(strengths, reverse=True):
        one = fit(weights=weights, query_features=training, n_neighbors=4, l2=l2, tol=1e-6)
        scores = one.predict(rows, qid=qid, query_features=features if weights == "gaussian" else None)
        means.append(pk.metrics.ndcg(labels, scores, qid=qid, k=3).mean())
    assert ranker.l2_path_["l2"] == sorted(strengths, reverse=True)
    np.testing.assert_allclose(ranker.l2_path_["ndcg@3"], means, atol=0.01)  # two documents may change places
    assert ranker.l2_ == sorted(strengths, reverse=True)[int(np.argmax(means))]
    assert ranker.best_score_ == pytest.approx(max(means))
    chosen = fit(weights=weights, query_features=training, n_neighbors=4, l2=ranker.l2_, tol=1e-6)
    np.testing.assert_array_equal(ranker.coef_, chosen.coef_)


def test_the_grid_runs_from_strong_to_weak(monkeypatch):
    monkeypatch.setattr(query_models, "BYTES_OF_PATH", 1)  # one strength at a time, each from the one before
    ranker = fit(l2="grid", n_neighbors=3, fit_options={"eval_set": OTHER[:3]})
    assert len(ranker.l2_path_["l2"]) == 61
    assert ranker.l2_path_["l2"][0] == pytest.approx(1000.0)
    assert ranker.l2_path_["l2"][-1] == pytest.approx(0.001)
    monkeypatch.undo()
    at_once = fit(l2="grid", n_neighbors=3, fit_options={"eval_set": OTHER[:3]})
    np.testing.assert_allclose(at_once.l2_path_["ndcg@10"], ranker.l2_path_["ndcg@10"], atol=0.02)


def test_measures_to_be_small_are_minimised():
    ranker = fit(l2=[0.001, 10.0, 1000.0], fit_options={"eval_set": OTHER[:3], "eval_metric": "mre"})
    values = ranker.l2_path_["mre"]
    assert ranker.l2_ == ranker.l2_path_["l2"][int(np.argmin(values))]


def test_several_strengths_need_a_validation_set_with_values():
    with pytest.raises(ValueError, match=r"l2 holds 2 strengths.*pass eval_set"):
        fit(l2=[0.1, 1.0])
    nothing = (X[:6], np.zeros(6), QID[:6])
    with pytest.raises(ValueError, match="is NaN for every l2"):
        fit(l2=[0.1, 1.0], fit_options={"eval_set": nothing, "eval_metric": "map(empty=skip)"})
    for wrong in ([], [0.1, -1.0], [0.0], 0.0, -1.0, np.nan, "path", [np.inf]):
        with pytest.raises(ValueError, match="l2"):
            fit(l2=wrong)


# ---- new queries ---------------------------------------------------------------------------------------------------

NEW_ROWS, _, NEW_QID, NEW_FEATURES = make_data(3, n_queries=5)
NEW_QID = NEW_QID + 500


@pytest.mark.parametrize("weights", ["knn", "gaussian"])
def test_models_of_new_queries_are_those_of_their_neighbours(weights):
    ranker = fit(weights=weights, n_neighbors=5, n_neighbors_new=3, l2=0.05)
    scores = ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES)
    neighbors = QueryWeights(weights, n_neighbors=3).fit(FEATURES).of_new(NEW_FEATURES)
    order = np.lexsort((-LABELS, QID))
    indptr = np.concatenate([[0], np.cumsum(np.unique(QID, return_counts=True)[1])])
    told = LocalFits(X[order], LABELS[order], indptr).solve(
        neighbors, "hinge", np.array([0.05]), start=ranker.uniform_coef_, tol=1e-4
    )
    for place, query in enumerate(np.unique(NEW_QID)):
        own = query == NEW_QID
        np.testing.assert_allclose(scores[own], NEW_ROWS[own] @ told.coef[0, place], atol=1e-9)


def test_a_new_query_is_solved_once(monkeypatch):
    ranker = fit()
    first = ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES)

    def no_more(*given, **options):
        raise AssertionError("solved again")

    monkeypatch.setattr(LocalFits, "solve", no_more)
    np.testing.assert_array_equal(ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES), first)
    renamed = ranker.predict(NEW_ROWS, qid=NEW_QID + 7, query_features=NEW_FEATURES)  # known by features, not by name
    np.testing.assert_array_equal(renamed, first)
    with pytest.raises(AssertionError, match="solved again"):
        ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES + 0.1)


def test_the_rows_of_a_prediction_may_come_in_any_order():
    ranker = fit()
    rows, qid = np.concatenate([NEW_ROWS, X]), np.concatenate([NEW_QID, QID])
    features = np.concatenate([NEW_FEATURES, FEATURES])
    scores = ranker.predict(rows, qid=qid, query_features=features)
    order = np.random.default_rng(0).permutation(qid.size)
    _, first = np.unique(qid[order], return_index=True)
    by_appearance = qid[order][np.sort(first)]
    ids = np.concatenate([np.unique(NEW_QID), IDS])
    shuffled = features[[int(np.flatnonzero(ids == query)[0]) for query in by_appearance]]
    np.testing.assert_allclose(ranker.predict(rows[order], qid=qid[order], query_features=shuffled), scores[order])
    observed = ranker.predict(X, qid=QID)  # these need no features
    np.testing.assert_allclose(scores[NEW_QID.size :], observed)


def test_training_rows_may_come_in_any_order():
    order = np.random.default_rng(1).permutation(QID.size)
    _, first = np.unique(QID[order], return_index=True)
    by_appearance = QID[order][np.sort(first)]
    shuffled = fit(X[order], LABELS[order], QID[order], FEATURES[by_appearance - 100], tol=1e-6)
    np.testing.assert_allclose(shuffled.predict(X, qid=QID), fit(tol=1e-6).predict(X, qid=QID), atol=0.02)


@pytest.mark.parametrize("name", [str, lambda query: ("q", int(query)), float])
def test_ids_may_be_of_any_kind(name):
    ids = [name(query) for query in QID]
    ranker = fit(qid=ids)
    np.testing.assert_array_equal(ranker.predict(X, qid=ids), fit().predict(X, qid=QID))


def test_an_id_that_was_not_in_fit_makes_all_rows_one_new_list():
    ranker = fit(query_features=None)
    own = X[QID == 104]
    one = ranker.predict(own, qid="new")
    np.testing.assert_array_equal(one, ranker.predict(own, qid=["none of training"] * len(own)))


def test_the_uniform_model_may_serve_new_queries():
    ranker = fit(new_queries="uniform")
    np.testing.assert_allclose(ranker.predict(NEW_ROWS, qid=NEW_QID), NEW_ROWS @ ranker.uniform_coef_)
    np.testing.assert_array_equal(ranker.predict(X, qid=QID), fit().predict(X, qid=QID))
    assert ranker.training_bytes_ == 0
    assert fit().training_bytes_ >= X.nbytes


def test_random_orders_come_with_a_warning_and_again_with_a_seed():
    ranker = fit(weights="individual", query_features=None, new_queries="random", random_state=3)
    with pytest.warns(DataWarning, match="5 queries of 5 were not in fit and are ranked at random"):
        scores = ranker.predict(NEW_ROWS, qid=NEW_QID)
    assert np.unique(scores).size == scores.size
    with pytest.warns(DataWarning):
        np.testing.assert_array_equal(ranker.predict(NEW_ROWS, qid=NEW_QID), scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.predict(X, qid=QID)


def test_individual_models_serve_no_new_query():
    ranker = fit(weights="individual", query_features=None)
    ranker.predict(X, qid=QID)
    with pytest.raises(ValueError, match=r'has no model for a query that was not in fit.*new_queries="random"'):
        ranker.predict(NEW_ROWS, qid=NEW_QID)


# ---- query features ------------------------------------------------------------------------------------------------


def test_query_features_from_a_matrix_from_columns_and_found_are_the_same():
    matrix = fit()
    wide = np.column_stack([FEATURES[QID - 100], X])
    for setting in ([0, 1], "auto", None):
        ranker = QueryDependentRanker(query_features=setting).fit(wide, LABELS, qid=QID)
        assert ranker.query_feature_kind_ == "columns"
        np.testing.assert_allclose(ranker.coef_, matrix.coef_, atol=1e-9)
        new = np.column_stack([NEW_FEATURES[NEW_QID - 600], NEW_ROWS])
        np.testing.assert_allclose(
            ranker.predict(new, qid=NEW_QID),
            matrix.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES),
            atol=1e-9,
        )


def test_means_of_documents_are_query_features_too():
    means = np.array([X[query == QID].mean(axis=0) for query in IDS])
    ranker = fit(query_features=None)
    assert ranker.query_feature_kind_ == "mean"
    np.testing.assert_allclose(ranker.coef_, fit(query_features=means).coef_, atol=1e-6)
    assert QueryDependentRanker(query_features=means).fit(X, LABELS, qid=QID).query_feature_kind_ == "matrix"


def test_missing_wrong_and_undefined_query_features_are_refused():
    ranker = fit()
    with pytest.raises(ValueError, match=r"new queries need theirs too: pass query_features"):
        ranker.predict(NEW_ROWS, qid=NEW_QID)
    with pytest.raises(ValueError, match=r"3 rows, but there are 5 queries"):
        ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES[:3])
    with pytest.raises(ValueError, match=r"1 column, but had 2 in fit"):
        ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES[:, :1])
    hole = NEW_FEATURES.copy()
    hole[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=hole)
    hole = FEATURES.copy()
    hole[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit(query_features=hole)
    with pytest.raises(ValueError, match=r"rows, but there are 12 queries"):
        fit(query_features=FEATURES[:4])


# ---- odd data ------------------------------------------------------------------------------------------------------


def test_one_training_query_serves_all():
    own = QID == 101
    for weights in ("gaussian", "knn", "individual", "uniform", "tricube"):
        needs = weights not in ("individual", "uniform")
        ranker = fit(X[own], LABELS[own], QID[own], FEATURES[:1] if needs else None, weights=weights)
        value = objective(ranker.coef_[0], [1.0], ranker.l2, rows=X[own], labels=LABELS[own], qid=QID[own])
        assert ranker.objective_[0] == pytest.approx(value)
        if weights != "individual":
            features = NEW_FEATURES if needs else None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                scores = ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=features)
            np.testing.assert_allclose(scores, NEW_ROWS @ ranker.coef_[0], atol=0.05)


def test_more_neighbours_than_queries_are_all_queries():
    np.testing.assert_array_equal(fit(n_neighbors=1000).coef_, fit(n_neighbors=None).coef_)


def test_queries_that_cannot_be_told_apart_count_alike():
    ranker = fit(query_features=np.ones((N, 2)), n_neighbors=None, tol=1e-6)
    uniform = fit(weights="uniform", query_features=None, tol=1e-6)
    np.testing.assert_allclose(ranker.objective_, uniform.objective_, rtol=2e-6)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_query_whose_labels_are_equal_follows_its_neighbours(loss):
    labels = LABELS.copy()
    labels[QID == 102] = 1.0
    ranker = fit(labels=labels, n_neighbors=5, loss=loss)
    assert (ranker.coef_[2] != 0).any()
    alone = fit(labels=labels, weights="individual", query_features=None, loss=loss)
    np.testing.assert_array_equal(alone.coef_[2], 0.0)
    assert alone.stop_reason_ == "all models converged"


@pytest.mark.parametrize("weights", ["uniform", "individual", "gaussian"])
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_no_pairs_at_all_give_zeros(weights):
    features = FEATURES if weights == "gaussian" else None
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for labels in (np.zeros(QID.size), np.full(QID.size, 3.0)):
            ranker = fit(labels=labels, weights=weights, query_features=features)
            np.testing.assert_array_equal(ranker.coef_, 0.0)
        first = np.unique(QID, return_index=True)[1]
        ranker = fit(X[first], LABELS[first], QID[first], features, weights=weights)
        np.testing.assert_array_equal(ranker.coef_, 0.0)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_scales_of_columns_do_no_harm(scale, loss):
    ranker = fit(scale * X, l2=0.05 * scale**2, loss=loss)
    told = fit(l2=0.05, loss=loss)
    np.testing.assert_allclose(ranker.objective_, told.objective_, rtol=3e-4 if loss != "psi" else 0.05)
    mixed = fit(X * [1e8, 1.0, 1e-8, 1e3], loss=loss, l2=0.1)
    assert np.isfinite(mixed.predict(X, qid=QID)).all()


@pytest.mark.parametrize("l2", [1e-8, 1e6])
def test_strengths_at_either_end(l2):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for weights in ("gaussian", "individual", "uniform"):
            ranker = fit(weights=weights, l2=l2, query_features=FEATURES if weights == "gaussian" else None)
            assert (ranker.coef_ != 0).any(axis=1).all()


def test_enormous_labels_are_only_an_order():
    np.testing.assert_array_equal(fit(labels=1e300 * LABELS).coef_, fit().coef_)


def test_forms_of_rows_make_no_difference():
    told = fit().predict(X, qid=QID)
    read_only = X.copy()
    read_only.flags.writeable = False
    spread = np.zeros((X.shape[0], 8))
    spread[:, ::2] = X
    for rows in (read_only, spread[:, ::2], np.asfortranarray(X), X.tolist()):
        np.testing.assert_array_equal(fit(rows).predict(rows, qid=QID), told)
    csr = sparse.csr_array(X)
    np.testing.assert_allclose(fit(csr).predict(csr, qid=QID), told, atol=1e-9)
    narrow = X.astype(np.float32)
    np.testing.assert_allclose(fit(narrow).predict(narrow, qid=QID), told, atol=0.02)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    ranker = fit(frame, query_features=pandas.DataFrame(FEATURES))
    np.testing.assert_array_equal(ranker.predict(frame, qid=QID), told)


# ---- weights of queries --------------------------------------------------------------------------------------------


def test_a_weight_of_two_is_a_query_twice():
    twice = np.where(IDS == 103, 2.0, 1.0)
    ranker = fit(weights="uniform", query_features=None, tol=1e-6, fit_options={"sample_weight": twice})
    again = QID == 103
    told = fit(
        np.concatenate([X, X[again]]), np.concatenate([LABELS, LABELS[again]]),
        np.concatenate([QID, QID[again] + 1000]), None, weights="uniform", tol=1e-6,
    )  # fmt: skip
    assert ranker.objective_[0] == pytest.approx(told.objective_[0], rel=1e-5)


def test_queries_of_no_weight_have_no_influence():
    none = np.where(IDS == 103, 0.0, 1.0)
    other = X.copy()
    other[QID == 103] = 17.0 * other[QID == 103, ::-1]
    one = fit(fit_options={"sample_weight": none}, tol=1e-7)
    changed = fit(other, fit_options={"sample_weight": none}, tol=1e-7)
    np.testing.assert_allclose(one.objective_, changed.objective_, rtol=1e-6)
    per_row = fit(fit_options={"sample_weight": np.repeat(none, np.unique(QID, return_counts=True)[1])}, tol=1e-7)
    np.testing.assert_array_equal(per_row.coef_, one.coef_)


# ---- the life of a ranker ------------------------------------------------------------------------------------------


def test_a_second_fit_is_as_the_first_and_forgets_the_models_of_the_old():
    ranker = fit()
    before = ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES)
    coef = ranker.coef_
    ranker.fit(X, -LABELS, qid=QID, query_features=FEATURES)
    np.testing.assert_allclose(ranker.coef_, -coef, atol=0.02)
    after = ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES)
    np.testing.assert_allclose(after, -before, atol=0.1)
    ranker.fit(X, LABELS, qid=QID, query_features=FEATURES)
    np.testing.assert_array_equal(ranker.coef_, coef)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_fit_that_fails_leaves_the_old_model(error, monkeypatch):
    ranker = fit()
    before = ranker.predict(X, qid=QID)

    def fail(*given, **options):
        raise error

    monkeypatch.setattr(LocalFits, "solve", fail)
    with pytest.raises(error):
        ranker.fit(-X, LABELS, qid=QID, query_features=FEATURES)
    monkeypatch.undo()
    np.testing.assert_array_equal(ranker.predict(X, qid=QID), before)
    scores = ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES)
    np.testing.assert_array_equal(scores, fit().predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES))


def test_clones_and_pickles():
    ranker = fit(weights="tricube", n_neighbors=4, l2=0.3)
    assert clone(ranker).get_params() == ranker.get_params()
    assert not hasattr(clone(ranker), "coef_")
    loaded = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(loaded.predict(X, qid=QID), ranker.predict(X, qid=QID))
    np.testing.assert_array_equal(
        loaded.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES),
        ranker.predict(NEW_ROWS, qid=NEW_QID, query_features=NEW_FEATURES),
    )


def test_results_do_not_depend_on_workers(monkeypatch):
    told = fit(n_jobs=1).coef_
    np.testing.assert_array_equal(fit(n_jobs=2).coef_, told)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            np.testing.assert_array_equal(fit().coef_, told)
    monkeypatch.setenv("PLACKETT_NUM_THREADS", "1")
    np.testing.assert_array_equal(fit().coef_, told)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match=r"did not converge within max_iter=1 steps.*Raise max_iter"):
        ranker = fit(l2=1e-4, max_iter=1)
    assert "did not converge" in ranker.stop_reason_
    assert ranker.n_iter_ == 1


@pytest.mark.parametrize(("name", "value"), [
    ("weights", "near"), ("n_neighbors", 0), ("n_neighbors_new", -1), ("bandwidth", 0.0), ("bandwidth", "mean"),
    ("kernel", "precomputed"), ("kernel", "cosy"), ("gamma", -1.0), ("landmarks", 0), ("function", "list"),
    ("loss", "squared"), ("solver", "sgd"), ("new_queries", "skip"), ("tol", 0.0), ("max_iter", 0), ("max_bytes", 0),
    ("degree", 0.5), ("query_features", "none at all"),
])  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        QueryDependentRanker(**{"kernel": "rbf", name: value}).fit(X, LABELS, qid=QID)


def test_searches_pass_qid_on():
    with config_context(enable_metadata_routing=True):
        ranker = QueryDependentRanker(query_features="mean")
        search = GridSearchCV(ranker, {"n_neighbors": [1, 8]}, cv=GroupKFold(3))
        search.fit(X, LABELS, qid=QID, groups=QID)
    means = []
    for n_neighbors in (1, 8):
        of_folds = []
        for train, test in GroupKFold(3).split(X, LABELS, QID):
            one = QueryDependentRanker(query_features="mean", n_neighbors=n_neighbors)
            scores = one.fit(X[train], LABELS[train], qid=QID[train]).predict(X[test], qid=QID[test])
            of_folds.append(pk.metrics.ndcg(LABELS[test], scores, qid=QID[test], k=10).mean())
        means.append(np.mean(of_folds))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"solver": "admm", "max_iter": 2}], ids=["newton", "admm"])
@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
def test_query_dependent_fits_run_on_backends_without_generators(options):
    ranker = QueryDependentRanker(n_neighbors=2, **options)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        found = ranker.fit(X, LABELS, qid=QID).coef_
    np.testing.assert_array_equal(found, QueryDependentRanker(n_neighbors=2, **options).fit(X, LABELS, qid=QID).coef_)


def test_a_new_query_of_the_uniform_model_has_all_queries_as_neighbours():
    data = pk.datasets.make_web_like(12, 6, 4, random_state=0)
    ranker = QueryDependentRanker(weights="uniform", l2=0.01).fit(data[:10])
    new = data[11:]
    assert ranker.neighbors(new).weights.tolist() == [1.0] * 10
    explained = ranker.explain(new)
    assert [one.difference for one in explained.differences()] == [0.0] * 4
    np.testing.assert_allclose(explained.documents.scores, ranker.predict(new))
