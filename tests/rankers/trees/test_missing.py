"""Trees take missing values as their packages do: scores are those of LightGBM and XGBoost bit by bit."""

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import plackett as pk
from plackett.rankers.trees.ranker import TreeRanker
from plackett.rankers.trees.xgboost import XGBoostRanker

DATA = pk.datasets.make_web_like(40, 12, 6, random_state=1)
TRAIN, HELD_BACK = DATA[:28], DATA[28:]
RANKERS = {
    "listmle": pk.TreeRanker("listmle", n_rounds=8, num_leaves=6, min_data_in_leaf=5),
    "lightgbm": pk.TreeRanker("lightgbm", n_rounds=8, num_leaves=6, min_data_in_leaf=5),
    "xgboost": pk.XGBoostRanker(n_rounds=8, max_depth=3, learning_rate=0.3),
}


@pytest.fixture(params=RANKERS)
def ranker(request):
    pytest.importorskip(RANKERS[request.param].package)
    return clone(RANKERS[request.param])


def holes(X, seed, share=0.3, column=None):
    """Rows of both signs with missing values, and a column of which all are missing."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < share, np.nan, X - X.mean(axis=0))
    if column is not None:
        X[:, column] = np.nan
    return X


def both(queries, X):
    return queries.replace(X=X)


COMPLETE = TRAIN.X - TRAIN.X.mean(axis=0)
CASES = {
    "train and test": (holes(TRAIN.X, 0), holes(HELD_BACK.X, 1)),
    "test only": (COMPLETE, holes(HELD_BACK.X, 1)),
    "train only": (holes(TRAIN.X, 0), HELD_BACK.X - TRAIN.X.mean(axis=0)),
    "a column of train": (holes(TRAIN.X, 0, column=2), holes(HELD_BACK.X, 1)),
    "a column of test": (holes(TRAIN.X, 0), holes(HELD_BACK.X, 1, column=2)),
    "one column": (np.where(np.arange(6) == 3, holes(TRAIN.X, 0), COMPLETE), holes(HELD_BACK.X, 1)),
}


def package_scores(ranker, monkeypatch, train, test, **fit):
    """Fit the ranker; return the scores of its package's own model for the rows of test."""
    boosters = []
    for cls in (TreeRanker, XGBoostRanker):
        keep = cls._keep

        def kept(self, training, monitor, keep=keep):
            boosters.append(self._growth.booster if isinstance(self, TreeRanker) else self._booster)
            keep(self, training, monitor)

        monkeypatch.setattr(cls, "_keep", kept)
    ranker.fit(train, **fit)
    if isinstance(ranker, pk.XGBoostRanker):
        matrix = ranker._matrix(ranker._as_fitted(test.X))
        return boosters[0].predict(matrix, output_margin=True, iteration_range=(0, ranker.n_rounds_))
    rows = sparse.csr_matrix(test.X) if sparse.issparse(test.X) else test.X
    return ranker.intercept_ + boosters[0].predict(rows, raw_score=True, num_iteration=ranker.n_rounds_)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_package_bit_by_bit(ranker, case, monkeypatch):
    train, test = (both(part, X) for part, X in zip((TRAIN, HELD_BACK), CASES[case], strict=True))
    own = package_scores(ranker, monkeypatch, train, test)
    np.testing.assert_array_equal(ranker.predict(test), own)
    assert np.unique(own).size > 5
    if hasattr(ranker, "has_missing_"):
        assert ranker.has_missing_ == (case != "test only")


@pytest.mark.parametrize("form", [sparse.csr_matrix, np.asarray], ids=["sparse", "zeros"])
def test_sparse_rows_may_hold_missing_values(ranker, form, monkeypatch):
    train, test = (
        both(part, form(np.where(np.random.default_rng(seed).random(part.X.shape) < 0.4, 0.0, holes(part.X, seed))))
        for seed, part in enumerate((TRAIN, HELD_BACK))
    )
    own = package_scores(ranker, monkeypatch, train, test)
    np.testing.assert_array_equal(ranker.predict(test), own)
    other = sparse.csr_matrix(test.X) if form is np.asarray else test.X.toarray()
    np.testing.assert_array_equal(ranker.predict(both(test, other)), own)


def test_validation_queries_may_hold_missing_values(ranker, monkeypatch):
    train, test = both(TRAIN, holes(TRAIN.X, 0)), both(HELD_BACK, holes(HELD_BACK.X, 1))
    own = package_scores(ranker, monkeypatch, train, test, eval_set=test, eval_metric="map")
    np.testing.assert_array_equal(ranker.predict(test), own)
    kept = pk.evaluate(test, ranker.predict(test), metrics=["map"]).mean()["map"]
    assert kept == pytest.approx(ranker.best_score_, abs=1e-12)


def test_missing_values_are_kept_in_the_file_and_explained(ranker):
    train, test = both(TRAIN, holes(TRAIN.X, 0)), both(HELD_BACK, holes(HELD_BACK.X, 1))
    file = io.BytesIO()
    ranker.fit(train).save(file)
    file.seek(0)
    loaded = pk.load(file)
    scores = ranker.predict(test)
    np.testing.assert_array_equal(loaded.predict(test), scores)
    explained = loaded.explain(test)
    for place in range(test.n_queries):
        rows = slice(test.indptr[place], test.indptr[place + 1])
        sums = explained.contributions[rows].sum(axis=1)
        np.testing.assert_allclose(sums, scores[rows] - scores[rows].mean(), atol=1e-6)
    assert "nan" in str(explained.top(0)) or not np.isnan(test.X[0]).any()


def test_a_split_may_separate_missing_values_from_all_others(ranker, monkeypatch):
    """LightGBM's threshold is then infinite."""
    X = np.column_stack([np.where(TRAIN.y > 0, np.nan, 1.0), TRAIN.X[:, 0]])
    train, test = pk.Queries(X, TRAIN.y, TRAIN.qid), pk.Queries(X[:60], TRAIN.y[:60], TRAIN.qid[:60])
    own = package_scores(ranker, monkeypatch, train, test)
    np.testing.assert_array_equal(ranker.predict(test), own)
    file = io.BytesIO()
    ranker.save(file)
    file.seek(0)
    np.testing.assert_array_equal(pk.load(file).predict(test), own)
    for target in ("json", "elasticsearch", "onnx"):
        pytest.importorskip("onnxruntime" if target == "onnx" else "json")
        pk.export(ranker, target, feature_names=["a", "b"], check=X.astype(np.float32))
    assert ranker.explain(test).contributions[:, 0].any()


def test_infinite_values_stay_an_error(ranker):
    X = holes(TRAIN.X, 0)
    X[7, 2] = -np.inf
    with pytest.raises(ValueError, match="infinite value in row 7, column 2"):
        ranker.fit(X, TRAIN.y, qid=TRAIN.qid)
    ranker.fit(holes(TRAIN.X, 0), TRAIN.y, qid=TRAIN.qid)
    with pytest.raises(ValueError, match="infinite value in row 7, column 2"):
        ranker.predict(X)


def test_compare_takes_missing_values():
    pytest.importorskip("lightgbm")
    rankers = {name: clone(RANKERS[name]) for name in ("listmle", "lightgbm")}
    found = pk.compare(rankers, both(DATA, holes(DATA.X, 0)), cv=3)
    assert all(np.isfinite(value) for means in found.mean().values() for value in means.values())
