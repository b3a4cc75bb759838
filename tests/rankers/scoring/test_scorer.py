"""Scorers give the scores of ``predict``, from the ranker and from its file, and refuse what they cannot compute."""

import io
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

import plackett as pk
from plackett.exceptions import ModelFormatError

DATA = pk.datasets.make_web_like(20, n_features=6, random_state=0)
DATA = pk.Queries(DATA.X.astype(np.float64), DATA.y, DATA.qid)
NEW = pk.datasets.make_web_like(7, n_features=6, random_state=1)
NEW = pk.Queries(NEW.X.astype(np.float64), NEW.y, NEW.qid)
REFUSED = {
    "kernel-cs-listmle": "sums of kernel values",
    "kernel": "sums of kernel values",
    "qsvm": "a model for each query",
    "knn-svm": "a model for each query",
    "indv-svm": "a model for each query",
    "query-dependent": "a model for each query",
}
SMALL = {
    "lightgbm": {"n_rounds": 20},
    "xgboost": {"n_rounds": 20},
    "trees": {"n_rounds": 20},
    "neural": {"n_epochs": 2, "hidden": (8, 4), "random_state": 0},
    "prank": {"random_state": 0},
    "svm-map": {"relevant_from": 2},
    "rankboost": {"n_rounds": 30},
    "adarank": {"n_rounds": 20},
    "kernel": {"landmarks": 5, "random_state": 0},
    "kernel-cs-listmle": {"landmarks": 5, "random_state": 0},
}
EXACT = {"rtol": 0, "atol": 0}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
SINGLE = {"rtol": 1e-5, "atol": 1e-5}


def tolerance(name):
    return SINGLE if name == "neural" else CLOSE if name == "rankboost" else EXACT


def scored(ranker, X, indptr=None):
    """Return the scores of the scorer, after the one of the file and a pickled one gave the same."""
    scorer, file = ranker.scorer(), io.BytesIO()
    ranker.save(file)
    file.seek(0)
    scores = scorer.score(X, indptr)
    for other in (pk.load_scorer(file), pickle.loads(pickle.dumps(scorer))):
        np.testing.assert_array_equal(other.score(X, indptr), scores)
    return scores


@pytest.mark.parametrize("name", pk.ranker_names())
def test_every_ranker_is_scored_as_it_predicts_or_refused_with_a_reason(name):
    if name == "neural":
        pytest.importorskip("torch")
    ranker = pk.ranker(name, **SMALL.get(name, {})).fit(DATA)
    if name in REFUSED:
        with pytest.raises(ValueError, match=f"has no scorer: .*{REFUSED[name]}.* Call its predict"):
            ranker.scorer()
        file = io.BytesIO()
        ranker.save(file)
        file.seek(0)
        with pytest.raises(ValueError, match=f"has no scorer: .*{REFUSED[name]}"):
            pk.load_scorer(file)
        return
    for rows in (NEW.X, NEW.X.astype(np.float32)):
        np.testing.assert_allclose(
            scored(ranker, rows, NEW.indptr), ranker.predict(rows, qid=NEW.qid), **tolerance(name)
        )
        one = rows[: NEW.indptr[1]]
        np.testing.assert_allclose(ranker.scorer().score(one), ranker.predict(one, qid=0), **tolerance(name))


@pytest.mark.parametrize(
    "normalize",
    [
        "query-minmax", "query-zscore", "query-unit", "query-rank", "minmax", "maxabs", "zscore", "quantile",
        MinMaxScaler((-1, 2), clip=True), RobustScaler(), StandardScaler(with_mean=False), MaxAbsScaler(),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normalizers_scale_as_in_predict(normalize, dtype):
    ranker = pk.LinearRanker(normalize=normalize).fit(DATA.X.astype(dtype), DATA.y, qid=DATA.qid)
    X = np.vstack([NEW.X, 3.0 * NEW.X[:1], DATA.X[:1]]).astype(dtype)  # outside of the range of fit, and at its ends
    indptr = np.append(NEW.indptr, X.shape[0])
    qid = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    np.testing.assert_array_equal(scored(ranker, X, indptr), ranker.predict(X, qid=qid))
    assert ranker.scorer().depends_on_list == ranker.depends_on_list


def test_a_normalizer_that_needs_another_package_is_refused_by_name():
    ranker = pk.LinearRanker(normalize=PowerTransformer()).fit(DATA)
    with pytest.raises(ValueError, match="this LinearRanker has no scorer: its columns are scaled by PowerTransformer"):
        ranker.scorer()


def with_missing(X, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.1, np.nan, X)


@pytest.mark.parametrize("indicator", [False, True])
@pytest.mark.parametrize("rule", ["zero", "mean", "median", "min", "query-median"])
@pytest.mark.parametrize("name", ["listmle", "diffrank", "adarank"])
def test_missing_values_are_filled_as_in_predict(name, rule, indicator):
    ranker = pk.ranker(name, missing=rule, missing_indicator=indicator, **SMALL.get(name, {}))
    ranker.fit(with_missing(DATA.X), DATA.y, qid=DATA.qid)
    for X in (NEW.X, with_missing(NEW.X), with_missing(NEW.X).astype(np.float32)):
        np.testing.assert_array_equal(scored(ranker, X, NEW.indptr), ranker.predict(X, qid=NEW.qid))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "trees", "rankboost"])
def test_missing_values_take_their_side_of_splits(name):
    ranker = pk.ranker(name, **SMALL[name]).fit(with_missing(DATA.X), DATA.y, qid=DATA.qid)
    for X in (with_missing(NEW.X), with_missing(NEW.X).astype(np.float32)):
        np.testing.assert_allclose(scored(ranker, X), ranker.predict(X, qid=NEW.qid), **tolerance(name))


def test_xgboost_fitted_to_sparse_rows_takes_zeros_as_missing():
    from scipy import sparse

    rows = np.where(np.median(DATA.X, axis=0) < DATA.X, DATA.X, 0.0)
    ranker = pk.XGBoostRanker(n_rounds=20).fit(sparse.csr_matrix(rows), DATA.y, qid=DATA.qid)
    new = np.where(np.median(DATA.X, axis=0) < NEW.X, NEW.X, 0.0)
    np.testing.assert_array_equal(scored(ranker, new), ranker.predict(new, qid=NEW.qid))


@pytest.mark.parametrize("make", [pk.LinearRanker, pk.TreeRanker, pk.XGBoostRanker, pk.RankBoost])
@pytest.mark.parametrize("encoding", ["one-hot", "target"])
def test_categories_are_codes_of_fit(make, encoding):
    codes = np.random.default_rng(0).integers(0, 4, (DATA.n_docs + NEW.n_docs, 2)).astype(np.float64)
    X, new = np.hstack([DATA.X, codes[: DATA.n_docs]]), np.hstack([NEW.X, codes[DATA.n_docs :]])
    new[::7, 6], new[3::7, 7] = np.nan, 9.0  # missing, and unknown
    params = {"encoding": encoding} if make in (pk.LinearRanker, pk.RankBoost) else {"n_rounds": 10}
    data = pk.Queries(X, DATA.y, DATA.qid, categories={6: [*"abcd"], 7: [*"wxyz"]})
    ranker = make(**params).fit(data)
    np.testing.assert_allclose(scored(ranker, new), ranker.predict(new, qid=NEW.qid), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "tanh"])
@pytest.mark.parametrize(("precision", "close"), [("float32", SINGLE), ("float64", CLOSE)])
@pytest.mark.parametrize("attention", [0, 2])
def test_nets_are_computed_without_pytorch(activation, precision, close, attention):
    pytest.importorskip("torch")
    ranker = pk.NeuralRanker(
        hidden=(8, 4), attention=attention, heads=2, activation=activation, precision=precision, n_epochs=2,
        random_state=0, normalize="query-zscore",
    ).fit(DATA)  # fmt: skip
    indptr = NEW.indptr
    np.testing.assert_allclose(scored(ranker, NEW.X, indptr), ranker.predict(NEW.X, qid=NEW.qid), **close)
    X = np.repeat(NEW.X[:9], 2, axis=0)
    scores = ranker.scorer().score(X)
    np.testing.assert_array_equal(scores[::2], scores[1::2])  # equal rows tie


def test_a_base_score_must_be_a_column():
    ranker = pk.TreeRanker("lightgbm", n_rounds=5).fit(DATA, base_score=2)
    np.testing.assert_array_equal(scored(ranker, NEW.X), ranker.predict(NEW.X, qid=NEW.qid))
    with pytest.raises(ValueError, match="has no scorer: it was fitted with a base_score that is not a column"):
        pk.TreeRanker("lightgbm", n_rounds=5).fit(DATA, base_score=DATA.X[:, 0]).scorer()


def test_models_of_other_tools_are_scored(tmp_path):
    ranker = pk.TreeRanker("lightgbm", n_rounds=10).fit(DATA)
    ranker.to_lightgbm().save_model(tmp_path / "model.txt")
    imported = pk.load(tmp_path / "model.txt")
    expected = imported.predict(NEW.X)
    np.testing.assert_array_equal(scored(imported, NEW.X), expected)
    np.testing.assert_array_equal(pk.load_scorer(tmp_path / "model.txt").score(NEW.X), expected)
    (tmp_path / "linear.txt").write_text("## Linear Regression\n0:0.5 1:2.0 2:-1.0\n")
    linear = pk.load(tmp_path / "linear.txt")
    np.testing.assert_array_equal(scored(linear, NEW.X), linear.predict(NEW.X))  # further columns are ignored


def test_lists_are_scored_apart():
    ranker = pk.LinearRanker(normalize="query-zscore").fit(DATA)
    scorer = ranker.scorer()
    whole = scorer.score(NEW.X, NEW.indptr)
    for first, last in zip(NEW.indptr[:-1], NEW.indptr[1:], strict=True):
        np.testing.assert_array_equal(scorer.score(NEW.X[first:last]), whole[first:last])
    assert scorer.score(np.empty((0, 6))).shape == (0,)
    assert scorer.score(np.empty((0, 6)), [0, 0]).shape == (0,)


def test_many_threads_use_one_scorer():
    scorer = pk.TreeRanker("lightgbm", n_rounds=20).fit(DATA).scorer()
    expected = scorer.score(NEW.X)
    with ThreadPoolExecutor(8) as pool:
        for scores in pool.map(lambda _: scorer.score(NEW.X), range(64)):
            np.testing.assert_array_equal(scores, expected)


def test_rows_may_come_in_any_layout_and_are_not_changed():
    ranker = pk.LinearRanker(normalize="zscore").fit(DATA)
    scorer, X = ranker.scorer(), NEW.X.copy()
    X.flags.writeable = False
    expected = scorer.score(X)
    for rows in (np.asfortranarray(X), X.tolist(), X.astype(">f8"), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(scorer.score(rows), expected)
    np.testing.assert_array_equal(scorer.score(np.ones((2, 6), dtype=int)), scorer.score(np.ones((2, 6))))


@pytest.mark.parametrize("make", [pk.LinearRanker, pk.TreeRanker, lambda: pk.LinearRanker(normalize="query-rank")])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_values_that_predict_refuses_are_refused_with_their_place(make, value):
    ranker = make().fit(DATA)
    X = NEW.X.copy()
    X[3, 2] = value
    if np.isnan(value) and isinstance(ranker, pk.TreeRanker):
        np.testing.assert_array_equal(ranker.scorer().score(X), ranker.predict(X, qid=NEW.qid))
        return
    with pytest.raises(ValueError, match="row 3, column 2"):
        ranker.scorer().score(X)


@pytest.mark.parametrize(
    ("X", "indptr", "match"),
    [
        (np.zeros((3, 5)), None, "X has 5 columns, but the ranker was fitted to 6"),
        (np.zeros(6), None, "X has 1 dimension; expected one row per document"),
        (np.array([["a"] * 6]), None, "a scorer takes numbers"),
        (np.zeros((3, 6)), [0, 2], "indptr must rise from 0 to the number of rows, 3"),
        (np.zeros((3, 6)), [0, 4, 3], "indptr must rise"),
        (np.zeros((3, 6)), [0.0, 3.0], "indptr must be whole numbers"),
        (np.ma.masked_equal(np.zeros((3, 6)), 0), None, "X is a masked array"),
        (np.full((3, 6), 1e308), None, "the score of row 0 overflowed"),
    ],
)  # fmt: skip
def test_wrong_rows_are_refused(X, indptr, match):
    ranker = pk.LinearRanker().fit(DATA)
    ranker.coef_ = ranker.coef_ * 1e10
    with pytest.raises(ValueError, match=match):
        ranker.scorer().score(X, indptr)


@pytest.mark.parametrize("size", [1e200, 1.7e308])
def test_a_net_refuses_huge_features_without_warnings_of_numpy(size):
    pytest.importorskip("torch")
    scorer = pk.ranker("neural", n_epochs=1, random_state=0).fit(DATA).scorer()
    with pytest.raises(ValueError, match="the score of row 0 overflowed"):
        scorer.score(np.full((3, 6), size))


def test_sparse_rows_and_frames_are_refused_with_advice():
    import pandas as pd
    from scipy import sparse

    scorer = pk.LinearRanker().fit(DATA).scorer()
    with pytest.raises(ValueError, match=r"X is sparse; a scorer takes an array: X.toarray\(\)"):
        scorer.score(sparse.csr_matrix(NEW.X))
    with pytest.raises(ValueError, match="X is a data frame"):
        scorer.score(pd.DataFrame(NEW.X))


def test_a_subclass_with_scores_of_its_own_is_refused():
    class Doubled(pk.LinearRanker):
        def _predict_grouped(self, queries):
            return 2.0 * super()._predict_grouped(queries)

    class Renamed(pk.LinearRanker):
        pass

    with pytest.raises(ValueError, match="Doubled has no scorer: its scores are not known"):
        Doubled().fit(DATA).scorer()
    renamed = Renamed().fit(DATA)
    np.testing.assert_array_equal(renamed.scorer().score(NEW.X), renamed.predict(NEW.X))


def test_a_scorer_cannot_be_changed_and_does_not_follow_the_ranker():
    ranker = pk.LinearRanker().fit(DATA)
    scorer = ranker.scorer()
    expected = scorer.score(NEW.X)
    ranker.coef_ *= 2.0
    np.testing.assert_array_equal(scorer.score(NEW.X), expected)
    with pytest.raises(AttributeError):
        scorer.n_features = 3
    with pytest.raises(ValueError, match="read-only"):
        scorer.model.coef[0] = 1.0


@pytest.mark.parametrize(
    ("make", "attribute", "value"),
    [
        (pk.LinearRanker, "coef_", np.zeros(5)),
        (pk.LinearRanker, "coef_", np.full(6, np.nan)),
        (lambda: pk.LinearRanker(normalize="zscore"), "normalizer_.mean_", np.zeros(5)),
        (lambda: pk.TreeRanker("lightgbm", n_rounds=3), "trees_.left_", -1),
        (lambda: pk.TreeRanker("lightgbm", n_rounds=3), "trees_.features_", 99),
        (lambda: pk.DiffRank(), "steps_.feature", 6),
        (lambda: pk.LinearRanker(missing="median"), "imputer_.fill_", np.zeros(7)),
    ],
)  # fmt: skip
def test_files_with_arrays_that_do_not_fit_together_are_refused(make, attribute, value):
    """Kernels trust sizes and indices: the file is checked as by ``load``, and never crashes the process."""
    ranker = make().fit(DATA)
    path, _, name = attribute.rpartition(".")
    owner = getattr(ranker, path) if path else ranker
    if name == "feature":
        owner["feature"][0] = value
    elif np.ndim(value):
        setattr(owner, name, value)
    else:
        array = getattr(owner, name).copy()
        array[0] = value
        setattr(owner, name, array)
    file = io.BytesIO()
    try:
        ranker.save(file)
    except ValueError:  # scikit-learn's parts are checked when they are saved
        return
    file.seek(0)
    with pytest.raises(ModelFormatError):
        pk.load_scorer(file)


def test_files_that_are_no_models_are_refused(tmp_path):
    (tmp_path / "a.plackett").write_bytes(b"plackett container 1\nand nothing")
    with pytest.raises(ModelFormatError, match="damaged"):
        pk.load_scorer(tmp_path / "a.plackett")
    with pytest.raises(FileNotFoundError):
        pk.load_scorer(tmp_path / "b.plackett")


SCORING = """
import sys
import numpy as np, plackett as pk
scorer = pk.load_scorer(sys.argv[1])
scores = scorer.score(np.load(sys.argv[2]))
sys.stdout.buffer.write(scores.tobytes())
heavy = [name for name in ("sklearn", "scipy", "pandas", "torch", "lightgbm", "joblib") if name in sys.modules]
print(heavy, file=sys.stderr)
"""


@pytest.mark.parametrize("name", ["listmle", "lightgbm", "neural", "diffrank", "rankboost"])
def test_a_process_that_scores_imports_numpy_alone_and_needs_no_home(name, tmp_path):
    """Without HOME, in a folder that cannot be written to, with an empty PATH."""
    if name == "neural":
        pytest.importorskip("torch")
    params = SMALL.get(name, {}) | ({"normalize": "zscore"} if name == "listmle" else {})
    ranker = pk.ranker(name, **params).fit(DATA)
    ranker.save(tmp_path / "model.plackett")
    np.save(tmp_path / "X.npy", NEW.X)
    tmp_path.chmod(0o555)
    command = [sys.executable, "-c", SCORING, "model.plackett", "X.npy"]
    try:
        done = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, check=False)
    finally:
        tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr.decode()
    np.testing.assert_array_equal(np.frombuffer(done.stdout), ranker.scorer().score(NEW.X))
    assert done.stderr == b"[]\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "model.plackett"]
