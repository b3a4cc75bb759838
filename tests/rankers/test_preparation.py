"""Missing values and categories in all rankers: one preparation, learned on training rows, kept in files."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.impute import KNNImputer, SimpleImputer

import plackett as pk
from plackett.data.preprocessing import MissingValues, OneHotCategories, TargetCategories
from plackett.exceptions import DataWarning
from plackett.rankers.boosting.feature_rank import BLFeatureRank

RANKERS = {
    "linear": lambda **p: pk.LinearRanker(**p),
    "linear, scaled": lambda **p: pk.LinearRanker(normalize="query-zscore", **p),
    "kernel": lambda **p: pk.KernelRanker(landmarks=10, random_state=0, normalize="zscore", **p),
    "prank": lambda **p: pk.PRank(n_epochs=3, random_state=0, **p),
    "svm-map": lambda **p: pk.SVMMap(C=1.0, **p),
    "adarank": lambda **p: pk.AdaRank(n_rounds=5, **p),
    "featurerank": lambda **p: pk.FeatureRank(**p),
    "bl-featurerank": lambda **p: BLFeatureRank(**p),
    "diffrank": lambda **p: pk.DiffRank(cycles=1, **p),
    "query-dependent": lambda **p: pk.QueryDependentRanker(l2=0.01, **p),
}


def make_frame(seed=0, n_queries=15):
    draws = np.random.default_rng(seed)
    n = 8 * n_queries
    frame = pd.DataFrame(draws.normal(size=(n, 3)), columns=["bm25", "price", "age"])
    frame["brand"] = draws.choice(["acme", "beta", "zeta"], size=n)
    labels = np.clip(np.round(frame["bm25"] + (frame["brand"] == "acme")), 0, 2)
    frame.loc[draws.random(n) < 0.3, "price"] = np.nan
    frame.loc[draws.random(n) < 0.2, "age"] = np.nan
    frame.loc[draws.random(n) < 0.1, "brand"] = None
    return frame, labels.to_numpy(), np.arange(n) // 8


FRAME, Y, QID = make_frame()
NUMBERS = FRAME[["bm25", "price", "age"]].to_numpy()
NEW, NEW_Y, NEW_QID = make_frame(seed=1)


def reloaded(ranker):
    file = io.BytesIO()
    ranker.save(file)
    file.seek(0)
    return pk.load(file)


@pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)
def test_missing_values_are_an_error_that_names_share_columns_and_option(make):
    message = (
        r"NaN in row \d+, column 1.*of its values are missing, in 2 of 3 columns: column 1 .*%, column 2 .*missing="
    )
    with pytest.raises(ValueError, match=message):
        make().fit(NUMBERS, Y, qid=QID)
    ranker = make().fit(NUMBERS[:, :1], Y, qid=QID)
    with pytest.raises(ValueError, match="NaN in row 1, column 0"):
        ranker.predict([[1.0], [np.nan]], qid=0)


@pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)
@pytest.mark.parametrize(
    ("missing", "indicator"), [("median", True), ("query-median", False), (SimpleImputer(strategy="mean"), False)]
)
def test_a_fit_is_that_on_rows_filled_before(make, missing, indicator):
    imputer = MissingValues(missing, indicator=indicator)
    before = (
        imputer.fit_transform(NUMBERS, qid=QID),
        imputer.transform(NEW[["bm25", "price", "age"]].to_numpy(), qid=QID),
    )
    expected = make().fit(before[0], Y, qid=QID).predict(before[1], qid=NEW_QID)
    ranker = make(missing=missing, missing_indicator=indicator).fit(NUMBERS, Y, qid=QID)
    new = NEW[["bm25", "price", "age"]].to_numpy()
    np.testing.assert_allclose(ranker.predict(new, qid=NEW_QID), expected, rtol=1e-9)
    np.testing.assert_array_equal(reloaded(ranker).predict(new, qid=NEW_QID), ranker.predict(new, qid=NEW_QID))


@pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)
@pytest.mark.parametrize("encoding", ["one-hot", "target"])
def test_categories_are_encoded_first(make, encoding):
    encoder = {"one-hot": OneHotCategories, "target": TargetCategories}[encoding]()
    rows, new = encoder.fit_transform(FRAME, Y, qid=QID), encoder.transform(NEW)
    imputer = MissingValues("mean", indicator=True)
    expected = make().fit(imputer.fit_transform(rows), Y, qid=QID).predict(imputer.transform(new), qid=NEW_QID)
    ranker = make(missing="mean", missing_indicator=True, encoding=encoding).fit(FRAME, Y, qid=QID)
    np.testing.assert_allclose(ranker.predict(NEW, qid=NEW_QID), expected, rtol=1e-9)
    np.testing.assert_array_equal(reloaded(ranker).predict(NEW, qid=NEW_QID), ranker.predict(NEW, qid=NEW_QID))
    names = {"one-hot": ["brand=acme", "brand=beta", "brand=zeta"], "target": ["brand"]}[encoding]
    labels = ["bm25", "price", "age", *names, "price is missing", "age is missing"]
    assert ranker.feature_labels == reloaded(ranker).feature_labels == labels


@pytest.mark.parametrize("make", [pk.LinearRanker, pk.DiffRank, pk.AdaRank])
def test_explanations_name_the_columns_and_sum_up(make):
    ranker = make(missing="median", missing_indicator=True, encoding="one-hot").fit(FRAME, Y, qid=QID)
    found = ranker.explain(NEW, qid=NEW_QID)
    assert "brand=acme" in found.feature_names
    assert "price is missing" in found.feature_names
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.baseline, atol=1e-9)
    np.testing.assert_allclose(found.scores, ranker.predict(NEW, qid=NEW_QID), rtol=1e-9)


def test_columns_without_names_have_indicators_with_numbers():
    ranker = pk.LinearRanker(missing="zero", missing_indicator=True).fit(NUMBERS, Y, qid=QID)
    assert ranker.feature_labels == ["column 0", "column 1", "column 2", "column 1 is missing", "column 2 is missing"]


def test_sparse_rows_with_stored_nan():
    params = {"missing": "mean", "missing_indicator": True, "tol": 1e-8}
    dense = pk.LinearRanker(**params).fit(NUMBERS, Y, qid=QID)
    ranker = pk.LinearRanker(**params).fit(sparse.csr_matrix(NUMBERS), Y, qid=QID)
    np.testing.assert_allclose(ranker.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


def test_what_is_learned_does_not_depend_on_other_rows_or_labels():
    """Poisoned labels and rows of the validation set change neither the encoding nor the imputation."""
    make = lambda: pk.LinearRanker(missing="median", missing_indicator=True, encoding="target", patience=None)  # noqa: E731
    ranker = make().fit(FRAME, Y, qid=QID, eval_set=(NEW, NEW_Y, NEW_QID))
    poisoned = NEW.assign(price=1e6, age=np.nan, brand="zeta")
    other = make().fit(FRAME, Y, qid=QID, eval_set=(poisoned, 2 - NEW_Y, NEW_QID))
    np.testing.assert_array_equal(ranker.imputer_.fill_, other.imputer_.fill_)
    np.testing.assert_array_equal(ranker.imputer_.indicated_, other.imputer_.indicated_)
    np.testing.assert_array_equal(ranker.encoder_.means_[0], other.encoder_.means_[0])
    assert ranker.encoder_.prior_ == other.encoder_.prior_


def test_a_random_column_of_many_categories_does_not_help():
    """A target encoding that sees a row's own label seems to help in training; the cross-fitted one does not."""
    draws = np.random.default_rng(0)
    n_queries, n_docs = 120, 10
    qid, n = np.repeat(np.arange(n_queries), n_docs), n_queries * n_docs
    signal, labels = draws.normal(size=n), np.zeros(n)
    labels[signal + draws.normal(size=n) > 1] = 1.0
    names = [f"id {number}" for number in range(n // 2)]
    codes = draws.integers(0, n // 2, size=n).astype(float)
    data = pk.Queries(np.column_stack([signal, codes]), labels, qid, categories={1: names})
    train, test = data[:90], data[90:]
    alone = pk.LinearRanker().fit(train.replace(X=train.X[:, :1], categories=None))
    crossed = pk.LinearRanker(encoding="target").fit(train)
    leaky = TargetCategories()
    leaky.fit_queries(train)
    leaked = pk.LinearRanker().fit(leaky.transform_queries(train), train.y, qid=train.qid)
    of_alone = alone.score(test.replace(X=test.X[:, :1], categories=None))
    of_crossed = crossed.score(test)
    of_leaked = leaked.score(leaky.transform_queries(test), test.y, qid=test.qid)
    assert leaked.score(leaky.transform_queries(train), train.y, qid=train.qid) > crossed.score(train) + 0.05
    assert of_crossed <= of_alone + 0.02
    assert of_leaked < of_crossed - 0.02


@pytest.mark.parametrize("encoding", ["one-hot", "target"])
def test_the_order_of_rows_does_not_matter(encoding):
    params = {"missing": "query-median", "missing_indicator": True, "encoding": encoding, "tol": 1e-9}
    ranker = pk.LinearRanker(**params).fit(FRAME, Y, qid=QID)
    order = np.random.default_rng(0).permutation(QID.size)
    moved = pk.LinearRanker(**params).fit(FRAME.iloc[order].reset_index(drop=True), Y[order], qid=QID[order])
    np.testing.assert_allclose(moved.coef_, ranker.coef_, rtol=1e-5, atol=1e-8)
    scores = ranker.predict(NEW, qid=NEW_QID)
    shuffled = ranker.predict(NEW.iloc[order].reset_index(drop=True), qid=NEW_QID[order])
    np.testing.assert_allclose(shuffled, scores[order], rtol=1e-12)


def test_categories_are_found_by_name():
    ranker = pk.LinearRanker(missing="zero", encoding="one-hot").fit(FRAME, Y, qid=QID)
    some = NEW[NEW["brand"] == "zeta"].reset_index(drop=True)
    scores = ranker.predict(NEW)[(NEW["brand"] == "zeta").to_numpy()]
    np.testing.assert_array_equal(ranker.predict(some), scores)  # its only category has the code 0
    ordered = some.assign(brand=pd.Categorical(some["brand"], categories=["zeta", "acme", "new"]))
    np.testing.assert_array_equal(ranker.predict(ordered), scores)
    with pytest.warns(DataWarning, match=r"not in fit count as missing: 'new' of column 3 \(\"brand\"\)"):
        unknown = ranker.predict(some.assign(brand="new"))
    np.testing.assert_array_equal(unknown, ranker.predict(some.assign(brand=None)))
    np.testing.assert_allclose(unknown, scores - ranker.coef_[ranker.feature_labels.index("brand=zeta")])


def test_columns_of_another_kind_are_rejected():
    ranker = pk.LinearRanker(missing="zero", encoding="one-hot").fit(FRAME, Y, qid=QID)
    with pytest.raises(
        ValueError, match=r'column 3 \("brand"\) of X holds numbers, but in fit it held categories such as'
    ):
        ranker.predict(NEW.assign(brand=1.0))
    with pytest.raises(
        ValueError, match=r'column 1 \("price"\) of X holds text or categories, but in fit it held numbers'
    ):
        ranker.predict(NEW.assign(price="cheap"))


def test_a_missing_category_is_no_missing_value():
    frame = FRAME[["bm25", "brand"]]
    ranker = pk.LinearRanker(encoding="one-hot").fit(frame, Y, qid=QID)
    assert ranker.imputer_ is None
    assert np.isfinite(ranker.predict(frame)).all()


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_frames_of_other_packages_are_the_same(backend):
    pytest.importorskip(backend)
    frames = [pk.Queries(frame, qid=0).to_frame(backend) for frame in (FRAME, NEW)]
    frames = [frame.drop("qid") if backend == "polars" else frame.drop_columns(["qid"]) for frame in frames]
    ranker = pk.LinearRanker(missing="min", encoding="one-hot").fit(frames[0], Y, qid=QID)
    expected = pk.LinearRanker(missing="min", encoding="one-hot").fit(FRAME, Y, qid=QID).predict(NEW)
    np.testing.assert_allclose(ranker.predict(frames[1]), expected, rtol=1e-12)


def test_queries_and_frames_are_the_same():
    data = pk.Queries(FRAME, Y, QID)
    params = {"missing": "min", "encoding": "target"}
    ranker = pk.LinearRanker(**params).fit(data)
    np.testing.assert_array_equal(ranker.predict(data), pk.LinearRanker(**params).fit(FRAME, Y, qid=QID).predict(FRAME))
    assert ranker.score(data) == ranker.score(FRAME, Y, qid=QID)


def test_wrong_parameters_are_said():
    with pytest.raises(ValueError, match="missing='fill' is not known; choose one of 'error', 'zero'"):
        pk.LinearRanker(missing="fill").fit(NUMBERS, Y, qid=QID)
    with pytest.raises(ValueError, match="missing_indicator=True needs a rule"):
        pk.LinearRanker(missing_indicator=True).fit(NUMBERS, Y, qid=QID)
    with pytest.raises(ValueError, match="encoding='hot' is not known"):
        pk.LinearRanker(encoding="hot").fit(NUMBERS, Y, qid=QID)
    with pytest.raises(ValueError, match=r'a refiner learns each query.*"one-hot"'):
        pk.RocchioRefiner(encoding="target").fit(FRAME, Y, qid=QID, base_score="bm25")
    with pytest.raises(ValueError, match="kernel='precomputed' X holds kernel values"):
        pk.KernelRanker(kernel="precomputed", missing="zero").fit(np.eye(4), [0, 1, 0, 1])


def test_a_ranker_that_needs_the_list_for_its_medians_needs_qid():
    ranker = pk.LinearRanker(missing="query-median").fit(NUMBERS, Y, qid=QID)
    assert ranker.depends_on_list
    with pytest.raises(ValueError, match="qid is missing"):
        ranker.predict(NUMBERS)


def test_refiners_fill_and_encode():
    params = {"missing": "median", "missing_indicator": True, "encoding": "one-hot"}
    for refiner in (pk.MultiplicativeRefiner(**params), pk.LinearRefiner(**params), pk.RocchioRefiner(**params)):
        refiner.fit(FRAME, Y, qid=QID, base_score="price")
        np.testing.assert_allclose(refiner.predict(FRAME, qid=QID), refiner.scores_, rtol=1e-12)
        np.testing.assert_array_equal(reloaded(refiner).predict(FRAME, qid=QID), refiner.predict(FRAME, qid=QID))
    base = pk.LinearRanker(missing="zero", encoding="target").fit(FRAME, Y, qid=QID)
    data = pk.Queries(FRAME, Y, QID)
    refiner = pk.RocchioRefiner(**params).fit(data, base_score=base)
    np.testing.assert_array_equal(refiner.base_scores_, base.predict(data))
    assert refiner.score(data, base_score=base) == refiner.score(data) == refiner.score(FRAME, Y, qid=QID)


def test_damaged_preparations_are_rejected_when_loading():
    ranker = pk.LinearRanker(missing="median", missing_indicator=True, encoding="one-hot").fit(FRAME, Y, qid=QID)
    for change in (
        lambda: setattr(ranker.imputer_, "fill_", ranker.imputer_.fill_[:2]),
        lambda: setattr(ranker.imputer_, "indicated_", np.array([99])),
        lambda: setattr(ranker.encoder_, "names_", [np.array(["a", "a"])]),
        lambda: setattr(ranker.encoder_, "n_columns_out_", 4),
        lambda: setattr(ranker, "encoder_", None),
    ):
        kept = {name: dict(vars(getattr(ranker, name))) for name in ("imputer_", "encoder_")}, ranker.encoder_
        change()
        with pytest.raises(pk.exceptions.ModelFormatError):
            reloaded(ranker)
        ranker.encoder_ = kept[1]
        for name, state in kept[0].items():
            vars(getattr(ranker, name)).update(state)


def test_a_transformer_that_cannot_be_kept_is_named():
    ranker = pk.LinearRanker(missing=KNNImputer()).fit(NUMBERS, Y, qid=QID)
    with pytest.raises(ValueError, match="KNNImputer"):
        ranker.save(io.BytesIO())


def test_clean_rows_are_not_copied():
    X = np.ascontiguousarray(np.nan_to_num(NUMBERS))
    ranker = pk.LinearRanker(missing="median").fit(X, Y, qid=QID)
    seen = ranker._check_queries(X, None, QID, needs_labels=False)
    assert seen.X is X or seen.X.base is X


@pytest.mark.parametrize("params", [{"missing": "mean"}, {"missing_indicator": True}, {"encoding": "one-hot"}])
def test_trees_name_rules_that_they_do_not_have(params):
    data = pk.datasets.make_web_like(5, n_features=3, random_state=0)
    with pytest.raises(pk.exceptions.UnknownNameError, match=f"TreeRanker has no parameter {next(iter(params))!r}"):
        pk.TreeRanker(**params).fit(data)
