"""Categories become columns of ones or means of labels, as slow loops compute them, without a leak of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import plackett as pk
from plackett.data.preprocessing import OneHotCategories, TargetCategories
from plackett.data.preprocessing.categories import folds_of


def make_frame(n_queries=12, seed=0):
    draws = np.random.default_rng(seed)
    n = 5 * n_queries
    brand = draws.choice(["acme", "beta", "zeta"], size=n).astype(object)
    brand[draws.random(n) < 0.1] = None
    frame = pd.DataFrame({"price": draws.normal(size=n), "brand": brand, "size": draws.choice(["S", "L"], size=n)})
    labels = (brand == "acme") * 1.0 + draws.integers(0, 2, size=n)
    return frame, labels, np.arange(n) // 5


def test_one_hot_agrees_with_a_loop():
    frame, _, _ = make_frame()
    encoder = OneHotCategories().fit(frame)
    names = encoder.get_feature_names_out(frame.columns).tolist()
    assert names == ["price", "brand=acme", "size=L", "brand=beta", "brand=zeta", "size=S"]
    encoded = encoder.transform(frame)
    for row in range(len(frame)):
        assert encoded[row, 0] == frame["price"][row]
        for place, name in enumerate(names[1:], 1):
            column, _, category = name.partition("=")
            assert encoded[row, place] == float(frame[column][row] == category)


def test_one_hot_of_sparse_codes():
    codes = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, np.nan], [4.0, 1.0]])
    encoder = OneHotCategories(categories={1: ["a", "b", "c"]})
    expected = encoder.fit(codes, np.zeros(4)).transform(codes)
    found = encoder.fit(sparse.csr_matrix(codes), np.zeros(4)).transform(sparse.csr_matrix(codes))
    np.testing.assert_array_equal(found.toarray(), expected)
    np.testing.assert_array_equal(expected, [[0, 0, 0, 1], [3, 1, 0, 0], [0, 0, 0, 0], [4, 0, 1, 0]])


def mean_by_loop(categories, labels, counted, category, smoothing):
    prior = np.mean([label for label, one in zip(labels, counted, strict=True) if one])
    own = [label for name, label, one in zip(categories, labels, counted, strict=True) if one and name == category]
    own = [] if category is None else own
    return (sum(own) + smoothing * prior) / (len(own) + smoothing)


def test_target_means_agree_with_a_loop():
    frame, labels, qid = make_frame()
    brand = [None if pd.isna(name) else name for name in frame["brand"]]
    encoder = TargetCategories(smoothing=3.0, n_folds=4)
    encoded = encoder.fit_transform(frame, labels, qid=qid)
    fold = folds_of(np.arange(12), 4)[qid]
    for row in range(len(frame)):
        expected = mean_by_loop(brand, labels, fold != fold[row], brand[row], 3.0)
        assert encoded[row, 1] == pytest.approx(expected, rel=1e-12)
    after = encoder.transform(frame)
    everything = np.ones(len(frame), dtype=bool)
    for row in range(len(frame)):
        assert after[row, 1] == pytest.approx(mean_by_loop(brand, labels, everything, brand[row], 3.0), rel=1e-12)
    np.testing.assert_array_equal(encoded[:, 0], frame["price"])


def test_unknown_categories_are_zeros_or_the_prior():
    frame, labels, qid = make_frame()
    new = frame[:1].assign(brand="new", size="XL")
    np.testing.assert_array_equal(OneHotCategories().fit(frame).transform(new)[0, 1:], 0)
    encoder = TargetCategories().fit(frame, labels, qid=qid)
    np.testing.assert_array_equal(encoder.transform(new)[0, 1:], encoder.prior_)


def test_a_row_is_encoded_without_the_labels_of_its_query():
    frame, labels, qid = make_frame()
    before = TargetCategories().fit_transform(frame, labels, qid=qid)
    changed = labels.copy()
    changed[qid == 3] = 99.0
    after = TargetCategories().fit_transform(frame, changed, qid=qid)
    np.testing.assert_array_equal(before[qid == 3], after[qid == 3])


def test_the_order_of_rows_does_not_matter():
    frame, labels, qid = make_frame()
    order = np.random.default_rng(0).permutation(qid.size)
    expected = TargetCategories().fit_transform(frame, labels, qid=qid)
    moved = TargetCategories().fit_transform(frame.iloc[order].reset_index(drop=True), labels[order], qid=qid[order])
    np.testing.assert_allclose(moved, expected[order], rtol=1e-12)


def test_rows_without_a_label_do_not_count():
    frame, labels, qid = make_frame()
    some = np.where(np.arange(labels.size) % 3 == 0, np.nan, labels)
    judged = ~np.isnan(some)
    encoder = TargetCategories().fit(frame, some, qid=qid)
    other = TargetCategories().fit(frame[judged], some[judged], qid=qid[judged])
    np.testing.assert_allclose(encoder.means_[0], other.means_[0], rtol=1e-12)


def test_what_cannot_be_encoded_is_said():
    frame, labels, _ = make_frame()
    with pytest.raises(ValueError, match="needs at least 2 queries"):
        TargetCategories().fit_transform(frame, labels, qid=np.zeros(len(frame)))
    many = pd.DataFrame({"brand": [f"b{n // 3}" for n in range(3300)]})
    with pytest.raises(ValueError, match=r'brand has 1,100 categories.*Choose encoding="target"'):
        OneHotCategories().fit(many)


def test_mapped_rows_stay_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr("plackett.storage.mapped.SPILL_ABOVE", 1 << 10)
    monkeypatch.setattr("plackett.data.query_blocks.BLOCK_BYTES", 1 << 12)
    draws = np.random.default_rng(0)
    X = np.column_stack([draws.normal(size=700), draws.integers(0, 3, size=700)]).astype(np.float64)
    labels, qid = draws.integers(0, 3, size=700).astype(float), np.arange(700) // 7
    np.save(tmp_path / "X.npy", X)
    names = {1: ["a", "b", "c"]}
    mapped = pk.Queries(np.load(tmp_path / "X.npy", mmap_mode="c"), labels, qid, categories=names)
    in_memory = pk.Queries(X, labels, qid, categories=names)
    for encoder in (OneHotCategories(), TargetCategories()):
        encoder.fit_queries(mapped)
        found, expected = encoder.transform_queries(mapped), encoder.transform_queries(in_memory)
        assert isinstance(found.base, np.memmap)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(encoder.cross_fitted(mapped), encoder.cross_fitted(in_memory))


@pytest.mark.parametrize("make", [OneHotCategories, TargetCategories])
def test_transform_rejects_other_columns_than_those_of_fit(make):
    frame = pd.DataFrame(
        {"brand": ["acme", "zeta", "acme"], "shop": ["zeta", "acme", "zeta"], "price": [1.0, 2.0, 3.0]}
    )
    encoder = make().fit(frame, [0, 1, 2], qid=[1, 1, 2])
    assert encoder.get_feature_names_out()[2] == "price"
    with pytest.raises(ValueError, match="must be in the same order"):
        encoder.transform(frame[["shop", "brand", "price"]])
    with pytest.raises(ValueError, match=r'column 0 \("brand"\) of X holds numbers, but in fit .* such as \'acme\''):
        encoder.transform(frame.assign(brand=[1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match=r'column 2 \("price"\) of X holds text'):
        encoder.transform(frame.assign(price="cheap"))
    assert np.array_equal(encoder.transform(frame.assign(shop=np.nan))[:, 2], frame["price"])


def test_a_code_between_two_categories_is_unknown():
    encoder = TargetCategories(categories={0: ["acme", "zeta"]}).fit([[0.0], [1.0], [1.0]], [0, 1, 2], qid=[1, 1, 2])
    assert encoder.transform([[0.5], [7.0], [-1.0]]).ravel().tolist() == [encoder.prior_] * 3


def test_a_frame_s_column_of_other_values_is_named_with_what_to_do():
    frame = pd.DataFrame({"bm25": [1.0, 2.0], "kind": ["acme", 1]})
    with pytest.raises(ValueError, match=r'"kind"\) of X has values .*convert it to numbers or to text: text'):
        pk.LinearRanker().fit(frame, [0, 1], qid=[1, 1])
