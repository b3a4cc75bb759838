"""Model files hold only what plackett checks itself: forged ones are refused, small ones take little memory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.random_projection import SparseRandomProjection

import plackett as pk
from plackett.exceptions import ModelFormatError
from plackett.storage.models import describe
from tests.fuzz import of_model, of_transformer
from tests.fuzz.runner import REPOSITORY
from tests.storage.containers import array_in, parts_of, signed, with_array

pytestmark = pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning", "ignore:n_quantiles")
X, Y, QID = of_transformer.X, of_transformer.Y, of_transformer.QID


def fitted(normalize):
    return pk.ranker("regression", normalize=normalize).fit(X, Y, qid=QID)


def forged(content, change):
    """A model file after ``change(header, arrays)``."""
    directory, body = parts_of(content)
    arrays = {name: array_in(directory, body, name) for name in directory["arrays"]}
    change(directory["header"], arrays)
    directory, body = directory | {"arrays": {}}, body[:64]
    for name, array in arrays.items():
        directory, body = with_array(directory, body, name, array)
    return signed(directory, body)


def assert_refused(content, message):
    with pytest.raises(ModelFormatError, match=message):
        pk.load(io.BytesIO(content))


# --- Transformers and weak learners -----------------------------------------------------------------------------------


def test_every_transformer_and_weak_learner_that_is_kept_comes_back_and_scores_the_same():
    for model in of_transformer.fitted():
        back = pk.load(io.BytesIO(of_model.as_bytes(model)))
        np.testing.assert_array_equal(back.predict(X, qid=QID), model.predict(X, qid=QID), err_msg=repr(model))
        assert repr(back) == repr(model)
        if hasattr(model, "normalizer_"):
            np.testing.assert_array_equal(_dense(back.normalizer_.transform(X)), _dense(model.normalizer_.transform(X)))


def _dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize(
    "transformer",
    [
        PCA(2),
        SparseRandomProjection(2, random_state=0),
        KNeighborsTransformer(n_neighbors=2),
        OneHotEncoder(max_categories=2),
        type("Own", (StandardScaler,), {"__module__": "sklearn.preprocessing._data"})(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_other_transformer_is_refused_at_save_with_the_reason_and_the_way_out(transformer, tmp_path):
    model = fitted(transformer)
    with pytest.raises(
        ValueError, match=r"which a model file cannot hold \(.*\)\. Transform the data with it before fit"
    ):
        model.save(tmp_path / "m.plackett")
    assert not list(tmp_path.iterdir())


def as_transformer(class_name, **state):
    """Puts another fitted transformer of scikit-learn in the place of the one of a model."""

    def change(header, arrays):
        nodes = {}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                array = str(100 + len(arrays))
                arrays[array] = value
                value = {"type": "array", "name": array}
            nodes[name] = value
        old = header["state"]["normalizer_"]
        for node in old["state"].values():
            if isinstance(node, dict) and "name" in node:
                arrays.pop(node["name"])
        header["state"]["normalizer_"] = {"type": "sklearn", "class": class_name, "params": {}, "state": nodes}

    return change


def test_the_three_files_that_crashed_predict_are_refused():
    scaled = of_model.as_bytes(fitted(StandardScaler()))
    projection = as_transformer("SparseRandomProjection", components_=np.full(4, 2**30), n_features_in_=4)
    assert_refused(
        forged(scaled, projection), "'SparseRandomProjection' is not an estimator of scikit-learn that models can hold"
    )
    neighbours = as_transformer("KNeighborsTransformer", _fit_X=np.zeros((18, 0)), n_features_in_=4)
    assert_refused(
        forged(scaled, neighbours), "'KNeighborsTransformer' is not an estimator of scikit-learn that models can hold"
    )
    encoded = of_model.as_bytes(fitted(OneHotEncoder()))

    def widths(header, arrays):
        state = header["state"]["normalizer_"]["state"]
        state["_n_features_outs"] = [2**28, 2**28, 6 - 2**29]

    assert_refused(forged(encoded, widths), "a OneHotEncoder must hold categories_, n_features_in_")


FORGED = {
    "a scaler that lost columns": (StandardScaler(), "mean_", lambda array: array[:-1], "mean_ has shape"),
    "a scale of nothing": (StandardScaler(), "scale_", lambda array: 0 * array, "scale_ must be above 0"),
    "a mean that is no number": (StandardScaler(), "mean_", lambda array: array * np.nan, "mean_ must be finite"),
    "a mean of other numbers": (StandardScaler(), "mean_", lambda array: array.astype(">f8"), "array of numbers"),
    "quantiles that fall": (
        QuantileTransformer(n_quantiles=5), "quantiles_", lambda array: array[::-1].copy(),
        "quantiles_ must not decrease",
    ),
    "references beyond 1": (
        QuantileTransformer(n_quantiles=5), "references_", lambda array: 2 * array, "references_ must be .* at most 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("transformer", "name", "forge", "message"), FORGED.values(), ids=FORGED.keys())
def test_arrays_of_a_transformer_are_checked_when_it_is_loaded(transformer, name, forge, message):
    model = fitted(transformer)

    def change(header, arrays):
        member = header["state"]["normalizer_"]["state"][name]["name"]
        arrays[member] = forge(getattr(model.normalizer_, name))

    assert_refused(forged(of_model.as_bytes(model), change), message)


def test_categories_must_rise_and_parameters_must_be_those_of_the_class():
    content = of_model.as_bytes(fitted(OneHotEncoder()))

    def node(header):
        return header["state"]["normalizer_"]

    def fall(header, arrays):
        arrays[node(header)["state"]["categories_"][0]["name"]] = np.array([3.0, 2.0])

    assert_refused(forged(content, fall), r"categories_\[0\] must be strictly increasing")
    changes = {
        "has no parameter 'power'": {"power": 3},
        "handle_unknown": {"handle_unknown": "whatever"},
        "only with max_categories=None": {"max_categories": 3},
        "normalizer_ is not valid": {"dtype": 2**32},
    }
    for message, params in changes.items():
        assert_refused(forged(content, lambda header, _, params=params: node(header)["params"].update(params)), message)
    assert_refused(
        forged(content, lambda header, _: node(header).update({"class": "PCA"})), "'PCA' is not an estimator"
    )
    assert_refused(
        forged(content, lambda header, _: node(header).update({"class": "Pipeline"})), "no parameter|the steps of"
    )


def test_a_matrix_that_ends_with_a_negative_number_is_refused():
    content = of_model.as_bytes(pk.PersonalityDiagnosis().fit(of_model.RATINGS))

    def overrun(header, arrays):
        bounds = np.array([0, 10**9, 10**9, 10**9, 10**9, -(2**31)], dtype=np.int32)
        arrays[header["state"]["matrix_"]["indptr"]] = bounds

    assert_refused(forged(content, overrun), "matrix_ is not valid|damaged sparse matrix")


CHANGED = {
    "an unknown loss": (lambda header: header["params"].update(loss="median"), "loss='median' is not known"),
    "no word on ids": (lambda header: header["state"].pop("has_ids_"), "has_ids_"),
    "no names": (lambda header: header["state"].pop("feature_names_"), "feature_names_"),
    "other columns": (lambda header: header["state"]["source_"]["params"].update(n_columns=9), "number of columns"),
    "other weights": (
        lambda header: header["state"]["query_weights_"]["params"].update(bandwidth=None),
        "bandwidth",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGED.values(), ids=CHANGED.keys())
def test_a_query_dependent_ranker_that_no_fit_leaves_behind_is_refused(change, message):
    model = next(one for one in of_model.fitted() if isinstance(one, pk.QueryDependentRanker))
    assert_refused(forged(of_model.as_bytes(model), lambda header, _: change(header)), message)


class OneVote(BaseEstimator, ClassifierMixin):
    """A user's classifier that answers for one row only."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.ones(1)


def test_a_classifier_that_answers_for_fewer_rows_is_refused_before_a_kernel_sees_it():
    refiner = pk.MultiplicativeRefiner(n_rounds=2, estimator=OneVote())
    with pytest.raises(ValueError, match=r"estimator=OneVote predicted an array of shape \(1,\) for 6 rows"):
        refiner.fit(X, Y, qid=QID, base_score=X[:, 0])


def test_a_range_of_one_number_is_refused():
    content = of_model.as_bytes(fitted(MinMaxScaler(clip=True)))

    def change(header, arrays):
        header["state"]["normalizer_"]["params"]["feature_range"] = {"type": "tuple", "values": [0]}

    assert_refused(forged(content, change), "normalizer_ is not valid")


def test_a_model_whose_transformer_makes_other_columns_is_refused():
    encoded = fitted(OneHotEncoder())
    encoded.coef_ = encoded.coef_[:-1]
    assert_refused(of_model.as_bytes(encoded), "coef_ must have 12 numbers")


# --- Small files, gigabytes -------------------------------------------------------------------------------------------


def peak_of(call):
    """The most memory that Python and numpy asked for at once, in MB."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError):
            call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_small_files_that_declare_much_take_little_memory():
    content = of_model.as_bytes(fitted(None))

    def objects(header, arrays):
        header["state"]["x_"] = {"type": "objects", "shape": [3 * 10**8, 0], "values": []}

    def array(header, arrays):
        header["state"]["x_"] = {"type": "array", "name": "9"}
        arrays["9"] = np.empty((6_000_000_000, 0))

    def lists(header, arrays):
        header["state"]["x_"] = [[]] * 3_000_000

    for change in (objects, array, lists):
        file = forged(content, change)
        for read in (pk.load, describe):
            assert peak_of(lambda read=read, file=file: read(io.BytesIO(file))) < 50 + 10 * len(file) / 1e6


# --- The same bytes ---------------------------------------------------------------------------------------------------


def test_the_same_fit_gives_the_same_bytes_in_another_process_and_skops_is_not_needed():
    code = """
import hashlib, sys
from tests.fuzz import of_model, of_transformer
for kind in (of_model, of_transformer):
    for content in kind.seeds():
        print(hashlib.sha256(content).hexdigest())
assert "skops" not in sys.modules
"""
    models = [*of_model.fitted(), *of_transformer.fitted()]
    paths = os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)])
    digests = []
    for seed, n_threads in (("7", "1"), ("8", "2")):
        settings = {"PYTHONPATH": paths, "PYTHONHASHSEED": seed, "PLACKETT_NUM_THREADS": n_threads}
        run = {"env": {**os.environ, **settings}, "capture_output": True, "text": True, "check": True}
        digests.append(subprocess.run([sys.executable, "-c", code], **run).stdout.split())
    assert len(digests[0]) == len(digests[1]) == len(models) > 40
    for model, one, other in zip(models, *digests, strict=True):
        assert one == other, repr(model)
