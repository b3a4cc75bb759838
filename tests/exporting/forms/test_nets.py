"""Exported nets: computed anew by onnxruntime, and by loops written from the formula in the JSON file."""

import json
import math

import numpy as np
import pytest
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, QuantileTransformer, RobustScaler

import plackett as pk
from plackett.exporting.targets import build
from plackett.scorers.net_shape import ACTIVATIONS

pytest.importorskip("torch", reason="nets need PyTorch: pip install 'plackett[neural]'")

DATA = pk.datasets.make_web_like(30, n_features=4, random_state=0)
NAMES = ["bm25", "page rank", "age", "größe"]


def fitted(**params):
    return pk.NeuralRanker(**{"hidden": (6, 5), "n_epochs": 3, "random_state": 0, **params}).fit(DATA)


def by_onnxruntime(content, rows, dtype=np.float32):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["scores"], {"features": np.asarray(rows, dtype=dtype)})[0]


LITERAL = {
    "relu": lambda z: max(z, 0.0),
    "gelu": lambda z: z / 2 * (1 + math.erf(z / math.sqrt(2))),
    "silu": lambda z: z / (1 + math.exp(-z)),
    "tanh": math.tanh,
}


def by_hand(content, rows):
    """What somebody would program who reads the file."""
    model = json.loads(content)
    act, scores = LITERAL[model["activation"]], []
    for row in rows.tolist():
        x = [(value - of["offset"]) / of["scale"] for value, of in zip(row, model["features"], strict=True)]
        for place, layer in enumerate(model["layers"]):
            z = [
                sum(w * v for w, v in zip(weights, x, strict=True)) + bias
                for weights, bias in zip(layer["weight"], layer["bias"], strict=True)
            ]
            x = z if place == len(model["layers"]) - 1 else [act(number) for number in z]
        scores.append(x[0])
    return np.array(scores)


@pytest.mark.parametrize(
    "params",
    [
        *({"activation": activation} for activation in ACTIVATIONS),
        {"hidden": (), "loss": "squared"},
        {"normalize": None, "precision": "float64"},
        {"normalize": "minmax", "loss": "squared"},
        {"normalize": RobustScaler()},
        {"normalize": MaxAbsScaler()},
        {"normalize": MinMaxScaler(feature_range=(-1, 3))},
    ],
    ids=str,
)
def test_scores_are_those_of_the_ranker(params, tmp_path):
    pytest.importorskip("onnx")
    ranker = fitted(**params)
    ours = ranker.predict(DATA.X)
    near = {"rtol": 0.0, "atol": 1e-5 * np.ptp(ours)}
    text = pk.export(ranker, "json", feature_names=NAMES, check=DATA)
    np.testing.assert_allclose(by_hand(text, DATA.X[:50]), ours[:50], **near)
    content = pk.export(ranker, "onnx", feature_names=NAMES, check=DATA)
    np.testing.assert_allclose(by_onnxruntime(content, DATA.X), ours, **near)
    for n_rows in (0, 1):
        assert by_onnxruntime(content, DATA.X[:n_rows]).shape == (n_rows,)
    ranker.save(tmp_path / "net.plackett")
    loaded = pk.load(tmp_path / "net.plackett").set_params(activation="tanh", attention=1, normalize=None)
    assert pk.export(loaded, "onnx", feature_names=NAMES) == content
    assert pk.export(loaded, "json", feature_names=NAMES) == text


def test_onnx_in_double_precision_has_the_digits_of_a_net_that_was_fitted_in_it():
    pytest.importorskip("onnx")
    X = DATA.X.astype(float)
    for activation in ACTIVATIONS:
        ranker = fitted(precision="float64", activation=activation)
        if activation == "gelu":
            with pytest.raises(ValueError, match=r"dtype='float64' has no gelu.*Use dtype='float32', or export to j"):
                pk.export(ranker, "onnx", dtype="float64")
            continue
        found = by_onnxruntime(pk.export(ranker, "onnx", dtype="float64", check=X), X, np.float64)
        np.testing.assert_allclose(found, ranker.predict(X), rtol=0, atol=1e-12)


def test_names_and_formula_stand_in_the_file():
    ranker = fitted()
    model = json.loads(pk.export(ranker, "json", feature_names=NAMES, name="mine"))
    assert (model["format"], model["version"], model["name"]) == ("plackett net", 1, "mine")
    assert [feature["name"] for feature in model["features"]] == NAMES
    np.testing.assert_allclose([feature["offset"] for feature in model["features"]], DATA.X.mean(axis=0), rtol=1e-5)
    assert model["activation_formula"] == "relu(z) = max(z, 0)"
    assert [np.shape(layer["weight"]) for layer in model["layers"]] == [(6, 4), (5, 6), (1, 5)]
    with pytest.raises(ValueError, match="3 feature names but the model has 4 features"):
        pk.export(ranker, "json", feature_names=NAMES[:3])


@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (
            {"attention": 1, "heads": 1},
            "with attention=1 cannot be exported: .*other documents of its list",
        ),
        ({"normalize": "query-zscore"}, "NeuralRanker with normalize='query-zscore' cannot.*scaled within each query"),
        ({"normalize": QuantileTransformer()}, "QuantileTransformer.*cannot be exported: it does more than shift"),
        ({"normalize": MinMaxScaler(clip=True)}, "MinMaxScaler.*cannot be exported: it clips"),
    ],
    ids=str,
)
def test_scores_that_depend_on_more_are_refused_with_the_reason(params, reason):
    ranker = fitted(n_epochs=1, **params)
    for target in ("onnx", "json", "solr"):
        with pytest.raises(ValueError, match=reason):
            pk.export(ranker, target)


@pytest.mark.parametrize("target", ["elasticsearch", "opensearch", "solr", "elastic-ltr", "vespa", "ranklib"])
def test_engines_have_no_form_for_nets(target):
    with pytest.raises(ValueError, match=f"cannot be exported to {target}, which has no format for nets"):
        pk.export(fitted(n_epochs=1), target, feature_names=NAMES)


def test_numbers_that_float32_cannot_hold_are_refused():
    pytest.importorskip("onnx")
    ranker = fitted(precision="float64", n_epochs=1)
    ranker.weights_["hidden1.weight"][2, 3] = -1e39
    with pytest.raises(ValueError, match=r"has a weight of absolute value 1e\+39, which float32 cannot hold"):
        pk.export(ranker, "onnx")
    pk.export(ranker, "onnx", dtype="float64")
    X = DATA.X.astype(float) * [1.0, 1e-60, 1.0, 1.0]
    small = pk.NeuralRanker(hidden=3, n_epochs=1, random_state=0).fit(X, DATA.y, qid=DATA.qid)
    with pytest.raises(ValueError, match=r"column 1 has a scale of .*or export to json or onnx with dtype='float64'"):
        pk.export(small, "onnx")
    pk.export(small, "json", check=X)


def test_a_check_that_fails_says_what_to_do():
    pytest.importorskip("onnxruntime")
    X = DATA.X.astype(float)
    X[:, 2] = 1.6e9 + np.arange(X.shape[0])  # seconds, of which float32 keeps every 128th
    ranker = pk.NeuralRanker(hidden=3, n_epochs=2, random_state=0).fit(X, DATA.y, qid=DATA.qid)
    with pytest.raises(ValueError, match=r"onnx would score row .*check with float32 rows"):
        pk.export(ranker, "onnx", feature_names=NAMES, check=X)
    assert build(ranker, "json", check=X).parity.relative < 1e-5


def test_a_net_that_changes_the_scores_of_its_parent_is_refused():
    class Mine(pk.NeuralRanker):
        def _predict_grouped(self, queries):
            return -super()._predict_grouped(queries)

    with pytest.raises(ValueError, match=r"Mine cannot be exported.* not known to be those of a NeuralRanker"):
        pk.export(Mine(hidden=2, n_epochs=1).fit(DATA), "json")
