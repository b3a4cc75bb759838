"""LinearRanker: the optimum, from every solver and form of X, and everything around the fit."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import plackett as pk
from plackett.data.preprocessing import QueryZScore
from plackett.exceptions import ConvergenceWarning
from plackett.losses import get_loss, loss_names
from plackett.rankers.linear.ranker import LinearRanker

DATA = pk.datasets.make_web_like(80, n_features=6, random_state=0)
RAW = DATA.X.astype(float)
X = (RAW - RAW.mean(0)) / RAW.std(0)
Y, QID = DATA.y, DATA.qid
SMOOTH_CONVEX = [
    name
    for name, loss in ((name, get_loss(name)) for name in loss_names())
    if loss.is_convex and loss.is_smooth and not loss.has_moving_weights
]
every_loss = pytest.mark.parametrize("loss", loss_names())


def fitted(rows=X, **parameters):
    return LinearRanker(**{"l2": 0.1, "random_state": 0, **parameters}).fit(rows, Y, qid=QID)


def gradient_of(ranker, rows=X):
    """The gradient of the objective, written out."""
    loss = get_loss(ranker.loss)
    scores = rows @ ranker.coef_ + ranker.intercept_
    slope = loss.value_and_slope(scores, DATA)[1] / DATA.n_queries
    return rows.T @ slope + ranker.l2 * ranker.coef_, slope.sum()


@pytest.mark.parametrize("loss", SMOOTH_CONVEX)
@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_convex_losses_reach_the_optimum(loss, solver):
    ranker = fitted(loss=loss, solver=solver, tol=1e-6)
    by_coef, by_intercept = gradient_of(ranker)
    assert np.linalg.norm(by_coef) <= 1e-6 * 1.01
    assert get_loss(loss).ignores_shifts or abs(by_intercept) <= 1e-6 * 1.01
    assert ranker.stop_reason_ == "gradient below tol"
    assert ranker.n_iter_ == len(ranker.history_["objective"]) >= 1
    assert ranker.objective_ == pytest.approx(ranker.history_["objective"][-1])


@pytest.mark.parametrize("loss", SMOOTH_CONVEX)
def test_solvers_and_forms_of_x_agree(loss, tmp_path):
    rows = X.astype(np.float32)
    np.save(tmp_path / "X.npy", rows)
    forms = [rows, sparse.csr_matrix(rows), np.load(tmp_path / "X.npy", mmap_mode="r"), np.asfortranarray(rows)]
    coefs = [fitted(form, loss=loss, solver=solver, tol=1e-7).coef_ for form in forms for solver in ("lbfgs", "newton")]
    for coef in coefs[1:]:
        np.testing.assert_allclose(coef, coefs[0], atol=1e-5)


def pairs_of(rows, labels, qid):
    for query in np.unique(qid):
        own, grades = rows[qid == query], labels[qid == query]
        for i in range(len(own)):
            for j in range(len(own)):
                if grades[i] > grades[j]:
                    yield own[i] - own[j]


def test_hinge_reaches_the_value_of_a_support_vector_machine_on_pairs():
    small = DATA[:6]
    rows = X[: small.n_docs]
    margins = np.array(list(pairs_of(rows, small.y, small.qid)))
    l2 = 0.5
    ranker = LinearRanker(loss=pk.losses.Pairwise("hinge", normalize="none"), l2=l2, tol=1e-4).fit(
        rows, small.y, qid=small.qid
    )
    signs = np.where(np.arange(len(margins)) % 2, 1, -1)
    svm = LinearSVC(C=1 / (6 * l2), loss="hinge", fit_intercept=False, tol=1e-6, max_iter=1_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svm.fit(margins * signs[:, None], signs)

    def value(coef):
        return np.maximum(0, 1 - margins @ coef).sum() / 6 + l2 / 2 * coef @ coef

    assert ranker.objective_ == pytest.approx(value(ranker.coef_), rel=1e-9)
    assert value(ranker.coef_) == pytest.approx(value(svm.coef_[0]), rel=1e-3)
    assert 0 <= ranker.duality_gap_ <= 1e-4 * max(1, ranker.objective_)
    assert ranker.stop_reason_ == "duality gap below tol"


@every_loss
def test_every_loss_ranks_better_than_chance(loss):
    ranker = fitted(loss=loss)
    reference = pk.evaluate(Y, np.zeros(len(Y)), qid=QID, metrics=["ndcg@10"], reference_scores=True).reference_scores
    assert ranker.score(X, Y, qid=QID) > reference["random order"]["ndcg@10"] + 0.05


@every_loss
def test_shuffled_rows_give_the_same_ranker(loss):
    shuffle = np.random.default_rng(0).permutation(len(Y))
    if fitted(loss=loss).solver_ == "sgd":
        pytest.skip("sgd goes through the queries in the order of the rows")
    one = fitted(loss=loss, tol=1e-5)
    other = clone(one).fit(X[shuffle], Y[shuffle], qid=QID[shuffle])
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-3 if loss == "hinge" else 1e-5)
    np.testing.assert_allclose(other.predict(X[shuffle], qid=QID[shuffle]), other.predict(X, qid=QID)[shuffle])


def test_predict_is_the_product_with_the_coefficients():
    ranker = fitted(loss="squared")
    np.testing.assert_allclose(ranker.predict(X), X @ ranker.coef_ + ranker.intercept_, rtol=1e-12)
    assert fitted(loss="listmle").intercept_ == 0.0


def test_least_squares_has_the_closed_form():
    ranker = fitted(loss="squared", l2=0.3, tol=1e-9)
    full = np.hstack([X, np.ones((len(X), 1))])
    held = np.diag([0.3 * DATA.n_queries] * 6 + [0.0])
    expected = np.linalg.solve(full.T @ full + held, full.T @ Y)
    np.testing.assert_allclose(np.append(ranker.coef_, ranker.intercept_), expected, atol=1e-7)


def test_sample_weights_count_queries_several_times():
    weights = np.random.default_rng(0).integers(0, 3, DATA.n_queries)
    per_query = LinearRanker(l2=0.1, tol=1e-8).fit(X, Y, qid=QID, sample_weight=weights)
    per_row = LinearRanker(l2=0.1, tol=1e-8).fit(X, Y, qid=QID, sample_weight=np.repeat(weights, np.diff(DATA.indptr)))
    parts = [
        (X[query == QID], Y[query == QID], np.full((query == QID).sum(), f"{query}-{copy}"))
        for query, weight in zip(DATA.ids, weights, strict=True)
        for copy in range(weight)
    ]
    rows, labels, qid = (np.concatenate(column) for column in zip(*parts, strict=True))
    repeated = LinearRanker(l2=0.1, tol=1e-8).fit(rows, labels, qid=qid)
    np.testing.assert_array_equal(per_query.coef_, per_row.coef_)
    np.testing.assert_allclose(per_query.coef_, repeated.coef_, atol=1e-6)


def test_wrong_sample_weights_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"sample_weight has 3 values; one per query \(80\) or one per row"):
        LinearRanker().fit(X, Y, qid=QID, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="sample_weight differs within a query"):
        LinearRanker().fit(X, Y, qid=QID, sample_weight=np.arange(len(Y)))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        LinearRanker().fit(X, Y, qid=QID, sample_weight=-np.ones(80))


TRAIN, HELD_BACK = DATA[:50], DATA[50:]


@pytest.mark.parametrize("metric", ["ndcg@5", "map", "kendall"])
def test_early_stopping_keeps_the_best_iteration(metric):
    ranker = LinearRanker(solver="lbfgs", l2=0.0, tol=1e-12, max_iter=60, patience=3, normalize="query-zscore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit(TRAIN, eval_set=HELD_BACK, eval_metric=metric)
    values = ranker.history_[metric]
    best = max(values) if metric != "kendall" else min(values)
    assert ranker.best_score_ == best == values[ranker.best_iteration_ - 1]
    scores = ranker.predict(HELD_BACK)
    assert pk.metrics.Measure.parse(metric)(HELD_BACK.y, scores, qid=HELD_BACK.qid).mean() == pytest.approx(best)
    if ranker.stop_reason_ == "no improvement on the validation set":
        assert ranker.n_iter_ == ranker.best_iteration_ + 3


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
def test_without_patience_the_fit_goes_on_and_the_best_iteration_is_kept():
    params = {"solver": "lbfgs", "l2": 0.0, "tol": 1e-12, "max_iter": 60, "normalize": "query-zscore"}
    plain = LinearRanker(**params).fit(TRAIN)
    held_back = (HELD_BACK.X, HELD_BACK.y, HELD_BACK.qid)
    watched = LinearRanker(**params, patience=None).fit(TRAIN, eval_set=held_back, eval_metric="map")
    values = watched.history_["map"]
    assert len(values) == watched.n_iter_ == plain.n_iter_
    assert values[watched.best_iteration_ - 1] == watched.best_score_ == max(values) > values[-1]
    assert watched.score(HELD_BACK, metric="map") == pytest.approx(max(values))
    with pytest.raises(ValueError, match=r"eval_set must be a Queries or a tuple \(X, y, qid\)"):
        LinearRanker().fit(TRAIN, eval_set=(HELD_BACK.X, HELD_BACK.y))


def test_the_path_is_what_single_fits_give_and_names_the_best():
    path = LinearRanker(tol=1e-7, normalize="query-zscore").l2_path(
        TRAIN, l2=[0.001, 1.0, 0.1], eval_set=HELD_BACK, eval_metric="map"
    )
    assert path.l2.tolist() == [1.0, 0.1, 0.001]
    for l2, coef in zip(path.l2, path.coef, strict=True):
        alone = LinearRanker(l2=l2, tol=1e-7, normalize="query-zscore").fit(TRAIN)
        np.testing.assert_allclose(coef, alone.coef_, atol=1e-5)
    assert path.best.l2 == path.l2[np.argmax(path.validation)]
    assert path.validation.max() == pytest.approx(path.best.score(HELD_BACK, metric="map"))
    assert path.ranker(0.1).l2 == 0.1
    with pytest.raises(KeyError, match=r"no l2=5; it has 1, 0.1, 0.001"):
        path.ranker(5)
    with pytest.raises(ValueError, match="fitted without a validation set"):
        _ = LinearRanker().l2_path(X, Y, qid=QID, l2=[1.0]).best


def test_warm_start_begins_where_the_last_fit_ended():
    ranker = LinearRanker(l2=0.1, warm_start=True).fit(X, Y, qid=QID)
    first = ranker.n_evaluations_
    ranker.fit(X, Y, qid=QID)
    assert ranker.n_evaluations_ < first
    with pytest.raises(ValueError, match="warm_start: the last fit had 6 features, this one has 3"):
        ranker.fit(X[:, :3], Y, qid=QID)


@pytest.mark.parametrize(
    "normalize", ["query-minmax", "query-zscore", "query-unit", "query-rank", "minmax", "zscore", "quantile"]
)
def test_scaling_is_kept_in_the_model(normalize):
    ranker = fitted(RAW, normalize=normalize)
    shuffle = np.random.default_rng(0).permutation(len(Y))
    scores = ranker.predict(RAW[shuffle], qid=QID[shuffle])
    np.testing.assert_allclose(scores, ranker.predict(RAW, qid=QID)[shuffle], rtol=1e-9, atol=1e-9)
    scaled = (
        ranker.normalizer_.transform(RAW, qid=QID)
        if normalize.startswith("query")
        else ranker.normalizer_.transform(RAW)
    )
    np.testing.assert_allclose(ranker.predict(RAW, qid=QID), scaled @ ranker.coef_, rtol=1e-9, atol=1e-9)


def test_too_few_iterations_are_warned_of():
    with pytest.warns(
        ConvergenceWarning,
        match=r"lbfgs stopped after 2 iterations at gradient norm .*, above tol=1e-09 \(max_iter reached\)",
    ):
        ranker = fitted(solver="lbfgs", max_iter=2, tol=1e-9)
    assert ranker.stop_reason_ == "max_iter reached"


def test_losses_and_solvers_that_do_not_fit_say_so_at_once():
    with pytest.raises(
        ValueError,
        match=r'solver="newton" needs a loss with curvature_product; Pairwise\(.*psi.*\) has none .*Try solver="sgd"',
    ):
        fitted(loss="psi", solver="newton")
    with pytest.raises(
        ValueError, match=r'solver="lbfgs" needs a smooth loss; Pairwise\(loss=.hinge.\) has kinks. Try solver="newton"'
    ):
        fitted(loss="hinge", solver="lbfgs")
    with pytest.raises(ValueError, match=r'solver="lbfgs" needs a deterministic loss'):
        fitted(loss=pk.losses.ListMLE(ties="random"), solver="lbfgs")
    with pytest.raises(ValueError, match="solver='adam' is not known; choose auto, lbfgs"):
        fitted(solver="adam")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l2": -1}, "l2=-1; it must be a finite number of at least 0"),
        ({"tol": 0}, "tol=0; it must be a finite number above 0"),
        ({"max_iter": 0}, "max_iter=0; it must be a whole number of at least 1"),
        ({"loss": "mle"}, "loss='mle' is not known"),
        ({"normalize": "log"}, "normalize='log' is not known"),
        ({"patience": 0}, "patience=0; it must be a whole number"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, message):
    ranker = LinearRanker(**parameters)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, Y, qid=QID)


def test_ctrl_c_leaves_the_best_coefficients_so_far(monkeypatch):
    from plackett.objective.objective import Objective

    for solver in ("lbfgs", "newton", "sgd"):
        calls = {"n": 0}
        for method in ("value_and_gradient", "term_value_and_gradient"):
            original = getattr(Objective, method)

            def stop_soon(self, *arguments, original=original, calls=calls):
                calls["n"] += 1
                if calls["n"] > (1500 if solver == "sgd" else 3):  # noqa: B023
                    raise KeyboardInterrupt
                return original(self, *arguments)

            monkeypatch.setattr(Objective, method, stop_soon)
        ranker = LinearRanker(solver=solver, tol=1e-12, l2=0.01, random_state=0)
        with pytest.raises(KeyboardInterrupt):
            ranker.fit(X, Y, qid=QID)
        monkeypatch.undo()
        assert ranker.stop_reason_ == "interrupted", solver
        assert ranker.coef_.any(), solver
        assert ranker.score(X, Y, qid=QID) > 0.3


def test_nan_and_infinite_features_are_refused_with_row_and_column():
    bad = X.copy()
    bad[31, 4] = np.nan
    with pytest.raises(ValueError, match="X has a NaN in row 31, column 4"):
        LinearRanker().fit(bad, Y, qid=QID)
    frame = pd.DataFrame(X.copy(), columns=list("abcdef"))
    frame.iloc[3, 1] = np.inf
    with pytest.raises(ValueError, match=r'X has an infinite value in row 3, column 1 \("b"\)'):
        LinearRanker().fit(frame, Y, qid=QID)
    with pytest.raises(ValueError, match="y has a NaN in row 2"):
        LinearRanker().fit(X[:3], [1, 0, np.nan])
    with pytest.raises(ValueError, match=r"y has 3 labels but X has 4 rows"):
        LinearRanker().fit(X[:4], [1, 0, 2])
    ranker = fitted()
    with pytest.raises(ValueError, match="X has 3 features, but LinearRanker is expecting 6 features"):
        ranker.predict(X[:, :3])


@pytest.mark.parametrize("loss", loss_names())
@pytest.mark.parametrize(
    "case", ["one document", "lone documents", "one level", "all equal", "thousands", "one feature", "wide", "constant"]
)
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_extreme_data_work(loss, case):
    rng = np.random.default_rng(0)
    n, rows = 30, rng.normal(size=(30, 4))
    labels, qid = rng.integers(0, 3, n).astype(float), np.repeat(np.arange(3), 10)
    if case == "one document":
        rows, labels, qid = rows[:1], labels[:1], qid[:1]
    elif case == "lone documents":
        qid = np.arange(n)
    elif case == "one level":
        labels[:] = 2
    elif case == "all equal":
        rows[:] = 1.5
    elif case == "thousands":
        if loss == "unique-softmax":
            pytest.skip("its gains, 2**label, overflow")
        labels = rng.permutation(n) * 100.0
    elif case == "one feature":
        rows = rows[:, :1]
    elif case == "wide":
        rows = rng.normal(size=(n, 200))
    else:
        rows[:, 2] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = LinearRanker(loss=loss, l2=1e-2, random_state=0, max_iter=100).fit(rows, labels, qid=qid)
    assert np.isfinite(ranker.coef_).all()
    assert np.isfinite(ranker.objective_)
    assert np.isfinite(ranker.predict(rows, qid=qid)).all()


def test_labels_that_are_strict_orders_in_the_thousands():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 5))
    labels = np.concatenate([np.argsort(np.argsort(rows[i : i + 2000] @ [1, 2, 0, 0, -1])) for i in (0, 2000)])
    ranker = LinearRanker(loss="p-listmle").fit(rows, labels, qid=np.repeat([0, 1], 2000))
    assert pk.metrics.kendall(labels[:2000], ranker.predict(rows)[:2000])[0] < 0.05


@pytest.mark.parametrize("loss", ["listmle", "listnet", "cs-listmle", "squared-hinge", "exponential"])
def test_a_query_of_a_hundred_thousand_documents(loss):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100_000, 2)).astype(np.float32)
    labels = (rows @ [2.0, -1.0] + rng.normal(size=100_000)).round()
    ranker = LinearRanker(loss=loss, l2=0.1, tol=1e-3).fit(rows, labels, qid=0)
    assert ranker.stop_reason_ == "gradient below tol"
    assert ranker.coef_[0] > 0 > ranker.coef_[1]


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_a_million_queries_of_one_document():
    rows = np.random.default_rng(0).normal(size=(1_000_000, 2)).astype(np.float32)
    ranker = LinearRanker().fit(rows, np.zeros(1_000_000), qid=np.arange(1_000_000))
    assert ranker.objective_ == 0
    assert ranker.coef_.tolist() == [0, 0]


def test_badly_scaled_and_redundant_columns_take_few_evaluations():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(3000, 20))
    labels, qid = (base[:, :3].sum(1) > 1).astype(float) + (base[:, 0] > 1), np.repeat(np.arange(100), 30)
    scaled = base * 10.0 ** rng.uniform(-3, 3, 20)
    redundant = base @ rng.normal(size=(20, 136)) + 1e-3 * rng.normal(size=(3000, 136))
    for rows in (scaled, redundant):
        for solver in ("lbfgs", "newton"):
            for loss in ("listmle", "listnet", "logistic", "squared-hinge"):
                ranker = LinearRanker(loss=loss, solver=solver, l2=1e-4).fit(rows, labels, qid=qid)
                assert ranker.n_evaluations_ + ranker.n_products_ <= 100, (loss, solver)
                assert ranker.gradient_norm_ <= 1e-4


def test_a_queries_object_may_be_given_whole():
    one, other = LinearRanker().fit(DATA), LinearRanker().fit(DATA.X, DATA.y, qid=DATA.qid)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict(DATA), other.predict(DATA.X, qid=DATA.qid))
    with pytest.raises(ValueError, match="X is a Queries, which has its labels and qid"):
        LinearRanker().fit(DATA, DATA.y)


def test_grid_search_and_pipelines_pass_qid_on():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(LinearRanker(), {"l2": [1e-3, 10.0], "loss": ["listmle", "listnet"]}, cv=GroupKFold(3))
        search.fit(X, Y, qid=QID, groups=QID)
        assert search.best_params_["l2"] in (1e-3, 10.0)
        assert 0 < search.best_score_ <= 1
        pipeline = make_pipeline(StandardScaler(), QueryZScore(), LinearRanker(l2=0.1)).fit(RAW, Y, qid=QID)
        alone = LinearRanker(l2=0.1, normalize="query-zscore").fit(RAW, Y, qid=QID)
        np.testing.assert_allclose(pipeline.predict(RAW, qid=QID), alone.predict(RAW, qid=QID), atol=1e-6)
        assert pipeline.score(RAW, Y, qid=QID) == pytest.approx(alone.score(RAW, Y, qid=QID))
    nested = LinearRanker(loss=pk.losses.CSListMLE(k=3)).set_params(loss__k=7)
    assert nested.loss.k == 7


def test_frames_keep_their_column_names():
    frame = pd.DataFrame(X, columns=[f"bm25_{i}" for i in range(6)])
    ranker = LinearRanker().fit(frame, Y, qid=QID)
    assert ranker.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(ranker.predict(frame[frame.columns[::-1]]), ranker.predict(frame))


def test_saved_rankers_predict_the_same(tmp_path):
    for parameters in (
        {"normalize": "query-zscore"},
        {"normalize": "zscore", "loss": pk.losses.CSListMLE(k=3)},
        {"loss": "hinge", "solver": pk.solvers.get_solver("newton")},
    ):
        ranker = fitted(RAW if "normalize" in parameters else X, **parameters)
        ranker.save(tmp_path / "model.plackett")
        loaded = pk.load(tmp_path / "model.plackett")
        np.testing.assert_array_equal(loaded.predict(X, qid=QID), ranker.predict(X, qid=QID))
        assert loaded.get_params().keys() == ranker.get_params().keys()
        assert loaded.history_ == ranker.history_
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).coef_, ranker.coef_)


def test_explanations_add_up_to_the_scores():
    ranker = fitted(RAW, normalize="query-zscore", loss="squared")
    explanation = ranker.explain(RAW, qid=QID)
    scores = ranker.predict(RAW, qid=QID)
    np.testing.assert_allclose(explanation.scores, scores, atol=1e-9)
    np.testing.assert_allclose(np.asarray(explanation.contributions).sum(1) + explanation.baseline, scores, atol=1e-9)
    shuffle = np.random.default_rng(0).permutation(len(Y))
    other = ranker.explain(RAW[shuffle], qid=QID[shuffle])
    np.testing.assert_allclose(other.contributions, explanation.contributions[shuffle], atol=1e-9)


def test_a_progress_bar_goes_to_standard_error(capsys):
    fitted(verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting" in err


def test_a_fit_that_fails_leaves_the_ranker_as_it_was():
    ranker = fitted()
    before = ranker.predict(X)
    with pytest.raises(ValueError, match="sample_weight has 2 values"):
        ranker.set_params(normalize="zscore").fit(X[:, :1], Y, qid=QID, sample_weight=[1, 2])
    np.testing.assert_array_equal(ranker.predict(X), before)
    assert ranker.n_features_in_ == 6


@pytest.mark.parametrize(
    "forged", [np.ones(9), np.ones(2), np.ones((6, 1)), np.full(6, np.nan), None, np.ones(6, complex)]
)
def test_a_model_file_with_other_coefficients_is_refused(forged, tmp_path):
    ranker = fitted()
    ranker.coef_ = forged
    ranker.save(tmp_path / "forged.plackett")
    with pytest.raises(pk.exceptions.ModelFormatError, match=r"coef|features must become"):
        pk.load(tmp_path / "forged.plackett")


def test_what_is_kept_after_early_stopping_is_what_is_reported():
    ranker = LinearRanker(loss="hinge", l2=0.01, patience=2, normalize="query-zscore")
    ranker.fit(TRAIN, eval_set=HELD_BACK, eval_metric="map")
    at_end = LinearRanker(loss="hinge", l2=0.01, normalize="query-zscore").fit(TRAIN)
    scores = ranker.predict(TRAIN)
    value = pk.losses.Pairwise("hinge").value_and_slope(scores, TRAIN)[0] / TRAIN.n_queries
    assert ranker.objective_ == pytest.approx(value + 0.005 * ranker.coef_ @ ranker.coef_, rel=1e-6)
    assert ranker.objective_ - at_end.objective_ <= ranker.duality_gap_ * 1.001


def test_the_hinge_needs_a_penalty():
    with pytest.raises(
        ValueError, match=r"Pairwise\(loss='hinge'\) needs l2 above 0: without a penalty there is no duality gap"
    ):
        fitted(loss="hinge", l2=0)


def test_a_start_from_other_features_is_refused():
    ranker = LinearRanker(warm_start=True).fit(X[:, :5], Y, qid=QID)
    with pytest.raises(ValueError, match="warm_start: the last fit had 5 features, this one has 6"):
        ranker.set_params(loss="squared").fit(X, Y, qid=QID)


def test_stalling_far_from_the_minimum_is_not_convergence():
    with pytest.warns(ConvergenceWarning, match="no further progress at working precision"):
        LinearRanker(loss="squared", solver="lbfgs", l2=1e-3).fit(X + 1e9, Y, qid=QID)


def test_inexact_solvers_warn_too():
    with pytest.warns(ConvergenceWarning, match="sgd stopped after 1 iterations: max_iter reached"):
        fitted(solver="sgd", max_iter=1)


def test_a_linear_transform_keeps_the_solver_where_it_is_positive():
    with pytest.warns(ConvergenceWarning, match="no further progress"):  # the minimum lies on the border
        ranker = fitted(loss=pk.losses.ListMLE(transform=pk.losses.Linear(1, 5)))
    assert (X @ ranker.coef_ + ranker.intercept_ + 5).min() > 0
    assert ranker.score(X, Y, qid=QID) > 0.4
    with pytest.raises(ValueError, match=r"it must be positive\. Use a larger b"):
        fitted(loss=pk.losses.ListMLE(transform="linear"))


def test_score_without_qid_says_that_it_takes_one_list():
    with pytest.warns(pk.exceptions.DataWarning, match="treats all rows as one list, but the ranker was fitted on 80"):
        fitted().score(X, Y)


def test_bases_that_round_badly_give_weights_all_the_same():
    for n in (6, 22, 49, 79):
        fit = LinearRanker(loss=pk.losses.PListMLE("exp", base=3)).fit(X[:n], np.arange(n))
        assert np.isfinite(fit.coef_).all()


def test_broken_sparse_matrices_are_refused():
    rows = sparse.csr_matrix(X)
    rows.indices[3] = 77
    with pytest.raises(ValueError, match="index 77 is outside the range 0 to 5"):
        LinearRanker().fit(rows, Y, qid=QID)


def test_rows_are_named_as_they_were_given_also_where_queries_are_torn_apart():
    bad = X.copy()
    bad[7, 2] = np.nan
    shuffle = np.random.default_rng(1).permutation(len(Y))
    row = int(np.flatnonzero(shuffle == 7)[0])
    with pytest.raises(ValueError, match=f"X has a NaN in row {row}, column 2"):
        LinearRanker().fit(pk.Queries(bad[shuffle], Y[shuffle], QID[shuffle]))
    labels = Y.copy()
    labels[7] = np.nan
    with pytest.raises(ValueError, match=f"y has a NaN in row {row}"):
        LinearRanker().fit(pk.Queries(X[shuffle], labels[shuffle], QID[shuffle]))


def test_columns_of_queries_are_taken_by_name():
    names = list("abcdef")
    ranker = LinearRanker().fit(pk.Queries(X, Y, QID, feature_names=names))
    assert ranker.feature_names_ == names
    np.testing.assert_array_equal(
        ranker.predict(pd.DataFrame(X, columns=names)), ranker.predict(pk.Queries(X, Y, QID, feature_names=names))
    )
    np.testing.assert_array_equal(
        ranker.predict(pk.Queries(X[:, ::-1], Y, QID, feature_names=names[::-1])),
        ranker.predict(pk.Queries(X, Y, QID, feature_names=names)),
    )
    with pytest.raises(ValueError, match="the model needs 'a', which this table does not have"):
        ranker.predict(pk.Queries(X, Y, QID, feature_names=list("zbcdef")))


@pytest.mark.parametrize("loss", loss_names())
def test_raw_columns_of_real_data_are_no_trouble(loss, shared_data):
    if not get_loss(loss).is_convex:
        pytest.skip("not convex")
    data = pk.read_letor(shared_data / "mslr-sample" / "msn1.fold1.train.5k.txt.gz")
    if not get_loss(loss).is_bounded_on(data.lists):
        pytest.skip("unbounded below for grades above 1")
    ranker = LinearRanker(loss=loss).fit(data)
    assert ranker.stop_reason_ in ("gradient below tol", "duality gap below tol", "ranks settled")
