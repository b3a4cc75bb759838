"""The kernel ranker: against the linear one, against its definition solved literally, and in every shape of input."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, DataWarning
from plackett.losses import get_loss, loss_names
from plackett.rankers.kernel.ranker import KernelRanker
from plackett.rankers.linear.ranker import LinearRanker
from plackett.rankers.registry import fill, load

RANDOM = np.random.default_rng(11)
QID = np.repeat([7, 3, 9, 5, 1, 4, 8, 2], [6, 4, 8, 5, 1, 6, 7, 3])
N_DOCS = QID.size
X = RANDOM.normal(size=(N_DOCS, 4))
Y = np.clip(np.round(X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=N_DOCS) + 1), 0, 3)
NEW = RANDOM.normal(size=(9, 4))
SMOOTH = ["listmle", "p-listmle", "listnet", "cs-listmle", "squared"]
KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "laplacian": {"kernel": "laplacian", "gamma": 0.2},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 1.0},
    "function": {"kernel": lambda A, B: np.exp(A @ B.T / 4)},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.3, "coef0": -0.2},
}
every_kernel = pytest.mark.parametrize("params", KERNELS.values(), ids=KERNELS.keys())


def ranker(**params):
    return KernelRanker(**{"kernel": "rbf", "gamma": 0.4, "l2": 1e-2, "tol": 1e-8, **params})


def fitted(**params):
    return ranker(**params).fit(X, Y, qid=QID)


def values(params, A, B):
    if callable(params["kernel"]):
        return params["kernel"](A, B)
    rest = {name: value for name, value in params.items() if name != "kernel"}
    return pairwise_kernels(A, B, metric=params["kernel"], filter_params=True, **rest)


def solved_literally(loss, features, penalty, l2, y=Y, qid=QID):
    """θ that minimises the mean loss of ``features @ θ`` plus ``(l2/2) θᵀ penalty θ``, by scipy."""
    queries = Queries(np.zeros((len(y), 1)), y, qid)
    loss = get_loss(loss)
    n_free = int(not loss.ignores_shifts)
    design = np.column_stack([features, np.ones((len(y), n_free))])
    held = np.zeros((design.shape[1],) * 2)
    held[: features.shape[1], : features.shape[1]] = penalty

    def value(theta):
        return loss.value_and_slope(design @ theta, queries)[0] / queries.n_queries + l2 / 2 * theta @ held @ theta

    def gradient(theta):
        slope = loss.value_and_slope(design @ theta, queries)[1] / queries.n_queries
        return design.T @ slope + l2 * held @ theta

    start = np.zeros(design.shape[1])
    result = minimize(value, start, jac=gradient, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    return result.x, result.fun


# what is minimised


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_linear_kernel_gives_the_linear_ranker(loss):
    linear = LinearRanker(loss, l2=1e-2, tol=1e-8).fit(X, Y, qid=QID)
    kernel = fitted(loss=loss, kernel="linear")
    np.testing.assert_allclose(kernel.predict(NEW), linear.predict(NEW), atol=1e-6)
    assert kernel.objective_ == pytest.approx(linear.objective_, abs=1e-9)
    assert kernel.intercept_ == pytest.approx(linear.intercept_, abs=1e-6)
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.X_fit_, linear.coef_, atol=1e-6)


@every_kernel
@pytest.mark.parametrize("loss", ["listmle", "squared"])
def test_scores_and_objective_are_those_of_the_definition_solved_literally(loss, params):
    found = fitted(loss=loss, **params)
    K = values(params, X, X)
    penalty = np.eye(N_DOCS) if params["kernel"] == "sigmoid" else K
    theta, value = solved_literally(loss, K, penalty, 1e-2)
    assert found.penalty_ == ("coefficients" if params["kernel"] == "sigmoid" else "rkhs")
    assert found.objective_ == pytest.approx(value, abs=1e-6)
    shift = theta[-1] if loss == "squared" else 0.0
    expected = values(params, NEW, X) @ theta[:N_DOCS] + shift
    np.testing.assert_allclose(found.predict(NEW), expected, atol=2e-3)


@pytest.mark.parametrize("params", [{}, {"landmarks": 12, "random_state": 0}], ids=["exact", "landmarks"])
def test_the_penalty_is_that_of_the_dual_coefficients(params):
    found = fitted(loss="squared", **params)
    scores = found.predict(X)
    losses = get_loss("squared").value_and_slope(scores, Queries(X, Y, QID))[0] / 8
    K = rbf_kernel(found.X_fit_, gamma=0.4)
    assert found.objective_ == pytest.approx(losses + 1e-2 / 2 * found.dual_coef_ @ K @ found.dual_coef_, rel=1e-6)
    np.testing.assert_allclose(scores, rbf_kernel(X, found.X_fit_, gamma=0.4) @ found.dual_coef_ + found.intercept_)


def test_the_support_are_rows_as_they_were_given():
    shuffled = RANDOM.permutation(N_DOCS)
    found = ranker(landmarks=10, random_state=3).fit(X[shuffled], Y[shuffled], qid=QID[shuffled])
    np.testing.assert_array_equal(X[shuffled][found.support_], found.X_fit_)


def test_either_but_not_both_is_learned_by_rbf_and_not_by_linear_scores():
    X = RANDOM.normal(size=(300, 2))
    y, qid = (X[:, 0] * X[:, 1] < 0).astype(float), np.repeat(np.arange(30), 10)
    kernel = KernelRanker(gamma="median", l2=1e-2).fit(X[:200], y[:200], qid=qid[:200])
    linear = LinearRanker(l2=1e-2).fit(X[:200], y[:200], qid=qid[:200])
    assert kernel.score(X[200:], y[200:], qid=qid[200:]) > 0.95
    assert linear.score(X[200:], y[200:], qid=qid[200:]) < 0.85


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", loss_names())
@pytest.mark.parametrize(
    "params", [{}, {"landmarks": 10}, {"scope": "position"}], ids=["exact", "landmarks", "position"]
)
def test_every_loss_fits(loss, params):
    found = KernelRanker(loss, l2=0.1, max_iter=50, random_state=0, **params).fit(X, Y, qid=QID)
    assert np.isfinite(found.predict(X, qid=QID)).all()
    of_zeros = get_loss(loss).value_and_slope(np.zeros(N_DOCS), Queries(X, Y, QID))[0] / 8
    if not get_loss(loss).has_moving_weights:  # else values at other scores have other weights
        assert found.objective_ < of_zeros


# landmarks


@pytest.mark.parametrize("selection", ["k-means++", "uniform"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("loss", ["listmle", "squared"])
def test_as_many_landmarks_as_documents_give_the_exact_ranker(kernel, loss, selection):
    exact = fitted(loss=loss, kernel=kernel)
    for n_landmarks in (N_DOCS, N_DOCS + 100):
        other = fitted(loss=loss, kernel=kernel, landmarks=n_landmarks, landmark_selection=selection)
        np.testing.assert_allclose(other.predict(NEW), exact.predict(NEW), atol=1e-6)


@pytest.mark.parametrize("selection", ["k-means++", "uniform"])
def test_landmarks_are_drawn_by_the_random_state(selection):
    first, again, other = (
        fitted(landmarks=8, landmark_selection=selection, random_state=seed).support_ for seed in (0, 0, 1)
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    fitted(landmarks=8, random_state=np.random.RandomState(0))
    fitted(landmarks=8, random_state=np.random.default_rng(0))


def test_repeated_documents_need_no_landmark_each():
    X_twice, Y_twice, qid = np.repeat(X, 2, axis=0), np.repeat(Y, 2), np.repeat(QID, 2)
    found = ranker(landmarks=N_DOCS, random_state=0).fit(X_twice, Y_twice, qid=qid)
    exact = ranker().fit(X_twice, Y_twice, qid=qid)
    assert exact.dual_coef_.size == N_DOCS
    np.testing.assert_allclose(found.predict(NEW), exact.predict(NEW), atol=1e-5)


# order, shape and type of the rows


@every_kernel
@pytest.mark.parametrize("landmarks", [None, 12])
def test_shuffled_rows_give_the_same_scores(params, landmarks):
    if callable(params["kernel"]) and landmarks is None:
        params = {"kernel": lambda A, B: values(KERNELS["function"], A, B)}
    shuffled = RANDOM.permutation(N_DOCS)
    first = ranker(landmarks=landmarks, random_state=0, **params).fit(X, Y, qid=QID)
    other = ranker(landmarks=landmarks, random_state=0, **params).fit(X[shuffled], Y[shuffled], qid=QID[shuffled])
    np.testing.assert_allclose(other.predict(NEW), first.predict(NEW), atol=1e-5)
    np.testing.assert_allclose(other.predict(X[shuffled]), first.predict(X)[shuffled], atol=1e-5)


FORMS = {
    "float32": lambda rows: rows.astype(np.float32),
    "csr": sparse.csr_matrix,
    "frame": lambda rows: pd.DataFrame(rows, columns=list("abcd")),
    "fortran": np.asfortranarray,
    "list": lambda rows: rows.tolist(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize(
    "params", [{}, {"landmarks": 12}, {"scope": "position"}], ids=["exact", "landmarks", "position"]
)
def test_the_form_of_the_rows_makes_no_difference(form, params):
    rows = np.round(X * 4) / 4  # exact in float32
    new, qid = np.round(NEW * 4) / 4, np.repeat([1, 2], [5, 4])
    expected = ranker(random_state=0, **params).fit(rows, Y, qid=QID)
    found = ranker(random_state=0, **params).fit(form(rows), Y, qid=QID)
    np.testing.assert_allclose(found.predict(form(new), qid=qid), expected.predict(new, qid=qid), atol=1e-4)


@pytest.mark.parametrize("normalize", ["query-zscore", "zscore", "query-rank"])
def test_columns_are_scaled_before_the_kernel(normalize):
    from plackett.data.preprocessing.scaling import QueryNormalizer, get_normalizer

    scaler = get_normalizer(normalize)
    with_qid = {"qid": QID} if isinstance(scaler, QueryNormalizer) else {}
    scaled = scaler.fit_transform(X, **with_qid)
    expected = ranker().fit(scaled, Y, qid=QID).predict(scaled)
    np.testing.assert_allclose(fitted(normalize=normalize).predict(X, qid=QID), expected, atol=1e-6)


def test_a_query_of_weight_two_counts_as_two():
    weights = np.ones(8)
    weights[2] = 2.0
    rows = np.concatenate([np.arange(N_DOCS), np.flatnonzero(QID == 9)])
    qid = np.concatenate([QID, np.full(8, 99)])
    weighted = ranker().fit(X, Y, qid=QID, sample_weight=weights)
    doubled = ranker().fit(X[rows], Y[rows], qid=qid)
    np.testing.assert_allclose(weighted.predict(NEW), doubled.predict(NEW), atol=1e-5)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_one_document_and_documents_without_features_score_alike():
    assert ranker().fit(X[:1], [1.0]).predict(NEW).tolist() == [0.0] * 9
    for params in ({}, {"landmarks": 3}):
        found = ranker(loss="squared", kernel="linear", **params).fit(np.zeros((5, 2)), [1, 2, 3, 4, 5])
        np.testing.assert_allclose(found.predict(np.ones((2, 2))), 3.0, atol=1e-5)


# kernels given as values


@pytest.mark.parametrize("landmarks", [None, 15])
def test_a_precomputed_kernel_gives_the_same_scores(landmarks):
    shuffled = RANDOM.permutation(N_DOCS)
    rows, y, qid = X[shuffled], Y[shuffled], QID[shuffled]
    K, K_new = rbf_kernel(rows, gamma=0.4), rbf_kernel(NEW, rows, gamma=0.4)
    found = ranker(kernel="precomputed", landmarks=landmarks, random_state=0).fit(K, y, qid=qid)
    if landmarks is None:
        expected = ranker().fit(rows, y, qid=qid)
        np.testing.assert_allclose(found.predict(K_new), expected.predict(NEW), atol=1e-6)
        np.testing.assert_allclose(found.predict(K, qid=qid), expected.predict(rows, qid=qid), atol=1e-6)
    expected = rbf_kernel(NEW, rows[found.support_], gamma=0.4) @ found.dual_coef_
    np.testing.assert_allclose(found.predict(K_new), expected)
    assert found.X_fit_ is None


def test_a_precomputed_kernel_may_come_as_queries():
    shuffled = RANDOM.permutation(N_DOCS)
    rows, y, qid = X[shuffled], Y[shuffled], QID[shuffled]
    K_new = rbf_kernel(NEW, rows, gamma=0.4)
    expected = ranker(kernel="precomputed").fit(rbf_kernel(rows, gamma=0.4), y, qid=qid).predict(K_new)
    queries = Queries(rbf_kernel(rows, gamma=0.4), y, qid)
    np.testing.assert_allclose(ranker(kernel="precomputed").fit(queries).predict(K_new), expected, atol=1e-6)


def test_cross_validation_cuts_rows_and_columns_of_a_precomputed_kernel():
    K = rbf_kernel(X, gamma=0.4)
    options = {"cv": GroupKFold(2), "groups": QID}
    # without metadata routing no qid arrives, and every part counts as one list
    expected = cross_val_predict(ranker(), X, Y, **options)
    np.testing.assert_allclose(cross_val_predict(ranker(kernel="precomputed"), K, Y, **options), expected, atol=1e-5)


def test_a_precomputed_kernel_that_is_indefinite_penalises_its_coefficients():
    K = -rbf_kernel(X, gamma=0.4)
    found = ranker(kernel="precomputed").fit(K, Y, qid=QID)
    assert found.penalty_ == "coefficients"
    theta, value = solved_literally("listmle", K, np.eye(N_DOCS), 1e-2)
    assert found.objective_ == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(found.dual_coef_, theta, atol=1e-3)


def test_kernels_of_pairs_of_rows_are_functions_of_matrices_by_scikit_learn():
    def closeness(a, b):
        return float(np.exp(-0.4 * ((a - b) ** 2).sum()))

    found = fitted(kernel=lambda A, B: pairwise_kernels(A, B, metric=closeness))
    np.testing.assert_allclose(found.predict(NEW), fitted().predict(NEW), atol=1e-5)


# one coefficient per position


def position_features(X, qid, n_positions):
    """The thesis's model by a loop: column l of a row is its kernel value with the l-th row of its list."""
    features = np.zeros((len(X), n_positions))
    for key in dict.fromkeys(qid):
        rows = [row for row in range(len(X)) if qid[row] == key]
        for i in rows:
            for position, j in enumerate(rows[:n_positions]):
                features[i, position] = np.exp(-0.4 * ((X[i] - X[j]) ** 2).sum())
    return features


@pytest.mark.parametrize("loss", ["cs-listmle", "squared"])
def test_coefficients_of_positions_are_those_of_the_literal_model(loss):
    shuffled = RANDOM.permutation(N_DOCS)
    rows, y, qid = X[shuffled], Y[shuffled], QID[shuffled].tolist()
    found = ranker(loss=loss, scope="position").fit(rows, y, qid=qid)
    features = position_features(rows, qid, 8)
    theta, value = solved_literally(loss, features, np.eye(8), 1e-2, y, qid)
    assert found.objective_ == pytest.approx(value, abs=1e-7)
    np.testing.assert_allclose(found.dual_coef_, theta[:8], atol=1e-4)
    np.testing.assert_allclose(found.predict(rows, qid=qid), features @ found.dual_coef_ + found.intercept_)
    assert found.penalty_ == "coefficients"
    assert found.support_ is None


def test_lists_longer_than_in_training_are_warned_of():
    found = fitted(scope="position")
    rows = RANDOM.normal(size=(12, 4))
    with pytest.warns(DataWarning, match=r"1 list of 2 is longer than any in training \(8 documents\)"):
        scores = found.predict(rows, qid=[0] * 10 + [1] * 2)
    np.testing.assert_allclose(scores, position_features(rows, [0] * 10 + [1] * 2, 8) @ found.dual_coef_)


# fitting


def test_a_validation_set_is_scored_as_predict_does():
    for params in ({}, {"landmarks": 10}, {"kernel": "sigmoid"}, {"scope": "position"}, {"normalize": "zscore"}):
        found = ranker(random_state=0, patience=None, loss="squared", **params)
        found.fit(X, Y, qid=QID, eval_set=(X[::-1], Y[::-1], QID[::-1]), eval_metric="kendall")
        expected = -found.score(X[::-1], Y[::-1], qid=QID[::-1], metric="kendall")
        assert found.history_["kendall"][-1] == pytest.approx(expected)


def test_a_fit_ends_early_at_the_best_iteration():
    random = np.random.default_rng(0)
    held_back = (random.normal(size=(40, 4)), random.integers(3, size=40), np.repeat(np.arange(8), 5))
    found = ranker(l2=1e-8, patience=2, solver="lbfgs").fit(X, Y, qid=QID, eval_set=held_back)
    assert found.stop_reason_ == "no improvement on the validation set"
    history = found.history_["ndcg@10"]
    assert found.best_iteration_ == int(np.argmax(history)) + 1
    assert found.score(*held_back[:2], qid=held_back[2]) == pytest.approx(max(history))


@pytest.mark.parametrize("params", [{}, {"landmarks": 12}, {"kernel": "sigmoid"}, {"scope": "position"}])
def test_a_warm_start_on_the_same_documents_is_the_end(params):
    found = ranker(warm_start=True, random_state=0, tol=1e-5, **params).fit(X, Y, qid=QID)
    before = found.objective_
    found.fit(X, Y, qid=QID)
    assert found.n_iter_ <= 1
    assert found.objective_ == pytest.approx(before, abs=1e-7)


def test_a_warm_start_carries_the_scores_to_other_documents():
    found = ranker(loss="squared", warm_start=True).fit(X, Y, qid=QID)
    cold = ranker(loss="squared").fit(X[:-3], Y[:-3], qid=QID[:-3])
    first = found.fit(X[:-3], Y[:-3], qid=QID[:-3]).history_["objective"][0]
    assert first <= cold.history_["objective"][0]
    np.testing.assert_allclose(found.predict(NEW), cold.predict(NEW), atol=1e-4)


def test_a_warm_start_that_cannot_be_is_refused():
    found = ranker(kernel="sigmoid", warm_start=True).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match=r"these documents cannot express the 40 coefficients of the last fit"):
        found.fit(X[:20], Y[:20], qid=QID[:20])
    found = ranker(kernel="precomputed", warm_start=True).fit(rbf_kernel(X), Y, qid=QID)
    found.fit(rbf_kernel(X), Y, qid=QID)


@pytest.mark.parametrize("params", [{}, {"landmarks": 12, "random_state": 0}, {"kernel": "sigmoid"}])
def test_the_path_of_penalties_holds_the_fits_one_by_one(params):
    path = ranker(**params).l2_path(X, Y, qid=QID, l2=[1.0, 0.1], eval_set=(X, Y, QID))
    for l2, found in zip(path.l2, path.rankers, strict=True):
        alone = fitted(**{**params, "l2": float(l2)})
        np.testing.assert_allclose(found.predict(NEW), alone.predict(NEW), atol=1e-5)
        assert found.score(X, Y, qid=QID) == pytest.approx(path.validation[path.l2.tolist().index(l2)])
    assert path.coef.shape == (2, path.best.dual_coef_.size)


# saving, copying, refusing


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"landmarks": 9},
        {"scope": "position"},
        {"kernel": "sigmoid"},
        {"normalize": "query-zscore", "gamma": "median"},
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_saved_ranker_scores_as_before(params, form):
    if "normalize" in params and form is not np.asarray:
        pytest.skip("z-scores would fill a sparse X")
    fill()
    found = ranker(random_state=0, **params).fit(form(X), Y, qid=QID)
    file = io.BytesIO()
    found.save(file)
    file.seek(0)
    again = load(file)
    np.testing.assert_array_equal(again.predict(form(X), qid=QID), found.predict(form(X), qid=QID))
    assert again.history_ == found.history_


def test_a_precomputed_kernel_can_be_saved_and_a_function_cannot():
    fill()
    K = rbf_kernel(X)
    found = ranker(kernel="precomputed").fit(K, Y, qid=QID)
    file = io.BytesIO()
    found.save(file)
    file.seek(0)
    np.testing.assert_array_equal(load(file).predict(K), found.predict(K))
    with pytest.raises(ValueError, match=r"KernelRanker\.kernel is a function or class \(rbf_kernel\)"):
        fitted(kernel=rbf_kernel).save(io.BytesIO())


def test_a_file_whose_parts_do_not_fit_together_is_refused():
    fill()
    found = fitted()
    found.dual_coef_ = found.dual_coef_[:-1]
    file = io.BytesIO()
    found.save(file)
    file.seek(0)
    with pytest.raises(ValueError, match="X_fit_ must have 39 rows"):
        load(file)


def test_scores_are_not_explained():
    with pytest.raises(NotImplementedError, match=r"a kernel combines the features.*Explain a LinearRanker instead"):
        fitted().explain(X, qid=QID)


def test_parameters_are_kept_as_given_and_copied():
    found = clone(
        KernelRanker("squared", kernel="poly", gamma="scale", degree=2, coef0=0.5, landmarks=7, scope="position")
    )
    assert found.get_params()["landmarks"] == 7
    assert repr(KernelRanker(landmarks=7)) == "KernelRanker(landmarks=7)"


WRONG = {
    "kernel": ({"kernel": "gaussian"}, r"kernel='gaussian' is not known; choose one of"),
    "gamma": ({"gamma": -1.0}, r"gamma=-1\.0; it must be a finite number above 0"),
    "gamma's name": ({"gamma": "auto"}, r"gamma='auto'; it must be a number above 0, None, 'scale' or 'median'"),
    "degree": ({"degree": 0}, r"degree=0; it must be a finite number of at least 1"),
    "coef0": ({"coef0": np.nan}, r"coef0=nan; it must be a finite number"),
    "landmarks": ({"landmarks": 0}, r"landmarks=0; it must be a whole number of at least 1"),
    "selection": ({"landmark_selection": "k-means"}, r"landmark_selection='k-means' is not known"),
    "scope": ({"scope": "query"}, r"scope='query' is not known; choose one of 'documents', 'position'"),
    "l2": ({"l2": -1}, r"l2=-1; it must be a finite number of at least 0"),
    "memory": ({"max_bytes": 1000}, r"would take 25,600 bytes, above max_bytes=1,000\. Choose landmarks=500, for"),
    "square": ({"kernel": "precomputed"}, r"between all training documents, but X has 40 rows and 4 columns"),
    "scaled values": (
        {"kernel": "precomputed", "normalize": "zscore"},
        r"normalize='zscore' scales features, but with kernel='precomputed' X holds kernel values",
    ),
    "positions": (
        {"scope": "position", "landmarks": 3},
        r"scope='position' computes the kernel inside each list; landmarks=3 is not possible",
    ),
    "positions of values": (
        {"scope": "position", "kernel": "precomputed"},
        r"inside each list; kernel='precomputed' is not possible",
    ),
    "function": ({"kernel": lambda A, B: A}, r"returned shape \(40, 4\); a matrix of shape \(40, 40\) is needed"),
}


@pytest.mark.parametrize(("params", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_does_not_fit_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        fitted(**params)


# scikit-learn's own checks, which give no qid: all rows are one list

WEIGHTS_ARE_OF_QUERIES = "a query is weighted as a whole; the check gives documents of one list different weights"


def why_a_check_does_not_apply(estimator):
    of_values = {"check_estimators_nan_inf": "the check's rows with NaN have not one column per training document"}
    return {
        "check_dataframe_column_names_consistency": "a frame's columns are taken by name, in any order",
        **(of_values if estimator.kernel == "precomputed" else {}),
        "check_sample_weights_not_overwritten": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_OF_QUERIES,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_OF_QUERIES,
    }


CHECKED = [
    KernelRanker(),
    KernelRanker(loss="squared", landmarks=5, random_state=0),
    KernelRanker(kernel="precomputed"),
]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=why_a_check_does_not_apply)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_columns_of_very_different_scale_are_warned_of():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 2)) * [1e-3, 1e3], rng.integers(0, 3, 40)
    with pytest.warns(DataWarning, match=r"column 1 spreads over .* and column 0 over .*; a kernel hardly depends on"):
        KernelRanker(kernel="linear").fit(rows, labels)


def test_kernels_score_equal_documents_exactly_alike():
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(40, 17))
    train = np.repeat(np.arange(10), 4)
    ranker = KernelRanker(loss="squared").fit(documents, rng.integers(0, 3, 40), qid=train)
    which = rng.integers(0, 40, 317)
    for rows in (documents[which], documents[which].astype(np.float32)):
        scores = ranker.predict(rows, qid=0)
        assert [np.ptp(scores[which == number]) for number in range(40)] == [0.0] * 40
        assert np.unique(scores).size == np.unique(which).size
