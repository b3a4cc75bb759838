"""Exported models score as their rankers do, by formulas written anew; and what cannot be exported is refused."""

import json
import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import plackett as pk
from plackett.exceptions import DataWarning
from plackett.exporting.forms import LinearForm, form_of
from plackett.exporting.targets import OPTIONS, build
from plackett.exporting.targets import TARGETS as ALL_TARGETS
from plackett.rankers.boosting.feature_rank import BLFeatureRank
from tests.exporting import formulas

NAMES = ['title "bm25"', "größe ✓", "body\\tf", "page rank", "a,b", "{x}"]
TARGETS = ALL_TARGETS[LinearForm]
WITH_ANY_NAMES = [target for target in TARGETS if target != "vespa"]  # whose names are rank features: test_vespa.py
TEXTS = [target for target in WITH_ANY_NAMES if target != "onnx"]


@pytest.fixture(scope="module")
def lists():
    return pk.datasets.make_web_like(12, 10, 6, random_state=0)


def as_the_target_computes(target, content, rows, names=NAMES):
    if target == "onnx":
        return of_onnxruntime(content, rows)
    of_row = {
        "elasticsearch": lambda row: formulas.of_elasticsearch(content, names, row),
        "opensearch": lambda row: formulas.of_elasticsearch(content, names, row),
        "solr": lambda row: formulas.of_solr(content, names, row),
        "ranklib": lambda row: formulas.of_ranklib(content, row),
        "json": lambda row: formulas.of_json(content, row),
    }[target]
    return np.array([of_row(row) for row in np.asarray(rows, dtype=float).tolist()])


def of_onnxruntime(content, rows):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    dtype = {"tensor(float)": np.float32, "tensor(double)": np.float64}[entry.type]
    return session.run(["scores"], {"features": np.asarray(rows, dtype=dtype)})[0]


def assert_scores_agree(target, content, ranker, rows, names=NAMES):
    ours = ranker.predict(rows)
    np.testing.assert_allclose(
        as_the_target_computes(target, content, rows, names), ours, rtol=0, atol=1e-5 * np.ptp(ours)
    )


def exported(ranker, target, **kwargs):
    if target == "onnx":
        pytest.importorskip("onnx")
    return pk.export(ranker, target, **kwargs)


RANKERS = {
    "listmle": pk.LinearRanker("listmle"),
    "with an intercept": pk.LinearRanker("squared"),
    "minmax": pk.LinearRanker("listmle", normalize="minmax"),
    "minmax with an intercept": pk.LinearRanker("squared", normalize="minmax"),
    "zscore": pk.LinearRanker("logistic", normalize="zscore"),
    "zscore with an intercept": pk.LinearRanker("squared", normalize="zscore"),
    "adarank": pk.AdaRank("ndcg@5", n_rounds=10, normalize="minmax"),
    "prank": pk.PRank(random_state=0, normalize="zscore"),
    "svm-map": pk.SVMMap(C=1.0),
    "another range": pk.LinearRanker(normalize=MinMaxScaler(feature_range=(-1, 3))),
    "not centred": pk.LinearRanker("squared", normalize=StandardScaler(with_mean=False)),
    "not stretched": pk.LinearRanker("squared", normalize=StandardScaler(with_std=False)),
    "robust": pk.LinearRanker(normalize=RobustScaler()),
    "robust, not centred": pk.LinearRanker(normalize=RobustScaler(with_centering=False)),
    "largest size": pk.LinearRanker(normalize=MaxAbsScaler()),
}


@pytest.fixture(scope="module", params=RANKERS, ids=lambda name: name.replace(" ", "-"))
def ranker(request, lists):
    return RANKERS[request.param].fit(lists)


@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_scores_are_those_of_the_ranker(target, ranker, lists):
    content = exported(ranker, target, feature_names=NAMES, check=lists)
    assert_scores_agree(target, content, ranker, lists.X)


@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_a_model_from_a_file_is_exported_as_it_was(target, ranker, lists, tmp_path):
    ranker.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    content = exported(loaded, target, feature_names=NAMES)
    assert content == exported(ranker, target, feature_names=NAMES)


def test_the_constant_goes_where_the_target_has_no_place_for_it(lists):
    ranker = pk.LinearRanker("squared").fit(lists)
    assert abs(ranker.intercept_) > 0.1
    norms = json.loads(pk.export(ranker, "elasticsearch", feature_names=NAMES))["model"]["model"]["feature_normalizers"]
    strongest = int(np.argmax(abs(ranker.coef_)))
    mean = -ranker.intercept_ / ranker.coef_[strongest]
    assert norms == {NAMES[strongest]: {"standard": {"mean": pytest.approx(mean), "standard_deviation": 1.0}}}
    norms = [feature.get("norm") for feature in json.loads(pk.export(ranker, "solr", feature_names=NAMES))["features"]]
    assert [place for place, norm in enumerate(norms) if norm is not None] == [strongest]


def test_scales_stand_in_the_file_as_they_were_learned(lists):
    ranker = pk.LinearRanker(normalize="minmax").fit(lists)
    model = json.loads(pk.export(ranker, "opensearch", feature_names=NAMES))["model"]["model"]
    low, high = lists.X.min(axis=0), lists.X.max(axis=0)
    for place, name in enumerate(NAMES):
        if (low[place], high[place]) == (0.0, 1.0):
            assert name not in model["feature_normalizers"]
        else:
            ends = model["feature_normalizers"][name]["min_max"]
            assert ends == {"minimum": pytest.approx(float(low[place])), "maximum": pytest.approx(float(high[place]))}
        assert model["definition"][name] == ranker.coef_[place]
    features = json.loads(pk.export(ranker, "json", feature_names=NAMES))["features"]
    assert [feature["name"] for feature in features] == NAMES
    np.testing.assert_allclose([feature["offset"] for feature in features], low, rtol=1e-7)


@pytest.mark.parametrize("normalize", ["minmax", "zscore"])
@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_constant_columns_do_no_harm(target, normalize, lists):
    X = np.array(lists.X, dtype=float)
    X[:, 1], X[:, 4] = 7.0, 3e9  # which float32 cannot tell from 3e9 + 1
    ranker = pk.LinearRanker("squared", normalize=normalize).fit(X, lists.y, qid=lists.qid)
    assert_scores_agree(target, exported(ranker, target, feature_names=NAMES, check=X), ranker, X)


@pytest.mark.parametrize("normalize", ["minmax", "zscore"])
@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_columns_of_very_different_scales(target, normalize, lists):
    X = np.array(lists.X, dtype=float) * [1e-30, 1e30, 1.0, 1e-6, 1e6, 1e-3]
    ranker = pk.LinearRanker("squared", normalize=normalize).fit(X, lists.y, qid=lists.qid)
    assert_scores_agree(target, exported(ranker, target, feature_names=NAMES, check=X), ranker, X)


@pytest.mark.parametrize("normalize", ["minmax", "zscore"])
@pytest.mark.parametrize("target", ["elasticsearch", "solr"])
def test_a_column_below_zero_far_from_it_and_narrow(target, normalize, lists):
    """float32 cannot divide by the difference of its ends, and the plugin refuses a maximum that comes first."""
    X = np.array(lists.X, dtype=float)
    X[:, 0] = -2000.0 + np.arange(X.shape[0]) % 3 / 4
    ranker = pk.LinearRanker("squared", normalize=normalize).fit(X, lists.y, qid=lists.qid)
    content = pk.export(ranker, target, feature_names=NAMES)
    ours = ranker.predict(X)
    assert np.ptp(as_the_target_computes(target, content, X) - ours) < 1e-4 * np.ptp(ours)


@settings(max_examples=60, deadline=None)
@example([(1.175494351e-38, 0.0, 0.5)], 4.0, "standard", "elasticsearch")  # the offset over the scale overflowed
@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=6),
    st.floats(-1e3, 1e3),
    st.sampled_from(["standard", "minmax", "none"]),
    st.sampled_from(TEXTS),
)
def test_any_linear_form_is_written_so_that_it_is_computed_again(columns, intercept, scaling, target):
    weights, offset, scale = (np.array(part) for part in zip(*columns, strict=True))
    if scaling == "none":
        offset, scale = np.zeros_like(offset), np.ones_like(scale)
    if not weights.any():
        intercept = 0.0
    names = [f"f{place}" for place in range(weights.size)]
    form = LinearForm(
        weights=weights, intercept=intercept, offset=offset, scale=scale, names=names, scaling=scaling, ranker="any"
    )
    options = {"name": "m", "store": None}
    try:
        content = TARGETS[target].write(form, **{key: options[key] for key in OPTIONS[target]})
    except ValueError as error:
        if "float32 cannot hold" not in str(error):  # an intercept that needs an offset of 1e40, and the like
            raise
        return
    rows = offset + scale * np.random.default_rng(0).normal(size=(5, weights.size)).astype(np.float32)
    rows = rows.astype(np.float32).astype(float)
    exact = [
        intercept + sum(w * (x - o) / s for w, x, o, s in zip(weights, row, offset, scale, strict=True)) for row in rows
    ]
    size = abs(intercept) + np.abs(weights * (np.abs(rows) + np.abs(offset)) / scale).sum(axis=1)
    np.testing.assert_array_less(
        np.abs(as_the_target_computes(target, content, rows, names) - exact), 1e-5 * size + 1e-30
    )


def test_onnx_takes_any_number_of_rows_and_both_precisions(lists):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    ranker = pk.LinearRanker("squared", normalize="zscore").fit(lists)
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-12)):
        content = pk.export(ranker, "onnx", dtype=dtype, name="mine", feature_names=NAMES, check=lists)
        assert isinstance(content, bytes)
        ours = ranker.predict(np.array(lists.X, dtype=float))
        np.testing.assert_allclose(of_onnxruntime(content, lists.X), ours, atol=tolerance * np.ptp(ours), rtol=0)
        for n_rows in (0, 1, 3):
            assert of_onnxruntime(content, lists.X[:n_rows]).shape == (n_rows,)
        model = onnx.load_from_string(content)
        assert model.graph.name == "mine"
        about = {entry.key: entry.value for entry in model.metadata_props}
        assert json.loads(about["feature_names"]) == NAMES


def test_onnx_says_what_to_install(lists, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"plackett\[onnx\]"):
        pk.export(pk.LinearRanker().fit(lists), "onnx")


def test_sparse_rows_and_data_frames_check_as_well(lists):
    from scipy.sparse import csr_matrix

    pd = pytest.importorskip("pandas")
    X = csr_matrix(lists.X)
    ranker = pk.LinearRanker("squared", normalize=MaxAbsScaler()).fit(X, lists.y, qid=lists.qid)
    assert build(ranker, "solr", feature_names=NAMES, check=X).parity.relative < 1e-6
    frame = pd.DataFrame(np.asarray(lists.X), columns=NAMES)
    ranker = pk.LinearRanker("squared", normalize="zscore").fit(frame, lists.y, qid=lists.qid)
    found = build(ranker, "solr", check=frame)  # names are those of the frame
    assert found.parity.n_rows == lists.n_docs
    assert list(json.loads(found.content)["params"]["weights"]) == NAMES


def test_many_rows_are_checked_in_blocks(lists, monkeypatch):
    from plackett.exporting import parity

    ranker = pk.LinearRanker("squared").fit(lists)
    at_once = build(ranker, "elasticsearch", feature_names=NAMES, check=lists).parity
    monkeypatch.setattr(parity, "ROWS_PER_BLOCK", 7)
    assert build(ranker, "elasticsearch", feature_names=NAMES, check=lists).parity == at_once
    assert at_once.difference > 0.0
    assert str(at_once).startswith(f"checked on {lists.n_docs} rows: scores differ by at most ")


def test_one_row_is_compared_by_the_size_of_its_score(lists):
    ranker = pk.LinearRanker("squared").fit(lists)
    found = build(ranker, "ranklib", check=lists.X[:1]).parity
    assert found.spread == pytest.approx(abs(ranker.predict(lists.X[:1])[0]))


def test_a_check_that_fails_is_an_error_and_writes_nothing(lists, tmp_path):
    X = np.array(lists.X, dtype=float)
    X[:, 2] = 1.6e9 + np.arange(X.shape[0])  # seconds, of which float32 keeps every 128th
    ranker = pk.LinearRanker("squared", normalize="zscore").fit(X, lists.y, qid=lists.qid)
    path = tmp_path / "model.json"
    path.write_text("before")
    with pytest.raises(ValueError, match=r"above 1e-05.*float32.*Nothing was written"):
        pk.export(ranker, "solr", path, feature_names=NAMES, check=X)
    assert path.read_text(encoding="utf-8") == "before"
    assert os.listdir(tmp_path) == ["model.json"]
    pk.export(ranker, "json", path, feature_names=NAMES, check=X)  # which keeps all digits
    assert json.loads(path.read_text(encoding="utf-8"))["ranker"] == "LinearRanker"


def test_the_check_finds_a_model_that_was_written_wrongly(lists, monkeypatch):
    from dataclasses import replace

    ranker = pk.LinearRanker("squared", normalize="zscore").fit(lists)
    for target in TEXTS:
        right = TARGETS[target]

        def wrong(form, right=right, **options):
            weights = form.weights.copy()
            weights[0] *= 1.001
            return right.write(replace(form, weights=weights), **options)

        monkeypatch.setitem(TARGETS, target, replace(right, write=wrong))
        with pytest.raises(ValueError, match=f"{target} would score row"):
            pk.export(ranker, target, feature_names=NAMES, check=lists)


def test_rows_with_nan_are_no_check(lists):
    X = np.array(lists.X, dtype=float)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="X has a NaN in row 3, column 2"):
        pk.export(pk.LinearRanker().fit(lists), "json", check=X)


def test_rows_beyond_float32_are_told(lists):
    X = np.array(lists.X, dtype=float)
    ranker = pk.LinearRanker("squared").fit(lists)
    X[5, 0] = 1e39
    with pytest.raises(ValueError, match="would score row 5"):
        pk.export(ranker, "solr", feature_names=NAMES, check=X)


@pytest.mark.parametrize("target", ["elasticsearch", "solr", "onnx"])
def test_numbers_that_float32_cannot_hold_are_refused(target, lists):
    X = np.array(lists.X, dtype=float)
    X[:, 3] *= 1e-60
    zscore = pk.LinearRanker(normalize="zscore").fit(X, lists.y, qid=lists.qid)
    bare = pk.LinearRanker().fit(lists)
    bare.coef_ = bare.coef_ * 1e-45
    huge = pk.LinearRanker().fit(lists)
    huge.coef_[2] = 1e39
    for ranker, what in ((zscore, "a scale of"), (bare, "a weight of"), (huge, r"'body.*' has a weight of 1e\+39")):
        with pytest.raises(ValueError, match=f"{what}.*float32 cannot hold"):
            exported(ranker, target, feature_names=NAMES)
        assert_scores_agree("json", pk.export(ranker, "json"), ranker, X)
    if target == "onnx":
        content = exported(zscore, "onnx", dtype="float64")
        assert_scores_agree("onnx", content, zscore, X)


def test_a_constant_that_no_offset_can_hold_is_refused(lists):
    ranker = pk.LinearRanker("squared").fit(lists)
    ranker.coef_, ranker.intercept_ = np.full(6, 1e-307), 100.0
    for target in ("elasticsearch", "solr"):
        with pytest.raises(ValueError, match="which float32 cannot hold"):
            pk.export(ranker, target, feature_names=NAMES)


def test_all_weights_zero(lists):
    ranker = pk.LinearRanker("squared").fit(lists)
    ranker.coef_ = np.zeros(6)
    with pytest.raises(ValueError, match="every weight of this LinearRanker is 0"):
        pk.export(ranker, "solr", feature_names=NAMES)
    ranker.intercept_ = 0.0
    for target in WITH_ANY_NAMES:
        content = exported(ranker, target, feature_names=NAMES, check=lists)
        assert not as_the_target_computes(target, content, lists.X).any()


REFUSED = {
    "kernel": (pk.KernelRanker(), "kernel values"),
    "featurerank": (pk.FeatureRank(), "orders a list as a whole"),
    "bl-featurerank": (BLFeatureRank(), "orders a list as a whole"),
    "diffrank": (pk.DiffRank(), "depend on the other documents"),
    "query-zscore": (pk.LinearRanker(normalize="query-zscore"), "'query-zscore' cannot be exported.*within each query"),
    "query-minmax": (pk.AdaRank(n_rounds=2, normalize="query-minmax"), "AdaRank with normalize='query-minmax'"),
    "quantile": (pk.LinearRanker(normalize="quantile"), "more than shift and scale"),
    "clipped": (pk.LinearRanker(normalize=MinMaxScaler(clip=True)), "MinMaxScaler.*it clips"),
}


@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize("target", ["elasticsearch", "json"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_linear_is_refused_with_the_reason(name, target, lists):
    ranker, reason = REFUSED[name]
    with pytest.raises(ValueError, match=f"cannot be exported.*{reason}|{reason}"):
        pk.export(ranker.fit(lists), target, feature_names=NAMES)


@pytest.mark.parametrize(
    ("ranker", "reason"),
    [
        (pk.ranker("qsvm"), "a model for each query"),
        (pk.MultiplicativeRefiner(), "only refines the lists that it was fitted to"),
        (pk.LinearRefiner(), "only refines the lists that it was fitted to"),
        (pk.RocchioRefiner(), "only refines the lists that it was fitted to"),
        (pk.PersonalityDiagnosis(), "by the ratings of others"),
        (make_pipeline(StandardScaler(), pk.LinearRanker()), "use its normalize="),
        (StandardScaler(), "not one of the linear rankers"),
        (pk.LinearRanker, "not the class LinearRanker"),
    ],
    ids=lambda value: getattr(type(value), "__name__", "") if not isinstance(value, str) else "",
)
def test_what_is_no_linear_ranker_is_refused(ranker, reason):
    with pytest.raises(ValueError, match=reason):
        pk.export(ranker, "json")


def test_a_ranker_that_changes_the_scores_of_its_parent_is_refused(lists):
    class Mine(pk.LinearRanker):
        def _predict_grouped(self, queries):
            return super()._predict_grouped(queries) ** 3

    with pytest.raises(ValueError, match=r"Mine cannot be exported.* those of a LinearRanker"):
        pk.export(Mine().fit(lists), "json")


def test_a_ranker_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        pk.export(pk.LinearRanker(), "json")


def test_columns_of_a_file_without_names_are_numbered_as_in_the_file(lists):
    of_file = pk.Queries(lists.X, lists.y, lists.qid, first_index=1)
    ranker = pk.LinearRanker().fit(of_file)
    with pytest.warns(DataWarning, match="solr has to find them as feature1 to feature6. .*--features"):
        model = json.loads(pk.export(ranker, "solr", check=lists.X))
    assert [feature["name"] for feature in model["features"]] == [f"feature{number}" for number in range(1, 7)]
    with pytest.raises(ValueError, match="solr finds features by their names"):  # of an array
        pk.export(pk.LinearRanker().fit(lists.X, lists.y, qid=lists.qid), "solr")


@pytest.mark.parametrize("target", ["elasticsearch", "opensearch", "solr"])
def test_engines_need_good_names(target, lists):
    ranker = pk.LinearRanker().fit(lists.X, lists.y, qid=lists.qid)
    bad = {
        "5 feature names but the model has 6 features": NAMES[:5],
        "feature_names has 'a' at 0 and at 2": ["a", "b", "a", "d", "e", "f"],
        r"feature_names\[1\] is empty": ["a", " ", "c", "d", "e", "f"],
        "cannot be written as UTF-8": ["a", "\ud800", "c", "d", "e", "f"],
        r"feature_names\[1\] is 2": ["a", 2, "c", "d", "e", "f"],
        "not the string 'abcdef'": "abcdef",
    }
    for message, names in bad.items():
        with pytest.raises(ValueError, match=message):
            pk.export(ranker, target, feature_names=names)


def test_without_names_others_count(lists):
    ranker = pk.LinearRanker().fit(lists.X, lists.y, qid=lists.qid)
    for target in ("ranklib", "json"):
        assert_scores_agree(target, pk.export(ranker, target, check=lists), ranker, lists.X)
    assert "name" not in json.loads(pk.export(ranker, "json"))["features"][0]


def test_options_belong_to_targets(lists):
    ranker = pk.LinearRanker().fit(lists)
    model = json.loads(pk.export(ranker, "solr", feature_names=NAMES, name="mine", store="shop"))
    assert (model["name"], model["store"]) == ("mine", "shop")
    assert "store" not in json.loads(pk.export(ranker, "solr", feature_names=NAMES))
    with pytest.raises(ValueError, match="ranklib has no name; only elasticsearch and"):
        pk.export(ranker, "ranklib", name="mine")
    with pytest.raises(ValueError, match="json has no dtype; only onnx"):
        pk.export(ranker, "json", dtype="float64")
    with pytest.raises(ValueError, match="dtype='float16' is not known"):
        pk.export(ranker, "onnx", dtype="float16")
    with pytest.raises(ValueError, match="name=' '; it must be a non-empty string"):
        pk.export(ranker, "json", name=" ")
    with pytest.raises(ValueError, match="target='lucene' is not known; choose one of 'elasticsearch'"):
        pk.export(ranker, "lucene")


def test_the_function_is_not_hidden_by_its_room(lists):
    import plackett.exporting.forms  # noqa: F401

    assert callable(pk.export)


def test_files_are_replaced_as_a_whole(lists, tmp_path, monkeypatch):
    ranker = pk.LinearRanker().fit(lists)
    path = tmp_path / "model.json"
    text = pk.export(ranker, "elasticsearch", path, feature_names=NAMES)
    assert path.read_bytes() == text.encode()
    assert "größe" in text

    def fails(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no space"):
        pk.export(ranker, "json", path)
    assert path.read_bytes() == text.encode()
    assert os.listdir(tmp_path) == ["model.json"]


def test_the_linear_form_is_the_score(ranker, lists):
    form = form_of(ranker)
    X = np.array(lists.X, dtype=float)
    ours = ranker.predict(X)
    # a scaler that learned from float32 keeps its numbers in float32
    shifted = form.without_intercept()
    for one in (form, shifted):
        scores = one.intercept + ((X - one.offset) / one.scale) @ one.weights
        np.testing.assert_allclose(scores, ours, rtol=0, atol=1e-6 * np.ptp(ours))
    weights, constant = form.folded()
    np.testing.assert_allclose(X @ weights + constant, ours, rtol=0, atol=1e-6 * np.ptp(ours))
    assert shifted.intercept == 0.0
