"""What LightGBM and XGBoost are handed: slope and curvature of the loss, and trees that follow from them."""

import numpy as np
import pytest

import plackett as pk
from plackett import losses
from plackett.losses.backends.trees import SMALLEST, TreeObjective

DATA = pk.datasets.make_web_like(40, 12, 5, random_state=3)
CURVED = [
    "listmle",
    "p-listmle",
    "cs-listmle",
    "listnet",
    "softmax",
    "unique-softmax",
    "poly1-softmax",
    "xe-ndcg",
    "binary-cross-entropy",
    "squared-hinge",
    "logistic",
    "exponential",
    "soft-zero-one",
    "lambdarank",
    "ndcg-loss1",
    "ndcg-loss2",
    "ndcg-loss2++",
    "squared",
    "approx-ndcg",
    "approx-mrr",
    "approx-map",
]
OTHERS = ["pl-rank", "hinge", "psi", "rankcosine", "neural-ndcg"]


def scores_of(seed=0, spread=1.0):
    return 1.0 + spread * np.random.default_rng(seed).normal(size=DATA.n_docs)


def test_every_loss_is_looked_at():
    assert {*CURVED, *OTHERS} == set(losses.loss_names())


@pytest.mark.parametrize("name", losses.loss_names())
@pytest.mark.parametrize("way", ["as_lightgbm", "as_xgboost"])
def test_the_slope_is_that_of_the_loss(name, way):
    loss = losses.get_loss(name)
    slope, curvature = getattr(loss, way)(DATA)(scores_of(), None)
    np.testing.assert_allclose(slope, loss.value_and_slope(scores_of(), DATA)[1], rtol=1e-12, atol=1e-15)
    assert curvature.shape == slope.shape
    assert (curvature >= SMALLEST).all()


@pytest.mark.parametrize("name", CURVED)
@pytest.mark.parametrize("spread", [0.0, 1.0, 400.0])
def test_the_curvature_is_the_loss_s_own(name, spread):
    loss = losses.get_loss(name)
    scores = scores_of(1, 1.0 if name == "exponential" else spread)
    expected = np.maximum(loss.curvature_diagonal(scores, DATA), SMALLEST)
    np.testing.assert_allclose(loss.as_lightgbm(DATA)(scores, None)[1], expected, rtol=1e-12)


def test_the_curvature_bends_as_the_slope_does():
    """Not from the kernels of the curvature: by finite differences of the slope that is handed over."""
    objective = losses.ListMLE().as_lightgbm(DATA)
    scores, step = scores_of(2), 1e-5
    _, curvature = objective(scores, None)
    for row in range(0, DATA.n_docs, 7):
        moved = np.zeros(DATA.n_docs)
        moved[row] = step
        bend = (objective(scores + moved, None)[0][row] - objective(scores - moved, None)[0][row]) / (2 * step)
        assert curvature[row] == pytest.approx(bend, abs=1e-8)


@pytest.mark.parametrize("name", OTHERS)
def test_losses_without_curvature_get_the_mean_size_of_the_slopes_at_equal_scores(name):
    loss = losses.get_loss(name)
    objective = loss.as_lightgbm(DATA)
    slope = loss.value_and_slope(np.ones(DATA.n_docs), DATA)[1]
    for first, last in zip(DATA.indptr[:-1], DATA.indptr[1:], strict=True):
        expected = max(np.abs(slope[first:last]).mean(), SMALLEST)
        for seed in (0, 1):  # whatever the scores are
            np.testing.assert_allclose(objective(scores_of(seed), None)[1][first:last], expected, rtol=1e-12)


def test_other_transforms_work_too():
    for loss in (losses.ListMLE(transform="sigmoid"), losses.ListNet(transform="probit")):
        slope, curvature = loss.as_lightgbm(DATA)(scores_of(), None)
        np.testing.assert_allclose(slope, loss.value_and_slope(scores_of(), DATA)[1])
        assert (curvature > 0).all()


def test_the_number_of_threads_changes_nothing():
    made = pk.datasets.make_web_like(300, 60, 3, random_state=0)
    scores = np.random.default_rng(0).normal(size=made.n_docs)
    from plackett import _threads

    answers = []
    for n in (1, 2, 5):
        _threads.set_n_threads(n)
        answers.append(TreeObjective(losses.ListMLE(), made).evaluate(scores))
    _threads.set_n_threads(None)
    for value, slope, curvature in answers[1:]:
        assert value == answers[0][0]
        np.testing.assert_array_equal(slope, answers[0][1])
        np.testing.assert_array_equal(curvature, answers[0][2])


def test_weights_multiply_what_a_query_says():
    weights = np.random.default_rng(0).uniform(0.5, 2.0, DATA.n_queries)
    of_rows = np.repeat(weights, np.diff(DATA.indptr))
    plain = TreeObjective(losses.CSListMLE(), DATA).evaluate(scores_of())
    value, slope, curvature = TreeObjective(losses.CSListMLE(), DATA, weights).evaluate(scores_of())
    of_queries = losses.CSListMLE().query_values(scores_of(), DATA.lists, np.empty(DATA.n_docs))
    assert value == pytest.approx(of_queries @ weights)
    np.testing.assert_allclose(slope, plain[1] * of_rows)
    np.testing.assert_allclose(curvature, plain[2] * of_rows)


@pytest.mark.parametrize("of", ["rows", "queries"])
def test_weights_of_the_package_s_data_are_used(of):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, DATA.n_queries)
    of_rows = np.repeat(weights, np.diff(DATA.indptr))
    data = type("Data", (), {"get_weight": lambda self: of_rows if of == "rows" else weights})()
    objective = losses.ListMLE().as_lightgbm(DATA)
    slope, curvature = objective(scores_of(), data)
    np.testing.assert_allclose(slope, objective(scores_of(), None)[0] * of_rows)
    np.testing.assert_allclose(curvature, objective(scores_of(), None)[1] * of_rows)


def test_lists_that_say_nothing_are_flat():
    for data in (
        pk.Queries([[1.0]] * 3, y=[1, 0, 2], qid=[1, 2, 3]),  # one document each
        pk.Queries([[1.0]] * 3, y=[1, 1, 1]),  # one label
    ):
        slope, curvature = losses.ListMLE().as_lightgbm(data)(np.arange(3.0), None)
        assert not slope.any()
        np.testing.assert_array_equal(curvature, SMALLEST)


def test_what_cannot_be_an_objective_is_refused():
    with pytest.raises(ValueError, match=r'is random at every pass.*ties="breslow"'):
        losses.ListMLE(ties="random").as_lightgbm(DATA)
    with pytest.raises(ValueError, match=r"grown on 3 rows but the queries have \d+ documents"):
        losses.ListMLE().as_lightgbm(DATA)(np.zeros(3), None)
    with pytest.raises(ValueError, match=r"slope 0 if all scores are 0.*init_score"):
        losses.RankCosine().as_xgboost(DATA)(np.zeros(DATA.n_docs), None)
    with pytest.raises(ValueError, match="k=0"):
        losses.CSListMLE(k=0).as_xgboost(DATA)


# --- In the packages --------------------------------------------------------------------------------------------------

FEW = {"num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}


def test_lightgbm_with_squared_grows_the_trees_of_its_own_regression():
    lightgbm = pytest.importorskip("lightgbm")
    own = lightgbm.train({**FEW, "objective": "regression"}, lightgbm.Dataset(DATA.X, DATA.y), 20)
    start = DATA.y.mean()
    ours = lightgbm.train(
        {**FEW, "objective": losses.Squared().as_lightgbm(DATA)},
        lightgbm.Dataset(DATA.X, DATA.y, init_score=np.full(DATA.n_docs, start)),
        20,
    )
    np.testing.assert_allclose(start + ours.predict(DATA.X), own.predict(DATA.X), atol=1e-10)


def test_lightgbm_with_listmle_lowers_the_loss():
    lightgbm = pytest.importorskip("lightgbm")
    loss = losses.ListMLE()
    model = lightgbm.train({**FEW, "objective": loss.as_lightgbm(DATA)}, lightgbm.Dataset(DATA.X), 20)
    values = [
        loss.value_and_slope(model.predict(DATA.X, num_iteration=n) if n else np.zeros(DATA.n_docs), DATA)[0]
        for n in (0, 5, 20)
    ]
    assert values[0] > values[1] > values[2]


def test_xgboost_with_squared_grows_the_trees_of_its_own_regression():
    xgboost = pytest.importorskip("xgboost")
    params = {"max_depth": 3, "base_score": 0.5, "nthread": 1, "tree_method": "hist"}
    rows = xgboost.DMatrix(DATA.X, DATA.y)
    own = xgboost.train({**params, "objective": "reg:squarederror"}, rows, 20)
    ours = xgboost.train(params, rows, 20, obj=losses.Squared().as_xgboost(DATA))
    np.testing.assert_allclose(ours.predict(rows, output_margin=True), own.predict(rows), atol=1e-6)


def test_xgboost_with_listmle_lowers_the_loss():
    xgboost = pytest.importorskip("xgboost")
    loss, rows = losses.ListMLE(), xgboost.DMatrix(DATA.X)
    model = xgboost.train({"max_depth": 3, "nthread": 1, "base_score": 0.0}, rows, 20, obj=loss.as_xgboost(DATA))
    start = loss.value_and_slope(np.zeros(DATA.n_docs), DATA)[0]
    assert loss.value_and_slope(model.predict(rows, output_margin=True), DATA)[0] < 0.9 * start


def test_weights_of_neither_rows_nor_queries_are_refused():
    objective = losses.ListMLE().as_lightgbm(DATA)
    with pytest.raises(ValueError, match=f"7 weights, but there are {DATA.n_docs} rows of {DATA.n_queries} queries"):
        objective(DATA.y, scores_of(), np.ones(7))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_classes_for_scikit_learn_grow_the_same_trees(weighted):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    weights = np.repeat(np.random.default_rng(0).random(DATA.n_queries), np.diff(DATA.indptr)) if weighted else None
    objective, group = losses.ListMLE().as_lightgbm(DATA), np.diff(DATA.indptr)
    params = {"num_leaves": 5, "verbosity": -1, "num_threads": 1, "min_child_samples": 5}
    data = lightgbm.Dataset(DATA.X, DATA.y, weight=weights, params={"verbosity": -1})
    expected = lightgbm.train({**params, "objective": objective}, data, num_boost_round=3).predict(DATA.X)
    ranker = lightgbm.LGBMRanker(objective=objective, n_estimators=3, **params)
    ranker.fit(DATA.X, DATA.y, group=group, sample_weight=weights)
    np.testing.assert_allclose(ranker.predict(DATA.X), expected, rtol=1e-12)
    assert np.ptp(expected) > 0

    objective, params = losses.ListMLE().as_xgboost(DATA), {"max_depth": 2, "min_child_weight": 0.1, "nthread": 1}
    params |= {"base_score": 0.0, "learning_rate": 0.3}
    matrix = xgboost.DMatrix(DATA.X, DATA.y, weight=weights)
    expected = xgboost.train(params, matrix, 3, obj=objective).predict(matrix)
    ranker = xgboost.XGBRegressor(objective=objective, n_estimators=3, **params)
    ranker.fit(DATA.X, DATA.y, sample_weight=weights)
    np.testing.assert_allclose(ranker.predict(DATA.X), expected, rtol=1e-6)
    assert np.ptp(expected) > 0


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_rows_in_another_order_than_the_queries_are_refused(package):
    """The packages want rows sorted by query, the queries may hold them as they came."""
    module = pytest.importorskip(package)
    mixed = np.random.default_rng(1).permutation(DATA.n_docs)
    X, y = DATA.X[mixed], DATA.y[mixed]
    queries = pk.Queries(X, y, qid=DATA.qid[mixed])

    def train(*data):
        if package == "lightgbm":
            params = {"objective": losses.ListMLE().as_lightgbm(queries), "verbosity": -1, "num_threads": 1}
            return module.train(params, module.Dataset(*data, params={"verbosity": -1}), num_boost_round=1)
        return module.train({"nthread": 1}, module.DMatrix(*data), 1, obj=losses.ListMLE().as_xgboost(queries))

    train(queries.X, queries.y)
    train(X, y)
    for data in [(queries.grouped.X, queries.grouped.y), (X,), (queries.grouped.X,)]:
        with pytest.raises(ValueError, match=r"Grow the trees on queries\.X with the labels queries\.y"):
            train(*data)


def test_what_is_not_queries_is_named():
    with pytest.raises(TypeError, match="queries is a ndarray; a Queries, or its lists, is needed"):
        losses.ListMLE().as_lightgbm(DATA.qid)
    with pytest.raises(TypeError, match="queries is a NoneType"):
        losses.ListMLE().value_and_slope([0.0], None)
    assert repr(losses.ListMLE().as_xgboost(DATA)).startswith("<ListMLE() as an objective of trees")
