"""Trees take categories as their packages do: scores are those of LightGBM and XGBoost bit by bit."""

import contextlib
import io
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import plackett as pk
from tests.rankers.trees.test_missing import package_scores

N, LENGTH = 480, 12
BRANDS = np.array(["acme", "best", "cheap", "dear", "exact", "first", "great"])
FEW = {"n_rounds": 8, "num_leaves": 6, "min_data_in_leaf": 5, "min_data_per_group": 5, "cat_smooth": 1}
RANKERS = {
    "listmle": pk.TreeRanker("listmle", **FEW),
    "lightgbm": pk.TreeRanker("lightgbm", **FEW),
    "xgboost": pk.XGBoostRanker(n_rounds=8, max_depth=3, learning_rate=0.3),
    "one category": pk.XGBoostRanker(n_rounds=8, max_depth=3, learning_rate=0.3, max_cat_to_onehot=100),
}


@pytest.fixture(params=RANKERS)
def ranker(request):
    pytest.importorskip(RANKERS[request.param].package)
    return clone(RANKERS[request.param])


def products(seed, brands=BRANDS, share=0.2):
    """Lists whose labels depend on the brand; brands and prices may be missing."""
    rng = np.random.default_rng(seed)
    codes, price = rng.integers(0, brands.size, N).astype(float), rng.normal(size=N)
    colour = rng.integers(0, 40, N).astype(float)
    labels = np.digitize(np.isin(brands[codes.astype(int)], BRANDS[::2]) + price + 0.3 * rng.normal(size=N), [0, 1, 2])
    X = np.column_stack([price, codes, colour])
    X[rng.random(X.shape) < share] = np.nan
    names = {1: brands, 2: [f"colour {number}" for number in range(40)]}
    return pk.Queries(X, labels, np.arange(N) // LENGTH, feature_names=["price", "brand", "colour"], categories=names)


TRAIN, TEST = products(0), products(1)


def texts_of(queries):
    return np.append(BRANDS, None)[np.nan_to_num(queries.X[:, 1], nan=-1).astype(int)]


def test_scores_are_those_of_the_package_bit_by_bit(ranker, monkeypatch):
    own = package_scores(ranker, monkeypatch, TRAIN, TEST, eval_set=TEST, eval_metric="map")
    np.testing.assert_array_equal(ranker.predict(TEST), own)
    kept = pk.evaluate(TEST, ranker.predict(TEST), metrics=["map"]).mean()["map"]
    assert kept == pytest.approx(ranker.best_score_, abs=1e-12)
    assert kept > pk.evaluate(TEST, np.zeros(N), metrics=["map"]).mean()["map"]
    if hasattr(ranker, "trees_"):
        assert ranker.trees_.has_categories
        assert {column: names.tolist() for column, names in ranker.categories_.items()} == {
            1: BRANDS.tolist(), 2: [f"colour {number}" for number in range(40)]
        }  # fmt: skip


def test_codes_follow_the_names_of_fit(ranker):
    """Other codes for the same names change nothing; a brand that fit did not see is missing."""
    ranker.fit(TRAIN)
    expected = ranker.predict(TEST)
    other = np.append(BRANDS[::-1], "new")
    codes = BRANDS.size - 1 - TEST.X[:, 1]
    X = np.column_stack([TEST.X[:, 0], codes, TEST.X[:, 2]])
    renamed = pk.Queries(X, TEST.y, TEST.qid, categories={1: other, 2: TEST.categories[2]})
    np.testing.assert_array_equal(ranker.predict(renamed), expected)
    X[:, 1], missing = BRANDS.size, TEST.X.copy()
    missing[:, 1] = np.nan
    unknown = pk.Queries(X, TEST.y, TEST.qid, categories={1: other, 2: TEST.categories[2]})
    with pytest.warns(pk.exceptions.DataWarning, match=r"not in fit count as missing: 'new' of column 1 \("):
        found = ranker.predict(unknown)
    np.testing.assert_array_equal(found, ranker.predict(TEST.replace(X=missing)))


def test_sparse_rows_may_hold_categories(ranker):
    """A code of 0 is a category, and not missing."""
    few = products(2, share=0.0)
    X = np.nan_to_num(few.X) * (np.random.default_rng(0).random(few.X.shape) < 0.7)
    dense, packed = few.replace(X=X), few.replace(X=sparse.csr_matrix(X))
    expected = clone(ranker).fit(dense).predict(dense)
    ranker.fit(packed)
    np.testing.assert_array_equal(ranker.predict(packed), expected)
    np.testing.assert_array_equal(ranker.predict(dense), expected)


def test_data_frames_are_taken_as_they_are(ranker):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"price": TRAIN.X[:, 0], "brand": texts_of(TRAIN)})
    other = frame.assign(brand=frame["brand"].astype("category"))
    ranker.fit(frame, TRAIN.y, qid=TRAIN.qid)
    scores = ranker.predict(frame)
    np.testing.assert_array_equal(ranker.predict(other), scores)
    np.testing.assert_array_equal(clone(ranker).fit(other, TRAIN.y, qid=TRAIN.qid).predict(other), scores)


def test_categories_are_saved_explained_and_exported(ranker):
    file = io.BytesIO()
    ranker.fit(TRAIN).save(file)
    file.seek(0)
    loaded, scores = pk.load(file), ranker.predict(TEST)
    np.testing.assert_array_equal(loaded.predict(TEST), scores)
    explained = loaded.explain(TEST)
    np.testing.assert_allclose(explained.contributions.sum(axis=1), scores - explained.baseline, atol=1e-6)
    row = int(np.flatnonzero(~np.isnan(TEST.X[:, 1]) & (explained.contributions[:, 1] != 0))[0])
    shown = {part.feature: part.value for part in explained.top(row, None)}
    assert shown["brand"] == BRANDS[int(TEST.X[row, 1])]
    assert shown["brand"] in str(explained.why(row, row - row % LENGTH + (row + 1) % LENGTH))
    document = json.loads(pk.export(loaded, "json", check=TEST))
    assert document["categories"]["1"] == BRANDS.tolist()
    for target in ("onnx", "elasticsearch", "opensearch", "solr", "ranklib"):
        with pytest.raises(ValueError, match=r"compares numbers only: it splits by the categories of"):
            pk.export(loaded, target)


def test_contributions_are_those_of_xgboost(monkeypatch):
    """Which sends a missing category to either side, and LightGBM, which computes them, to the right."""
    xgboost = pytest.importorskip("xgboost")
    pytest.importorskip("lightgbm")
    ranker, boosters, keep = clone(RANKERS["xgboost"]), [], pk.XGBoostRanker._keep

    def kept(self, training, monitor):
        boosters.append(self._booster)
        keep(self, training, monitor)

    monkeypatch.setattr(pk.XGBoostRanker, "_keep", kept)
    ranker.fit(TRAIN)
    assert ranker.trees_.missing_left_[ranker.trees_.kinds_ == 2].any()
    kinds = {"feature_types": ["q", "c", "c"], "enable_categorical": True}
    own = boosters[0].predict(xgboost.DMatrix(TEST.X[:LENGTH], **kinds), pred_contribs=True)[:, :-1]
    found = ranker.explain(TEST).contributions[:LENGTH]
    np.testing.assert_allclose(found, own - own.mean(axis=0), atol=1e-5)


def test_compare_takes_categories():
    pytest.importorskip("lightgbm")
    found = pk.compare({"trees": clone(RANKERS["listmle"])}, TRAIN, cv=3, metrics=["map"])
    assert np.isfinite(found.mean()["trees"]["map"])


def test_a_model_of_another_tool_keeps_the_categories_of_its_frame(tmp_path):
    pandas, lengths = pytest.importorskip("pandas"), [LENGTH] * (N // LENGTH)
    texts = texts_of(TRAIN)
    frame = pandas.DataFrame({"price": TRAIN.X[:, 0], "brand": pandas.Categorical(texts)})
    lightgbm = pytest.importorskip("lightgbm")
    params = {"objective": "lambdarank", "num_leaves": 5, "min_data_per_group": 5, "verbosity": -1}
    booster = lightgbm.train(params, lightgbm.Dataset(frame, TRAIN.y, group=lengths), 5)
    booster.save_model(tmp_path / "model.txt")
    scores = {"model.txt": booster.predict(frame, raw_score=True)}
    with contextlib.suppress(ImportError):
        import xgboost

        data = xgboost.DMatrix(frame, TRAIN.y, group=lengths, enable_categorical=True)
        grown = xgboost.train({"objective": "rank:ndcg", "max_depth": 3}, data, 5)
        grown.save_model(tmp_path / "model.json")
        scores["model.json"] = grown.predict(data, output_margin=True)
    other = frame.assign(brand=pandas.Categorical(texts, categories=BRANDS[::-1]))  # other codes for the same names
    for name, own in scores.items():
        ranker = pk.load(tmp_path / name)
        np.testing.assert_array_equal(ranker.predict(frame), own)
        np.testing.assert_array_equal(ranker.predict(other), own)
        ranker.save(tmp_path / "model.plackett")
        np.testing.assert_array_equal(pk.load(tmp_path / "model.plackett").predict(other), own)


@pytest.mark.parametrize("values", [(38, 40, 42), (38.0, 40.0, 42.5)], ids=["int", "float"])
def test_categories_of_lightgbm_may_be_numbers(tmp_path, values):
    pandas, lightgbm = pytest.importorskip("pandas"), pytest.importorskip("lightgbm")
    sizes = np.random.default_rng(0).choice(list(values), N)
    frame = pandas.DataFrame({"price": TRAIN.X[:, 0], "size": pandas.Categorical(sizes)})
    params = {"objective": "lambdarank", "num_leaves": 5, "min_data_per_group": 5, "verbosity": -1}
    data = lightgbm.Dataset(frame, TRAIN.y + (sizes == 40), group=[LENGTH] * (N // LENGTH))
    booster = lightgbm.train(params, data, 5)
    booster.save_model(tmp_path / "model.txt")
    ranker = pk.load(tmp_path / "model.txt")
    assert ranker.trees_.has_categories
    expected = booster.predict(frame, raw_score=True)
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    np.testing.assert_array_equal(ranker.predict(frame.assign(size=sizes)), expected)
