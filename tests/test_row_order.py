"""Rows of a query need not be contiguous: every result is in the order of the given rows."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import plackett as pk
from plackett.data.feedback.feedback import Feedback
from plackett.data.trec.run import Run
from plackett.evaluation.simulated_feedback import relevance_feedback
from plackett.rankers.refinement.base_score import as_base_score


@pytest.fixture(scope="module")
def sorted_set():
    return pk.datasets.make_web_like(12, n_features=4, random_state=1)


@pytest.fixture(scope="module")
def order(sorted_set):
    return np.random.default_rng(2).permutation(sorted_set.n_docs)


@pytest.fixture(scope="module")
def mixed(sorted_set, order):
    docid = np.array([f"d{row}" for row in range(sorted_set.n_docs)])
    return pk.Queries(sorted_set.X[order], sorted_set.y[order], sorted_set.qid[order], docid=docid[order])


def test_perfect_scores_of_mixed_rows_are_perfect(mixed):
    assert pk.evaluate(mixed, mixed.y, metrics="ndcg@10").mean()["ndcg@10"] == 1.0


def test_measures_do_not_depend_on_how_queries_are_mixed(sorted_set, mixed, order):
    scores = np.random.default_rng(3).normal(size=sorted_set.n_docs)
    expected = pk.evaluate(sorted_set, scores, reference_scores=True)
    found = pk.evaluate(mixed, scores[order], reference_scores=True)
    place = {key: row for row, key in enumerate(found.queries.tolist())}
    rows = [place[key] for key in expected.queries.tolist()]
    np.testing.assert_array_equal(found.values[rows], expected.values)
    for name, means in expected.reference_scores.items():
        assert found.reference_scores[name] == pytest.approx(means, rel=1e-14)


@pytest.mark.parametrize("name", ["listmle", "featurerank", "rankboost", "qsvm"])
def test_predictions_for_queries_are_in_the_order_of_their_rows(name, sorted_set, mixed, order):
    fitted = pk.ranker(name).fit(sorted_set)
    expected = fitted.predict(sorted_set)
    np.testing.assert_array_equal(fitted.predict(mixed), expected[order])
    np.testing.assert_array_equal(fitted.predict(mixed.X, qid=mixed.qid), expected[order])
    np.testing.assert_array_equal(fitted.predict(mixed.grouped), expected[order][mixed.row_order])


def test_a_fit_to_mixed_rows_is_the_fit_to_sorted_ones(sorted_set, mixed):
    weights = np.arange(1, sorted_set.n_queries + 1.0)
    of_row = weights[[sorted_set.ids.tolist().index(key) for key in mixed.qid.tolist()]]
    ranker = pk.LinearRanker(tol=1e-10)
    expected = ranker.fit(sorted_set, sample_weight=weights, eval_set=sorted_set).coef_
    np.testing.assert_allclose(ranker.fit(mixed, sample_weight=of_row, eval_set=mixed).coef_, expected, rtol=1e-6)


def test_losses_give_slopes_in_the_order_of_the_rows(sorted_set, mixed, order):
    scores, direction = np.random.default_rng(4).normal(size=(2, sorted_set.n_docs))
    loss = pk.losses.ListMLE()
    value, slope = loss.value_and_slope(scores, sorted_set)
    found, slope_found = loss.value_and_slope(scores[order], mixed)
    assert found == pytest.approx(value)
    np.testing.assert_allclose(slope_found, slope[order], atol=1e-12)
    for method in ("curvature_diagonal", "curvature_bound"):
        np.testing.assert_allclose(
            getattr(loss, method)(scores[order], mixed), getattr(loss, method)(scores, sorted_set)[order], atol=1e-12
        )
    np.testing.assert_allclose(
        loss.curvature_product(scores[order], mixed, direction[order]),
        loss.curvature_product(scores, sorted_set, direction)[order],
        atol=1e-12,
    )
    gradient, curvature = loss.as_lightgbm(mixed)(scores[order])
    expected = loss.as_lightgbm(sorted_set)(scores)
    np.testing.assert_allclose(gradient, expected[0][order], atol=1e-12)
    np.testing.assert_allclose(curvature, expected[1][order], atol=1e-12)


def test_torch_losses_give_slopes_in_the_order_of_the_rows(sorted_set, mixed, order):
    torch = pytest.importorskip("torch")
    loss = pk.losses.ListMLE().as_torch()
    scores = torch.from_numpy(np.random.default_rng(5).normal(size=sorted_set.n_docs))
    value, slope = loss.value_and_slope(scores, sorted_set)
    found, slope_found = loss.value_and_slope(scores[torch.from_numpy(order)], mixed)
    assert found.item() == pytest.approx(value.item())
    np.testing.assert_allclose(slope_found.numpy(), slope.numpy()[order], atol=1e-12)
    wanted = scores[torch.from_numpy(order)].requires_grad_()
    loss(wanted, mixed).backward()
    np.testing.assert_allclose(wanted.grad.numpy(), slope.numpy()[order], atol=1e-12)


def test_base_scores_runs_and_feedback_name_the_rows_as_given(mixed):
    run = Run.from_scores(mixed, mixed.X[:, 0])
    np.testing.assert_array_equal(as_base_score(run, mixed), mixed.X[:, 0])
    np.testing.assert_array_equal(as_base_score(0, mixed), mixed.X[:, 0])
    ids = mixed.qid.astype(str)
    rows = Feedback.from_judgements(ids, mixed.docid, mixed.y).for_queries(mixed)
    np.testing.assert_array_equal(rows.y, mixed.y)
    pairs, _ = rows.as_pairs()
    assert (mixed.y[pairs[:, 0]] > mixed.y[pairs[:, 1]]).all()
    assert (mixed.qid[pairs[:, 0]] == mixed.qid[pairs[:, 1]]).all()
    n_pairs = sum(int((one.y[:, None] > one.y).sum()) for one in mixed)
    assert len(pairs) == n_pairs


def test_relevance_feedback_on_mixed_rows_is_that_on_sorted_ones(sorted_set, mixed, order):
    refiner = pk.MultiplicativeRefiner(n_rounds=3)
    base = np.random.default_rng(6).normal(size=sorted_set.n_docs)
    expected = relevance_feedback(sorted_set, base, refiner, n_judged=3, metrics="map", pin_judged=True)
    found = relevance_feedback(mixed, base[order], refiner, n_judged=3, metrics="map", pin_judged=True)
    np.testing.assert_array_equal(found.judged, expected.judged[order])
    for name, scores in expected.scores.items():
        np.testing.assert_allclose(found.scores[name], scores[order], rtol=1e-9)
    for kind, tables in expected.tables.items():
        for name, table in tables.items():
            assert found.tables[kind][name].mean()["map"] == pytest.approx(table.mean()["map"])


def test_folds_selection_and_comparison_take_mixed_rows(sorted_set, mixed):
    folds = pk.QueryKFold(3)
    for (train, test), fold in zip(folds.split(mixed), folds.folds(mixed), strict=True):
        assert sorted(set(mixed.qid[test].tolist())) == sorted(fold.test.ids.tolist())
        assert not set(mixed.qid[train]) & set(mixed.qid[test])
    by_rows = pk.cross_validate(pk.LinearRanker(), mixed, cv=list(folds.split(mixed)), metrics="map")
    sorted_rows = pk.cross_validate(pk.LinearRanker(), sorted_set, cv=list(folds.split(sorted_set)), metrics="map")
    assert by_rows.mean()["map"] == pytest.approx(sorted_rows.mean()["map"], rel=1e-6)
    chosen = pk.select(pk.LinearRanker(), mixed, grid={"l2": [0.1, 10.0]}, cv=2)
    assert chosen.best_params == pk.select(pk.LinearRanker(), sorted_set, grid={"l2": [0.1, 10.0]}, cv=2).best_params


def test_files_keep_the_order_of_their_rows(tmp_path, mixed):
    pk.write_letor(mixed, tmp_path / "mixed.txt")
    read = pk.read_letor(tmp_path / "mixed.txt")
    np.testing.assert_array_equal(read.X, mixed.X)
    np.testing.assert_array_equal(read.y, mixed.y)
    np.testing.assert_array_equal(read.docid, mixed.docid)
    assert pk.evaluate(read, mixed.y, metrics="ndcg@10").mean()["ndcg@10"] == 1.0
    assert pk.evaluate(tmp_path / "mixed.txt", mixed.y, metrics="ndcg@10").mean()["ndcg@10"] == 1.0
    assert read.qid.tolist() == mixed.qid.tolist()
    with pytest.raises(ValueError, match="are not adjacent"):  # a cache holds whole queries
        pk.read_letor(tmp_path / "mixed.txt", cache=True)


# --- Ties -------------------------------------------------------------------------------------------------------------


def coarse_lists(n_queries=18, seed=0):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(4, 16, n_queries))
    X = rng.integers(0, 4, (qid.size, 3)).astype(float)
    labels = np.clip(X[:, 0] - X[:, 1] + rng.integers(-1, 2, qid.size), 0, 3)
    return X, labels, qid


def sorted_lists(sign, **options):
    """Return the same rows, the best of each query first (-1) or last (1)."""
    X, labels, qid = coarse_lists(**options)
    rows = np.lexsort((X[:, 2], sign * labels, qid))
    return pk.Queries(X[rows], labels[rows], qid, docid=[f"d{row}" for row in rows])


class Coarse(BaseEstimator):
    """Return scores with ties: a column, divided and rounded down."""

    def __init__(self, step=1):
        self.step = step

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0] // self.step


CONTESTANTS = {
    "coarse": (Coarse(), {"step": [1, 2, 9]}),
    "rankboost": pk.ranker("rankboost", n_rounds=3),
    "adarank": pk.ranker("adarank", n_rounds=3),
}


def test_no_order_of_the_rows_changes_a_comparison_or_its_references():
    results = [pk.compare(CONTESTANTS, sorted_lists(sign), cv=3, metrics="ndcg@5,map,kendall,wpd") for sign in (-1, 1)]
    one, other = ({**result.tables, **result.reference_scores} for result in results)
    for name in one:
        np.testing.assert_allclose(one[name].values, other[name].values, rtol=1e-9, err_msg=name)
        assert one[name].best_features == other[name].best_features
    chosen, again = (
        {name: [(fit.params, fit.validation) for fit in fits] for name, fits in result.fits.items()}
        for result in results
    )
    for name in chosen:
        for (params, value), (other_params, other_value) in zip(chosen[name], again[name], strict=True):
            assert params == other_params
            assert value == pytest.approx(other_value, rel=1e-9)


def test_no_order_of_the_rows_changes_what_is_selected():
    validation = [sorted_lists(sign, seed=1) for sign in (-1, 1)]
    train = sorted_lists(-1)
    for metric in ("ndcg@5", "kendall"):
        one, other = (
            pk.select(Coarse(), train, {"step": [9, 2, 1]}, validation=held, metric=metric) for held in validation
        )
        assert [trial.value for trial in one.trials] == [trial.value for trial in other.trials]
        assert one.best_params == other.best_params == {"step": 1}, "constant scores are the worst here"


def test_a_constant_score_earns_what_a_random_order_does():
    data = sorted_lists(-1)
    metrics = "ndcg@5,map,mrr,err,p@3,kendall,wpd,mre,exact,persistence@3,sharp-ndcg"
    result = pk.evaluate(data, np.zeros(data.n_docs), metrics=metrics, reference_scores=True)
    assert result.mean() == pytest.approx(result.reference_scores["random order"])
