"""Different estimators, and the same estimators with other code, never have the same key."""

import dataclasses
import functools
import importlib
import json
import operator
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import plackett as pk
from plackett import _native
from plackett.data.preprocessing import QueryZScore
from plackett.evaluation.splits import QueryKFold
from plackett.evaluation.store import keys
from plackett.evaluation.store.keys import NotIdentifiable, code_of, identity_of, key_fingerprint, versions_of
from tests.evaluation.store.test_fingerprints import lists

OLD = 1_000_000_000  # a time before plackett was imported


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(24, 6, 4, random_state=0)


MODULE = """
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

import twin_constants
from twin_constants import SIGN, helper


def score(X):
    return SIGN * X[:, 0]


class Ranker(BaseEstimator):
    def __init__(self, score=score):
        self.score = score

    def fit(self, X, y):
        return self

    def predict(self, X):
        from twin_inner import FACTOR

        return FACTOR * self.score(X)


class Derived(Ranker):
    pass


class Callable:
    __slots__ = ("sign",)

    def __init__(self, sign=1.0):
        self.sign = sign

    def __call__(self, X):
        return self.sign * X[:, 0]

    def method(self, X):
        return self.sign * X[:, 0]


def inner():
    def inside(X):
        return X[:, 0]

    return inside


unnamed = lambda X: X[:, 0]
"""
FILES = {
    "twin": MODULE,
    "twin_constants": "SIGN = 1.0\n\n\ndef helper(X):\n    return X\n",
    "twin_inner": "FACTOR = 1.0\n",
}


@pytest.fixture
def twin(tmp_path, monkeypatch):
    """A user's module that imports two others, all older than this process."""
    folder = tmp_path / "code"
    folder.mkdir()
    for name, text in FILES.items():
        write(folder / f"{name}.py", text)
    monkeypatch.syspath_prepend(folder)
    for name in FILES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("twin")
    yield module
    for name in FILES:
        sys.modules.pop(name, None)


def write(path, text):
    path.write_text(text)
    os.utime(path, (OLD, OLD))


WAYS = {
    "class": lambda module: module.Ranker(),
    "ancestor": lambda module: module.Derived(),
    "function": lambda module: pk.metrics.make_measure(module.score, name="mine"),
    "object with slots": lambda module: module.Ranker(module.Callable()),
    "bound method": lambda module: module.Ranker(module.Callable().method),
    "partial": lambda module: module.Ranker(functools.partial(module.score)),
    "inside a pipeline": lambda module: make_pipeline(QueryZScore(), module.Ranker()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("changed", FILES)
def test_a_change_of_any_source_file_that_it_uses_is_other_code(twin, way, changed):
    before = code_of(WAYS[way](twin))
    assert code_of(WAYS[way](twin)) == before
    write(Path(twin.__file__).with_name(f"{changed}.py"), FILES[changed] + "# a comment\n")
    assert code_of(WAYS[way](twin)) != before


def test_a_file_that_was_edited_after_the_import_may_not_be_the_code_that_runs(twin):
    code_of(twin.Ranker())
    os.utime(twin.__file__)
    with pytest.raises(NotIdentifiable, match=r"it uses twin.py, which was changed after plackett was imported"):
        code_of(twin.Ranker())


UNKNOWN = {
    "lambda": lambda module: module.Ranker(module.unnamed),
    "inner function": lambda module: module.Ranker(module.inner()),
    "inner class": lambda module: type("Typed", (pk.LinearRanker,), {"__module__": "twin"})(),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_has_no_source_file_of_its_own_is_not_stored_after_a_warning(data, tmp_path, twin, kind):
    ranker, folder = UNKNOWN[kind](twin), tmp_path / "runs"
    warned = pytest.warns(UserWarning, match="is not stored in the folder: .* uses .*, which has no source file of its")
    with warned as caught:
        result = pk.compare({"mine": ranker}, data, cv=2, metrics="ndcg@5", folder=folder)
    assert result.failures == {}
    assert result.notes == [str(caught[0].message)]
    with pytest.warns(UserWarning, match="is not stored"):
        found = pk.select(ranker, data, grid={}, cv=2, folder=folder)
    assert found.notes[0] in str(found)


def test_the_warning_comes_before_the_first_fit(data, tmp_path, twin, recwarn):
    seen = []

    def score(X):
        seen.append([str(one.message) for one in recwarn])
        return X[:, 0]

    pk.compare({"mine": twin.Ranker(score)}, data, cv=2, metrics="ndcg@5", folder=tmp_path / "runs")
    assert "mine is not stored in the folder: score uses" in seen[0][0]


def test_code_of_a_notebook_is_not_stored(monkeypatch):
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    mine = type("Mine", (pk.LinearRanker,), {"__module__": "__main__", "__qualname__": "Mine"})
    monkeypatch.setattr(sys.modules["__main__"], "Mine", mine, raising=False)
    with pytest.raises(NotIdentifiable, match="uses code of __main__, which has no source file"):
        code_of(mine())


def test_a_stored_result_of_other_code_is_not_served(data, tmp_path, twin):
    folder = tmp_path / "runs"
    first = pk.compare({"mine": twin.Ranker()}, data, cv=2, metrics="ndcg@5", folder=folder)
    again = pk.compare(
        {"mine": twin.Ranker()}, data, cv=2, metrics="ndcg@5", folder=folder, progress=(lines := []).append
    )
    assert all("already finished" in line for line in lines)
    np.testing.assert_array_equal(again.scores["mine"], first.scores["mine"])
    constants = sys.modules["twin_constants"]
    write(Path(constants.__file__), FILES["twin_constants"].replace("1.0", "-1.0"))
    importlib.reload(constants)
    importlib.reload(twin)
    other = pk.compare({"mine": twin.Ranker()}, data, cv=2, metrics="ndcg@5", folder=folder)
    np.testing.assert_array_equal(other.scores["mine"], -first.scores["mine"])


def test_keys_are_the_same_in_another_process(twin):
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import twin\n"
        "from plackett.evaluation.store.keys import code_of, identity_of\n"
        "print(json.dumps([identity_of(twin.Derived()), code_of(twin.Derived())]))"
    )
    folder = os.path.dirname(twin.__file__)
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [identity_of(twin.Derived()), code_of(twin.Derived())]


def test_functions_that_numba_compiles_are_known_by_their_source_file(tmp_path, monkeypatch):
    pytest.importorskip("numba")  # which users' own rankers may use
    text = "import numba\n\n\n@numba.njit\ndef scaled(X):\n    return {} * X[:, 0]\n"
    write(tmp_path / "fast_scores.py", text.format(1.0))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("fast_scores")
    before = identity_of(module.scaled), code_of(module.scaled)
    assert (identity_of(module.scaled), code_of(module.scaled)) == before
    write(tmp_path / "fast_scores.py", text.format(2.0))
    assert code_of(module.scaled) != before[1]


def test_objects_are_told_apart_by_their_whole_state():
    @dataclasses.dataclass
    class Settings:
        a: int = 1

    class Shy:
        def __init__(self, secret):
            self.secret = secret

        def __reduce__(self):
            return Shy, (0,)

    class Few(dict):
        pass

    values = [
        *(re.compile(text) for text in ("a", "b")),
        *(operator.itemgetter(place) for place in (0, 1)),
        *(functools.partial(pow, 2, place) for place in (0, 1)),
        *(Settings(place) for place in (1, 2)),
        *(Shy(place) for place in (1, 2)),
        *(Few(a=place) for place in (1, 2)),
        {"a": 1},
        *(sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, n)) for n in (2, 3)),
        *(np.array([one, None], dtype=object) for one in (1, "1")),
        *(np.ma.array([1.0, 2.0], mask=mask) for mask in ([0, 1], [1, 0])),
        *(FrozenEstimator(LinearRegression().fit([[0.0], [1.0]], [0.0, slope])) for slope in (1.0, 2.0)),
        "a".upper,
        "b".upper,
        str.upper,
        print,
        len,
        frozenset("abc"),
        set("abc"),
        1j,
        2j,
        b"a",
        b"b",
    ]
    keys = [json.dumps(identity_of(value)) for value in values]
    assert len(set(keys)) == len(values)
    for value, key in zip(values, keys, strict=True):
        assert json.dumps(identity_of(value)) == key


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), (one for one in ()), np.frompyfunc(abs, 1, 1), memoryview(b"a")],
    ids=["lock", "generator", "ufunc", "memory"],
)
def test_what_hides_its_state_is_not_recognised(value):
    with pytest.raises(NotIdentifiable, match=r"cannot be identified in another process|no source file of its own"):
        code_of({"a": [value]})


def test_any_change_of_a_parameter_is_another_estimator():
    estimators = [
        pk.LinearRanker(),
        pk.LinearRanker(l2=1),
        pk.LinearRanker(l2=1.0),
        pk.LinearRanker(l2="1"),
        pk.LinearRanker(l2=0.1 + 0.2),
        pk.LinearRanker(l2=0.3),
        pk.LinearRanker(loss=pk.losses.CSListMLE(k=5)),
        pk.LinearRanker(loss=pk.losses.CSListMLE(k=6)),
        pk.LinearRanker(solver=pk.solvers.get_solver("sgd")),
        pk.LinearRanker(random_state=np.random.RandomState(0)),
        pk.LinearRanker(random_state=np.random.RandomState(1)),
        pk.LinearRanker(random_state=np.random.default_rng(0)),
        pk.KernelRanker(),
        pk.AdaRank(metric="map"),
        pk.AdaRank(metric=pk.metrics.Measure.parse("map")),
        pk.LinearRanker(normalize=[1, 2]),
        pk.LinearRanker(normalize=(1, 2)),
        pk.LinearRanker(normalize=np.array([1, 2])),
        pk.LinearRanker(normalize={"a": True}),
        pk.LinearRanker(normalize={"a": 1}),
        pk.LinearRanker(normalize=lists()),
    ]
    keys = [key_fingerprint({"estimator": identity_of(estimator)}) for estimator in estimators]
    assert len(set(keys)) == len(estimators)
    same = identity_of(pk.LinearRanker(loss=pk.losses.CSListMLE(k=np.int64(5))))
    assert same == identity_of(estimators[6])


def test_equal_values_are_the_same_whether_they_are_one_object_or_two():
    text = "".join(["a", "b"])
    assert identity_of(["ab", text, 1.5, np.float64(1.5)]) == identity_of(["ab", "ab", 1.5, 1.5])
    endless = []
    endless.append(endless)
    assert identity_of(endless) != identity_of([[]])


def test_ways_to_cut_folds_are_known_by_what_they_hold():
    cuts = [
        QueryKFold(3),
        QueryKFold(4),
        QueryKFold(3, random_state=1),
        GroupKFold(3),
        GroupKFold(4),
    ]
    keys = {json.dumps(identity_of(GridSearchCV(pk.LinearRanker(), {"l2": [1]}, cv=cv))) for cv in cuts}
    assert len(keys) == len(cuts)
    assert identity_of(QueryKFold(3)) == identity_of(QueryKFold(3))


def test_the_versions_of_what_results_rest_on_are_part_of_the_code():
    code = versions_of(pk.LinearRanker())
    assert code["plackett"].startswith(pk.__version__)
    assert {"numpy", "scipy", "scikit-learn", "native", "python"} < code.keys()
    assert code["numpy"] == np.__version__
    assert code["native"].startswith(f"{_native.build} ")


def test_results_of_another_build_of_the_kernels_are_not_taken(monkeypatch, tmp_path):
    seen = set()
    for name, content in (("baseline", b"a"), ("v3", b"a"), ("v3", b"b")):
        file = tmp_path / "kernels"
        file.write_bytes(content)
        monkeypatch.setattr(_native, "build", name)
        monkeypatch.setattr(_native, "path", str(file))
        keys._native_digest.cache_clear()
        seen.add(key_fingerprint(versions_of(pk.LinearRanker())))
    keys._native_digest.cache_clear()
    assert len(seen) == 3


def test_estimators_of_others_are_known_by_class_parameters_and_version():
    lightgbm = pytest.importorskip("lightgbm")

    def pipeline(**changes):
        steps = make_pipeline(FunctionTransformer(np.log1p), QueryZScore(), lightgbm.LGBMRanker(n_estimators=3))
        return steps.set_params(**changes)

    def key(estimator):
        return key_fingerprint({"estimator": identity_of(estimator)})

    with config_context(enable_metadata_routing=True):
        unasked = QueryZScore().set_fit_request(qid=False)
    known = [
        key(pipeline()),
        key(pipeline(lgbmranker__n_estimators=4)),
        key(pipeline(lgbmranker__lambda_l2=1.0)),
        key(pipeline(functiontransformer__func=np.sqrt)),
        key(pipeline(queryzscore=pk.preprocessing.QueryMinMax())),
        key(pipeline(queryzscore=unasked)),
        key(pipeline()[-1]),
    ]
    assert len(set(known)) == len(known)
    assert key(pipeline()) == known[0]
    code = versions_of(pipeline())
    assert code["lightgbm"] == lightgbm.__version__
    assert "sklearn" not in code, "which is there as scikit-learn"


def test_rooms_that_do_not_change_results_exist():
    home = Path(pk.__file__).parent
    assert [room for room in keys.LATER_ROOMS if not (home / room).is_dir()] == []
