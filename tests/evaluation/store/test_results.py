"""The store of results: what comes back, what does not, many runs in one folder, damaged files."""

import dataclasses
import os
import pickle
import threading

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.store.keys import identity_of
from plackett.evaluation.store.results import ResultStore
from plackett.metrics.conventions import CONVENTIONS
from plackett.storage.atomic import draft_of
from plackett.storage.container import MAGIC
from tests.storage.containers import parts_of, sealed, signed

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


def test_the_draft_of_a_killed_run_is_replaced_by_the_next_result(tmp_path):
    store = ResultStore(tmp_path)
    store.put(KEY, {})
    name = only_file(store).name
    dead, other = tmp_path / f"{name}.plackett.part", tmp_path / "mine.part"
    for path in (dead, other):
        path.write_bytes(b"half")
    ResultStore(tmp_path).put(KEY, {})
    assert (dead.exists(), other.exists()) == (False, True)
    with draft_of(tmp_path / name) as living:
        ResultStore(tmp_path).put(KEY, {})
        assert os.path.exists(living.name)


def test_a_folder_that_cannot_be_written_to_is_an_error_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK and path == tmp_path))
    with pytest.raises(PermissionError, match="is not writable"):
        ResultStore(tmp_path)


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file; results need a folder"):
        ResultStore(tmp_path / "file")


# --- Damaged results are recomputed -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(24, 6, 4, random_state=0)


def forged(content, change=lambda directory: None):
    """A file whose checksum is right, though its directory was changed."""
    directory, body = parts_of(content)
    change(directory)
    return signed(directory, body)


def with_array(content, **entry):
    return forged(content, lambda directory: directory["arrays"].update(array={"offset": 64, "shape": [1]} | entry))


DAMAGES = {
    "nothing": lambda content: b"",
    "random bytes": lambda content: np.random.default_rng(0).bytes(5000),
    "half": lambda content: content[: len(content) // 2],
    "deep JSON, no checksum": lambda content: b"[" * 200_000,
    "deep JSON": lambda content: sealed(b"[" * 200_000, MAGIC),
    "deep record": lambda content: sealed(b'{"header":' + b"[" * 200_000, MAGIC),
    "no object": lambda content: sealed(b"[1]", MAGIC),
    "no record": lambda content: forged(content, lambda directory: directory["header"].pop("record")),
    "a list as record": lambda content: forged(content, lambda directory: directory["header"].update(record=[1])),
    "huge number": lambda content: sealed(b"1" * 100_000, MAGIC),
    "huge shape": lambda content: with_array(content, dtype="<f8", shape=[1 << 62, 1 << 62]),
    "a shape of other words": lambda content: with_array(content, dtype="<f8", shape=["x"]),
    "huge items": lambda content: with_array(content, dtype="V2000000000"),
    "objects": lambda content: with_array(content, dtype="|O"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_made_again(data, tmp_path, damage):
    rankers = {"a": (pk.LinearRanker(max_iter=3), {"l2": [1.0, 0.1]})}
    first = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path)
    for path in sorted(tmp_path.iterdir()):
        path.write_bytes(damage(path.read_bytes()))
    again = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path)
    assert again.failures == {}
    assert again.mean() == first.mean()
    assert again.reference_scores["best feature"].mean() == first.reference_scores["best feature"].mean()


def test_rows_in_another_order_are_not_served_the_scores_of_the_first(data, tmp_path):
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    other = pk.Queries(data.X[mixed], data.y[mixed], data.qid[mixed])
    same = pk.Queries(data.X, data.y, data.qid)
    ranker = {"a": pk.LinearRanker(max_iter=3)}
    cv = pk.QueryKFold(2)
    expected = pk.compare(ranker, other, cv=cv, metrics="ndcg@5")
    pk.compare(ranker, same, cv=cv, metrics="ndcg@5", folder=tmp_path)
    found = pk.compare(ranker, other, cv=cv, metrics="ndcg@5", folder=tmp_path)
    np.testing.assert_array_equal(found.scores["a"], expected.scores["a"])
    assert found.mean() == expected.mean()


def test_a_measure_counts_with_all_rules_of_its_convention(data, tmp_path, monkeypatch):
    conventions = [dataclasses.replace(CONVENTIONS["standard"], name="mine", empty=empty) for empty in (0, 1)]
    measures = [pk.metrics.Measure("ndcg", 5, convention=convention) for convention in conventions]
    assert str(measures[0]) == str(measures[1])
    assert identity_of(measures[0]) != identity_of(measures[1])
    lists = pk.Queries(data.X, np.where(data.qid % 3 == 0, 0, data.y), data.qid)
    ranker = (pk.LinearRanker(max_iter=3), {"l2": [1.0, 0.1]})
    values = []
    for one in measures:
        monkeypatch.setitem(CONVENTIONS, "mine", one.convention)
        found = pk.cross_validate(ranker, lists, cv=2, select_by=one, folder=tmp_path)
        values.append([fit.validation for fit in found.fits])
    assert values[0] != values[1]
