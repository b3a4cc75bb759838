"""Different estimators never have the same identity."""

import dataclasses
import functools
import importlib
import json
import linecache
import operator
import re
import subprocess
import sys
import threading
import types
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold

import plackett as pk
from plackett.evaluation.store import versions as packages
from plackett.evaluation.store.fingerprints import key_fingerprint
from plackett.evaluation.store.identity import NotIdentifiable, identity_of
from tests.evaluation.store.test_fingerprints import lists


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(24, 6, 4, random_state=0)


MODULE = """
import threading
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

import {constants} as constants
from {constants} import helper

FACTOR = {factor}
LOCK = threading.Lock()


class Table:
    def __init__(self, sign):
        self.sign = sign

    def look(self, X):
        return self.sign * X[:, 0]


def deeper(X):
    return FACTOR * X[:, 0]


class Base(BaseEstimator):
    def fit(self, X, y):
        return self


class ByGlobal(Base):
    def predict(self, X):
        return FACTOR * X[:, 0]


class ByHelper(Base):
    def predict(self, X):
        return deeper(X)


class ByImported(Base):
    def predict(self, X):
        return helper(X)


class ByModule(Base):
    def predict(self, X):
        return constants.SIGN * X[:, 0]


class ByNameInModule(Base):
    def predict(self, X):
        return getattr(constants, "SI" + "GN") * X[:, 0]


class ByInnerImport(Base):
    def predict(self, X):
        from {constants} import SIGN

        return SIGN * X[:, 0]


class ByInnerFunction(Base):
    def predict(self, X):
        return [FACTOR * value for value in (lambda rows: rows[:, 0])(X)]


class ByDefault(Base):
    def predict(self, X, factor=FACTOR):
        return factor * X[:, 0]


class ByAttribute(Base):
    factor = FACTOR

    def predict(self, X):
        return self.factor * X[:, 0]


class ByProperty(Base):
    @property
    def factor(self):
        return FACTOR

    def predict(self, X):
        return self.factor * X[:, 0]


class ByBoundObject(Base):
    predict = staticmethod(partial(Table(FACTOR).look))


class ByScore(Base):
    def __init__(self, score=None):
        self.score = score

    def predict(self, X):
        return self.score(X)


def by_closure():
    factor = FACTOR

    class ByClosure(Base):
        def predict(self, X):
            return factor * X[:, 0]

    return ByClosure()


def by_parameter(kind):
    table = Table(FACTOR)
    return ByScore({{
        "lambda": lambda X: FACTOR * X[:, 0],
        "method": table.look,
        "partial": partial(np.multiply, FACTOR),
        "object": Callable(FACTOR),
    }}[kind])


class Callable:
    __slots__ = ("sign",)

    def __init__(self, sign):
        self.sign = sign

    def __call__(self, X):
        return self.sign * X[:, 0]


class ByLock(Base):
    def predict(self, X):
        with LOCK:
            return FACTOR * X[:, 0]


class ByEval(Base):
    def predict(self, X):
        return eval("FACTOR") * X[:, 0]
"""
CONSTANTS = "SIGN = {factor}\n\n\ndef helper(X):\n    return SIGN * X[:, 0]\n"
WAYS = {
    "global": lambda module: module.ByGlobal(),
    "helper": lambda module: module.ByHelper(),
    "helper of another module": lambda module: module.ByImported(),
    "constant of another module": lambda module: module.ByModule(),
    "name in another module": lambda module: module.ByNameInModule(),
    "import while it runs": lambda module: module.ByInnerImport(),
    "inner function": lambda module: module.ByInnerFunction(),
    "default": lambda module: module.ByDefault(),
    "attribute of the class": lambda module: module.ByAttribute(),
    "property": lambda module: module.ByProperty(),
    "bound object": lambda module: module.ByBoundObject(),
    "closure": lambda module: module.by_closure(),
    "lambda": lambda module: module.by_parameter("lambda"),
    "bound method": lambda module: module.by_parameter("method"),
    "object with slots": lambda module: module.by_parameter("object"),
}


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Two modules of the same name that differ in the sign of a constant, so that their classes read the same."""
    folder = tmp_path_factory.mktemp("code")
    sys.path.insert(0, str(folder))
    modules = {}
    for name, factor in (("plus", 1.0), ("minus", -1.0)):
        constants, path = f"twin_constants_{name}", folder / name / "twin.py"
        path.parent.mkdir()
        (folder / f"{constants}.py").write_text(CONSTANTS.format(factor=factor))
        path.write_text(MODULE.format(constants=constants, factor=factor))
        spec = importlib.util.spec_from_file_location("twin", path)
        modules[name] = sys.modules["twin"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    yield modules
    sys.path.remove(str(folder))
    del sys.modules["twin"]


@pytest.mark.parametrize("way", WAYS)
def test_two_contestants_that_differ_in_what_they_use_never_share_scores(data, tmp_path, twins, way):
    rankers = {name: WAYS[way](module) for name, module in twins.items()}
    result = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path)
    assert result.failures == {}
    plus, minus = result.scores.values()
    np.testing.assert_array_equal(plus, -minus)
    assert result.notes == []
    again = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path, progress=(lines := []).append)
    assert all("already finished" in line for line in lines)
    np.testing.assert_array_equal(again.scores["minus"], minus)


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_value_is_another_estimator_and_an_unchanged_one_is_the_same(twins, way, monkeypatch):
    module = twins["plus"]
    before = identity_of(WAYS[way](module))
    assert identity_of(WAYS[way](module)) == before
    other = WAYS[way](twins["minus"])
    assert identity_of(other) != before
    if way in ("global", "helper", "inner function", "property", "lambda"):
        monkeypatch.setattr(module, "FACTOR", 2.0)
        assert identity_of(WAYS[way](module)) != before
    if way.endswith(("another module", "while it runs")):
        monkeypatch.setattr(module.constants, "SIGN", 2.0)
        assert identity_of(WAYS[way](module)) != before


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("ByLock", "LOCK in ByLock.predict is a lock, which cannot"), ("ByEval", "ByEval.predict uses eval, which hides")],
)
def test_what_cannot_be_told_apart_is_not_kept_and_a_note_says_so(data, tmp_path, twins, kind, reason):
    rankers = {name: getattr(module, kind)() for name, module in twins.items()}
    result = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path)
    np.testing.assert_array_equal(result.scores["plus"], -result.scores["minus"])
    assert [
        note.startswith(f"{name} is not stored in the folder: {reason}")
        for name, note in zip(rankers, result.notes, strict=True)
    ] == [True, True]
    validated = pk.cross_validate(rankers["plus"], data, cv=2, folder=tmp_path)
    assert validated.notes[0].startswith(f"{kind} is not stored in the folder: {reason}")
    found = pk.select(rankers["plus"], data, grid={}, cv=2, folder=tmp_path)
    assert found.notes[0].startswith(f"not stored in the folder: {reason}")
    assert found.notes[0] in str(found)


def test_a_fingerprint_is_the_same_in_another_process(twins):
    code = (
        "import sys, json; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/plus']; import twin\n"
        "from plackett.evaluation.store.identity import identity_of\n"
        "print(json.dumps([identity_of(getattr(twin, name)()) for name in sys.argv[2:]]))"
    )
    names = ["ByGlobal", "ByImported", "ByModule", "ByNameInModule", "ByBoundObject", "ByProperty"]
    folder = str(Path(twins["plus"].__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code, folder, *names], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [identity_of(getattr(twins["plus"], name)()) for name in names]


def test_functions_that_numba_compiles_are_known_by_their_code_and_their_values():
    numba = pytest.importorskip("numba")  # which users' own rankers may use

    def compiled(factor):
        @numba.njit
        def scaled(X):
            return factor * X[:, 0]

        return scaled

    known = [identity_of(compiled(factor)) for factor in (1.0, 1.0, 2.0)]
    assert known[0] == known[1] != known[2]


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
    with pytest.raises(NotIdentifiable, match="cannot be identified in another process"):
        identity_of({"a": [value]})


def test_code_of_the_users_own_is_never_known_by_a_version(twins, tmp_path, monkeypatch):
    assert not packages.is_known("twin")
    assert not packages.is_known(__name__)
    assert all(packages.is_known(name) for name in ("sklearn.base", "numpy", "json", "math", "plackett.data"))
    (tmp_path / "statistics_of_mine.py").write_text("__version__ = '1.0'\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("statistics_of_mine")
    assert not packages.is_known("statistics_of_mine"), (
        "a version that is written in a file stays when the file changes"
    )


def test_a_module_that_is_compiled_counts_with_its_file(tmp_path, monkeypatch):
    source = next(
        Path(module.__file__)
        for module in list(sys.modules.values())
        if str(getattr(module, "__file__", "")).endswith(tuple(EXTENSION_SUFFIXES))
    )
    seen = set()
    for name, ending in (("one", b""), ("two", b"\0"), ("three", b"")):
        path = tmp_path / f"{name}{EXTENSION_SUFFIXES[0]}"
        path.write_bytes(source.read_bytes() + ending)
        module = types.ModuleType(f"compiled_{name}")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        seen.add(json.dumps(identity_of(module)))
    assert len(seen) == 2


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


def test_a_value_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(NotIdentifiable, match="or contains itself"):
        identity_of(endless)


def test_a_class_from_elsewhere_is_known_by_its_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    known = []
    for name, factor in (("first", 2), ("second", 2), ("third", 3)):
        text = f"import plackett as pk\n\n\nclass Mine(pk.LinearRanker):\n    factor = {factor}\n"
        (tmp_path / f"written_{name}.py").write_text(text)
        known.append(identity_of(importlib.import_module(f"written_{name}").Mine()))
    assert known[0] == known[1] != known[2]


def test_a_change_of_an_ancestor_or_of_an_object_inside_is_another_estimator(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "changing.py").write_text("")
    changing, text = importlib.import_module("changing"), (
        "import plackett as pk\nfrom sklearn.preprocessing import MaxAbsScaler\n\n\n"
        "class Base(pk.LinearRanker):\n    factor = {0}\n\n\n"
        "class Mine(Base):\n    pass\n\n\n"
        "class Scaler(MaxAbsScaler):\n    power = {1}\n"
    )  # fmt: skip
    inside, derived = set(), set()
    for version in ((2, 2), (2, 3), (3, 3)):
        (tmp_path / "changing.py").write_text(text.format(*version) + "#" * len(inside))  # another size: read anew
        importlib.reload(changing)
        linecache.checkcache()
        inside.add(json.dumps(identity_of(pk.LinearRanker(normalize=changing.Scaler()))))
        derived.add(json.dumps(identity_of(changing.Mine())))
    assert len(inside) == 2
    assert len(derived) == 2


def test_a_class_without_source_is_known_by_what_it_holds():
    known = [
        identity_of(type("Typed", (pk.LinearRanker,), {"__module__": "nowhere", "factor": factor})())
        for factor in (1, 1, 2)
    ]
    assert known[0] == known[1] != known[2]


def test_ways_to_cut_folds_are_known_by_what_they_hold():
    cuts = [pk.QueryKFold(3), pk.QueryKFold(4), pk.QueryKFold(3, random_state=1), GroupKFold(3), GroupKFold(4)]
    keys = {json.dumps(identity_of(GridSearchCV(pk.LinearRanker(), {"l2": [1]}, cv=cv))) for cv in cuts}
    assert len(keys) == len(cuts)
    assert identity_of(pk.QueryKFold(3)) == identity_of(pk.QueryKFold(3))
