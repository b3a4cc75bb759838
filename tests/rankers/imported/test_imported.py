"""Models of other tools: scores are those of the tool bit by bit; they are saved, explained, exported and compared."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import ModelFormatError
from tests.rankers.imported.models import (
    CATEGORY,
    CODES,
    TREES,
    labels,
    lists,
    of_lightgbm,
    of_xgboost,
    rows,
)

CATBOOST = json.loads((Path(__file__).parent / "catboost.json").read_text(encoding="utf-8"))  # by CatBoost 1.2.10
HELD_BACK = rows(1)


def loaded(content):
    return pk.load(io.BytesIO(content.encode() if isinstance(content, str) else bytes(content)))


# --- LightGBM ---------------------------------------------------------------------------------------------------------

OF_LIGHTGBM = {
    "lambdarank": {},
    "complete": {"share": 0.0},
    "categories": {"categorical_feature": [CATEGORY]},
    "zero is missing": {"params": {"zero_as_missing": True}},
    "binary": {"params": {"objective": "binary"}},
    "dart": {"params": {"boosting": "dart"}},
    "forest": {"params": {"boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1, "objective": "regression"}},
    "constant": {"params": {"min_data_in_leaf": 1000, "objective": "regression"}},
}


@pytest.mark.parametrize("case", OF_LIGHTGBM)
def test_scores_are_those_of_lightgbm(case):
    booster = of_lightgbm(**OF_LIGHTGBM[case])
    ranker = loaded(booster.model_to_string())
    X = HELD_BACK.copy()
    X[:40:8, CATEGORY] = [9, 31, 32, 1e6, -1]  # codes that training did not have
    X[1:40:8, :] = [[0.0] * 6, [-0.0] * 6, [1e-36] * 6, [-1e-36] * 6, [1e-34] * 6]
    for rows_ in (X, rows(2, 0.0)):
        np.testing.assert_array_equal(ranker.predict(rows_), booster.predict(rows_, raw_score=True))
    assert (ranker.tool_, ranker.feature_names_, ranker.n_features_in_) == ("LightGBM", None, 6)


def test_lightgbm_s_names_are_kept(tmp_path):
    booster = of_lightgbm(feature_name=list("abcdef"))
    booster.save_model(tmp_path / "model.txt")
    ranker = pk.load(tmp_path / "model.txt")
    assert ranker.feature_names_ == list("abcdef")
    assert ranker.objective_ == "lambdarank"
    own = booster.predict(HELD_BACK[:12], pred_contrib=True)[:, :-1]
    explained = ranker.explain(HELD_BACK[:12], qid=0)
    np.testing.assert_allclose(explained.contributions, own - own.mean(axis=0), atol=1e-12)
    assert explained.top(0)[0].feature in "abcdef"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda text: text[: len(text) // 2], "ends before all trees were read"),
        (lambda text: text.replace("num_tree_per_iteration=1", "num_tree_per_iteration=3"), "3 scores for a row"),
        (lambda text: text.replace("max_feature_idx=5", "max_feature_idx=2147483645"), "6 feature names for"),
        (lambda text: text.replace("num_leaves=6", "num_leaves=99999999999", 1), "leaf_value of a tree has 6 numbers"),
        (lambda text: text.replace("is_linear=0", "is_linear=1", 1), "linear leaves"),
        (lambda text: text.replace("Tree=1\n", "", 1), "only 4 of 5 trees"),
        (lambda text: text.replace("left_child=1", "left_child=0", 1), "must lead to later ones"),
        (lambda text: text.replace("split_feature=", "split_feature=9", 1), "must name one of 6 features"),
        (lambda text: text.replace("threshold=", "threshold=nan ", 1), "threshold of a tree has"),
    ],
)
def test_damaged_files_of_lightgbm_are_refused(change, match):
    with pytest.raises(ModelFormatError, match=match):
        loaded(change(of_lightgbm().model_to_string()))


# --- XGBoost ----------------------------------------------------------------------------------------------------------

OF_XGBOOST = {
    "rank:ndcg": {},
    "complete": {"share": 0.0},
    "categories": {**CODES, "params": {"max_cat_to_onehot": 1}},
    "one category": {**CODES, "params": {"max_cat_to_onehot": 100}},
    "forest": {"params": {"num_parallel_tree": 3, "subsample": 0.5}},
    "squared": {"params": {"objective": "reg:squarederror"}, "feature_names": list("abcdef")},
}


@pytest.mark.parametrize("case", OF_XGBOOST)
def test_scores_are_those_of_xgboost(case, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    booster = of_xgboost(**OF_XGBOOST[case])
    booster.save_model(tmp_path / "model.json")
    ranker = pk.load(tmp_path / "model.json")
    X = HELD_BACK.copy()
    X[:40:8, CATEGORY] = [9, 31, 32, 1e6, -1]
    given = {name: value for name, value in OF_XGBOOST[case].items() if name not in ("params", "share")}
    for rows_ in (X, rows(2, 0.0)):
        own = booster.predict(xgboost.DMatrix(rows_, **given), output_margin=True)
        np.testing.assert_array_equal(ranker.predict(rows_), own)
    assert ranker.feature_names_ == given.get("feature_names")


def test_the_start_of_a_logistic_model_is_that_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    booster = of_xgboost({"objective": "binary:logistic"})
    own = booster.predict(xgboost.DMatrix(HELD_BACK), output_margin=True)
    np.testing.assert_allclose(loaded(booster.save_raw("json")).predict(HELD_BACK), own, atol=1e-6)


def test_the_rounds_up_to_the_best_one_are_used():
    xgboost = pytest.importorskip("xgboost")
    booster = of_xgboost()
    booster.set_attr(best_iteration="2")
    own = booster.predict(xgboost.DMatrix(HELD_BACK), output_margin=True, iteration_range=(0, 3))
    np.testing.assert_array_equal(loaded(booster.save_raw("json")).predict(HELD_BACK), own)
    booster.set_attr(best_iteration="7")
    with pytest.raises(ModelFormatError, match="best iteration is 7, but it has 5 rounds"):
        loaded(booster.save_raw("json"))


def changed_tree(**arrays):
    def change(learner):
        learner["gradient_booster"]["model"]["trees"][0].update(arrays)

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda learner: learner["objective"].update(name="survival:cox"), "objective 'survival:cox' are not"),
        (lambda learner: learner["learner_model_param"].update(num_class="3"), "several scores for a row"),
        (lambda learner: learner["gradient_booster"].update(name="gblinear"), "the booster is 'gblinear'"),
        (lambda learner: learner["learner_model_param"].update(num_feature="2"), "must name one of 2 features"),
        (lambda learner: learner.pop("gradient_booster"), "it lacks 'gradient_booster'"),
        (lambda learner: learner.update(gradient_booster=3), "it is damaged"),
        (changed_tree(left_children=[1, 0, -1], right_children=[2, 0, -1]), "form a cycle, or have several parents"),
        (changed_tree(left_children=[7], right_children=[8]), "a child that does not exist"),
        (changed_tree(left_children=[], right_children=[]), "a tree has no nodes"),
        (changed_tree(split_conditions=[1.0]), "split_conditions of a tree has 1 numbers"),
        (changed_tree(categories_nodes=[99], categories=[1], categories_sizes=[1], categories_segments=[0]), "nodes"),
        (changed_tree(categories_nodes=[0] * 99, categories=[2**24 - 1]), "too many codes"),
    ],
)  # fmt: skip
def test_damaged_models_of_xgboost_are_refused(change, match):
    document = json.loads(of_xgboost(n_rounds=1).save_raw("json"))
    change(document["learner"])
    with pytest.raises(ModelFormatError, match=match):
        loaded(json.dumps(document))


# --- CatBoost ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["oblivious", "max", "nested"])
def test_scores_are_those_of_catboost(case):
    """``max`` sends missing values above all others, and has a scale and a bias."""
    ranker = loaded(json.dumps(CATBOOST[case]["model"]))
    X = np.array(CATBOOST["rows"], dtype=np.float64)
    np.testing.assert_array_equal(ranker.predict(X), CATBOOST[case]["scores"])
    assert ranker.feature_names_ == ["bm25", "age", "clicks", "length"]
    assert ranker.objective_ == ("YetiRank" if case == "oblivious" else "RMSE")
    assert ranker.has_missing_
    pk.export(ranker, "json", check=X)


def test_scores_are_those_of_catboost_where_it_is_installed(tmp_path):
    catboost = pytest.importorskip("catboost")
    X = rows(0)
    model = catboost.CatBoost({"iterations": 5, "logging_level": "Silent", "allow_writing_files": False})
    model.fit(X, labels(X)).save_model(tmp_path / "model.json", format="json")
    np.testing.assert_array_equal(pk.load(tmp_path / "model.json").predict(HELD_BACK), model.predict(HELD_BACK))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda model: model["oblivious_trees"][0]["leaf_values"].pop(), "a tree with 2 splits has 3 leaves"),
        (lambda model: model["oblivious_trees"][0]["splits"][0].update(split_type="OneHotFeature"), "'OneHotFeature'"),
        (lambda model: model["oblivious_trees"][0]["splits"][0].update(float_feature_index=7), "does not have"),
        (lambda model: model["oblivious_trees"][0].update(leaf_weights=[-1, 1, 1, 1]), "each leaf must have one"),
        (lambda model: model["features_info"].update(categorical_features=[{}]), "features that are not numbers"),
        (lambda model: model["features_info"]["float_features"][0].update(flat_feature_index=2**40), "not numbered"),
        (lambda model: model.update(scale_and_bias=[1, [0, 0]]), "2 scores for a row"),
        (lambda model: model.pop("oblivious_trees"), "it lacks 'trees'"),
    ],
)
def test_damaged_models_of_catboost_are_refused(change, match):
    model = json.loads(json.dumps(CATBOOST["oblivious"]["model"]))
    change(model)
    with pytest.raises(ModelFormatError, match=match):
        loaded(json.dumps(model))


# --- RankLib ----------------------------------------------------------------------------------------------------------


def test_ranklib_s_trees_are_added_in_single_precision():
    """Absent and missing values are 0; a value is rounded before it is compared."""
    ranker = loaded(TREES)
    limit = np.float32(0.3)
    X = np.array([[9, 0.3, 0, 0, 0], [0, float(limit) + 1e-12, 0, 0, -0.25], [0, 0.5, 0, 0, 1], [0, 0.5, 0, 0, np.nan]])
    leaves = np.array([-1.5, -1.5, 2.25, 2.25]) * float(np.float32(0.1))
    expected = (np.float32(leaves) + np.float32(0.125 * float(np.float32(0.1)))).astype(np.float32)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert (ranker.tool_, ranker.objective_) == ("RankLib", "LambdaMART")
    assert (ranker.n_features_in_, ranker.first_index_) == (5, 1)
    wide = np.column_stack([X, np.full(4, 7.0)])  # the file does not say how many features there are
    np.testing.assert_array_equal(ranker.predict(wide), expected)
    np.testing.assert_array_equal(ranker.predict(pk.Queries(wide, categories={5: list("abcdefgh")})), expected)
    np.testing.assert_array_equal(ranker.predict(wide.tolist()), expected)
    with pytest.raises(ValueError, match="X has 4 features, but ImportedTrees is expecting 5"):
        ranker.predict(X[:, :4])


def test_a_forest_is_a_mean_of_ensembles():
    forest = TREES.replace("LambdaMART", "Random Forests")
    forest += "<ensemble><tree><split><output> 2 </output></split></tree></ensemble>"
    X = np.zeros((1, 5))
    tree = np.float32(-1.5 * float(np.float32(0.1))) + np.float64(np.float32(0.125 * float(np.float32(0.1))))
    np.testing.assert_allclose(loaded(forest).predict(X), (tree + 2.0) / 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Linear Regression\n## Lambda = 1\n0:0.5 1:2.0 3:-1.0\n", 0.5 + 2.0 * 0.6 - 2.0),
        ("## Coordinate Ascent\n## Restart = 5\n\n1:0.25 2:0.75\n", 0.25 * 0.6 + 0.75 * 0.4),
        ("## AdaRank\n## Iteration = 3\n1:0.5 2:0.25 1:0.5\n", 0.6 + 0.25 * 0.4),
        ("## RankBoost\n## Iteration = 3\n1:0.5:0.25 3:2.0:4.0 2:0.1:1.0\n", 0.25 + 1.0),
    ],
    ids=["regression", "ascent", "adarank", "rankboost"],
)
def test_ranklib_s_lines_of_numbers_are_read(text, expected):
    ranker = loaded(text)
    assert ranker.predict(np.array([[0.6, 0.4, 2.0, 1.0]])) == pytest.approx(expected)
    assert ranker.explain(np.array([[0.6, 0.4, 2.0], [0.1, 0.0, 3.0]]), qid=0).top(0)[0].feature.startswith("feature ")


def test_ranklib_s_thresholds_are_double_in_rankboost_and_single_in_trees():
    ranker = loaded("## RankBoost\n1:0.1:1.0\n")
    single = float(np.float32(0.1))  # above 0.1
    np.testing.assert_array_equal(ranker.predict([[single], [0.1], [np.nextafter(np.float32(0.1), 0)]]), [1, 1, 0])
    head = "<ensemble><tree weight='1'><split><feature>1</feature><threshold>0.1</threshold>"
    sides = "<split pos='left'><output>0.1</output></split><split pos='right'><output>2</output></split>"
    np.testing.assert_array_equal(
        loaded(f"{head}{sides}</split></tree></ensemble>").predict([[single], [0.2]]), [single, 2.0]
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("## RankNet\n## Epochs = 100\n", "a model of RankLib's 'RankNet'; supported are LambdaMART"),
        (TREES[:-30], "not valid XML"),
        (TREES.replace("<feature> 2 </feature>", ""), "an output, or a feature, a threshold and two parts"),
        (TREES.replace("<feature> 2 ", "<feature> 0 "), "numbered from 1; found feature 0"),
        (TREES.replace('pos="right"', 'pos="left"'), "one part with pos='left' and one with pos='right'"),
        (TREES.replace("<ensemble>", "<forest>").replace("</ensemble>", "</forest>"), "<forest> is not expected"),
        ("<ensemble><tree>" + '<split pos="left">' * 20_000, "nested more than 10,000 deep"),
        ("<ensemble></ensemble>", "it has no trees"),
        ("## Coordinate Ascent\n1:2:3\n", "must hold numbers such as 1:0.5"),
        ("## Coordinate Ascent\n999999999:1\n", "at most 16,777,216 are supported"),
    ],
)
def test_other_files_of_ranklib_are_refused(text, match):
    with pytest.raises(ModelFormatError, match=match):
        loaded(text)


# --- All tools --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["lightgbm", "xgboost", "catboost", "ranklib", "linear"])
def content(request):
    return {
        "lightgbm": lambda: of_lightgbm().model_to_string().encode(),
        "xgboost": lambda: bytes(of_xgboost().save_raw("json")),
        "catboost": lambda: json.dumps(CATBOOST["nested"]["model"]).encode(),
        "ranklib": lambda: TREES.encode(),
        "linear": lambda: b"## Coordinate Ascent\n\n1:0.25 2:0.75 4:-1.0\n",
    }[request.param]()


def test_models_are_saved_explained_and_exported(content):
    ranker = loaded(content)
    data = lists(rows(3, 0.3 if ranker.takes_missing else 0.0).astype(np.float32), ranker.n_features_in_)
    scores = ranker.predict(data)
    file = io.BytesIO()
    ranker.save(file)
    np.testing.assert_array_equal(loaded(file.getvalue()).predict(data), scores)
    explained = ranker.explain(data)
    np.testing.assert_allclose(explained.contributions.sum(axis=1), scores - explained.baseline, atol=1e-5)
    for target in ("json", "onnx"):
        pytest.importorskip("onnxruntime" if target == "onnx" else "json")
        pk.export(ranker, target, check=data)
    assert np.isfinite(ranker.score(data))
    with pytest.raises(ValueError, match=r"trained by .* and cannot be fitted"):
        ranker.fit(data)


def test_models_are_compared_without_a_fit(content):
    ranker = loaded(content)
    data = lists(rows(3, 0.0), ranker.n_features_in_)
    found = pk.compare({"old": ranker, "new": pk.LinearRanker(max_iter=5)}, data, cv=4, metrics=["ndcg@5"])
    np.testing.assert_allclose(found.mean()["old"]["ndcg@5"], ranker.score(data, metric="ndcg@5"))
    assert any("old is already trained and is not fitted" in note for note in found.notes)
    assert loaded(content) is not ranker


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"CBM1....", r"a binary model of CatBoost. Save it as JSON"),
        (b"{L\x00\x00", r"a binary \(UBJSON\) model of XGBoost. Save it as JSON"),
        (b"\x80\x05\x95....", "a pickle, which runs code"),
        (b'{"tree_info": []}', "a dump of LightGBM"),
        (b'{"a": 1, "b": 2}', "not of XGBoost .* or CatBoost .*: it has 'a', 'b'"),
        (b'{"learner": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"learner": 1', "not valid JSON"),
        (b'{"learner": "\xff"}', "not UTF-8"),
        (b"tree\n", "this is not a plackett model"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(content, match):
    with pytest.raises(ModelFormatError, match=match):
        loaded(content)


def test_changed_bytes_never_crash(content):
    """Every file is refused with a reason, or is a model whose scores are numbers."""
    rng, X = np.random.default_rng(0), rows(1, 0.0)
    tokens = [b"-1", b"999999999999", b"1e308", b"nan", b"[", b"}", b'"', b"\x00", b"1.5", b"", b"<split>", b"\n"]
    n_refused = 0
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            place, kind = int(rng.integers(len(changed))), rng.integers(4)
            if kind == 0 and place:
                del changed[place:]
            elif kind == 1:
                changed[place] ^= 1 << int(rng.integers(8))
            elif kind == 2:
                changed[place : place + int(rng.integers(3))] = tokens[rng.integers(len(tokens))]
            else:
                del changed[place : place + int(rng.integers(1, 40))]
            if not changed:
                break
        try:
            ranker = loaded(bytes(changed))
        except ModelFormatError:
            n_refused += 1
            continue
        if ranker.n_features_in_ <= X.shape[1]:
            assert np.isfinite(ranker.predict(X[:, : ranker.n_features_in_])).all()
    assert n_refused > 10
