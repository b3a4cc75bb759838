"""The store of finished results: what is whole comes back, everything else does not count."""

import importlib
import json
import linecache
import os
import pickle
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import plackett as pk
from plackett import _native
from plackett.data.preprocessing import QueryZScore
from plackett.evaluation.store import versions as packages
from plackett.evaluation.store.fingerprints import data_fingerprint, key_fingerprint
from plackett.evaluation.store.identity import NotIdentifiable, identity_of
from plackett.evaluation.store.results import ResultStore
from plackett.evaluation.store.versions import code_versions
from plackett.storage.atomic import draft_of

KEY = {"ranker": "listmle", "fold": 1, "l2": {"float": (0.1).hex()}}


def only_file(store):
    (path,) = store.folder.iterdir()
    return path


def test_a_record_comes_back_bit_by_bit(tmp_path):
    store = ResultStore(tmp_path / "new" / "folder")
    scores = np.random.default_rng(0).normal(size=50)
    store.put(KEY, {"validation": 0.1 + 0.2, "missing": np.nan, "words": ["ü", "\ud800"]}, scores)
    values, array = ResultStore(store.folder).get(dict(reversed(KEY.items())))
    assert values["validation"] == 0.1 + 0.2
    assert np.isnan(values["missing"])
    assert values["words"] == ["ü", "\ud800"]
    assert array.tobytes() == scores.tobytes()
    assert len(store) == 1
    store.put(KEY, {"validation": 0.4})
    assert store.get(KEY).values == {"validation": 0.4}
    assert len(store) == 1


def test_another_key_finds_nothing(tmp_path):
    store = ResultStore(tmp_path)
    store.put(KEY, {"validation": 0.3})
    for change in ({"fold": 2}, {"ranker": "listnet"}, {"l2": {"float": (0.2).hex()}}, {"more": None}):
        assert store.get({**KEY, **change}) is None


def test_a_torn_file_does_not_count_wherever_it_is_torn(tmp_path):
    store = ResultStore(tmp_path)
    store.put(KEY, {"validation": 0.3}, np.arange(3.0))
    path = only_file(store)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert store.get(KEY) is None
    path.write_bytes(content + b"\0")
    assert store.get(KEY) is None
    path.write_bytes(content)
    assert store.get(KEY).array.tolist() == [0.0, 1.0, 2.0]


def test_a_changed_file_does_not_count_whichever_byte_is_changed(tmp_path):
    store = ResultStore(tmp_path)
    store.put(KEY, {"validation": 0.3}, np.arange(3.0))
    path = only_file(store)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert store.get(KEY) is None, place


@pytest.mark.parametrize("content", [b"5\n", b"null\n", b'"text"\n', b"[1]\n", b"{}\n", b"\xff\n", b""])
def test_a_file_of_somebody_else_does_not_count(tmp_path, content):
    store = ResultStore(tmp_path)
    store.put(KEY, {"validation": 0.3})
    only_file(store).write_bytes(content)
    assert store.get(KEY) is None


def test_the_file_of_another_result_does_not_count(tmp_path):
    store = ResultStore(tmp_path)
    store.put(KEY, {"validation": 0.3})
    mine = only_file(store)
    content = mine.read_bytes()
    mine.unlink()
    other = {**KEY, "fold": 2}
    store.put(other, {"validation": 0.9})
    only_file(store).write_bytes(content)
    assert store.get(other) is None


def test_nothing_in_a_file_is_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    store = ResultStore(tmp_path / "store")
    with pytest.raises(ValueError, match="array is an array of type object; only numbers"):
        store.put(KEY, {}, np.array([Trap()], dtype=object))
    assert list(store.folder.iterdir()) == []
    store.put(KEY, {}, np.arange(3.0))
    only_file(store).write_bytes(pickle.dumps(Trap()))
    assert store.get(KEY) is None
    assert not (tmp_path / "sprung").exists()


def test_an_error_while_writing_leaves_what_was_there(tmp_path, monkeypatch):
    store = ResultStore(tmp_path)
    store.put(KEY, {"validation": 0.3})

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            store.put(KEY, {"validation": 0.4})
    assert store.get(KEY).values == {"validation": 0.3}
    assert len(list(tmp_path.iterdir())) == 1


def test_readers_and_writers_at_the_same_time_see_whole_records_only(tmp_path):
    arrays = [np.full(2000, float(number)) for number in range(3)]
    ResultStore(tmp_path).put(KEY, {"number": 0}, arrays[0])
    is_over, seen, problems = threading.Event(), set(), []

    def read():
        store = ResultStore(tmp_path)
        while not is_over.is_set():
            record = store.get(KEY)
            if record is None or not (record.array == record.values["number"]).all():
                problems.append(record)
            else:
                seen.add(record.values["number"])

    def write(number):
        store = ResultStore(tmp_path)
        for _ in range(40):
            store.put(KEY, {"number": number}, arrays[number])

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(number,)) for number in (1, 2)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    is_over.set()
    for thread in readers:
        thread.join()
    assert problems == []
    assert seen & {1, 2}
    assert len(list(tmp_path.iterdir())) == 1


def test_drafts_of_killed_runs_are_removed_and_those_of_others_are_not(tmp_path):
    store = ResultStore(tmp_path)
    store.put(KEY, {})
    name = only_file(store).name
    dead, other = tmp_path / f"{name}.plackett-0.part", tmp_path / "mine.part"
    for path in (dead, other):
        path.write_bytes(b"half")
    ResultStore(tmp_path)
    assert (dead.exists(), other.exists()) == (False, True)
    with draft_of(tmp_path / name) as living:
        ResultStore(tmp_path)
        assert os.path.exists(living.name)


def test_a_folder_that_cannot_be_written_to_is_an_error_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK and path == tmp_path))
    with pytest.raises(PermissionError, match="is not writable"):
        ResultStore(tmp_path)


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file; results need a folder"):
        ResultStore(tmp_path / "file")


# --- What results are known by ----------------------------------------------------------------------------------------


def lists(**changes):
    given = {
        "X": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "y": np.array([0.0, 1.0, 2.0]),
        "qid": [1, 1, 2],
        "docid": ["a", "b", "c"],
        "feature_names": ["f", "g"],
    }
    return pk.Queries(**{**given, **changes})


def test_any_change_of_the_data_is_another_content():
    X = lists().X
    variants = {
        "the same": lists(),
        "a value": lists(X=np.where(X == 4.0, np.nextafter(4.0, 5.0), X)),
        "precision": lists(X=X.astype(np.float32)),
        "shape": lists(X=np.column_stack([X, X]), feature_names=None),
        "sparse": lists(X=sparse.csr_array(X)),
        "a label": lists(y=[0.0, 1.0, 1.0]),
        "no labels": lists(y=None),
        "an id": lists(qid=[1, 1, 3]),
        "its kind": lists(qid=["1", "1", "2"]),
        "bounds": lists(qid=[1, 2, 2]),
        "a document's name": lists(docid=["a", "b", "d"]),
        "a column's name": lists(feature_names=["f", "h"]),
    }
    contents = {name: data_fingerprint(queries) for name, queries in variants.items()}
    assert contents["the same"] == data_fingerprint(lists())
    assert len(set(contents.values())) == len(variants)


def test_ids_may_be_dates():
    days = np.array(["2024-02-28", "2024-02-28", "2024-02-29"], dtype="datetime64[D]")
    contents = {data_fingerprint(pk.Queries(np.eye(3), [0, 1, 0], days + shift)) for shift in (0, 0, 1)}
    assert len(contents) == 2


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


def test_the_versions_of_what_results_rest_on_are_part_of_the_code():
    code = code_versions(pk.LinearRanker())
    assert code["plackett"].startswith(pk.__version__)
    assert {"numpy", "scipy", "scikit-learn", "native", "python"} < code.keys()
    assert code["numpy"] == np.__version__
    assert code["native"].startswith(f"{_native.build} ")


def test_results_of_another_build_of_the_kernels_are_not_taken(monkeypatch, tmp_path):
    keys = set()
    for name, content in (("baseline", b"a"), ("v3", b"a"), ("v3", b"b")):
        file = tmp_path / "kernels"
        file.write_bytes(content)
        monkeypatch.setattr(_native, "build", name)
        monkeypatch.setattr(_native, "path", str(file))
        packages._native_digest.cache_clear()
        keys.add(key_fingerprint(code_versions(pk.LinearRanker())))
    packages._native_digest.cache_clear()
    assert len(keys) == 3


def test_estimators_of_others_are_known_by_class_parameters_and_version(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")

    def pipeline(**changes):
        steps = make_pipeline(FunctionTransformer(np.log1p), QueryZScore(), lightgbm.LGBMRanker(n_estimators=3))
        return steps.set_params(**changes)

    def key(estimator):
        return key_fingerprint({"estimator": identity_of(estimator)})

    with config_context(enable_metadata_routing=True):
        unasked = QueryZScore().set_fit_request(qid=False)
    keys = [
        key(pipeline()),
        key(pipeline(lgbmranker__n_estimators=4)),
        key(pipeline(lgbmranker__lambda_l2=1.0)),
        key(pipeline(functiontransformer__func=np.sqrt)),
        key(pipeline(queryzscore=pk.preprocessing.QueryMinMax())),
        key(pipeline(queryzscore=unasked)),
        key(pipeline()[-1]),
    ]
    assert len(set(keys)) == len(keys)
    assert key(pipeline()) == keys[0]
    code = code_versions(pipeline())
    assert code["lightgbm"] == lightgbm.__version__
    assert "sklearn" not in code, "which is there as scikit-learn"
    packages.build_of.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(packages, "version_of", lambda package: "another")
        assert key(pipeline()) not in keys
    packages.build_of.cache_clear()
    assert key(pipeline()) == keys[0]


def test_ways_to_cut_folds_are_known_by_what_they_hold():
    cuts = [pk.QueryKFold(3), pk.QueryKFold(4), pk.QueryKFold(3, random_state=1), GroupKFold(3), GroupKFold(4)]
    keys = {json.dumps(identity_of(GridSearchCV(pk.LinearRanker(), {"l2": [1]}, cv=cv))) for cv in cuts}
    assert len(keys) == len(cuts)
    assert identity_of(pk.QueryKFold(3)) == identity_of(pk.QueryKFold(3))
