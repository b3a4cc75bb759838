"""Models for Vespa and for Elasticsearch's own learning to rank, computed by literal readers of the formats."""

import json

import numpy as np
import pytest

import plackett as pk
from plackett.exporting.targets import build
from tests.exporting import tree_formulas
from tests.exporting.vespa_expressions import Expression, of_xgboost_json

NAMES = [
    "bm25(title)", "attribute(price)", "fieldMatch(title).completeness", "query(age)", "my_function",
    "closeness(field,embedding)",
]  # fmt: skip
LISTS = pk.datasets.make_web_like(12, 10, 6, random_state=0)
LISTS = pk.Queries(LISTS.X.astype(np.float64), LISTS.y, LISTS.qid)


def by_vespa(expression, rows):
    read = Expression(expression)
    return np.array([float(read.value_of(dict(zip(NAMES, row, strict=True)))) for row in rows.tolist()])


@pytest.mark.parametrize("normalize", [None, "zscore", "minmax", "maxabs"])
@pytest.mark.parametrize("loss", ["listmle", "squared"])
def test_linear_models_are_ranking_expressions(loss, normalize):
    X = LISTS.X * [1.0, -1e6, 1e-7, 1.0, 5.0, 1.0] + [0.0, 3.0, -2.0, 0.0, 1.0, 0.0]
    ranker = pk.LinearRanker(loss, normalize=normalize, l2=0.1).fit(X, LISTS.y, qid=LISTS.qid)
    text = pk.export(ranker, "vespa", feature_names=NAMES, check=X)
    np.testing.assert_allclose(by_vespa(text, X), ranker.predict(X), rtol=1e-9, atol=1e-9)
    assert text.count("\n") == 7  # the constant and a line per feature


RANKERS = {
    "listmle": pk.TreeRanker("listmle", n_rounds=8, num_leaves=5, min_data_in_leaf=5),
    "with an intercept": pk.TreeRanker("squared", n_rounds=5, num_leaves=8, min_data_in_leaf=3),
    "lightgbm": pk.TreeRanker("lightgbm", n_rounds=5, num_leaves=4, min_data_in_leaf=5),
    "xgboost": pk.XGBoostRanker(n_rounds=6, max_depth=3),
    "rankboost": pk.RankBoost(n_rounds=12),
}


def as_the_target_computes(target, content, rows):
    if target == "vespa":
        return by_vespa(of_xgboost_json(content), rows)
    return np.array([tree_formulas.of_elastic_ltr(content, NAMES, row) for row in rows.tolist()])


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("target", ["vespa", "elastic-ltr"])
@pytest.mark.parametrize("name", RANKERS)
def test_trees_are_those_of_the_ranker_at_every_threshold(name, target, has_missing):
    ranker = RANKERS[name]
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    draws = np.random.default_rng(0)
    X = np.where(draws.random(LISTS.X.shape) < 0.15, np.nan, LISTS.X) if has_missing else LISTS.X
    ranker.fit(X, LISTS.y, qid=LISTS.qid)
    rows = X[:60].copy()
    thresholds = ranker.steps_ if name == "rankboost" else None
    if thresholds is None:
        trees = ranker.trees_
        pairs = zip(trees.features_.tolist(), trees.thresholds_.tolist(), strict=True)
        limits = [(feature, limit) for feature, limit in pairs if feature >= 0]
    else:
        limits = list(zip(thresholds["feature"].tolist(), thresholds["threshold"].tolist(), strict=True))
    limits = [(feature, limit) for feature, limit in limits if abs(limit) < 1e300]  # others separate missing values
    for row in rows:  # values at a threshold, and at its two neighbours among the doubles
        feature, limit = limits[draws.integers(len(limits))]
        row[feature] = np.nextafter(limit, draws.choice([-np.inf, limit, np.inf]))
    content = pk.export(ranker, target, feature_names=NAMES, check=X)
    ours = ranker.predict(rows)
    theirs = as_the_target_computes(target, content, rows)
    atol = 1e-6 * np.ptp(ours) if name == "xgboost" else 1e-12  # XGBoost adds up in float32
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=atol)
    assert build(ranker, target, feature_names=NAMES, check=rows).parity.relative < 1e-6


@pytest.mark.parametrize("target", ["vespa", "elastic-ltr"])
def test_without_missing_values_in_training_they_go_where_a_zero_goes(target):
    ranker = pk.TreeRanker("lightgbm", n_rounds=5, num_leaves=4, min_data_in_leaf=5).fit(
        LISTS.X - 0.5, LISTS.y, qid=LISTS.qid
    )
    content = pk.export(ranker, target, feature_names=NAMES)
    rows = LISTS.X[:20] - 0.5
    missing, zeros = rows.copy(), rows.copy()
    missing[:, 1], zeros[:, 1] = np.nan, 0.0
    np.testing.assert_array_equal(
        as_the_target_computes(target, content, missing), as_the_target_computes(target, content, zeros)
    )


@pytest.mark.parametrize("name", ["page rank", "größe", "3", "a.b(", "f(x", "x; y", "sum(1", "a-b", "f(g(h(x)))"])
def test_vespa_takes_names_of_rank_features_only(name):
    ranker = pk.LinearRanker().fit(LISTS)
    with pytest.raises(
        ValueError, match=r"feature_names\[2\] is .* not a rank feature of Vespa, such as bm25\(title\)"
    ):
        pk.export(ranker, "vespa", feature_names=[*NAMES[:2], name, *NAMES[3:]])


def test_elastic_has_no_linear_models_and_says_what_to_do():
    ranker = pk.LinearRanker().fit(LISTS)
    with pytest.raises(ValueError, match=r"to elastic-ltr, which has no format for linear models.*or train trees"):
        pk.export(ranker, "elastic-ltr", feature_names=NAMES)


@pytest.mark.parametrize("target", ["vespa", "elastic-ltr"])
def test_names_are_needed_and_categories_refused(target):
    trees = pk.TreeRanker("lightgbm", n_rounds=3).fit(LISTS)
    with pytest.raises(ValueError, match=f"{target} finds features by their names"):
        pk.export(trees, target)
    codes = np.random.default_rng(0).integers(0, 3, (LISTS.n_docs, 1)).astype(float)
    X = np.hstack([LISTS.X[:, :5], codes])
    data = pk.Queries(X, codes[:, 0] == 1, LISTS.qid, categories={5: [*"abc"]})
    with pytest.raises(ValueError, match=f"cannot be exported to {target}, which compares numbers only"):
        pk.export(pk.TreeRanker("lightgbm", n_rounds=3, min_data_in_leaf=1).fit(data), target, feature_names=NAMES)


def test_the_definition_is_named_after_the_model():
    body = json.loads(pk.export(pk.RankBoost(n_rounds=2).fit(LISTS), "elastic-ltr", feature_names=NAMES, name="shop"))
    assert body["description"].startswith("shop: RankBoost by plackett")
    with pytest.raises(ValueError, match="vespa has no name"):
        pk.export(pk.RankBoost(n_rounds=2).fit(LISTS), "vespa", feature_names=NAMES, name="shop")
